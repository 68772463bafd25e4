package terms

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// objectRetry is how long an object that could not be written is left before it
// is tried again.
const objectRetry = 30 * time.Second

// A flight is one look-up that any number of crossings wait for.
type flight struct {
	done  chan struct{} // closed when terms is set
	terms rulings.RobotsTerms
}

// await joins or begins the look-up of origin and waits for it, or for ctx.
func (b *Book) await(ctx context.Context, origin hostkey.Origin, refresh bool) rulings.RobotsTerms {
	e, f := b.join(ctx, origin, refresh)
	if f == nil {
		return cutShort(e.known.Load(), e.url, causes[FailureShutdown])
	}
	select {
	case <-f.done:
		return f.terms
	case <-ctx.Done():
		return cutShort(e.known.Load(), e.url, "the crossing ended before the answer came")
	}
}

// join returns the look-up of origin that is going on, or begins one. The
// flight is nil when the book is closed.
func (b *Book) join(ctx context.Context, origin hostkey.Origin, refresh bool) (*entry, *flight) {
	for {
		e := b.cache.obtain(origin, b.now())
		if f, ok := b.board(ctx, e, refresh); ok {
			return e, f
		}
	}
}

// board is join for the entry of an origin. It is false when e was evicted after
// it was obtained: another look-up may be going on at its successor.
func (b *Book) board(ctx context.Context, e *entry, refresh bool) (f *flight, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, false
	}
	if e.flight == nil && b.begin() {
		e.flight = &flight{done: make(chan struct{})}
		go b.fly(context.WithoutCancel(ctx), e, e.flight, refresh)
	}
	return e.flight, true
}

// fly is the goroutine of one look-up. Close waits for it.
func (b *Book) fly(ctx context.Context, e *entry, f *flight, refresh bool) {
	defer b.flights.Done()
	defer func() {
		e.mu.Lock()
		e.flight = nil
		e.mu.Unlock()
		close(f.done)
	}()
	defer b.survive(e, f)
	f.terms = b.lookUp(ctx, e, refresh)
}

// survive turns a panic while a stranger's answer is read into a look-up that
// was cut short: no origin may end the edge.
func (b *Book) survive(e *entry, f *flight) {
	if r := recover(); r != nil {
		b.log.Error("looking up terms panicked", "origin", e.origin.String(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		f.terms = cutShort(e.known.Load(), e.url, causes[FailureInternal])
	}
}

// lookUp finds out what the origin of e says: from the file, where a neighbour
// or an earlier life of this edge has written a live answer, else from the
// origin itself.
func (b *Book) lookUp(ctx context.Context, e *entry, refresh bool) rulings.RobotsTerms {
	k := e.known.Load()
	if !k.ready(b.now()) {
		k = b.catchUp(e.origin, k)
	}
	if now := b.now(); !refresh && k.live(now) {
		return b.reuse(e, k, now)
	}
	a := b.fetch(ctx, e.url)
	v := classify(a)
	next := b.learn(k, a, v)
	b.fetches.WithLabelValues(string(rulings.TermRobots), string(v.outcome)).Inc()
	b.record(ctx, a.probe(v, next))
	switch {
	case next == k && k.live(a.ended):
		return k.reused // a refresh that brought nothing
	case v.outcome == rulings.TermCutShort:
		return v.cutShort(k, e.url)
	}
	b.publish(e, next)
	b.saver.add(e)
	return next.terms(rulings.CacheFetched)
}

// reuse makes the live k what crossings find and returns what they get of it.
func (b *Book) reuse(e *entry, k *known, now time.Time) rulings.RobotsTerms {
	kept := b.keepObject(k, now)
	if kept != e.known.Load() {
		b.publish(e, kept)
	}
	if kept != k {
		b.saver.add(e)
	}
	return kept.reused
}

// learn returns what is known after the probe a with the verdict v, or k itself
// when the probe changes nothing. Of an answer that was read the object is on
// disk when learn returns, or marked as unwritten.
func (b *Book) learn(k *known, a *answer, v verdict) *known {
	if v.outcome == rulings.TermCutShort {
		return k
	}
	seen := &visit{
		Outcome: v.outcome, Cause: v.cause, Status: a.status, FetchedAt: a.ended, ExpiresAt: a.ended.Add(v.life),
		FinalURL: a.finalURL(), Redirects: a.redirects,
	}
	switch v.outcome {
	case rulings.TermRead:
		seen.Truncated, seen.Size = a.truncated, a.size
		fresh := newKnown(a.url, ledger{answered: seen}, rulings.ParseSite(a.body), a.body)
		return b.keepObject(fresh, a.ended)
	case rulings.TermNoRules:
		return newKnown(a.url, ledger{answered: seen}, noRules, nil)
	}
	if k == nil {
		return newKnown(a.url, ledger{missed: seen}, nil, nil)
	}
	l := k.after(seen)
	if l == k.ledger {
		return k
	}
	return newKnown(a.url, l, k.site, k.body)
}

// keepObject writes the object of k when it is not on disk yet, and returns k
// with that done, or with a time to try again.
func (b *Book) keepObject(k *known, now time.Time) *known {
	if k.body == nil {
		return k
	}
	d, err := b.PutObject(k.body)
	if err != nil {
		b.log.Warn("term object not written", "url", k.url, "error", err)
		again := newKnown(k.url, k.ledger, k.site, k.body)
		again.retry = now.Add(objectRetry)
		return again
	}
	answered := *k.answered
	answered.Object = d
	return newKnown(k.url, ledger{&answered, k.missed}, k.site, nil)
}

// publish makes k what crossings find.
func (b *Book) publish(e *entry, k *known) {
	e.known.Store(k)
	b.cache.settle(e)
}

// probe returns the record of a probe with the verdict v after which next is
// known.
func (a *answer) probe(v verdict, next *known) Probe {
	p := Probe{
		Kind: rulings.TermRobots, URL: a.url, RequestedAt: a.asked, Status: a.status, FinalURL: a.finalURL(), Redirects: a.redirects,
		Bytes: -1, Failure: a.failure, Took: a.ended.Sub(a.asked),
	}
	if v.outcome == rulings.TermCutShort {
		p.CutShort = v.cause
		return p
	}
	if last := next.last(); last.FetchedAt.Equal(a.ended) {
		p.CacheUntil = last.ExpiresAt
	}
	if v.outcome == rulings.TermRead {
		p.Object, p.Bytes = next.term(next.answered, rulings.CacheFetched).Object, int64(len(a.body))
	}
	return p
}

// noClient is the Client of a book that has none.
type noClient struct{}

func (noClient) Get(context.Context, string, http.Header) (*http.Response, error) {
	return nil, &FetchError{Kind: FailureInternal}
}
