package terms

import (
	"context"
	"path/filepath"
)

// A shelf is the part of a book that keeps documents of one kind: in memory, as
// files of its directory, and while they are asked for.
type shelf struct {
	*kind
	book  *Book
	cache *cache
}

// An errand is how a look-up is made.
type errand struct {
	again bool     // ask before its time (T123)
	pass  *passage // what may be asked for; nil rules nothing

	behind int // turns that the crossing needs on the page's host behind this look-up
}

// newShelf returns the shelf of kd with these bounds for each shard of its cache.
func (b *Book) newShelf(kd *kind, entries, octets int) *shelf {
	s := &shelf{kind: kd, book: b}
	s.cache = newCache(s, entries, octets)
	return s
}

// path is the file that keeps what p said.
func (s *shelf) path(p place) string { return filepath.Join(s.book.held, s.dir, s.file(p)) }

// warm returns what a crossing gets of p that need not wait, or nil. It takes no
// lock.
func (s *shelf) warm(p place) *found {
	e := s.cache.find(p)
	if e == nil {
		return nil
	}
	now := s.book.now()
	e.touch(now)
	if k := e.known.Load(); k.ready(now) {
		return &k.reused
	}
	return nil
}

// get returns what p says, for a crossing that arrives now: what is live, or what
// asking for it comes to.
func (s *shelf) get(ctx context.Context, p place, how errand) found {
	if !how.again {
		if f := s.warm(p); f != nil {
			return *f
		}
	}
	return s.await(ctx, p, how)
}

// held returns what is held of p, without asking: what is live, or else the last
// answer where that rules. It is false when there is neither.
func (s *shelf) held(p place) (found, bool) {
	var k *known
	if e := s.cache.find(p); e != nil {
		k = e.known.Load()
	}
	now := s.book.now()
	if !k.ready(now) {
		k = s.catchUp(p, k)
	}
	switch {
	case k.live(now):
		return k.reused, true
	case k == nil || k.answered == nil || !s.holds:
		return found{}, false
	}
	last := k.last()
	return k.held(last.Outcome, last.Cause, last.ExpiresAt), true
}
