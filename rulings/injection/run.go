package injection

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A run is a rule that counts characters in a row.
type run struct {
	rule  int
	least int
	set   charset
	not   charset // what the run does not follow
}

func parseRun(rule int, text string) *run {
	text, not, _ := strings.Cut(text, " not ")
	least, set, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(least)
	if err != nil {
		panic("rule text: " + text)
	}
	return &run{rule, n, parseCharset(set), parseCharset(not)}
}

// characters returns the members of the set.
func (r *run) characters() (list []rune) {
	for _, pair := range r.set.ranges {
		for c := pair[0]; c <= pair[1]; c++ {
			list = append(list, c)
		}
	}
	return list
}

// lookAtRun looks at the run that the octet at p may be part of, and returns where
// the sieve goes on.
func (f *finder) lookAtRun(p int) (next int) {
	start := p
	for start > 0 && p-start < utf8.UTFMax && !utf8.RuneStart(f.text[start]) {
		start--
	}
	c, size := utf8.DecodeRune(f.text[start:])
	for _, r := range f.s.runs {
		if start+size > p && r.set.has(c, size, 0) {
			return f.measure(r, start)
		}
	}
	return p + 2
}

// measure notes a finding if the run of r at p is long enough, and returns its end.
func (f *finder) measure(r *run, p int) (end int) {
	start, n := p, 0
	for {
		c, size := utf8.DecodeLastRune(f.text[:start])
		if !r.set.has(c, size, 0) {
			break
		}
		start -= size
		n++
	}
	for end = p; ; n++ {
		c, size := utf8.DecodeRune(f.text[end:])
		if !r.set.has(c, size, 0) {
			break
		}
		end += size
	}
	if before, size := utf8.DecodeLastRune(f.text[:start]); n >= r.least && !r.not.has(before, size, 0) {
		f.note(r.rule, start, end)
	}
	return end
}
