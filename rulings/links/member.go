package links

import "strings"

// A member is one link: a target and those of its parameters that matter here.
type member struct {
	target            string
	rel, relStar      value
	mediaType         value
	mediaTypeStar     value
	anchor            value
	hasUnreadableName bool // a parameter has a name that is no token
}

// A value is a parameter's, of a repeated one the first (T59).
type value struct {
	text  string
	given bool
}

// parse takes a member apart (T59). It fails where the text does not begin with
// a target in brackets, or a quoted value has no end.
func parse(text string) (m member, ok bool) {
	end := strings.IndexByte(text, '>')
	if text == "" || text[0] != '<' || end < 0 {
		return member{}, false
	}
	m.target = text[1:end]
	rest := trim(text[end+1:])
	for rest != "" {
		if rest[0] != ';' {
			// Something between a value and the next parameter. Whatever it was
			// meant to be, it has no name that could be read.
			m.hasUnreadableName = true
			rest = skipParameter(rest)
			continue
		}
		if rest, ok = m.parameter(trim(rest[1:])); !ok {
			return member{}, false
		}
		rest = trim(rest)
	}
	return m, true
}

// parameter takes the parameter that s begins with and returns what follows it.
func (m *member) parameter(s string) (rest string, ok bool) {
	n := strings.IndexAny(s, " \t;=")
	if n < 0 {
		n = len(s)
	}
	name, rest := s[:n], trim(s[n:])
	if name == "" && (rest == "" || rest[0] == ';') {
		return rest, true // an empty parameter
	}
	if !isToken(name) {
		m.hasUnreadableName = true
		return skipParameter(s), true
	}
	v := value{given: true}
	if rest != "" && rest[0] == '=' {
		if v.text, rest, ok = cutValue(trim(rest[1:])); !ok {
			return "", false
		}
	}
	if to := m.place(name); to != nil && !to.given {
		*to = v
	}
	return rest, true
}

// place is where the value of a parameter is kept, nil for one that does not
// matter.
func (m *member) place(name string) *value {
	switch {
	case strings.EqualFold(name, "rel"):
		return &m.rel
	case strings.EqualFold(name, "rel*"):
		return &m.relStar
	case strings.EqualFold(name, "type"):
		return &m.mediaType
	case strings.EqualFold(name, "type*"):
		return &m.mediaTypeStar
	case strings.EqualFold(name, "anchor"):
		return &m.anchor
	}
	return nil
}

// cutValue cuts the value that s begins with: quoted, or bare up to a semicolon,
// a comma or white space.
func cutValue(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		n := strings.IndexAny(s, ";, \t")
		if n < 0 {
			n = len(s)
		}
		return s[:n], s[n:], true
	}
	n := closedLength(s)
	if n < 0 {
		return "", "", false
	}
	text, rest = s[1:n-1], s[n:]
	if strings.IndexByte(text, '\\') >= 0 {
		text = unescape(text)
	}
	return text, rest, true
}

// unescape removes the backslash of each quoted pair (RFC 9110, section 5.6.4).
func unescape(s string) string {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		dst = append(dst, s[i])
	}
	return string(dst)
}

// skipParameter returns what of s begins with the next semicolon outside quotes
// and brackets.
func skipParameter(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ';':
			return s[i:]
		case '<', '"':
			n := closedLength(s[i:])
			if n < 0 {
				return ""
			}
			i += n - 1
		}
	}
	return ""
}

// trim takes optional white space off both ends (RFC 9110, section 5.6.3).
func trim(s string) string { return strings.Trim(s, " \t") }

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		digit := '0' <= s[i] && s[i] <= '9'
		if !letter && !digit && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}
