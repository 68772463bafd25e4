package rsl

import "slices"

// within reports whether every form that scope i matches, scope j matches too:
// whether j matches the general text of i (T80).
func (x *Index) within(i, j uint32) bool {
	s := &x.scopes[i]
	return x.sieves[j].passes(s.head, ^s.pairs) && x.scopes[j].pattern.Match(s.general)
}

// aside marks a form that is strictly wider than another.
const aside = -1

// narrowest takes out of a set of scopes, in place, all whose form is strictly
// wider than that of another (T81).
//
// It compares each form with the narrowest ones among those before it.
// Containment is transitive, so what is wider than any form is wider than one of
// these, and no two forms are compared twice: n of them take at most n*(n-1)
// tests, which is what T82 counts.
func (x *Index) narrowest(set []uint32) []uint32 {
	if len(set) < 2 {
		return set
	}
	var alikeRoom [32]int
	var leastRoom [16]int
	alike, least := alikeRoom[:0], leastRoom[:0]
	for n, i := range set {
		alike = append(alike, n)
		if x.scopes[i].twin == 0 {
			least = x.place(n, set, alike, least)
		}
	}
	for n, i := range set {
		if twin := x.scopes[i].twin; twin != 0 {
			alike[n], _ = slices.BinarySearch(set, twin-1)
		}
	}
	kept := set[:0]
	for n, i := range set {
		for alike[n] >= 0 && alike[n] != n {
			n = alike[n]
		}
		if alike[n] != aside {
			kept = append(kept, i)
		}
	}
	return kept
}

// place compares the member n of set with the narrowest before it, least, and
// returns the narrowest with it. alike holds for each member one whose form
// matches the same, itself if there is none before, or aside.
func (x *Index) place(n int, set []uint32, alike, least []int) []int {
	for k := 0; k < len(least); {
		m := least[k]
		wider, narrower := x.within(set[m], set[n]), x.within(set[n], set[m])
		switch {
		case wider && narrower:
			alike[n] = m
			return least
		case wider:
			alike[n] = aside
			return least
		case narrower:
			alike[m] = aside
			last := len(least) - 1
			least[k] = least[last]
			least = least[:last]
		default:
			k++
		}
	}
	return append(least, n)
}
