package robots

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// A ruleset is rules in the order in which they decide, so that the first
// that matches is the answer.
type ruleset struct {
	sieves []sieve // sieves[i] is of rules[i]
	rules  []*rule
	length int64 // octets of all patterns
}

// A sieve is what a form must have before a pattern is worth matching: its first
// octets, and its pairs of neighbouring octets as bits of a small Bloom filter. It
// rejects nearly every rule of a long file in a nanosecond, and sieves lie in one
// block of memory. A sieve never rejects what the pattern matches.
type sieve struct{ head, mask, pairs uint64 }

func newRuleset(groups []*group) ruleset {
	var set ruleset
	for _, g := range groups {
		for i := range g.rules {
			set.rules = append(set.rules, &g.rules[i])
			set.length += int64(g.rules[i].pattern.Len())
		}
	}
	slices.SortStableFunc(set.rules, compareRules)
	set.sieves = make([]sieve, len(set.rules))
	for i, r := range set.rules {
		set.sieves[i] = newSieve(&r.pattern)
	}
	return set
}

func newSieve(p *Pattern) sieve {
	s := sieve{
		head:  headOf(p.literal),
		mask:  ^uint64(0) >> (8 * (headOctets - min(len(p.literal), headOctets))),
		pairs: pairsOf(p.literal),
	}
	for piece := range strings.SplitSeq(p.tail, "*") {
		s.pairs |= pairsOf(piece)
	}
	return s
}

// rejects reports that no form that begins with head and has none of the pairs
// lacking can match.
func (v *sieve) rejects(head, lacking uint64) bool {
	return (head&v.mask^v.head)|v.pairs&lacking != 0
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

// A sought is a form with what sieves ask of it.
type sought struct {
	form          string
	head, lacking uint64
}

func seek(form string) sought { return sought{form, headOf(form), ^pairsOf(form)} }

// longest returns the rule that decides for a form, which best has done so far,
// nil when none matches.
func (s *ruleset) longest(of *sought, best *rule) *rule {
	for i := range s.sieves {
		if s.sieves[i].rejects(of.head, of.lacking) || !s.rules[i].pattern.Match(of.form) {
			continue
		}
		if best == nil || compareRules(s.rules[i], best) < 0 {
			return s.rules[i]
		}
		break
	}
	return best
}

const headOctets = 8

// headOf returns the first octets of s, the first one lowest, zero where s is
// shorter. No form holds a zero octet, so a shorter form never passes for one
// that goes on.
func headOf(s string) uint64 {
	var b [headOctets]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

// pairsOf returns a bit for each pair of neighbouring octets of s, many pairs to
// one bit. The factor, 2^32 over the golden ratio, spreads them evenly.
func pairsOf(s string) (pairs uint64) {
	for i := 1; i < len(s); i++ {
		pair := uint32(s[i-1])<<8 | uint32(s[i])
		pairs |= 1 << (pair * 0x9e3779b1 >> 26)
	}
	return pairs
}
