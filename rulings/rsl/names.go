package rsl

import "unicode/utf8"

// isSpace reports whether c is white space to XML (XML 1.0, production 3).
// Unicode's other spaces are not.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// ncName returns the length of the name without colon that s begins with, 0 if
// there is none (Namespaces in XML 1.0, production 4).
func ncName(s string) int {
	n := 0
	for n < len(s) {
		if c := s[n]; c < utf8.RuneSelf {
			if !asciiNameChar(c) || n == 0 && !asciiNameStart(c) {
				break
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if !wideNameStart(r) && (n == 0 || !wideNameChar(r)) {
			break
		}
		n += size
	}
	return n
}

func asciiNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func asciiNameChar(c byte) bool {
	return asciiNameStart(c) || '0' <= c && c <= '9' || c == '-' || c == '.'
}

// wideNameStart is what lies outside ASCII of XML 1.0 (fifth edition), production 4.
func wideNameStart(r rune) bool {
	switch {
	case r < 0xC0, r == 0xD7, r == 0xF7:
		return false
	case r <= 0x2FF, 0x370 <= r && r <= 0x37D, 0x37F <= r && r <= 0x1FFF,
		r == 0x200C, r == 0x200D, 0x2070 <= r && r <= 0x218F, 0x2C00 <= r && r <= 0x2FEF,
		0x3001 <= r && r <= 0xD7FF, 0xF900 <= r && r <= 0xFDCF, 0xFDF0 <= r && r <= 0xFFFD,
		0x10000 <= r && r <= 0xEFFFF:
		return true
	}
	return false
}

// wideNameChar is what production 4a adds to that.
func wideNameChar(r rune) bool {
	return r == 0xB7 || 0x300 <= r && r <= 0x36F || r == 0x203F || r == 0x2040
}
