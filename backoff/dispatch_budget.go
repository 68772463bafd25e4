package backoff

import (
	"sync"
	"time"
)

// A Budget is what one crossing may still sleep for pace (P28). All waits of the
// crossing are charged to it, its own and those of its probes; name resolution,
// connecting and reading are not. Waits that run at the same time are charged
// once. A nil Budget lets nothing sleep.
//
// Its methods may be called concurrently.
type Budget struct {
	mu    sync.Mutex
	total time.Duration
	used  time.Duration // by waits that have ended

	asleep  int       // waits going on
	since   time.Time // when the first of them began
	charged time.Time // up to here waits are in used

	// Turns on one host that the crossing still needs (P14, P15).
	plan  plan
	host  string        // whose turns
	saved time.Duration // for them
}

// A plan is what the first licence of a crossing decided about the turns that
// are needed behind it (P14).
type plan int

const (
	undecided plan = iota
	together       // the page fits behind its licences: their turns are kept
	alone          // it never fits: licences are read as far as the budget goes
)

// NewBudget returns a budget of total.
func NewBudget(total time.Duration) *Budget {
	return &Budget{total: max(total, 0)}
}

// Total returns what the budget was when the crossing began.
func (b *Budget) Total() time.Duration {
	if b == nil {
		return 0
	}
	return b.total
}

// Left returns what may still be slept, in whole milliseconds, turns that are
// kept for later requests of the crossing included.
func (b *Budget) Left() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left()
}

func (b *Budget) left() time.Duration {
	left := b.total - b.used
	if b.asleep > 0 {
		left -= max(time.Since(laterOf(b.since, b.charged)), 0)
	}
	return max(left, 0).Truncate(time.Millisecond)
}

// free is what a request may sleep that needs none of the turns that are kept.
func (b *Budget) free() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.left()-b.saved, 0)
}

// share is what a request may sleep for its turn on host when the crossing
// needs turns worth behind after it there; first reports P14's case 2, that
// those would fit into the budget and so are kept from this one.
func (b *Budget) share(host string, behind time.Duration) (most time.Duration, first bool) {
	if b == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left()
	if behind == 0 {
		if host == b.host { // the page: what was kept, was for it
			b.saved = 0
		}
		return max(left-b.saved, 0), false
	}
	if b.plan == undecided {
		b.host, b.plan = host, together
		if behind > left {
			b.plan = alone
		}
	}
	if b.plan == alone {
		return left, false
	}
	b.saved = behind
	return max(left-behind, 0), true
}

// sleep begins a wait and returns when that was.
func (b *Budget) sleep() time.Time {
	now := time.Now()
	if b == nil {
		return now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asleep == 0 {
		b.since = now
	}
	b.asleep++
	return now
}

// woke ends a wait that began at start and was to last until planned: what a
// timer was late is not charged, so that waits add up to what was ruled.
func (b *Budget) woke(start, planned time.Time) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asleep--
	end := time.Now()
	if planned.Before(end) {
		end = planned
	}
	if from := laterOf(start, b.charged); end.After(from) {
		b.used += end.Sub(from)
		b.charged = end
	}
}

// laterOf is later for instants with a monotonic reading.
func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
