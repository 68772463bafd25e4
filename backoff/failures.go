package backoff

import (
	"math"
	"time"
)

// Failed reports whether an answer of this status is a failure (P16).
func Failed(status int) bool {
	return status == 429 || 500 <= status && status <= 599
}

// heedsRetryAfter reports whether Retry-After counts with status (P17). RFC 9110
// section 10.2.3 gives it a meaning with 503, RFC 6585 section 4 with 429.
func heedsRetryAfter(status int) bool { return status == 429 || status == 503 }

// Answered applies the end of a request to s, as Store.Answered does.
func (r Rules) Answered(s State, now time.Time, a Answer) (State, Change) {
	if !s.concerns(a) {
		return s, Change{Event: EventNone, State: s}
	}
	found := s
	s = r.Recover(s, now)
	c := Change{Event: EventNone}
	if interim := 100 <= a.Status && a.Status < 200; !interim {
		if a.Paced {
			s.Turn.Answered = later(s.Turn.Answered, Instant(now))
		}
		s = s.release(a.Reservation)
	}
	before := s.Backoff
	switch {
	case Failed(a.Status):
		s.Backoff, c.Stated = before.failed(now, a)
		c.Event = EventSet
	case a.Status >= 200:
		s.Backoff.Failures = 0 // Until stays: a wait that another answer imposed binds on (P21)
	}
	s = s.settled(now)
	if c.Event == EventNone && s.Backoff != before {
		c.Event = EventReset
	}
	c.State = changed(found, s, now)
	return c.State, c
}

// concerns reports whether a can change anything. Most answers cannot: nothing is
// kept of the host, and nothing will be (P37).
func (s *State) concerns(a Answer) bool {
	return !s.SetAt.IsZero() || !s.Empty() || a.Paced || Failed(a.Status)
}

// failed returns b after one more failure (P17, P20).
func (b Backoff) failed(now time.Time, a Answer) (Backoff, RetryAfter) {
	running := b.Until.After(now)
	if b.Failures == 0 || !running {
		b.Failures = min(b.Failures+1, math.MaxInt32)
	}
	fresh := Backoff{Failures: b.Failures, Status: a.Status, By: a.Tenant, extra: b.extra}
	var stated RetryAfter
	if heedsRetryAfter(a.Status) {
		stated = ReadRetryAfter(a.RetryAfter, now)
	}
	if stated.Usable {
		fresh.Until, fresh.RetryAfter, fresh.Capped, fresh.Date = stated.End, true, stated.Capped, stated.Date
	} else {
		fresh.Until = Instant(now.Add(interval(b.Failures)))
	}
	if running && !fresh.Until.After(b.Until) {
		return b, stated
	}
	return fresh, stated
}

// interval is how long a host that states nothing is left alone after this many
// failures in a row (P17).
func interval(failures int) time.Duration {
	d := FirstBackoff
	for ; failures > 1 && d < LastBackoff; failures-- {
		d *= 2
	}
	return min(d, LastBackoff)
}

// settled drops back-off and reservation once they bind nobody (P21).
func (s State) settled(now time.Time) State {
	if s.Backoff.Failures == 0 && !s.Backoff.Until.After(now) && !s.Reserved(now) {
		s.Backoff, s.Reservation = Backoff{}, Reservation{}
	}
	return s
}
