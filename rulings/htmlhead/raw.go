package htmlhead

// isRaw reports whether the content of an element is text up to its end tag. In
// the head these are script, style, title and noscript, which is text to a reader
// that runs scripts; the others can stand in a template.
func isRaw(name string) bool {
	switch name {
	case "script", "style", "title", "noscript", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext":
		return true
	}
	return false
}

// rawText goes behind the end tag of the element called name and returns where
// its text ends. ended reports that the end tag is complete.
func (s *scanner) rawText(name string) (end int, ended bool) {
	switch name {
	case "script":
		return s.scriptText()
	case "plaintext": // which has no end tag
		for s.fill() {
		}
		s.pos = len(s.buf)
		return s.pos, false
	}
	for s.skipTo('<') {
		start := s.pos - 1
		if s.follows('/') && s.word(name) {
			ended, _ = s.attributes()
			return start, ended
		}
	}
	return s.pos, false
}

// States of a script's text (HTML 13.2.5.4 and 13.2.5.20 to 13.2.5.31): between
// <!-- and --> a script in the script hides its own end tag.
const (
	scriptPlain = iota
	scriptEscaped
	scriptDouble
)

// scriptText is rawText for a script.
func (s *scanner) scriptText() (end int, ended bool) {
	state, dashes := scriptPlain, 0
	for {
		if state == scriptPlain && s.skipTo('<') {
			s.pos--
		}
		c, ok := s.take()
		switch {
		case !ok:
			return s.pos, false
		case c == '-':
			dashes++
			continue
		case c == '>' && dashes >= 2:
			state = scriptPlain
		case c == '<':
			start := s.pos - 1
			if state, ended = s.scriptMark(state); ended {
				ended, _ = s.attributes()
				return start, ended
			}
			if s.buf[s.pos-1] == '-' { // <!--
				dashes = 2
				continue
			}
		}
		dashes = 0
	}
}

// scriptMark takes what follows a < in a script and returns the state behind it.
// ended reports the end tag, its name taken.
func (s *scanner) scriptMark(state int) (next int, ended bool) {
	c, ok := s.peek()
	switch {
	case !ok:
	case c == '/':
		s.pos++
		if s.word("script") {
			if state != scriptDouble {
				return state, true
			}
			return scriptEscaped, false
		}
	case c == '!' && state == scriptPlain:
		s.pos++
		if s.followTwoDashes() {
			return scriptEscaped, false
		}
	case isLetter(c) && state == scriptEscaped && s.word("script"):
		return scriptDouble, false
	}
	return state, false
}

// follows goes past the next octet if it is c.
func (s *scanner) follows(c byte) bool {
	next, ok := s.peek()
	if ok && next == c {
		s.pos++
		return true
	}
	return false
}

// followTwoDashes goes past the dashes of a comment's beginning.
func (s *scanner) followTwoDashes() bool {
	for range 2 {
		if !s.follows('-') {
			return false
		}
	}
	return true
}

// word goes past w, which is in lower case, if it follows in any letter case and
// ends as a tag's name does. Otherwise it stops where the difference is.
func (s *scanner) word(w string) bool {
	for i := range len(w) {
		if c, ok := s.peek(); !ok || c|0x20 != w[i] {
			return false
		}
		s.pos++
	}
	c, ok := s.peek()
	return ok && (isWhite(c) || c == '/' || c == '>')
}

// declaration goes behind a comment or a doctype, its <! taken already.
func (s *scanner) declaration() {
	if !s.followTwoDashes() {
		s.skipTo('>')
		return
	}
	// A comment ends at --> or --!>, and at once in <!--> and <!--->.
	dashes, bang, empty := 0, false, true
	for {
		c, ok := s.take()
		switch {
		case !ok, c == '>' && (empty || dashes >= 2 || bang):
			return
		case c == '-' && bang:
			dashes, bang = 1, false
		case c == '-':
			dashes++
		default:
			dashes, bang, empty = 0, c == '!' && dashes >= 2, false
		}
	}
}

// Places in a tag (HTML 13.2.5.32 to 13.2.5.40).
const (
	betweenAttributes = iota
	inName
	behindName
	beforeValue
	inBareValue
)

// attributes goes behind the end of a tag, its name taken already. whole reports
// that it has an end, closed that the tag closes itself.
func (s *scanner) attributes() (whole, closed bool) {
	place := betweenAttributes
	for {
		c, ok := s.take()
		if !ok {
			return false, false
		}
		if c == '>' {
			return true, closed
		}
		closed = false
		switch {
		case place == inBareValue:
			if isWhite(c) {
				place = betweenAttributes
			}
		case place == beforeValue:
			switch {
			case isWhite(c):
			case c != '"' && c != '\'':
				place = inBareValue
			case !s.skipTo(c):
				return false, false
			default:
				place = betweenAttributes
			}
		case c == '/':
			place, closed = betweenAttributes, true
		case isWhite(c):
			if place == inName {
				place = behindName
			}
		case c == '=' && place != betweenAttributes:
			place = beforeValue
		default:
			place = inName
		}
	}
}
