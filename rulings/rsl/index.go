package rsl

import "strings"

// An Index is what a Document's entries speak of, compiled once for all pages.
type Index struct {
	sieves  []sieve // sieves[i] is of scopes[i], and so is lists[i]
	scopes  []scope
	lists   [][]int // the entries of each scope, in document order
	entries int

	unscoped []int             // entries
	origins  map[string]uint32 // what stands for each origin that is named, from 1
	loads    []load            // by what stands for the origin; the first is of those that name none
}

// A scope is one form of one origin, or of all.
type scope struct {
	pattern Pattern
	form    string
	general string // the general text of the form (T80)
	head    uint64 // of general, as a sieve looks at it
	pairs   uint64

	// twin is 1 + the scope of the same form on whatever origin, 0 if there is
	// none. Where this scope matches its twin does.
	twin uint32
}

// A load is the patterns of one origin's entries, duplicates too (T40).
type load struct{ patterns, octets int64 }

// Index compiles the url of every entry once. Time and memory are in proportion
// to the document.
func (d *Document) Index(p Paths) *Index {
	b := indexer{
		paths: p,
		index: &Index{entries: len(d.Entries), origins: make(map[string]uint32), loads: make([]load, 1)},
		known: make(map[scopeKey]uint32),
		of:    make([]int, len(d.Entries)),
	}
	for i := range d.Entries {
		b.add(i, readScope(d.Entries[i].URL))
	}
	b.settle()
	return b.index
}

type scopeKey struct {
	form   string
	origin uint32
}

// An indexer makes an Index.
type indexer struct {
	paths Paths
	index *Index
	known map[scopeKey]uint32
	of    []int // the scope of each entry, -1 if it has none

	// The last origin that was read: those of a document are mostly one.
	scheme, authority string
	origin            uint32
}

// add takes the entry i.
func (b *indexer) add(i int, s scopeText) {
	x := b.index
	b.of[i] = -1
	var origin uint32
	switch s.reach {
	case reachUnscoped:
		x.unscoped = append(x.unscoped, i)
		return
	case reachNothing:
		return
	case reachOrigin:
		if origin = b.originOf(s.scheme, s.authority); origin == 0 {
			return
		}
	}
	pattern := b.paths.Compile(s.pattern)
	if pattern == nil {
		return
	}
	form := pattern.String()
	key := scopeKey{form, origin}
	n, ok := b.known[key]
	if !ok {
		n = uint32(len(x.scopes))
		b.known[key] = n
		x.scopes = append(x.scopes, scope{pattern: pattern, form: form})
		x.sieves = append(x.sieves, newSieve(form, origin))
	}
	b.of[i] = int(n)
	x.loads[origin].patterns++
	x.loads[origin].octets += int64(len(form))
}

// originOf returns what stands for an origin, 0 for one that no page can have.
func (b *indexer) originOf(scheme, authority string) uint32 {
	if scheme == b.scheme && authority == b.authority {
		return b.origin
	}
	b.scheme, b.authority, b.origin = scheme, authority, 0
	origin, ok := b.paths.Origin(scheme, authority)
	if !ok {
		return 0
	}
	x := b.index
	n, ok := x.origins[origin]
	if !ok {
		n = uint32(len(x.loads))
		x.origins[origin] = n
		x.loads = append(x.loads, load{})
	}
	b.origin = n
	return n
}

// settle makes what needs all scopes to be known.
func (b *indexer) settle() {
	x := b.index
	var generals strings.Builder
	for i := range x.scopes {
		form := x.scopes[i].form
		writeGeneral(&generals, form)
		if origin := x.sieves[i].origin; origin != 0 {
			if twin, ok := b.known[scopeKey{form, 0}]; ok {
				x.scopes[i].twin = twin + 1
			}
		}
	}
	text := generals.String()
	for i := range x.scopes {
		s := &x.scopes[i]
		n := generalLen(s.form)
		s.general, text = text[:n], text[n:]
		s.head, s.pairs = headOf(s.general), pairsOf(s.general)
	}
	b.makeLists()
}

// makeLists sorts the entries by their scopes.
func (b *indexer) makeLists() {
	x := b.index
	counts := make([]int, len(x.scopes))
	total := 0
	for _, n := range b.of {
		if n >= 0 {
			counts[n]++
			total++
		}
	}
	room := make([]int, total)
	x.lists = make([][]int, len(x.scopes))
	for i, n := range counts {
		x.lists[i], room = room[:0:n], room[n:]
	}
	for i, n := range b.of {
		if n >= 0 {
			x.lists[n] = append(x.lists[n], i)
		}
	}
}

// hole is an octet that no form can hold. In a general text it stands for
// whatever a wildcard, or the open end of a pattern, matches (T80).
const hole = ' '

// writeGeneral writes the general text of form.
func writeGeneral(b *strings.Builder, form string) {
	literal, anchored := strings.CutSuffix(form, "$")
	for {
		piece, rest, more := strings.Cut(literal, "*")
		b.WriteString(piece)
		if !more {
			break
		}
		b.WriteByte(hole)
		literal = rest
	}
	if !anchored {
		b.WriteByte(hole)
	}
}

// generalLen is the length of the general text of form.
func generalLen(form string) int {
	if strings.HasSuffix(form, "$") {
		return len(form) - 1
	}
	return len(form) + 1
}
