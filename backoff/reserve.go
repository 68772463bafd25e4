package backoff

import "time"

// A Step is what a sender may do about a host's back-off (P25). The zero value
// is undecided: nothing is sent on it.
type Step string

// The steps of P25.
const (
	StepGo      Step = "go"      // nothing binds: send
	StepReserve Step = "reserve" // the wait is over: reserve the host, then send
	StepWait    Step = "wait"    // sleep Wait, then look again
	StepHeld    Step = "held"    // another's reservation: wait for its end within the budget, at most Wait, then look again
	StepRefuse  Step = "refuse"  // Wait does not fit the budget
)

// A Next is what binds a sender's next request, and what to do about it. All but
// Step is zero where nothing binds.
type Next struct {
	Step Step
	Wait time.Duration // until what binds ends, rounded up

	// What binds: another's reservation, or else the host's own wait.
	Held   bool
	Status int    // of the answer that set the wait; 0 if Held
	Date   bool   // the host stated the end as a date, and it was not cut
	By     string // tenant whose request set what binds; empty: unknown
}

// Next decides P25 for the sender with this ID, which may be empty, and what is
// left of its budget. s and now are what Store.Look returned. A reservation's end
// is not known beforehand, so any budget above 0 waits for it (P29).
func (s State) Next(now time.Time, id string, budget time.Duration) Next {
	switch {
	case s.Backoff.Until.After(now):
		n := Next{StepWait, roundUp(s.Backoff.Until.Sub(now)), false, s.Backoff.Status, s.Backoff.Date, s.Backoff.By}
		if n.Wait > budget {
			n.Step = StepRefuse
		}
		return n
	case s.Reserved(now) && s.Reservation.ID != id:
		n := Next{Step: StepHeld, Wait: roundUp(s.Reservation.Deadline.Sub(now)), Held: true, By: s.Reservation.By}
		if budget <= 0 {
			n.Step = StepRefuse
		}
		return n
	case s.Reserved(now), s.Backoff.Failures == 0:
		return Next{Step: StepGo}
	}
	return Next{Step: StepReserve}
}

// Outwaited reports whether a caller that saw seen, slept the wait it showed, and
// now looked again, need not wait once more although looked says so: nothing was
// written since, and the clock went back, so that looked counts the same wait
// from its beginning (P42, P43). Such a caller reserves with seen, or, where
// seen counted no failures, goes.
func Outwaited(seen, looked State) bool {
	return looked.shifted && sameWait(seen, looked)
}

// sameWait reports whether two snapshots show the same back-off and reservation.
// They are compared from the SetAt of each when b was moved there, because a
// clock that went back moves both from one look to the next.
func sameWait(a, b State) bool {
	if b.shifted {
		a = a.shift(b.SetAt.Sub(a.SetAt))
	}
	return a.Backoff.equal(b.Backoff) && a.Reservation.equal(b.Reservation)
}

// Reserve gives the host of s to sender, as Store.Reserve does. false: look
// again.
func (r Rules) Reserve(s State, now time.Time, seen State, sender Sender, length time.Duration) (State, Reservation, bool) {
	found := s
	s = r.Recover(s, now)
	if s.Reserved(now) && s.Reservation.ID == sender.ID {
		return changed(found, s, now), s.Reservation, true
	}
	length = min(roundUp(length), MaxInterval)
	if sender.ID == "" || length == 0 || s.Backoff.Failures == 0 || s.Reserved(now) || !sameWait(seen, s) || !s.waitOver(now, seen) {
		return changed(found, s, now), Reservation{}, false
	}
	if s.Backoff.Until.After(now) {
		s.Backoff.Until = Instant(now) // outwaited: for the others it is over too
	}
	s.Reservation = Reservation{ID: sender.ID, Deadline: Instant(now.Add(length)), By: sender.Tenant}
	return changed(found, s, now), s.Reservation, true
}

// waitOver reports whether the wait of s is over for a caller that saw the same
// wait in seen. Where the clock went back, s counts it from its beginning; seen
// tells better: if it was moved too, it began at the caller's first look, and if
// not, the caller began to wait before the clock went back, and only the
// caller's own clock knows for how long.
func (s State) waitOver(now time.Time, seen State) bool {
	switch {
	case !s.Backoff.Until.After(now):
		return true
	case !s.shifted:
		return false
	}
	return !seen.shifted || !seen.Backoff.Until.After(now)
}

// Release gives up the reservation of the sender with this ID, as Store.Release
// does.
func (r Rules) Release(s State, now time.Time, id string) State {
	found := s
	s = r.Recover(s, now)
	if id != "" && s.Reservation.ID == id {
		s = s.release(id).settled(now)
	}
	return changed(found, s, now)
}

// release drops the reservation of the sender with this ID and nobody else's.
func (s State) release(id string) State {
	if id != "" && s.Reservation.ID == id {
		s.Reservation = Reservation{}
	}
	return s
}
