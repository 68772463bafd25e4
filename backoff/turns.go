package backoff

import "time"

// base is the instant from which the next turn counts: the latest of the last
// turn, the last answer (P8) and a request that went after its turn.
func (t Turns) base() time.Time { return later(later(t.Reserved, t.Answered), t.Handed) }

// nextTurn returns when the host of s may be asked next and how long that is
// from now.
func (s State) nextTurn(now time.Time, delay time.Duration) (at time.Time, wait time.Duration) {
	base := s.Turn.base()
	if base.IsZero() || !base.Add(delay).After(now) {
		return Instant(now), 0
	}
	at = base.Add(delay)
	return at, roundUp(at.Sub(now))
}

// Turn takes the next turn of s, as Store.Turn does.
func (r Rules) Turn(s State, now time.Time, delay, budget time.Duration) (State, Turn) {
	found, delay := s, roundUp(delay)
	if delay == 0 {
		return found, Turn{Outcome: Clear, At: Instant(now)}
	}
	s = r.Recover(s, now)
	t := Turn{Before: s.Turn.Reserved, Recovered: s.Recovered}
	t.At, t.Wait = s.nextTurn(now, delay)
	switch {
	case t.Wait == 0:
		t.Outcome = Clear
	case t.Wait <= budget:
		t.Outcome = Waited
	default:
		t.Outcome = Refused
		return changed(found, s, now), t
	}
	s.Turn.Reserved = t.At
	return changed(found, s, now), t
}

// GiveBack undoes turn t if it is the last one of s, as Store.GiveBack does. A
// turn that was moved, because the clock went back, passes unused.
func (r Rules) GiveBack(s State, now time.Time, t Turn) State {
	found := s
	s = r.Recover(s, now)
	if !t.At.IsZero() && t.At.Equal(s.Turn.Reserved) && t.Before.Before(t.At) {
		s.Turn.Reserved = t.Before
	}
	return changed(found, s, now)
}

// A FitOutcome is whether a page fits behind the licences that must be read
// first (P14). The zero value is undecided.
type FitOutcome string

// The outcomes of P14, by the number of its case.
const (
	Fits          FitOutcome = "fits"           // 1: licences and page are asked for, each on its turn
	LicenceFirst  FitOutcome = "licence_first"  // 2: refused before any request; ask again after Pending
	LicencesAlone FitOutcome = "licences_alone" // 3: Reads licences are read, the page is refused
)

// A Fit is how licences and a page of one host fit into a budget.
type Fit struct {
	Outcome FitOutcome
	Pending time.Duration // until the host's next turn
	Need    time.Duration // until the page's turn, behind all the licences
	Reads   int           // how many licences are read
}

// Fit decides P14 for licences that have no current reading and stand on the
// page's own host.
func (r Rules) Fit(s State, now time.Time, delay time.Duration, licences int, budget time.Duration) Fit {
	delay, licences = roundUp(delay), max(licences, 0)
	if delay == 0 {
		return Fit{Outcome: Fits, Reads: licences}
	}
	var f Fit
	_, f.Pending = r.Recover(s, now).nextTurn(now, delay)
	behind := time.Duration(licences) * delay
	f.Need = f.Pending + behind
	switch {
	case f.Need <= budget:
		f.Outcome, f.Reads = Fits, licences
	case behind <= budget:
		f.Outcome = LicenceFirst
	default:
		f.Outcome = LicencesAlone
		if f.Pending <= budget {
			f.Reads = min(licences, int((budget-f.Pending)/delay)+1)
		}
	}
	return f
}
