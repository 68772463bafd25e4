package terms

import (
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// maxSkew is how far in the future a probe may have ended by this machine's
// clock. Beyond it the clock was wrong once, and what the file says is not live
// and not newer than anything for it.
const maxSkew = time.Minute

// A visit is how one probe ended, as far as that is kept.
type visit struct {
	Outcome   rulings.TermOutcome // any but cut_short
	Cause     string
	Status    int
	FetchedAt time.Time // end of the probe
	ExpiresAt time.Time
	FinalURL  string
	Redirects []string
	Object    rulings.Digest // zero until it is on disk: a record never names one that is not (E5)
	Truncated bool
	Size      int64
}

// live reports whether v may be used at now without asking again.
func (v *visit) live(now time.Time) bool {
	return v != nil && now.Before(v.ExpiresAt) && !v.FetchedAt.After(now.Add(maxSkew))
}

// newer reports whether v ended after w. Nothing is older than anything, and
// what ended in the future is older than all that did not: the clock was wrong.
func (v *visit) newer(w *visit, now time.Time) bool {
	if v == nil || w == nil {
		return v != nil
	}
	believed := func(x *visit) time.Time {
		if x.FetchedAt.After(now.Add(maxSkew)) {
			return time.Time{}
		}
		return x.FetchedAt
	}
	return believed(v).After(believed(w))
}

// answers reports whether v is the source's own word, so that it takes the place
// of an earlier one: a failure never does (T123). A document that cannot be read
// is the source's word as much as one that is not there.
func (v *visit) answers() bool {
	switch v.Outcome {
	case rulings.TermRead, rulings.TermNoRules, rulings.TermMissing:
		return true
	case rulings.TermUnread:
		return ofBody(causeOf(v.Cause))
	}
	return false
}

// A ledger is the two visits to a place that matter. Its zero value says that
// nobody ever asked there.
type ledger struct {
	answered *visit // the last one that was answered; rules until the next
	missed   *visit // a later one that failed; nil when the last was answered
}

// last is the visit whose life says when to ask again; nil when there was none.
func (l ledger) last() *visit {
	if l.missed != nil {
		return l.missed
	}
	return l.answered
}

// same reports whether l and m tell of the same visits.
func (l ledger) same(m ledger) bool {
	equal := func(v, w *visit) bool {
		return v == w || v != nil && w != nil && v.FetchedAt.Equal(w.FetchedAt) && v.Outcome == w.Outcome
	}
	return equal(l.answered, m.answered) && equal(l.missed, m.missed)
}

// after returns l with the visit v added. A failure never replaces a live
// answer (T123).
func (l ledger) after(v *visit) ledger {
	switch {
	case v.answers():
		return ledger{answered: v}
	case l.missed == nil && l.answered.live(v.FetchedAt):
		return l
	}
	return ledger{answered: l.answered, missed: v}
}

// merge puts together what two processes know of one place: of answers the
// newer, and a failure only where it is newer than both and no answer is live
// (T122, T123).
func merge(a, b ledger, now time.Time) ledger {
	if b.answered.newer(a.answered, now) {
		a, b = b, a
	}
	missed := a.missed
	if b.missed.newer(missed, now) {
		missed = b.missed
	}
	if missed.newer(a.answered, now) && !a.answered.live(now) {
		return ledger{a.answered, missed}
	}
	if a.answered == nil {
		return ledger{missed: missed}
	}
	return ledger{answered: a.answered}
}

// kept is what of l is kept: an answer that a failure has followed only where it
// goes on ruling.
func (kd *kind) kept(l ledger) ledger {
	if !kd.holds && l.missed != nil {
		l.answered = nil
	}
	return l
}
