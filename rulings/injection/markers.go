package injection

import (
	"strings"
	"unicode/utf8"
)

// markers is the rule over what sets the parts of a model's prompt apart.
type markers struct {
	rule     int
	literals []marker
	headers  []string // words behind any marker of the form <|name|>
	opens    marker   // of a pair in one line
	closes   marker
}

// A marker is found by its one run of letters.
type marker struct {
	text    string // in lower case
	letters string
	at      int // of letters in text
}

// parseMarkers reads the grammar that ruleText describes.
func parseMarkers(rule int, text string) *markers {
	m := &markers{rule: rule}
	for item := range strings.FieldsSeq(strings.ToLower(text)) {
		if word, ok := strings.CutPrefix(item, "<|_|>"); ok {
			m.headers = append(m.headers, word)
		} else if opens, closes, ok := strings.Cut(item, "…"); ok {
			m.opens, m.closes = newMarker(opens), newMarker(closes)
		} else {
			m.literals = append(m.literals, newMarker(item))
		}
	}
	return m
}

func newMarker(text string) marker {
	letters := strings.TrimFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
	return marker{text, letters, strings.Index(text, letters)}
}

// all returns all markers; a header's word is one.
func (m *markers) all() []marker {
	all := append([]marker{m.opens, m.closes}, m.literals...)
	for _, word := range m.headers {
		all = append(all, newMarker(word))
	}
	return all
}

// sought returns five neighbouring characters of the marker, those in the middle
// letters.
func (m *marker) sought() string {
	start := m.at
	if len(m.letters) < 4 {
		start--
	}
	return m.text[start : start+5]
}

// A markerState is what was met of the markers in a text.
type markerState struct {
	markerEnd int // of the last finding: the next begins behind it
	open      int // 1 + the place of the first opening marker of the line that is not closed
	seen      int // up to where there is no line break behind it
}

// lookAtMarker looks at the run of letters from start to end.
func (f *finder) lookAtMarker(start, end int) {
	m := f.s.markers
	for _, l := range m.literals {
		if from, to, ok := l.in(f.text, start); ok {
			f.noteMarker(from, to)
		}
	}
	for _, word := range m.headers {
		if from, ok := f.header(word, start, end); ok {
			f.noteMarker(from, end)
		}
	}
	if from, _, ok := m.opens.in(f.text, start); ok && from >= f.markerEnd {
		if !f.inLine(from) {
			f.open = from + 1
		}
		f.seen = from
	}
	if from, to, ok := m.closes.in(f.text, start); ok {
		if f.inLine(from) {
			f.noteMarker(f.open-1, to)
		}
		f.open = 0
	}
}

func (f *finder) noteMarker(from, to int) {
	if from < f.markerEnd {
		return
	}
	f.note(f.s.markers.rule, from, to)
	f.markerEnd, f.open = to, 0
}

// inLine reports whether an opening marker stands before p in its line. What it has
// read it does not read again.
func (f *finder) inLine(p int) bool {
	for q := f.seen; q < p && f.open > 0; {
		k, size := f.s.chars.at(f.text, q)
		if k == lineBreak {
			f.open = 0
		}
		q += size
	}
	return f.open > 0
}

// in reports whether the marker stands in text with its letters at p.
func (m *marker) in(text []byte, p int) (from, to int, ok bool) {
	from = p - m.at
	to = from + len(m.text)
	if from < 0 || to > len(text) {
		return 0, 0, false
	}
	for i, b := range text[from:to] {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		if b != m.text[i] {
			return 0, 0, false
		}
	}
	return from, to, true
}

// header reports whether word stands from start to end, as a whole word, behind
// <|name|>, and where that begins.
func (f *finder) header(word string, start, end int) (from int, ok bool) {
	if end-start != len(word) || f.s.word(f.text, start).end != end || !strings.EqualFold(string(f.text[start:end]), word) {
		return 0, false
	}
	p := start
	for p > 0 {
		r, size := utf8.DecodeLastRune(f.text[:p])
		if k := f.s.chars.decided(r, size, f.text[p-1]); k != space && k != lineBreak {
			break
		}
		p -= size
	}
	name, ok := cutBack(f.text[:p], "|>")
	if !ok {
		return 0, false
	}
	const longest = 64
	p = len(name)
	for p > 0 && isNamed(name[p-1]) && len(name)-p <= longest {
		p--
	}
	if p == len(name) || len(name)-p > longest {
		return 0, false
	}
	before, ok := cutBack(name[:p], "<|")
	return len(before), ok
}

func cutBack(text []byte, suffix string) ([]byte, bool) {
	if n := len(text) - len(suffix); n >= 0 && string(text[n:]) == suffix {
		return text[:n], true
	}
	return nil, false
}

func isNamed(b byte) bool {
	return isLetterOrDigit(b) || b == '_' || b == '-' || b == '\''
}
