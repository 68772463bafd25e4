package terms

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/rulings/robots"
)

// shards is the number of parts of a cache.
const shards = 32

// An entry is one place in memory.
type entry struct {
	shelf *shelf
	place place
	url   string
	known atomic.Pointer[known] // nil until there is something
	used  atomic.Int64          // Unix second of the last crossing

	mu      sync.Mutex // guards what follows
	flight  *flight    // the look-up that is going on; nil when none is
	unsaved bool       // its file has to be written
	gone    bool       // evicted: no look-up may begin on it
}

// touch notes that a crossing used e. It writes at most once a second, so that
// crossings of a busy origin do not fight for its cache line.
func (e *entry) touch(now time.Time) {
	if second := now.Unix(); e.used.Load() != second {
		e.used.Store(second)
	}
}

// octets is what e counts for: its document as served, which parsed takes a few
// times as much, and what still waits to be an object.
func (e *entry) octets() int {
	k := e.known.Load()
	switch {
	case k == nil:
		return 0
	case k.doc == document{} || k.answered == nil:
		return len(k.body)
	case k.answered.Truncated:
		return len(k.body) + robots.MaxBytes
	}
	return len(k.body) + int(k.answered.Size)
}

// evict makes e unusable and reports whether it could: an entry that is being
// looked up or has to be written stays.
func (e *entry) evict() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = e.flight == nil && !e.unsaved
	return e.gone
}

// A cache holds the entries in use. Readers take no lock. What is evicted is read
// from disk again.
type cache struct {
	shelf           *shelf
	entries, octets int // bounds of a shard
	seed            maphash.Seed
	shards          [shards]shard
	size            atomic.Int64 // entries in all shards
}

// A shard is one part of a cache. Its map is replaced as a whole, which is cheap
// because it is small and places come and go seldom.
type shard struct {
	entries atomic.Pointer[map[key]*entry]
	mu      sync.Mutex // held while entries is replaced
}

// newCache returns an empty cache with these bounds for each shard.
func newCache(s *shelf, entries, octets int) *cache {
	c := &cache{shelf: s, entries: entries, octets: octets, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].entries.Store(&map[key]*entry{})
	}
	return c
}

// A key is a place in the form that is quickest to look up.
type key struct {
	text  string // the URL, or the host of an origin
	port  uint16 // of an origin
	https bool
}

func (p *place) key() key {
	if p.url != "" {
		return key{text: p.url}
	}
	return key{p.origin.Host, p.origin.Port, p.origin.Scheme == "https"}
}

// shard returns where k belongs. Of origins the host alone spreads well enough.
func (c *cache) shard(k key) *shard {
	return &c.shards[maphash.String(c.seed, k.text)%shards]
}

// find returns the entry of p, or nil.
func (c *cache) find(p place) *entry {
	k := p.key()
	return (*c.shard(k).entries.Load())[k]
}

// obtain returns the entry of p and makes it when there is none.
func (c *cache) obtain(p place, now time.Time) *entry {
	k := p.key()
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.entries.Load()
	if e := old[k]; e != nil {
		return e
	}
	e := &entry{shelf: c.shelf, place: p, url: c.shelf.url(p)}
	e.touch(now)
	next := maps.Clone(old)
	next[k] = e
	c.trim(next, e)
	c.replace(s, next)
	return e
}

// settle brings the shard of e back within its bounds after e has grown.
func (c *cache) settle(e *entry) {
	s := c.shard(e.place.key())
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.entries.Load())
	if c.trim(next, e) {
		c.replace(s, next)
	}
}

// replace gives s its new map. The caller holds s.mu.
func (c *cache) replace(s *shard, next map[key]*entry) {
	c.size.Add(int64(len(next) - len(*s.entries.Load())))
	s.entries.Store(&next)
}

// trim evicts from entries until they are within the bounds of a shard: first
// those that no crossing has used for longest. Those that cannot be evicted and
// keep stay. It reports whether it took anything out.
func (c *cache) trim(entries map[key]*entry, keep *entry) bool {
	octets, before := 0, len(entries)
	for _, e := range entries {
		octets += e.octets()
	}
	within := func() bool { return len(entries) <= c.entries && octets <= c.octets }
	if within() {
		return false
	}
	oldest := slices.SortedFunc(maps.Values(entries), func(a, b *entry) int {
		return cmp.Compare(a.used.Load(), b.used.Load())
	})
	for _, e := range oldest {
		if within() {
			break
		}
		if e != keep && e.evict() {
			octets -= e.octets()
			delete(entries, e.place.key())
		}
	}
	return len(entries) < before
}
