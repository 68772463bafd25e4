package terms

import (
	"sync"

	"github.com/wayleave/wayleave/rulings"
)

// maxRecent bounds the digests that a recent remembers.
const maxRecent = 4096

// recent remembers objects that are known to be on disk, so that a head which
// every answer of a site repeats is written once and then costs no system call.
// The zero value remembers nothing; any number of goroutines may use it.
//
// Whoever deletes an object under a running edge is not noticed: the edge goes
// on naming it until it is started again or meets the loss on reading it.
type recent struct {
	mu         sync.Mutex // guards what follows
	young, old map[rulings.Digest]struct{}
}

// has reports whether d is remembered, and then remembers it for longer.
func (r *recent) has(d rulings.Digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[d]; ok {
		return true
	}
	_, ok := r.old[d]
	if ok {
		r.put(d)
	}
	return ok
}

func (r *recent) add(d rulings.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(d)
}

// put makes room by forgetting what was not asked for since half of all was
// last replaced. The caller holds r.mu.
func (r *recent) put(d rulings.Digest) {
	if r.young == nil || len(r.young) >= maxRecent/2 {
		r.old, r.young = r.young, make(map[rulings.Digest]struct{})
	}
	r.young[d] = struct{}{}
}

func (r *recent) forget(d rulings.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, d)
	delete(r.old, d)
}
