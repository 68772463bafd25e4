package injection

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A class is what a character is in a text.
type class uint8

const (
	letter     class = iota // with the next two, what words are of
	apostrophe              // of any shape
	hyphen
	space
	lineBreak // white space too
	other
	beyond // in the table of octets: more than ASCII
)

// A word is of the first classes.
func (k class) inWord() bool { return k <= hyphen }

// characters are the kinds of character that the rule text names.
type characters struct {
	apostrophe, hyphen, letter, space, lineBreak charset

	ascii [256]class // of an octet
}

// A charset is a set of characters, and of octets that are not part of UTF-8.
type charset struct {
	tables []*unicode.RangeTable
	ranges [][2]rune
	octets [256]bool
}

// parseCharset reads properties, categories, characters, octets and ranges of these.
func parseCharset(text string) (c charset) {
	for item := range strings.FieldsSeq(text) {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		switch {
		case strings.HasPrefix(item, `\x`):
			for b := parseHex(from); b <= parseHex(to); b++ {
				c.octets[b] = true
			}
		case strings.HasPrefix(item, "U+"):
			c.ranges = append(c.ranges, [2]rune{parseHex(from), parseHex(to)})
		case unicode.Categories[item] != nil:
			c.tables = append(c.tables, unicode.Categories[item])
		case unicode.Properties[item] != nil:
			c.tables = append(c.tables, unicode.Properties[item])
		default:
			panic("rule text: " + item)
		}
	}
	return c
}

// parseHex reads the digits behind U+ or \x.
func parseHex(text string) rune {
	r, err := strconv.ParseUint(text[2:], 16, 21)
	if err != nil {
		panic("rule text: " + text)
	}
	return rune(r)
}

// has reports whether the character r of size octets, the first of which is b, is
// in the set.
func (c *charset) has(r rune, size int, b byte) bool {
	if r == utf8.RuneError && size == 1 {
		return c.octets[b]
	}
	for _, pair := range c.ranges {
		if pair[0] <= r && r <= pair[1] {
			return true
		}
	}
	return len(c.tables) > 0 && unicode.In(r, c.tables...)
}

// leads adds to list the first octets of the characters beyond ASCII.
func (c *charset) leads(list []byte) []byte {
	add := func(from, to rune) {
		for r := max(from, utf8.RuneSelf); r <= to; r++ {
			list = append(list, string(r)[0])
		}
	}
	for _, pair := range c.ranges {
		add(pair[0], pair[1])
	}
	for _, t := range c.tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi)) // those between, where the table leaves some out, do no harm
		}
	}
	return list
}

// finish makes the table of octets.
func (c *characters) finish() {
	for b := range c.ascii {
		c.ascii[b] = beyond
		if b < utf8.RuneSelf {
			c.ascii[b] = c.decided(rune(b), 1, byte(b))
		}
	}
}

func (c *characters) decided(r rune, size int, b byte) class {
	switch {
	case c.apostrophe.has(r, size, b):
		return apostrophe
	case c.hyphen.has(r, size, b):
		return hyphen
	case c.lineBreak.has(r, size, b):
		return lineBreak
	case c.space.has(r, size, b):
		return space
	case c.letter.has(r, size, b):
		return letter
	}
	return other
}

// at returns the class of the character that begins at p, and its size.
func (c *characters) at(text []byte, p int) (class, int) {
	if k := c.ascii[text[p]]; k != beyond {
		return k, 1
	}
	r, size := utf8.DecodeRune(text[p:])
	return c.decided(r, size, text[p]), size
}
