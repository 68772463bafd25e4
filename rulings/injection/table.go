package injection

import "encoding/binary"

// A key is a word in lower case with straight apostrophes, zeros behind it.
type key [maxWord + 1]byte

func keyOf(w string) (k key) {
	copy(k[:], w)
	return k
}

// A table holds a value for each of some words that are known beforehand. It is there
// because a map, which has to withstand keys that are made to collide, takes most of the
// time of a walk. Here only the slots of our own words are ever probed, and a test
// bounds how many stand in a row.
type table[V any] struct {
	keys   [1 << tableBits]key
	values [1 << tableBits]V
}

const tableBits = 10

func (k *key) slot() int {
	low, high := binary.LittleEndian.Uint64(k[:]), binary.LittleEndian.Uint64(k[8:])
	return int(((low * multiplier64) ^ high) * multiplier64 >> (64 - tableBits))
}

// multiplier64 is 2^64 by the golden ratio.
const multiplier64 = 0x9e3779b97f4a7c15

func (t *table[V]) put(w string, value V) {
	k := keyOf(w)
	i := k.slot()
	for t.keys[i] != (key{}) && t.keys[i] != k {
		i = (i + 1) % len(t.keys)
	}
	t.keys[i], t.values[i] = k, value
}

// get returns the value of k, the zero value if it has none.
func (t *table[V]) get(k *key) (value V) {
	for i := k.slot(); t.keys[i] != (key{}); i = (i + 1) % len(t.keys) {
		if t.keys[i] == *k {
			return t.values[i]
		}
	}
	return value
}
