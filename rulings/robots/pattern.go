package robots

import "strings"

// A Pattern is a path pattern of a term, compiled (specs: terms T32). Its zero
// value comes from an empty text and matches nothing.
type Pattern struct {
	form     string // with * and the anchor; what the length is taken of
	literal  string // what stands before the first *
	tail     string // what stands behind it, runs of * made one
	wild     bool   // there is a *
	anchored bool   // a match must end where the form ends
}

// Compile returns the pattern that text spells: a final $ is the anchor, every *
// a wildcard, and the rest is literal. It adds no slash: what a text that begins
// with neither / nor * means is for the term it stands in to say.
func Compile(text string) Pattern {
	form, ok := PatternForm(text)
	if !ok {
		return Pattern{}
	}
	p := Pattern{form: form}
	form, p.anchored = strings.CutSuffix(form, "$")
	p.literal, p.tail, p.wild = strings.Cut(form, "*")
	p.tail = mergeRuns(p.tail, '*')
	return p
}

// PatternForm returns the form of a pattern, in which * and a final $ keep their
// meaning and the pieces between are formed like targets. An empty text has none.
func PatternForm(text string) (form string, ok bool) {
	if text == "" {
		return "", false
	}
	body, anchored := strings.CutSuffix(text, "$")
	dst := make([]byte, 0, len(text)+len(text)/4)
	changed, query := false, false
	for rest, more := body, true; more; {
		var piece string
		piece, rest, more = strings.Cut(rest, "*")
		changed = changed || !inForm(piece)
		dst, query = appendForm(dst, piece, query)
		if more {
			dst = append(dst, '*')
		}
	}
	if !changed {
		return text, true // shares the file's memory
	}
	if anchored {
		dst = append(dst, '$')
	}
	return string(dst), true
}

// Len is the number of octets of the pattern's form, wildcards and anchor
// included (T34).
func (p *Pattern) Len() int { return len(p.form) }

// String returns the pattern's form.
func (p *Pattern) String() string { return p.form }

// Match reports whether p matches form, a value of Form or a reading of a Page
// (T33). Each piece is looked for once and leftmost, behind the one before; a
// later place for it could only leave less room for the rest. So the time is in
// proportion to the two lengths (T41).
func (p *Pattern) Match(form string) bool {
	if p.form == "" || !strings.HasPrefix(form, p.literal) {
		return false
	}
	form = form[len(p.literal):]
	if !p.wild {
		return !p.anchored || form == ""
	}
	tail := p.tail
	for {
		piece, rest, more := strings.Cut(tail, "*")
		if !more {
			return p.endsWith(form, piece)
		}
		i := index(form, piece)
		if i < 0 {
			return false
		}
		form, tail = form[i+len(piece):], rest
	}
}

// endsWith matches the last piece against what is left of the form.
func (p *Pattern) endsWith(form, last string) bool {
	if p.anchored {
		return strings.HasSuffix(form, last)
	}
	return index(form, last) >= 0
}

// mergeRuns returns s with every run of c made one c. Without such a run it is s
// itself.
func mergeRuns(s string, c byte) string {
	if !strings.Contains(s, string([]byte{c, c})) {
		return s
	}
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != c || i == 0 || s[i-1] != c {
			dst = append(dst, s[i])
		}
	}
	return string(dst)
}
