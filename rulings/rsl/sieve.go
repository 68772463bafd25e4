package rsl

import (
	"encoding/binary"
	"strings"
)

// A sieve is what a text must have before a pattern is worth matching with it:
// its first octets, and its pairs of neighbouring octets as bits of a small
// Bloom filter. It rejects nearly every entry of a long licence in a nanosecond,
// and never what the pattern matches.
type sieve struct {
	head, mask, pairs uint64
	origin            uint32 // 0 for all
}

func newSieve(form string, origin uint32) sieve {
	form = strings.TrimSuffix(form, "$")
	literal, tail, _ := strings.Cut(form, "*")
	s := sieve{
		head:   headOf(literal),
		mask:   ^uint64(0) >> (8 * (headOctets - min(len(literal), headOctets))),
		pairs:  pairsOf(literal),
		origin: origin,
	}
	for piece := range strings.SplitSeq(tail, "*") {
		s.pairs |= pairsOf(piece)
	}
	return s
}

// passes reports whether a text with that head, and without the pairs lacking,
// may match.
func (s *sieve) passes(head, lacking uint64) bool {
	return (head^s.head)&s.mask|s.pairs&lacking == 0
}

const headOctets = 8

// headOf returns the first octets of s, the first one lowest, zero where s is
// shorter. No form holds a zero octet, so a shorter text never passes for one
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
