package backoff

import "time"

// A Handover is what comes of handing a request over on its turn. The zero value
// lets nothing go.
type Handover struct {
	// At is the instant that is kept of it, by the store's clock: that of the
	// turn, or the end of the lead. Left was left until then when the store was
	// done. Below 0 it took too long, and the request is handed over again, with
	// At as Turn.Handed. A zero At: it must not go, and nothing was written.
	At   time.Time
	Left time.Duration

	// Wait: not yet. Another request went late, and this one must not follow it
	// so closely. It is handed over again after Wait, which is rounded up.
	Wait time.Duration

	// Missed: never on this turn. It is so long past that others, whose turns are
	// behind it, may have gone since. The request needs another one.
	Missed bool
}

// Handed lets the request of turn t go, or says why not, as Store.Handed does. A
// host without turns is not paced and gets none by this.
//
// Turns lie a delay apart, but what has one may go late. So it is not enough that
// each goes on its turn or after it: who goes late says until when at most, which
// is the end of its lead, and who comes next reckons from there. One that goes on
// its turn has nothing to say: nobody reckons with less.
func (r Rules) Handed(s State, now time.Time, t Turn, delay, lead time.Duration) (State, Handover) {
	found, delay := s, roundUp(delay)
	s = r.Recover(s, now)
	sent := Instant(now).Add(roundUp(lead))
	own := s.Turn.Reserved.Equal(t.At) || !t.Handed.IsZero() && s.Turn.Reserved.Equal(t.Handed)
	late := Instant(now).After(t.At) || !t.Handed.IsZero()
	switch last := s.Turn.Handed; {
	case s.shifted: // how long ago anything was is not known; the caller has waited by a clock of its own (P42)
	case late && !own && s.Turn.gone(now, sent, t, delay):
		return changed(found, s, now), Handover{Missed: true}
	case !last.IsZero() && !last.Equal(t.Handed) && last.Add(delay).After(now):
		return changed(found, s, now), Handover{Wait: roundUp(last.Add(delay).Sub(now))}
	}
	if !late {
		return changed(found, s, now), Handover{At: t.At, Left: t.At.Sub(now)}
	}
	switch {
	case s.Turn.none():
	case own, !s.Turn.Reserved.After(now):
		sent = later(s.Turn.Reserved, sent)
		s.Turn.Reserved, s.Turn.Handed = sent, time.Time{}
	default: // it stays for whoever has it
		sent = later(s.Turn.Handed, sent)
		s.Turn.Handed = sent
	}
	return changed(found, s, now), Handover{At: sent, Left: sent.Sub(now)}
}

// gone reports whether the request of turn t, which goes up to sent, may meet one
// that went, or goes, on a turn behind t, which lies a delay behind it, or less
// where agents are told different ones: those that are on time leave no trace.
// Once a delay has passed since the last turn, none of them matters.
func (s Turns) gone(now, sent time.Time, t Turn, delay time.Duration) bool {
	return s.Reserved.After(t.At) && s.Reserved.Add(delay).After(now) &&
		(!sent.Before(t.At.Add(delay)) || !s.Reserved.After(now))
}
