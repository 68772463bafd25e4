package injection

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// A sieve tells where in a text an anchor, or a run of characters that a rule counts,
// may be. It looks at the three octets at every third place. An anchor is five
// characters or more with what bounds it on both sides, so one of three neighbouring
// threes is looked at wherever it stands; those threes, the rarest ones the anchor
// has, are what the table holds. It errs on the side of looking closer.
type sieve struct {
	table [1 << 10]uint64 // a bit for each hash of three octets
}

const (
	// fold leaves octets that differ in case equal, and others too.
	fold = 0x5f5f5f
	// multiplier spreads what is left. 2^32 by the golden ratio, as is usual.
	multiplier = 0x9e3779b1
)

func hash(three uint32) uint32 { return (three & fold) * multiplier >> 16 }

func (s *sieve) add(a, b, c byte) {
	h := hash(uint32(a) | uint32(b)<<8 | uint32(c)<<16)
	s.table[h>>6] |= 1 << (h & 63)
}

// next returns the first place from p on, in steps of three, whose three octets are
// in the table, and len(text)-2 at least if it finds none.
func (s *sieve) next(text []byte, p int) int {
	for ; p+8 <= len(text); p += 6 {
		eight := binary.LittleEndian.Uint64(text[p:])
		a, b := hash(uint32(eight)), hash(uint32(eight>>24))
		if (s.table[a>>6]>>(a&63)|s.table[b>>6]>>(b&63))&1 != 0 {
			if s.table[a>>6]>>(a&63)&1 != 0 {
				return p
			}
			return p + 3
		}
	}
	for ; p+3 <= len(text); p += 3 {
		h := hash(uint32(text[p]) | uint32(text[p+1])<<8 | uint32(text[p+2])<<16)
		if s.table[h>>6]>>(h&63)&1 != 0 {
			return p
		}
	}
	return p
}

func newSieve(s *screen) *sieve {
	v := new(sieve)
	front, back := s.chars.bounds()
	for _, five := range s.sought {
		v.addFive(five, front, back)
	}
	for _, r := range s.runs {
		v.addRun(r)
	}
	return v
}

// addFive adds the three threes of five characters, of which a blank stands for any octet
// of front at the start and of back at the end.
func (v *sieve) addFive(five string, front, back []byte) {
	v.add(five[1], five[2], five[3])
	for _, b := range at(five[0], front) {
		v.add(b, five[1], five[2])
	}
	for _, b := range at(five[4], back) {
		v.add(five[2], five[3], b)
	}
}

func at(b byte, bounds []byte) []byte {
	if b == ' ' {
		return bounds
	}
	return []byte{b}
}

// bounds returns the octets that may stand before an anchor, and those that may stand
// behind one if it is followed by white space, an apostrophe, a hyphen or ASCII.
func (c *characters) bounds() (front, back []byte) {
	for b := range 256 {
		if b < utf8.RuneSelf && c.ascii[b] != letter || b >= utf8.RuneSelf && !c.letter.octets[b] {
			front = append(front, byte(b))
		}
	}
	back = slices.Clone(front)
	for _, set := range []*charset{&c.space, &c.lineBreak, &c.apostrophe, &c.hyphen} {
		back = set.leads(back)
	}
	return front, back
}

// addRun adds what stands in every run of r: the octets of one of its characters or,
// as characters of three octets would keep in step with the places looked at, of any
// two at each place.
func (v *sieve) addRun(r *run) {
	for _, one := range r.characters() {
		a := string(one)
		if len(a)%3 != 0 {
			v.add(a[0], a[1], a[2])
			continue
		}
		for _, next := range r.characters() {
			two := a + string(next)
			for i := range len(a) {
				v.add(two[i], two[i+1], two[i+2])
			}
		}
	}
}
