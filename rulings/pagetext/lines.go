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
		if c := text[i]; c > ' ' && c < utf8.RuneSelf {
			start := i
			for i++; i < len(text) && text[i] > ' ' && text[i] < utf8.RuneSelf; i++ {
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
