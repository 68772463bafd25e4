package rsl

import "slices"

// Bounds on the work for one document and one page.
const (
	maxCost = 64_000_000  // units of T82
	maxWork = 512_000_000 // octets of T40
)

// UnreadBudget is why a licence is unread for a page that would cost too much to
// select for (T40, T83).
const UnreadBudget = "budget"

// A Selection is the entries that govern one page.
type Selection struct {
	// Governs holds each different selection of entries, by their indexes in
	// document order, in the order of the readings: each list is read as one
	// (T81), and the strictest ruling holds (T84). It is empty where no term
	// governs the page. It may share memory with the Index and must not be
	// changed.
	Governs [][]int

	Cost int64 // in units of T82, whether or not they were spent

	// Unread is empty or UnreadBudget, with which the licence is unread for
	// this page and Governs is empty. T83 knows another cause, that no form is
	// left; it cannot come up, because being strictly wider is a partial order
	// and a finite set has a least element under one.
	Unread string
}

// Select returns the entries that govern a page of origin, in the spelling of
// Paths.Origin, on its readings (T38, T79 to T84). What it costs is counted in
// full before the first test of containment, and is the same for every order of
// the entries.
func (x *Index) Select(origin string, readings []string) Selection {
	from := x.origins[origin] // 0 where no entry names it
	if x.work(from, readings) > maxWork {
		return Selection{Unread: UnreadBudget}
	}
	var matchRoom [32]uint32
	var endRoom [4]int
	matches, ends := matchRoom[:0], endRoom[:0]
	var cost int64
	for _, reading := range readings {
		begin := len(matches)
		matches = x.match(matches, reading, from)
		cost += x.cost(matches[begin:])
		if cost > maxCost {
			matches = matches[:begin] // from here on there is only counting
		}
		ends = append(ends, len(matches))
	}
	if cost > maxCost {
		return Selection{Cost: cost, Unread: UnreadBudget}
	}
	return Selection{Governs: x.governs(matches, ends), Cost: cost}
}

// work counts what matching the readings costs at most (T40).
func (x *Index) work(from uint32, readings []string) (octets int64) {
	patterns := x.loads[0]
	if from != 0 {
		patterns.patterns += x.loads[from].patterns
		patterns.octets += x.loads[from].octets
	}
	for _, reading := range readings {
		octets += patterns.patterns*int64(len(reading)) + patterns.octets
	}
	return octets
}

// match appends the scopes that match reading, in their order.
func (x *Index) match(matches []uint32, reading string, from uint32) []uint32 {
	head, lacking := headOf(reading), ^pairsOf(reading)
	for i := range x.sieves {
		v := &x.sieves[i]
		if v.passes(head, lacking) && (v.origin == 0 || v.origin == from) && x.scopes[i].pattern.Match(reading) {
			matches = append(matches, uint32(i))
		}
	}
	return matches
}

// cost counts the units of one reading with its matching scopes (T82).
func (x *Index) cost(matches []uint32) int64 {
	var all, distinct, n int64
	for _, i := range matches {
		s := &x.scopes[i]
		all += int64(len(x.lists[i])) * int64(len(s.form))
		if s.twin == 0 {
			distinct += int64(len(s.general) + len(s.form))
			n++
		}
	}
	return all + max(0, n-1)*(distinct+n*64)
}

// governs returns the entries selected on readings of which number i is matched
// by the scopes before ends[i]. It overwrites matches.
func (x *Index) governs(matches []uint32, ends []int) [][]int {
	var room [4][]uint32
	sets := room[:0]
	begin := 0
	for _, end := range ends {
		set := matches[begin:end]
		begin = end
		if len(set) == 0 && x.unscoped == nil || contains(sets, set) {
			continue
		}
		sets = append(sets, set)
	}
	selected := sets[:0]
	for _, set := range sets {
		if set = x.narrowest(set); !contains(selected, set) {
			selected = append(selected, set)
		}
	}
	if len(selected) == 1 && len(selected[0]) == 1 {
		i := selected[0][0]
		return x.lists[i : i+1 : i+1]
	}
	var governs [][]int
	for _, set := range selected {
		governs = append(governs, x.entriesOf(set))
	}
	return governs
}

func contains(sets [][]uint32, set []uint32) bool {
	for _, other := range sets {
		if slices.Equal(other, set) {
			return true
		}
	}
	return false
}

// entriesOf returns the entries of a set of scopes in document order. The empty
// set is that of a reading on which the unscoped entries govern (T79).
func (x *Index) entriesOf(set []uint32) []int {
	switch len(set) {
	case 0:
		return x.unscoped
	case 1:
		return x.lists[set[0]]
	}
	n := 0
	for _, i := range set {
		n += len(x.lists[i])
	}
	entries := make([]int, 0, n)
	if n < 64 {
		for _, i := range set {
			entries = append(entries, x.lists[i]...)
		}
		slices.Sort(entries)
		return entries
	}
	// Long lists are merged by marking, which takes no more for many lists.
	marked := make([]bool, x.entries)
	for _, i := range set {
		for _, entry := range x.lists[i] {
			marked[entry] = true
		}
	}
	for entry, ok := range marked {
		if ok {
			entries = append(entries, entry)
		}
	}
	return entries
}
