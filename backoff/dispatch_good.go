package backoff

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// goodAnswers remembers when hosts answered well of which the store keeps nothing.
// Taking each such answer to the store would find nothing to reset, but for the
// failure that another process recorded while the request was under way (P21):
// that is made up for by the next look that meets it. So a healthy host costs one
// look a request (P37).
type goodAnswers struct {
	failed atomic.Uint64 // failures that this process recorded, of whatever host
	hosts  sync.Map      // of host to *atomic.Int64: nanoseconds of the store's clock
	count  atomic.Int64
}

// maxGood bounds how many hosts are remembered. What is forgotten leaves a count
// of failures as it is, which only makes the next wait longer.
const maxGood = 4096

// remember notes that host answered well at an instant of the store's clock.
func (g *goodAnswers) remember(host string, at time.Time) {
	known, ok := g.hosts.Load(host)
	if !ok {
		if g.count.Add(1) > maxGood {
			g.hosts.Clear()
			g.count.Store(1)
		}
		known, _ = g.hosts.LoadOrStore(host, new(atomic.Int64))
	}
	known.(*atomic.Int64).Store(at.UnixNano())
}

// since reports whether host answered well after s was written, and forgets that.
func (g *goodAnswers) since(host string, s State) bool {
	if s.Backoff.Failures == 0 {
		return false
	}
	known, ok := g.hosts.LoadAndDelete(host)
	if !ok {
		return false
	}
	g.count.Add(-1)
	return known.(*atomic.Int64).Load() > s.SetAt.UnixNano()
}

// look is Store.Look after what good answers are still to reset was reset.
func (d *Dispatcher) look(ctx context.Context, host string) (State, time.Time, error) {
	state, now, err := d.store.Look(ctx, host)
	if err != nil || !d.good.since(host, state) {
		return state, now, err
	}
	if _, err := d.store.Answered(context.WithoutCancel(ctx), host, Answer{Status: 200}); err != nil {
		return State{}, time.Time{}, err
	}
	return d.store.Look(ctx, host)
}

// A clean look is one that found nothing kept of a host.
type cleanLook struct {
	found  bool
	at     time.Time // by the store's clock
	here   time.Time // the same moment, by this process's
	failed uint64    // failures that this process had recorded by then
}

// unchanged reports whether a good answer now has nothing to reset that this
// process knows of, and remembers it then.
func (d *Dispatcher) unchanged(p *Pass, a Answer) bool {
	c := &p.clean
	if !c.found || Failed(a.Status) || a.Paced || a.Reservation != "" || d.good.failed.Load() != c.failed {
		return false
	}
	d.good.remember(p.req.Host, c.at.Add(time.Since(c.here)))
	return true
}
