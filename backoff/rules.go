package backoff

import (
	"fmt"
	"time"
)

// Rules is the arithmetic of pacing. Its methods are pure: they read no clock,
// wait for nothing and change none of their arguments. now is the store's clock
// and need not be a whole millisecond.
//
// Every method that returns a State first recovers the one it is given. What
// comes back equal to it (State.Equal) is not to be stored, what comes back
// different is, and what comes back empty (State.Empty) is to be removed.
// Config.Rules makes Rules; the zero Rules takes every turn ahead for damaged.
type Rules struct {
	MaxDelay time.Duration // as in Config
	MaxWait  time.Duration
}

// backstep is how far ahead of the clock a state may have been written without
// the clock having been set back (P43): clocks are slewed, and instants rounded.
const backstep = time.Second

// epoch is where instants begin: whatever was before it has passed anyway.
var epoch = time.Unix(0, 0).UTC()

// Recover returns s as it is to be read at now. A state written more than a
// second ahead of now shows that the clock went back: all its instants move by
// the difference, so that what is left of each wait keeps its length (P43).
// Values no store writes are damaged and cut to what is possible (P44).
// Recovered of the result says what was done.
func (r Rules) Recover(s State, now time.Time) State {
	s.Recovered = ""
	if back := s.SetAt.Sub(now); !s.SetAt.IsZero() && back > backstep {
		s = s.shift(-back)
		s.SetAt, s.shifted = Instant(now), true
		s.note("the clock went back by %v", back.Round(time.Millisecond))
	}
	// SetAt moves with every write, so that an end is never later than an hour
	// from it whichever write set it. A reservation is bounded in the same way.
	if end := s.SetAt.Add(MaxInterval); s.Backoff.Until.After(end) {
		s.note("the stored end of the wait was %v ahead", s.Backoff.Until.Sub(s.SetAt))
		s.Backoff.Until, s.Backoff.Date = end, false
	}
	if end := s.SetAt.Add(MaxInterval); s.Reservation.Deadline.After(end) {
		s.note("the stored reservation was %v ahead", s.Reservation.Deadline.Sub(s.SetAt))
		s.Reservation.Deadline = end
	}
	if ahead := s.Turn.base().Sub(now); ahead > r.MaxDelay+r.MaxWait {
		s.note("the stored turn was %v ahead", ahead.Round(time.Millisecond))
		s.Turn.Reserved, s.Turn.Answered, s.Turn.Handed = time.Time{}, Instant(now), time.Time{}
	}
	return s
}

func (s *State) note(format string, d time.Duration) {
	if s.Recovered != "" {
		s.Recovered += "; "
	}
	s.Recovered += fmt.Sprintf(format, d)
}

// shift moves every instant of s by d, but SetAt.
func (s State) shift(d time.Duration) State {
	for _, t := range []*time.Time{&s.Turn.Reserved, &s.Turn.Answered, &s.Turn.Handed, &s.Backoff.Until, &s.Reservation.Deadline} {
		if !t.IsZero() {
			*t = later(epoch, Instant(t.Add(d)))
		}
	}
	return s
}

// changed returns s as it is to be stored in place of found: with a SetAt of its
// own if it says anything else, as a recovered state always does.
func changed(found, s State, now time.Time) State {
	switch {
	case s.Equal(found):
		return s
	case s.Empty():
		return State{Host: s.Host, Recovered: s.Recovered}
	}
	s.SetAt, s.shifted = Instant(now), false
	return s
}

// A Delay is how much of a stated Crawl-delay is kept (P7).
type Delay struct {
	Honoured time.Duration // 0 paces nothing
	Capped   bool          // more was stated
	Written  string        // the value as it stands in the file, for the record
}

// Honour returns what is kept of a delay stated as ms milliseconds and written
// as written. Reading the file is not done here (P5, P6).
func (r Rules) Honour(ms int64, written string) Delay {
	d := Delay{Honoured: r.MaxDelay, Written: written}
	if most := r.MaxDelay.Milliseconds(); ms <= most {
		d.Honoured = time.Duration(max(ms, 0)) * time.Millisecond
	} else {
		d.Capped = true
	}
	return d
}
