package rsl

import (
	"strings"
	"unicode/utf8"
)

// checkCharacters reports the first octet of s that no XML document in UTF-8
// holds (XML 1.0, production 2).
func checkCharacters(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' && !isSpace(c) {
				return xmlFault(kindCharacter, i)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return xmlFault(kindNotUTF8, i)
		}
		if !isCharacter(r) {
			return xmlFault(kindCharacter, i)
		}
		i += size
	}
	return nil
}

// isCharacter is production 2 of XML 1.0.
func isCharacter(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r <= 0xD7FF, 0xE000 <= r && r <= 0xFFFD, 0x10000 <= r && r <= 0x10FFFF:
		return true
	}
	return false
}

// checkReferences reports the first & in s, which begins at octet at of the
// document, that begins no reference to a character or to one of the five
// entities (T71).
func checkReferences(s string, at int) error {
	for i := 0; ; {
		next := strings.IndexByte(s[i:], '&')
		if next < 0 {
			return nil
		}
		i += next
		_, size := reference(s[i:])
		if size == 0 {
			return xmlFault(kindReference, at+i)
		}
		i += size
	}
}

// entities are those that stand for themselves without a declaration (XML 1.0,
// section 4.6).
var entities = [...]struct {
	name  string
	value rune
}{{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&apos;", '\''}, {"&quot;", '"'}}

// reference returns the character that the reference at the start of s stands
// for, and its length in octets: 0 if s begins with none.
func reference(s string) (r rune, size int) {
	if strings.HasPrefix(s, "&#") {
		return characterReference(s)
	}
	for _, e := range entities {
		if strings.HasPrefix(s, e.name) {
			return e.value, len(e.name)
		}
	}
	return 0, 0
}

func characterReference(s string) (r rune, size int) {
	base, i := rune(10), len("&#")
	if i < len(s) && s[i] == 'x' {
		base, i = 16, i+1
	}
	first := i
	for ; i < len(s); i++ {
		digit, ok := hexDigit(s[i])
		if !ok || digit >= base {
			break
		}
		// Past the last character the value stays there and cannot wrap round.
		r = min(r*base+digit, utf8.MaxRune+1)
	}
	if i == first || i == len(s) || s[i] != ';' || !isCharacter(r) {
		return 0, 0
	}
	return r, i + 1
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// appendText appends the text that checked character data stands for: line ends
// made one LF (XML 1.0, section 2.11) and references replaced. A reference is
// never shorter than what it stands for, so text does not grow.
func appendText(dst []byte, s string) []byte {
	for {
		i := strings.IndexAny(s, "&\r")
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s[i] == '&' {
			r, size := reference(s[i:])
			dst = utf8.AppendRune(dst, r)
			s = s[i+size:]
			continue
		}
		dst = append(dst, '\n')
		s = strings.TrimPrefix(s[i+1:], "\n")
	}
}

// appendSection appends the text of a CDATA section, in which nothing is a
// reference but lines end as elsewhere.
func appendSection(dst []byte, s string) []byte {
	for {
		before, after, more := strings.Cut(s, "\r")
		dst = append(dst, before...)
		if !more {
			return dst
		}
		dst = append(dst, '\n')
		s = strings.TrimPrefix(after, "\n")
	}
}

// attributeText returns the value that a checked attribute value stands for:
// references replaced, and white space that is written as itself made spaces
// (XML 1.0, section 3.3.3).
func attributeText(s string) string {
	if !strings.ContainsAny(s, "&\t\n\r") {
		return s
	}
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			r, size := reference(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size - 1
		case c == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case isSpace(c):
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return string(dst)
}
