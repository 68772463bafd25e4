package backoff

import (
	"slices"
	"sync"
	"time"
)

// A line is who waits for one host in this process, in two queues, each in order
// of arrival. At the door stand those that have not looked at the host's
// back-off yet, or wait for its end; only the first of them asks the store, and
// it takes its turn before the next one may. Behind it stand those that have a
// turn. A request without a turn goes from the door.
//
// Turns belong to the queue, not to who took them: the first waiter goes on the
// first turn. So when a waiter leaves, those behind it move up, and the turn left
// over is the last one (P12); and when turns are missed, it is the last waiters
// that lack one and have to take another.
type line struct {
	host string

	// Under Dispatcher.mu.
	users  int
	expiry *time.Timer // forgets the line once it is quiet; nil: was not needed yet

	mu     sync.Mutex // guards what follows
	door   []*waiter
	queue  []*waiter // the first one stays until its request was handed over
	turns  []slot    // for queue, in order of time; never more than it has waiters
	spare  []slot    // nobody's any more, to be given back in this order
	giving bool      // somebody gives them back

	reading   int    // failing answers of which the body is still being read (P22)
	readingBy string // the tenant of the last of them

	gone  time.Time     // when the last request with a turn went
	delay time.Duration // between requests, as the last one had it
	held  time.Time     // until when the queue was held up
	seen  view          // the last that anybody saw
}

// A view is a snapshot of a host's state.
type view struct {
	state State
	now   time.Time // of the store's clock
	at    time.Time // the same moment, by this process's clock
	asked time.Time // nothing that was known then is newer
}

// clock returns the store's clock as it stands now.
func (v view) clock() time.Time { return v.now.Add(time.Since(v.at)) }

// next is State.Next for a caller without reservation, as of now.
func (v view) next(budget time.Duration) Next { return v.state.Next(v.clock(), "", budget) }

// A waiter is one caller in the line.
type waiter struct {
	wake chan struct{} // holds one: look again at what you wait for

	// Under line.mu.
	turns bool        // it takes one
	until time.Time   // when it will look again by itself
	cause Reason      // why it sleeps; empty: it does not, or was let go
	fault *StoreError // the first at the door met it while this one stood there for its turn
}

func newWaiter(turns bool) *waiter {
	return &waiter{wake: make(chan struct{}, 1), turns: turns}
}

// rouse makes w look again. It never blocks.
func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// first reports whether w is the first of q.
func first(q []*waiter, w *waiter) bool { return len(q) > 0 && q[0] == w }

// rouseFirst wakes the first of q.
func rouseFirst(q []*waiter) {
	if len(q) > 0 {
		q[0].rouse()
	}
}

// rouseFirsts makes those look again who may go next.
func (h *line) rouseFirsts() {
	h.mu.Lock()
	defer h.mu.Unlock()
	rouseFirst(h.queue)
	rouseFirst(h.door)
}

// rouseEverybody makes all look again.
func (h *line) rouseEverybody() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range [][]*waiter{h.queue, h.door} {
		for _, w := range q {
			w.rouse()
		}
	}
}

// join gives w the last place at the door, unless the line is full. Where nobody
// is at the door, a request that takes no turn passes by those who have one.
func (h *line) join(w *waiter, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.door)+len(h.queue) >= most && (w.turns || len(h.door) > 0) {
		return false
	}
	h.door = append(h.door, w)
	return true
}

// atDoor reports whether w is the first at the door, and the fault that it
// shares.
func (h *line) atDoor(w *waiter) (isFirst bool, fault *StoreError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return first(h.door, w), w.fault
}

// letGo lets w go: from the door, if it has no turn.
func (h *line) letGo(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.cause = ""
	h.leaveDoor(w)
}

// leave takes w from wherever it stands.
func (h *line) leave(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaveDoor(w)
	h.leaveQueue(w)
}

// leaveDoor takes w from the door.
func (h *line) leaveDoor(w *waiter) {
	if i := slices.Index(h.door, w); i >= 0 {
		h.door = slices.Delete(h.door, i, i+1)
		if i == 0 {
			rouseFirst(h.door)
		}
	}
}

// failed lets all who wait at the door for a turn share the fault that the first
// of them met; each would wait for the same lock in turn (P29).
func (h *line) failed(by *waiter, fault *StoreError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.door {
		if w != by && w.turns {
			w.fault = fault
			w.rouse()
		}
	}
}

// sleeps notes until when w sleeps, and why.
func (h *line) sleeps(w *waiter, until time.Time, cause Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.until, w.cause = until, cause
}

// saw keeps the newest view for those that do not look themselves.
func (h *line) saw(v view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !v.asked.Before(h.seen.asked) {
		h.seen = v
	}
}

// next is what binds as far as the line knows.
func (h *line) next(budget time.Duration) Next {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen.next(budget)
}

// beingRead reports whether a failing answer is being read, and for which tenant.
func (h *line) beingRead() (bool, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reading > 0, h.readingBy
}

// read counts a failing answer whose body begins to be read (1) or ended (-1).
func (h *line) read(step int, tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading += step
	if step > 0 {
		h.readingBy = tenant
	}
}

// quietUntil is when the line knows nothing that the store does not.
func (h *line) quietUntil() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone.Add(h.delay)
}

// waiting describes the line.
func (h *line) waiting() HostWait {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := HostWait{Host: h.host}
	for _, q := range [][]*waiter{h.queue, h.door} {
		for _, one := range q {
			if one.cause == "" {
				continue
			}
			if w.Count++; w.Cause == "" {
				w.Cause, w.Until = one.cause, one.until
			}
		}
	}
	return w
}
