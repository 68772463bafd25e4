package links

import (
	"strings"
	"unicode/utf8"
)

// An answer to whether a member names an RSL licence.
type answer uint8

const (
	no answer = iota
	yes
	unclear // what it says about a licence cannot be read
)

// judge answers whether m, spelled as text, names an RSL licence (T60, T62, T63).
func (m *member) judge(text string) answer {
	if m.rel.given && !utf8.ValidString(m.rel.text) && mentionsLicense(m.rel.text) {
		return unclear
	}
	lacksOne := !m.rel.given && !m.relStar.given || !m.mediaType.given && !m.mediaTypeStar.given
	if lacksOne && m.hasUnreadableName && mentionsLicense(text) {
		return unclear
	}
	rel, relStar := m.relations()
	mediaType, mediaTypeStar := m.types()
	if !m.mediaType.textIsUTF8() && rel == yes {
		return unclear
	}
	plain, starred := both(rel, mediaType), both(relStar, mediaTypeStar)
	if plain != starred {
		return unclear
	}
	return plain
}

func (v value) textIsUTF8() bool { return utf8.ValidString(v.text) }

// relations answers whether the plain and the starred rel hold license. One that
// is not there answers as the other does.
func (m *member) relations() (plain, starred answer) {
	plain = answerOf(holdsLicense(m.rel.text))
	starred = plain
	if !m.relStar.given {
		return plain, starred
	}
	if decoded, ok := decodeExtended(m.relStar.text); ok {
		starred = answerOf(holdsLicense(decoded))
	} else if !m.rel.given && mentionsLicense(m.relStar.text) {
		starred = unclear
	}
	if !m.rel.given {
		plain = starred
	}
	return plain, starred
}

// types answers whether the plain and the starred type are RSL's. An encoded type
// that cannot be decoded has no word that would show what it was to be, so it is
// unclear where no plain one settles it.
func (m *member) types() (plain, starred answer) {
	plain = answerOf(isRSL(m.mediaType.text))
	starred = plain
	if !m.mediaTypeStar.given {
		return plain, starred
	}
	if decoded, ok := decodeExtended(m.mediaTypeStar.text); ok {
		starred = answerOf(isRSL(decoded))
	} else if !m.mediaType.given {
		starred = unclear
	}
	if !m.mediaType.given {
		plain = starred
	}
	return plain, starred
}

// both answers for a licence's two marks together: one that is missing settles
// it, whatever the other was to say.
func both(rel, mediaType answer) answer {
	switch {
	case rel == no || mediaType == no:
		return no
	case rel == unclear || mediaType == unclear:
		return unclear
	}
	return yes
}

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// holdsLicense reports whether a list of relations holds license (T60).
func holdsLicense(rel string) bool {
	for word := range strings.FieldsFuncSeq(rel, isSpace) {
		if equalFold(word, "license") {
			return true
		}
	}
	return false
}

func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n\f", r) }

// isRSL reports whether a media type is RSL's, parameters aside.
func isRSL(mediaType string) bool {
	essence, _, _ := strings.Cut(mediaType, ";")
	return equalFold(trim(essence), "application/rsl+xml")
}

// equalFold compares without letter case, of ASCII alone: a long s is no s here.
func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// mentionsLicense reports whether octets have the word in any letter case.
func mentionsLicense(s string) bool {
	const word = "license"
	for {
		i := strings.IndexAny(s, "lL")
		if i < 0 || len(s)-i < len(word) {
			return false
		}
		if equalFold(s[i:i+len(word)], word) {
			return true
		}
		s = s[i+1:]
	}
}

// decodeExtended decodes the value of a starred parameter: a charset, a language,
// and text with escapes (RFC 8187, section 3.2).
func decodeExtended(s string) (string, bool) {
	charset, rest, ok := strings.Cut(s, "'")
	if !ok {
		return "", false
	}
	_, escaped, ok := strings.Cut(rest, "'")
	if !ok {
		return "", false
	}
	octets, ok := unescapePercent(escaped)
	if !ok {
		return "", false
	}
	switch {
	case equalFold(charset, "UTF-8"):
		return string(octets), utf8.Valid(octets)
	case equalFold(charset, "ISO-8859-1"):
		runes := make([]rune, len(octets))
		for i, c := range octets {
			runes[i] = rune(c)
		}
		return string(runes), true
	}
	return "", false
}

func unescapePercent(s string) ([]byte, bool) {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return nil, false
			}
			c = hexValue(s[i+1])<<4 | hexValue(s[i+2])
			i += 2
		}
		dst = append(dst, c)
	}
	return dst, true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
