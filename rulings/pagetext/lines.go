package pagetext

import (
	"unicode"
	"unicode/utf8"
)

// lines gathers text in lines. The zero value has none.
type lines struct {
	out   []byte
	ended bool // the line
	blank bool // white space came since the last character
}

// end ends a line, if anything stands in it.
func (l *lines) end() { l.ended = true }

// add adds text with its white space as it came.
func (l *lines) add(text []byte) {
	for i := 0; i < len(text); {
		if isGraphic(text[i]) {
			start := i
			for i++; i < len(text) && (isGraphic(text[i]) || text[i] == ' ' && i+1 < len(text) && isGraphic(text[i+1])); i++ {
			}
			l.separate()
			l.out = append(l.out, text[start:i]...)
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			l.blank = true
		case r != 0:
			l.separate()
			l.out = utf8.AppendRune(l.out, r) // U+FFFD for what is no character
		}
	}
}

// isGraphic reports that c is a character of ASCII and no white space.
func isGraphic(c byte) bool { return c > ' ' && c < utf8.RuneSelf }

// separate writes what stands between the last character and the next one.
func (l *lines) separate() {
	switch {
	case len(l.out) == 0:
	case l.ended:
		l.out = append(l.out, '\n')
	case l.blank:
		l.out = append(l.out, ' ')
	}
	l.ended, l.blank = false, false
}
