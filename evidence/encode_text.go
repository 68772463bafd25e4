package evidence

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// text writes a value that somebody else chose. An empty one is left out; text
// that is not UTF-8 gets the sibling <name>_rendered, and one over its bound is
// cut and gets <name>_cut (E10). URLs inside it are redacted, because the error
// texts of Go's packages quote them (E23).
func (e *encoder) text(name, v string) { e.bounded(name, e.redact.Text(v), e.bounds.text) }

// url writes a URL with what E23 keeps out of it left out.
func (e *encoder) url(name, v string) { e.bounded(name, e.redact.URL(v), e.bounds.url) }

func (e *encoder) bounded(name, v string, limit int) {
	if v == "" {
		return
	}
	e.member(name)
	kept := cut(v, limit)
	rendered := e.value(kept)
	if rendered {
		e.flag(name+"_rendered", true)
	}
	if len(kept) < len(v) {
		e.number(name+"_cut", int64(len(v)))
	}
}

// value writes v as a JSON string and reports whether it had to be rendered.
func (e *encoder) value(v string) (rendered bool) {
	if isPlain(v) { // as most values are
		e.b = append(e.b, '"')
		e.b = append(e.b, v...)
		e.b = append(e.b, '"')
		return false
	}
	if rendered = !utf8.ValidString(v); rendered {
		v = render(v)
	}
	e.b = appendString(e.b, v)
	return rendered
}

// texts writes a list of values somebody else chose; at most 256 are kept.
func (e *encoder) texts(name string, list []string) {
	e.list(name, list, e.bounds.text, e.redact.Text)
}

// urls writes a list of URLs.
func (e *encoder) urls(name string, list []string) {
	e.list(name, list, e.bounds.url, e.redact.URL)
}

// list writes what texts and urls write. Its siblings speak for all items:
// <name>_cut is the whole length of the longest one that was cut.
func (e *encoder) list(name string, list []string, limit int, redact func(string) string) {
	if len(list) == 0 {
		return
	}
	rendered, longest := false, 0
	p := e.open(name)
	for _, v := range list[:min(len(list), e.bounds.items)] {
		v = redact(v)
		kept := cut(v, limit)
		if len(kept) < len(v) {
			longest = max(longest, len(v))
		}
		e.b = append(e.b, ',')
		rendered = e.value(kept) || rendered
	}
	e.closeList(p)
	if rendered {
		e.flag(name+"_rendered", true)
	}
	if longest > 0 {
		e.number(name+"_cut", int64(longest))
	}
	e.more(name, len(list))
}

// positions writes a list of numbers that count from 1.
func (e *encoder) positions(name string, list []int) {
	p := e.open(name)
	for _, n := range list[:min(len(list), e.bounds.items)] {
		e.b = strconv.AppendInt(append(e.b, ','), int64(n), 10)
	}
	e.closeList(p)
	e.more(name, len(list))
}

// more writes how many items of a list of n are left out.
func (e *encoder) more(name string, n int) {
	if n > e.bounds.items {
		e.number(name+"_more", int64(n-e.bounds.items))
	}
}

// cut returns the first limit octets of v, or a little less so that no
// character is torn.
func cut(v string, limit int) string {
	if len(v) <= limit {
		return v
	}
	for i := limit; i > limit-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(v[i]) {
			return v[:i]
		}
	}
	return v[:limit] // no UTF-8 in any case
}

// render makes UTF-8 of v: octets that are none become \xHH. A backslash is
// written as \x5c, so that the octets can be had back from the rendering.
func render(v string) string {
	var b strings.Builder
	b.Grow(2 * len(v))
	for len(v) > 0 {
		r, size := utf8.DecodeRuneInString(v)
		if r == utf8.RuneError && size == 1 || r == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[v[0]>>4])
			b.WriteByte(hexDigits[v[0]&15])
		} else {
			b.WriteString(v[:size])
		}
		v = v[size:]
	}
	return b.String()
}

// plain are the octets that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func isPlain(v string) bool {
	for i := range len(v) {
		if !plain[v[i]] {
			return false
		}
	}
	return true
}

// appendString appends v, which is UTF-8, as a JSON string. Beside what RFC 8259
// section 7 demands, NEL and the Unicode separators are escaped: some readers
// break lines at them (E6).
func appendString(b []byte, v string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(v); {
		if plain[v[i]] {
			i++
			continue
		}
		r, size := rune(v[i]), 1
		if r >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(v[i:]); !breaksLines(r) {
				i += size
				continue
			}
		}
		b = append(b, v[start:i]...)
		b = appendEscape(b, r)
		i += size
		start = i
	}
	b = append(b, v[start:]...)
	return append(b, '"')
}

func breaksLines(r rune) bool { return r == 0x85 || r == 0x2028 || r == 0x2029 }

func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
