package backoff_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// A scene is a dispatcher, the host that its requests go to, and what the host
// saw, all in a bubble of fake time. Times are since the scene began.
type scene struct {
	*testing.T
	store *backofftest.Memory
	*backoff.Dispatcher
	start time.Time
	skew  atomic.Int64 // of the store's clock

	// serve answers the nth request, from 0. Nil answers 200 at once.
	serve func(n int) reply

	mu      sync.Mutex
	went    []time.Duration // when each request was handed over
	who     []int           // the caller each was of
	refused map[int]refused
	callers sync.WaitGroup
}

// A reply is how the host answers.
type reply struct {
	status     int // 0: not at all
	retryAfter string
	head, body time.Duration // how long they take
}

// A refused is a call that came to nothing.
type refused struct {
	at  time.Duration
	err error
}

// inBubble runs show with a scene of its own in fake time.
func inBubble(t *testing.T, c backoff.Config, show func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, start: time.Now(), refused: map[int]refused{}}
		s.store = backofftest.NewMemory(c, s.now)
		s.Dispatcher = backoff.NewDispatcher(s.store, c)
		show(s)
		s.callers.Wait()
		if left := s.Waiting(); len(left) > 0 {
			t.Errorf("they still wait: %v", left)
		}
	})
}

func (s *scene) since() time.Duration { return time.Since(s.start) }

// now is the store's clock.
func (s *scene) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

// until sleeps until so long after the beginning.
func (s *scene) until(d time.Duration) {
	time.Sleep(d - s.since())
	synctest.Wait()
}

// request is one with a budget of 20 s.
func (s *scene) request(delay time.Duration) backoff.Request {
	return backoff.Request{Host: host, Delay: backoff.Delay{Honoured: delay}, Budget: s.NewBudget()}
}

// call begins a caller, which takes its place in the line before call returns.
func (s *scene) call(ctx context.Context, caller int, r backoff.Request) {
	s.callers.Go(func() { s.carry(ctx, s.Dispatcher, caller, r) })
	synctest.Wait()
}

// carry carries one request to its end as the exchange does.
func (s *scene) carry(ctx context.Context, d *backoff.Dispatcher, caller int, r backoff.Request) {
	pass, err := d.Go(ctx, r)
	if err == nil {
		err = pass.Handed(ctx)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused[caller] = refused{s.since(), err}
		return
	}
	s.finish(ctx, pass, s.handed(caller))
}

// handed notes that a request came to the host, and returns the host's reply.
func (s *scene) handed(caller int) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.went, s.who = append(s.went, s.since()), append(s.who, caller)
	if s.serve == nil {
		return reply{status: 200}
	}
	return s.serve(len(s.went) - 1)
}

// finish lets the host's reply come in.
func (s *scene) finish(ctx context.Context, pass *backoff.Pass, a reply) {
	time.Sleep(a.head)
	if a.status == 0 {
		s.must(pass.Failed(ctx))
		return
	}
	s.must(pass.HeadArrived(ctx, a.status))
	time.Sleep(a.body)
	answer := backoff.Answer{Status: a.status}
	if a.retryAfter != "" {
		answer.RetryAfter = []string{a.retryAfter}
	}
	_, err := pass.Answered(ctx, answer)
	s.must(err)
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

// times returns when requests were handed over so far.
func (s *scene) times() []time.Duration {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.went)
}

// wantWent fails the test unless requests were handed over at these times.
func (s *scene) wantWent(want ...time.Duration) {
	s.Helper()
	if got := s.times(); !slices.Equal(got, want) {
		s.Errorf("requests went at %v, want %v", got, want)
	}
}

// wantSpaced fails the test unless the last n of the requests were handed over no
// earlier than from and no later than to, and each a delay after the one before.
// It is for what hangs on which of two callers is first at the store.
func (s *scene) wantSpaced(n int, delay, from, to time.Duration) {
	s.Helper()
	went := s.times()
	if len(went) < n {
		s.Fatalf("requests went at %v, want %d", went, n)
	}
	earliest := from
	for _, at := range went[len(went)-n:] {
		if at < earliest || at > to {
			s.Errorf("requests went at %v, want %d from %v to %v, %v apart", went, n, from, to, delay)
			return
		}
		earliest = at + delay
	}
}

// wantOrder fails the test unless the requests were of these callers.
func (s *scene) wantOrder(want ...int) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.who, want) {
		s.Errorf("callers went in the order %v, want %v", s.who, want)
	}
}

// wantRefused fails the test unless the caller was refused at this time and for
// this reason, and returns how.
func (s *scene) wantRefused(caller int, at time.Duration, reason backoff.Reason) *backoff.RefusalError {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	got, ok := s.refused[caller]
	var e *backoff.RefusalError
	if !ok || got.at != at || !errors.As(got.err, &e) || e.Reason != reason {
		s.Fatalf("caller %d: refused %v at %v: %v, want %s at %v", caller, ok, got.at, got.err, reason, at)
	}
	return e
}

// plantFailing puts the host into back-off for so long.
func (s *scene) plantFailing(wait time.Duration) {
	now := s.now().Round(0)
	s.store.Plant(s, backoff.State{Host: host, SetAt: now, Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: now.Add(wait), By: "t"}})
}

// secondsUpTo returns the seconds from 0 to n.
func secondsUpTo(n int) (all []time.Duration) {
	for i := range n + 1 {
		all = append(all, time.Duration(i)*time.Second)
	}
	return all
}

func countUpTo(n int) (all []int) {
	for i := range n + 1 {
		all = append(all, i)
	}
	return all
}
