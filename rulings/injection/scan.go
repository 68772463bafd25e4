package injection

import (
	"cmp"
	"slices"
)

// A Finding is one match: the rule, its category, and the place of the match in the
// input, octets Start up to but not including End.
type Finding struct {
	Rule, Category string
	Start, End     int
}

// Scan returns what the rules find in text, in order of Start, then of the rule's
// number. Findings of one rule do not overlap; those of two may. There are MaxFindings
// of a rule at most, the first ones, and more tells that some were left out. It takes
// time linear in the text.
func Scan(text []byte) (found []Finding, more bool) {
	f := finder{s: compiled(), text: text}
	f.s.images.scan(&f)
	for p := f.s.sieve.next(text, 0); p+1 < len(text); p = f.s.sieve.next(text, p) {
		p = f.look(p + 1)
	}
	slices.SortFunc(f.found, func(a, b note) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.rule, b.rule))
	})
	for _, n := range f.found {
		r := f.s.rules[n.rule]
		found = append(found, Finding{r.name, r.category, n.start, n.end})
	}
	return found, f.more
}

// A finder is one scan.
type finder struct {
	s    *screen
	text []byte

	walk
	markerState

	found  []note
	counts [maxRules]int // of found, by rule
	more   bool
}

// A note is a finding in the making.
type note struct{ rule, start, end int }

func (f *finder) note(rule, start, end int) {
	if f.counts[rule] == MaxFindings {
		f.more = true
		return
	}
	f.counts[rule]++
	f.found = append(f.found, note{rule, start, end})
}

// look looks closer at p, the middle one of three octets that the sieve holds, and
// returns where the sieve goes on.
func (f *finder) look(p int) int {
	switch k := f.s.chars.ascii[f.text[p]]; k {
	case letter:
		return f.lookAtWord(p)
	case beyond:
		return f.lookAtRun(p)
	}
	return p + 2
}

// lookAtWord looks at the run of ASCII letters round p. It looks no further than an
// anchor is long, so that a run without end costs no more than another.
func (f *finder) lookAtWord(p int) (next int) {
	from, to := p, p+1
	for from > 0 && isLower(f.text[from-1]|0x20) && p-from < maxWord {
		from--
	}
	for to < len(f.text) && isLower(f.text[to]|0x20) && to-p < maxWord {
		to++
	}
	a := f.s.anchor(f.text[from:to])
	if a == nil {
		return to
	}
	if a.walk && from >= f.walked && f.mayFollow(a, from) && f.mayPrecede(a, to) {
		f.walkFrom(f.back(from), to)
	}
	if a.markers {
		f.lookAtMarker(from, to)
	}
	return to
}
