package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A position is where a value was written: a file and its line, or the name of
// a variable or flag with line 0.
type position struct {
	source string
	line   int
	column int // orders what stands on one line
}

func (p position) String() string {
	if p.line == 0 {
		return p.source
	}
	return fmt.Sprintf("%s:%d", p.source, p.line)
}

// A fault is one thing wrong with a configuration, and what would be right.
type fault struct {
	at      position
	key     string // dotted, with [n] for the nth item; empty when the fault is no key's
	problem string
	unread  bool // the value could not be read, so that it is not wrong in other ways as well
}

// String returns the fault as "FILE:LINE: key: what is wrong" (A20, O2).
func (f fault) String() string {
	if f.key == "" {
		return fmt.Sprintf("%s: %s", f.at, f.problem)
	}
	return fmt.Sprintf("%s: %s: %s", f.at, f.key, f.problem)
}

// faults is everything wrong with a configuration, as one error of a line each.
type faults []fault

func (f faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sort puts faults of the file first and in its order; those of variables and
// flags follow in the order they were found.
func (f faults) sort() {
	slices.SortStableFunc(f, func(a, b fault) int {
		switch {
		case a.at.line > 0 && b.at.line > 0:
			return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
		case a.at.line > 0:
			return -1
		case b.at.line > 0:
			return 1
		}
		return 0
	})
}

// with adds more faults, but for those that only follow from one of f: of a value
// that could not be read, what it would have meant is not wrong as well.
func (f faults) with(more faults) faults {
	all := f
	for _, m := range more {
		if !slices.ContainsFunc(f, func(one fault) bool { return one.unread && m.follows(one) }) {
			all = append(all, m)
		}
	}
	return all
}

// under reports whether any of f says that key or a part of it could not be read.
func (f faults) under(key string) bool {
	return slices.ContainsFunc(f, func(one fault) bool { return one.unread && one.follows(fault{at: one.at, key: key}) })
}

// follows reports whether f is of the value that g is a fault of, or of a part of it.
func (f fault) follows(g fault) bool {
	rest, ok := strings.CutPrefix(f.key, g.key)
	return ok && g.key != "" && f.at.source == g.at.source && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// split parts the faults that leave the edge without a policy from those that
// leave it without a configuration (O3).
func (f faults) split() (policy, rest faults) {
	for _, one := range f {
		if inPolicy(one.key) {
			policy = append(policy, one)
		} else {
			rest = append(rest, one)
		}
	}
	return policy, rest
}

// unknownKey says that name is none of known, and which of them it may have meant.
func unknownKey(name string, known []string) string {
	list := strings.Join(known, ", ")
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown key; the nearest known one is %s (known here: %s)", near, list)
	}
	return fmt.Sprintf("unknown key (known here: %s)", list)
}

// nearest returns the entry of known that is fewest edits from name, or nothing
// when even that one is more than half rewritten.
func nearest(name string, known []string) string {
	best, least := "", len(name)/2+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of octets to insert, drop or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
