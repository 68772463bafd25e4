package links

import (
	"net/url"
	"strings"
)

// MaxLicences bounds the licences of one answer. It is far above what a crossing
// reads (specs: terms T58), and keeps a long page URL from being written out once
// for every one of thousands of short targets.
const MaxLicences = 64

// A Result is what the Link fields of one answer name.
type Result struct {
	// Licences are the absolute http and https URLs of the RSL licences, each
	// once, in order, at most MaxLicences.
	Licences []string

	// Unread has the octets of each member that speaks of a licence and cannot
	// be read (T63), and of each licence over MaxLicences. They are parts of the
	// field lines; one or more withholds the page.
	Unread []string
}

// Licences reads the Link field lines of the answer for page, each by itself
// (T59). Without a page only absolute targets can be read. No input is an error,
// and time and memory are in proportion to the lines.
func Licences(page *url.URL, fields []string) Result {
	c := collector{page: page}
	for _, line := range fields {
		for line != "" {
			member, rest, whole := cutMember(line)
			if member = trim(member); member != "" {
				c.take(member, whole)
			}
			line = rest
		}
	}
	return c.Result
}

// A collector is the state between two members.
type collector struct {
	page *url.URL
	seen map[string]bool // targets and licences
	Result
}

// take rules one member. whole reports that what it opens it closes.
func (c *collector) take(text string, whole bool) {
	m, ok := member{}, false
	if whole {
		m, ok = parse(text)
	}
	if !ok {
		if mentionsLicense(text) {
			c.Unread = append(c.Unread, text)
		}
		return // a broken member costs nothing else
	}
	answer := m.judge(text)
	if answer == no || m.anchor.given && isElsewhere(c.page, m.anchor.text) {
		return // about something else (T61)
	}
	if answer == unclear || !c.name(m.target) {
		c.Unread = append(c.Unread, text)
	}
}

// name takes the target of a licence, and fails where it cannot be asked for.
// Behind the last licence that fits nothing is resolved: the page is withheld
// whatever else it names.
func (c *collector) name(target string) bool {
	if c.seen[target] {
		return true
	}
	if len(c.Licences) == MaxLicences {
		return false
	}
	licence, ok := resolve(c.page, target)
	if !ok {
		return false
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	if !c.seen[licence] {
		c.Licences = append(c.Licences, licence)
	}
	c.seen[target], c.seen[licence] = true, true
	return true
}

// cutMember cuts line behind its first member, which ends at a comma outside
// quotes and angle brackets. A quote or bracket left open takes the rest of the
// line with it: whole is false then.
func cutMember(line string) (member, rest string, whole bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ',':
			return line[:i], line[i+1:], true
		case '<', '"':
			n := closedLength(line[i:])
			if n < 0 {
				return line, "", false
			}
			i += n - 1
		}
	}
	return line, "", true
}

// closedLength is the length of the bracketed or quoted text that s begins with,
// both ends included, or -1 where it is left open. A backslash in quotes takes the
// next octet with it.
func closedLength(s string) int {
	if s[0] == '<' {
		if i := strings.IndexByte(s, '>'); i > 0 {
			return i + 1
		}
		return -1
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
