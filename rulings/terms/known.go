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
	Outcome   rulings.TermOutcome // read, no_rules or unreachable
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

// A ledger is the two visits to an origin that matter. Its zero value says that
// the origin was never asked.
type ledger struct {
	answered *visit // the last one that was read (T16); rules until the next
	missed   *visit // a later one that found the origin unreachable; nil when the last was answered
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
	case v.Outcome != rulings.TermUnreachable:
		return ledger{answered: v}
	case l.missed == nil && l.answered.live(v.FetchedAt):
		return l
	}
	return ledger{answered: l.answered, missed: v}
}

// merge puts together what two processes know of one origin: of answers the
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

// known is what the book knows of an origin's robots.txt at one time. It never
// changes, so readers share it without a lock.
type known struct {
	ledger
	url    string
	site   *rulings.Site       // of the answer; nil when there is none
	reused rulings.RobotsTerms // what a crossing gets that asks nobody
	body   []byte              // of an answer whose object could not be written; nil when it was
	retry  time.Time           // when to try that again
}

// noRules is the file of every answer that states nothing (T15).
var noRules = rulings.ParseSite(nil)

// newKnown returns what l and the parsed file of its answer come to. Body is
// nil unless the answer's object is not on disk.
func newKnown(url string, l ledger, site *rulings.Site, body []byte) *known {
	k := &known{ledger: l, url: url, site: site, body: body}
	k.reused = k.terms(rulings.CacheReused)
	return k
}

// live reports whether k may be used at now without asking the origin. K may be nil.
func (k *known) live(now time.Time) bool { return k != nil && k.last().live(now) }

// ready reports whether a crossing may use k as it stands: it is live, and there
// is no object to be written first. K may be nil.
func (k *known) ready(now time.Time) bool {
	return k.live(now) && (k.body == nil || now.Before(k.retry))
}

// terms returns what k says, for a crossing that got it as state says. While
// the origin is unreachable the held copy rules (T16).
func (k *known) terms(state rulings.CacheState) rulings.RobotsTerms {
	switch {
	case k.missed == nil:
		return rulings.RobotsTerms{Term: k.term(k.answered, state), Site: k.site}
	case k.answered == nil:
		return rulings.RobotsTerms{Term: k.term(k.missed, state)}
	}
	return k.held(k.missed.Outcome, k.missed.Cause, k.missed.ExpiresAt)
}

// held returns the held copy as it rules for want of an answer. Outcome, cause
// and until are of the probe that found none. All else is of the copy, because
// the ruling is recomputed from it: from its object, or, where there is none,
// from its status.
func (k *known) held(outcome rulings.TermOutcome, cause string, until time.Time) rulings.RobotsTerms {
	t := k.term(k.answered, rulings.CacheHeld)
	t.Outcome, t.Cause, t.ExpiresAt = outcome, cause, until
	return rulings.RobotsTerms{Term: t, Site: k.site}
}

func (k *known) term(v *visit, state rulings.CacheState) rulings.Term {
	return rulings.Term{
		Kind:      rulings.TermRobots,
		URL:       k.url,
		FinalURL:  v.FinalURL,
		Status:    v.Status,
		Outcome:   v.Outcome,
		Cause:     v.Cause,
		Cache:     state,
		FetchedAt: v.FetchedAt,
		ExpiresAt: v.ExpiresAt,
		Object:    v.Object,
		Truncated: v.Truncated,
		Size:      v.Size,
		Unwritten: v == k.answered && k.body != nil,
	}
}

// cutShort returns the terms of a crossing for which the edge could not ask: the
// held copy where there is one (T16), else nothing that rules (T17). K may be
// nil. Nothing is kept of it, so it has no expiry.
func cutShort(k *known, url, cause string) rulings.RobotsTerms {
	if k != nil && k.answered != nil {
		return k.held(rulings.TermCutShort, cause, time.Time{})
	}
	return rulings.RobotsTerms{Term: rulings.Term{
		Kind: rulings.TermRobots, URL: url, Outcome: rulings.TermCutShort, Cause: cause, Cache: rulings.CacheFetched,
	}}
}
