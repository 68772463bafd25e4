package injection

import (
	"iter"
	"math/bits"
)

// A places is a set of places of the automaton. All rules together have fewer
// than its bits.
type places [3]uint64

const maxPlaces = 64 * len(places{})

func (s *places) add(p int)      { s[p>>6] |= 1 << (p & 63) }
func (s *places) has(p int) bool { return s[p>>6]>>(p&63)&1 != 0 }
func (s *places) empty() bool    { return s[0]|s[1]|s[2] == 0 }

func (s *places) and(o *places) places { return places{s[0] & o[0], s[1] & o[1], s[2] & o[2]} }
func (s *places) or(o *places) places  { return places{s[0] | o[0], s[1] | o[1], s[2] | o[2]} }
func (s *places) without(o *places) places {
	return places{s[0] &^ o[0], s[1] &^ o[1], s[2] &^ o[2]}
}

// all returns the members in order.
func (s *places) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i<<6 | bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
