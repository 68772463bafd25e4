package terms

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
)

// Bounds of what is held in memory, over all shards. Octets count the robots.txt
// files as served; parsed they take a few times as much. What is evicted is read
// from disk again.
const (
	shards       = 32
	shardEntries = 128     // 4,096 origins
	shardOctets  = 2 << 20 // 64 MiB
)

// An entry is one origin in memory.
type entry struct {
	origin hostkey.Origin
	url    string
	known  atomic.Pointer[known] // nil until there is something
	used   atomic.Int64          // Unix second of the last crossing

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

// octets is what e counts for in shardOctets.
func (e *entry) octets() int {
	k := e.known.Load()
	switch {
	case k == nil || k.answered == nil:
		return 0
	case k.answered.Truncated:
		return robots.MaxBytes
	}
	return int(k.answered.Size)
}

// evict makes e unusable and reports whether it could: an entry that is being
// looked up or has to be written stays.
func (e *entry) evict() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = e.flight == nil && !e.unsaved
	return e.gone
}

// A cache holds the entries in use. Readers take no lock.
type cache struct {
	entries, octets int // bounds of a shard
	seed            maphash.Seed
	shards          [shards]shard
	size            atomic.Int64 // entries in all shards
}

// A shard is one part of a cache. Its map is replaced as a whole, which is cheap
// because it is small and origins come and go seldom.
type shard struct {
	entries atomic.Pointer[map[hostkey.Origin]*entry]
	mu      sync.Mutex // held while entries is replaced
}

// newCache returns an empty cache with these bounds for each shard.
func newCache(entries, octets int) *cache {
	c := &cache{entries: entries, octets: octets, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].entries.Store(&map[hostkey.Origin]*entry{})
	}
	return c
}

// shard returns where origin belongs. The host alone spreads well enough.
func (c *cache) shard(origin hostkey.Origin) *shard {
	return &c.shards[maphash.String(c.seed, origin.Host)%shards]
}

// find returns the entry of origin, or nil.
func (c *cache) find(origin hostkey.Origin) *entry {
	return (*c.shard(origin).entries.Load())[origin]
}

// obtain returns the entry of origin and makes it when there is none.
func (c *cache) obtain(origin hostkey.Origin, now time.Time) *entry {
	s := c.shard(origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.entries.Load()
	if e := old[origin]; e != nil {
		return e
	}
	e := &entry{origin: origin, url: robotsURL(origin)}
	e.touch(now)
	next := maps.Clone(old)
	next[origin] = e
	c.trim(next, e)
	c.replace(s, next)
	return e
}

// settle brings the shard of e back within its bounds after e has grown.
func (c *cache) settle(e *entry) {
	s := c.shard(e.origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.entries.Load())
	if c.trim(next, e) {
		c.replace(s, next)
	}
}

// replace gives s its new map. The caller holds s.mu.
func (c *cache) replace(s *shard, next map[hostkey.Origin]*entry) {
	c.size.Add(int64(len(next) - len(*s.entries.Load())))
	s.entries.Store(&next)
}

// trim evicts from entries until they are within the bounds of a shard: first
// those that no crossing has used for longest. Those that cannot be evicted and
// keep stay. It reports whether it took anything out.
func (c *cache) trim(entries map[hostkey.Origin]*entry, keep *entry) bool {
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
			delete(entries, e.origin)
		}
	}
	return len(entries) < before
}
