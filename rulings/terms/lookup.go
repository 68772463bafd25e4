package terms

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// objectRetry is how long an object that could not be written is left before it
// is tried again.
const objectRetry = 30 * time.Second

// A flight is one look-up that any number of crossings wait for.
type flight struct {
	done  chan struct{} // closed when found is set
	found found
}

// What keeps a crossing from waiting for an answer.
var (
	bookClosed = verdict{cause: causes[FailureShutdown], failure: FailureShutdown}
	leftEarly  = verdict{cause: "the crossing ended before the answer came", failure: FailureTimeout}
	panicked   = verdict{cause: causes[FailureInternal], failure: FailureInternal}
)

// await joins or begins the look-up of p and waits for it, or for ctx.
func (s *shelf) await(ctx context.Context, p place, how errand) found {
	e, f := s.join(ctx, p, how)
	if f == nil {
		return s.cutShort(e.known.Load(), e.url, bookClosed)
	}
	select {
	case <-f.done:
		return f.found
	case <-ctx.Done():
		return s.cutShort(e.known.Load(), e.url, leftEarly)
	}
}

// join returns the look-up of p that is going on, or begins one. The flight is
// nil when the book is closed.
func (s *shelf) join(ctx context.Context, p place, how errand) (*entry, *flight) {
	for {
		e := s.cache.obtain(p, s.book.now())
		if f, ok := s.board(ctx, e, how); ok {
			return e, f
		}
	}
}

// board is join for the entry of a place. It is false when e was evicted after
// it was obtained: another look-up may be going on at its successor.
func (s *shelf) board(ctx context.Context, e *entry, how errand) (f *flight, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, false
	}
	if e.flight == nil && s.book.begin() {
		e.flight = &flight{done: make(chan struct{})}
		go s.fly(context.WithoutCancel(ctx), e, e.flight, how)
	}
	return e.flight, true
}

// fly is the goroutine of one look-up. Close waits for it.
func (s *shelf) fly(ctx context.Context, e *entry, f *flight, how errand) {
	defer s.book.flights.Done()
	defer func() {
		e.mu.Lock()
		e.flight = nil
		e.mu.Unlock()
		close(f.done)
	}()
	defer s.survive(e, f)
	f.found = s.lookUp(ctx, e, how)
}

// survive turns a panic while a stranger's answer is read into a look-up that
// was cut short: no origin may end the edge.
func (s *shelf) survive(e *entry, f *flight) {
	if r := recover(); r != nil {
		s.book.log.Error("looking up terms panicked", "url", s.book.redact(e.url), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		f.found = s.cutShort(e.known.Load(), e.url, panicked)
	}
}

// lookUp finds out what the place of e says: from the file, where a neighbour or
// an earlier life of this edge has written a live answer, else by asking.
func (s *shelf) lookUp(ctx context.Context, e *entry, how errand) found {
	b, k := s.book, e.known.Load()
	if !k.ready(b.now()) {
		k = s.catchUp(e.place, k)
	}
	if now := b.now(); !how.again && k.live(now) {
		return s.reuse(e, k, now)
	}
	a := b.fetch(ctx, s.name, e.url, how)
	v := s.verdict(a)
	next := s.learn(k, a, v)
	b.fetches.WithLabelValues(string(s.name), string(v.outcome)).Inc()
	b.record(ctx, s.probe(a, v, next))
	switch {
	case next == k && k.live(a.ended) && k.missed == nil:
		return k.reused // asked before its time, which brought nothing
	case v.outcome == rulings.TermCutShort:
		return s.cutShort(k, e.url, v)
	}
	s.publish(e, next)
	b.saver.add(e)
	return next.terms(rulings.CacheFetched)
}

// reuse makes the live k what crossings find and returns what they get of it.
func (s *shelf) reuse(e *entry, k *known, now time.Time) found {
	kept := s.keepObject(k, now)
	if kept != e.known.Load() {
		s.publish(e, kept)
	}
	if kept != k {
		s.book.saver.add(e)
	}
	return kept.reused
}

// learn returns what is known after the probe a with the verdict v, or k itself
// when the probe changes nothing. Of an answer whose body was read the object is
// on disk when learn returns, or marked as unwritten.
func (s *shelf) learn(k *known, a *answer, v verdict) *known {
	if v.outcome == rulings.TermCutShort {
		return k
	}
	seen := &visit{
		Outcome: v.outcome, Cause: v.cause, Status: a.status, FetchedAt: a.ended, ExpiresAt: a.ended.Add(v.life),
		FinalURL: a.finalURL(), Redirects: a.redirects, Truncated: a.truncated, Size: a.size,
	}
	switch {
	case v.body:
		return s.keepObject(newKnown(s.kind, a.url, ledger{answered: seen}, v.doc, a.body), a.ended)
	case seen.answers():
		return newKnown(s.kind, a.url, ledger{answered: seen}, v.doc, nil)
	case k == nil:
		return newKnown(s.kind, a.url, ledger{missed: seen}, document{}, nil)
	}
	switch l := s.kept(k.after(seen)); {
	case l == k.ledger:
		return k
	case l.answered == nil:
		return newKnown(s.kind, a.url, l, document{}, nil)
	default:
		return newKnown(s.kind, a.url, l, k.doc, k.body)
	}
}

// keepObject writes the object of k when it is not on disk yet, and returns k
// with that done, or with a time to try again.
func (s *shelf) keepObject(k *known, now time.Time) *known {
	if k.body == nil {
		return k
	}
	d, err := s.book.PutObject(k.body)
	if err != nil {
		s.book.log.Warn("term object not written", "url", s.book.redact(k.url), "error", err)
		again := newKnown(s.kind, k.url, k.ledger, k.doc, k.body)
		again.retry = now.Add(objectRetry)
		return again
	}
	answered := *k.answered
	answered.Object = d
	return newKnown(s.kind, k.url, ledger{&answered, k.missed}, k.doc, nil)
}

// publish makes k what crossings find.
func (s *shelf) publish(e *entry, k *known) {
	e.known.Store(k)
	s.cache.settle(e)
}

// probe returns the record of the probe a with the verdict v after which next is
// known.
func (s *shelf) probe(a *answer, v verdict, next *known) Probe {
	p := Probe{
		Kind: s.name, URL: a.url, RequestedAt: a.asked, Status: a.status, FinalURL: a.finalURL(), Redirects: a.redirects,
		Bytes: -1, Failure: a.failure, Took: a.took, Waited: a.waited, Passes: a.passes, Refused: a.pace.Cause,
	}
	if v.outcome == rulings.TermCutShort {
		p.CutShort = v.cause
		return p
	}
	if last := next.last(); last.FetchedAt.Equal(a.ended) {
		p.CacheUntil = last.ExpiresAt
	}
	if v.body {
		p.Object, p.Bytes = next.answered.Object, int64(len(a.body))
	}
	return p
}

// noClient is the Client of a book that has none.
type noClient struct{}

func (noClient) Get(context.Context, string, http.Header) (*http.Response, error) {
	return nil, &FetchError{Kind: FailureInternal}
}
