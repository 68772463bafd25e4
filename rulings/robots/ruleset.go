package robots

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A ruleset is merged rules in the order in which they decide, so that the first
// that matches is the answer.
type ruleset struct {
	heads  []head // heads[i] is of rules[i]
	rules  []*rule
	length int64 // octets of all patterns
}

// A head is the first octets of a pattern's literal beginning. Comparing heads
// settles nearly every rule of a long file in a nanosecond, because its rules
// begin differently, and heads lie in one block of memory.
type head struct{ octets, mask uint64 }

const headOctets = 8

func newRuleset(groups []*group) ruleset {
	var set ruleset
	for _, g := range groups {
		for i := range g.rules {
			set.rules = append(set.rules, &g.rules[i])
			set.length += int64(g.rules[i].pattern.Len())
		}
	}
	slices.SortStableFunc(set.rules, compareRules)
	set.heads = make([]head, len(set.rules))
	for i, r := range set.rules {
		literal := r.pattern.literal
		set.heads[i] = head{headOf(literal), ^uint64(0) >> (8 * (headOctets - min(len(literal), headOctets)))}
	}
	return set
}

// compareRules orders rules by length, longest first, then Allow before Disallow
// (T42; RFC 9309, section 2.2.2). What is left stays in document order.
func compareRules(a, b *rule) int {
	if c := cmp.Compare(b.pattern.Len(), a.pattern.Len()); c != 0 || a.allow == b.allow {
		return c
	}
	if a.allow {
		return -1
	}
	return 1
}

// longest returns the rule that decides for form, nil when none matches.
func (s *ruleset) longest(form string) *rule {
	octets := headOf(form)
	for i := range s.heads {
		if h := &s.heads[i]; octets&h.mask == h.octets && s.rules[i].pattern.Match(form) {
			return s.rules[i]
		}
	}
	return nil
}

// headOf returns the first octets of s, the first one lowest, zero where s is
// shorter. No form holds a zero octet, so a shorter form never passes for one
// that goes on.
func headOf(s string) uint64 {
	var b [headOctets]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}
