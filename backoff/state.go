package backoff

import "time"

// A State is what is known of one host's pace (P35). A part that is not there is
// the zero value, and a State without parts is that of a host nothing binds.
//
// Every instant is UTC in whole milliseconds, rounded up, and without a
// monotonic reading: [Instant] makes such. The zero instant means none.
type State struct {
	Host  string    // the host's key, as hostkey.Key returns it
	SetAt time.Time // when the state was written, by the store's clock

	Turn        Turns
	Backoff     Backoff
	Reservation Reservation

	// Recovered says why this is not what is stored: the clock went back, or a
	// value was damaged (P43, P44). Empty: it is what is stored. It is itself
	// never stored.
	Recovered string

	shifted bool   // the clock went back: SetAt is when this was read, not written
	extra   string // members of a newer version, as written
}

// Turns is what spaces the requests of a host that states a delay. The latest of
// them is the base of the next turn (P8).
type Turns struct {
	Reserved time.Time // the last turn anybody took
	Answered time.Time // the last answer or failure of a request to the host

	// Handed is when a request went that went later than its turn while a turn
	// behind it was taken already, which can not move for it (P10): whoever has
	// that turn goes a delay after this. Zero: Reserved tells it.
	Handed time.Time

	extra string
}

// A Backoff is the wait that a host's failures ask for. One whose Until is zero
// is none.
type Backoff struct {
	Failures int       // periods that failed in a row; 0 once an answer was good while Until binds on
	Status   int       // of the answer that set Until
	Until    time.Time // nothing is sent before

	RetryAfter bool   // Until is what the answer's Retry-After stated
	Capped     bool   // it stated more than MaxInterval, which Until was cut to
	Date       bool   // it stated Until itself, as a date, and was not cut
	By         string // the tenant whose request set Until; empty: unknown

	extra string
}

// A Reservation is the right of one sender to ask a host whose wait is over
// (P25). One whose ID is empty is none.
type Reservation struct {
	ID       string    // the sender's, unique among all processes that share the store
	Deadline time.Time // from here on it is as none
	By       string    // the sender's tenant; empty: unknown

	extra string
}

// Empty reports whether the state says nothing, so that a store removes it.
// Members of a newer version count: they may bind as ours do.
func (s State) Empty() bool {
	return s.Turn.none() && s.Backoff.none() && s.Reservation.none() && s.extra == ""
}

// Reserved reports whether somebody's reservation is live at now. An expired one
// is as none (P26).
func (s State) Reserved(now time.Time) bool {
	return !s.Reservation.none() && s.Reservation.Deadline.After(now)
}

func (t Turns) none() bool {
	return t.Reserved.IsZero() && t.Answered.IsZero() && t.Handed.IsZero() && t.extra == ""
}
func (b Backoff) none() bool     { return b.Until.IsZero() }
func (r Reservation) none() bool { return r.ID == "" }

// Instant returns t as states have it: UTC, rounded up to a whole millisecond,
// without monotonic reading. The zero time stays zero.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	t = t.Round(0).UTC()
	if down := t.Truncate(time.Millisecond); !down.Equal(t) {
		return down.Add(time.Millisecond)
	}
	return t
}

// roundUp returns d in whole milliseconds, never less than d, never negative.
func roundUp(d time.Duration) time.Duration {
	d = max(d, 0)
	if part := d % time.Millisecond; part != 0 {
		d += time.Millisecond - part
	}
	return d
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
