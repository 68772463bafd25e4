package terms

import (
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// known is what the book knows of one place at one time. It never changes, so
// readers share it without a lock.
type known struct {
	ledger
	kind   *kind
	url    string
	doc    document  // of the answer; zero when there is none
	reused found     // what a crossing gets that asks nobody
	body   []byte    // of an answer whose object could not be written; nil when it was
	retry  time.Time // when to try that again
}

// found is what a look-up came to. Each kind makes its terms of it.
type found struct {
	rulings.Term
	document

	redirects []string       // where the probe was led to, hop by hop
	failure   FailureKind    // of a look-up that was cut short: why
	barred    rulings.Reason // and the reason of its own that this has, where nothing rules (T17)
	pace      rulings.PaceTerms
}

// noRules is the file of every robots.txt that states nothing (T15).
var noRules = rulings.ParseSite(nil)

// newKnown returns what l and the parsed document of its answer come to. Body is
// nil unless the answer's object is not on disk.
func newKnown(kind *kind, url string, l ledger, doc document, body []byte) *known {
	k := &known{ledger: l, kind: kind, url: url, doc: doc, body: body}
	k.reused = k.terms(rulings.CacheReused)
	return k
}

// live reports whether k may be used at now without asking. K may be nil.
func (k *known) live(now time.Time) bool { return k != nil && k.last().live(now) }

// ready reports whether a crossing may use k as it stands: it is live, and there
// is no object to be written first. K may be nil.
func (k *known) ready(now time.Time) bool {
	return k.live(now) && (k.body == nil || now.Before(k.retry))
}

// terms returns what k says, for a crossing that got it as state says. While a
// place cannot be reached its held copy rules (T16).
func (k *known) terms(state rulings.CacheState) found {
	switch {
	case k.missed == nil:
		return found{Term: k.term(k.answered, state), document: k.doc, redirects: k.answered.Redirects}
	case k.answered == nil:
		return found{Term: k.term(k.missed, state), redirects: k.missed.Redirects}
	}
	return k.held(k.missed.Outcome, k.missed.Cause, k.missed.ExpiresAt)
}

// held returns the held copy as it rules for want of an answer. Outcome, cause
// and until are of the probe that found none. All else is of the copy, because
// the ruling is recomputed from it: from its object, or, where there is none,
// from its status.
func (k *known) held(outcome rulings.TermOutcome, cause string, until time.Time) found {
	t := k.term(k.answered, rulings.CacheHeld)
	t.Outcome, t.Cause, t.ExpiresAt = outcome, cause, until
	return found{Term: t, document: k.doc, redirects: k.answered.Redirects}
}

func (k *known) term(v *visit, state rulings.CacheState) rulings.Term {
	return rulings.Term{
		Kind:      k.kind.name,
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

// cutShort returns what a crossing gets for which the edge could not ask at url,
// for the reason v: the held copy where there is one (T16), else nothing that
// rules (T17). A place that the guard or the policy bars is refused for that,
// whatever is held of it. K may be nil. Nothing is kept of it, so it has no
// expiry.
func (kd *kind) cutShort(k *known, url string, v verdict) found {
	if kd.holds && k != nil && k.answered != nil && v.failure != FailureProhibited {
		f := k.held(rulings.TermCutShort, v.cause, time.Time{})
		f.failure = v.failure
		return f
	}
	return found{
		Term:    rulings.Term{Kind: kd.name, URL: url, Outcome: rulings.TermCutShort, Cause: v.cause, Cache: rulings.CacheFetched},
		failure: v.failure, barred: v.barred, pace: v.pace,
	}
}
