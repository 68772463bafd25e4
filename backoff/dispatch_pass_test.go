package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/backoff"
)

var broken = &backoff.StoreError{Fault: backoff.LockHeld, Path: "/var/lib/wayleave/backoff/host.test.lock"}

func TestP39_AStoreThatFailsRefusesBeforeTheRequest(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second} {
		t.Run("delay "+delay.String(), func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				s.store.Fail(broken)
				s.call(s.Context(), 0, s.request(delay))
				e := s.wantRefused(0, 0, backoff.ReasonPacingStore)
				if e.Fault != broken || !errors.Is(e, broken) || !strings.Contains(e.Error(), broken.Path) {
					t.Errorf("refused with %+v", e)
				}
				if told := backoff.Tell(e.Refusal, e.Now, true); told.Status != 503 || told.RetryAfter != 30 {
					t.Errorf("told %+v", told)
				}
				b := e.Record.Backoff
				if len(b) != 1 || b[0].Outcome != "unavailable" || b[0].Unavailable != broken.Error() {
					t.Errorf("recorded %+v", e.Record)
				}
				s.store.Fail(nil)
				s.call(s.Context(), 1, s.request(delay)) // P41
				s.wantWent(0)
			})
		})
	}
}

// A turnless store is one of which Turn fails at times.
type turnless struct {
	backoff.Store
	turns atomic.Int32 // how many turns fail; each takes 2 s, as waiting for a lock does
}

func (s *turnless) Turn(ctx context.Context, host string, delay, budget time.Duration) (backoff.Turn, error) {
	if s.turns.Add(-1) >= 0 {
		time.Sleep(2 * time.Second)
		return backoff.Turn{}, broken
	}
	return s.Store.Turn(ctx, host, delay, budget)
}

// Who waits for his turn while another waits for the lock in vain need not wait
// for it in turn: a queue of ten would take 20 s.
func TestP29_AFaultIsSharedByThoseThatWaitForIt(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		store := &turnless{Store: s.store}
		store.turns.Store(1)
		s.Dispatcher = backoff.NewDispatcher(store, backoff.Config{})
		for i := range 10 {
			s.callers.Go(func() { s.carry(s.Context(), s.Dispatcher, i, s.request(time.Second)) })
		}
		s.until(2 * time.Second)
		for i := range 10 {
			if e := s.wantRefused(i, 2*time.Second, backoff.ReasonPacingStore); e.Record.Delay == nil || e.Record.Delay.Outcome != "unavailable" {
				t.Errorf("caller %d: recorded %+v", i, e.Record)
			}
		}
		s.call(s.Context(), 10, s.request(time.Second))
		s.wantWent(2 * time.Second)
	})
}

func TestP39_ATurnThatCannotBeMovedIsNotUsed(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(time.Second))
		s.must(err)
		s.until(100 * time.Millisecond)
		s.store.Fail(broken)
		var e *backoff.RefusalError
		if err := pass.Handed(s.Context()); !errors.As(err, &e) || e.Reason != backoff.ReasonPacingStore || e.Fault != broken {
			t.Errorf("Handed: %v", err)
		}
		s.store.Fail(nil)
		s.must(pass.Failed(s.Context())) // does nothing
		s.call(s.Context(), 1, s.request(time.Second))
		s.until(5 * time.Second)
		s.wantWent(time.Second) // behind the turn that could not be given back
	})
}

// An answer that cannot be kept is not used. A failing one keeps its reservation,
// which is the only pause left.
func TestP40_AnAnswerThatCannotBeKept(t *testing.T) {
	for _, status := range []int{200, 503} {
		for _, delay := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%d with delay %v", status, delay), func(t *testing.T) {
				inBubble(t, backoff.Config{MaxWait: time.Minute}, func(s *scene) {
					s.plantFailing(0)
					pass, err := s.Go(s.Context(), s.request(delay))
					s.must(err)
					s.must(pass.Handed(s.Context()))
					s.until(time.Second)
					s.store.Fail(broken)
					err = pass.HeadArrived(s.Context(), status)
					if delay == 0 { // no turn to date
						s.must(err)
						_, err = pass.Answered(s.Context(), backoff.Answer{Status: status})
					}
					var fault *backoff.StoreError
					if !errors.As(err, &fault) || fault != broken {
						t.Errorf("the fault is %v", err)
					}
					s.store.Fail(nil)
					s.call(s.Context(), 1, s.request(delay))
					b := pass.Record().Backoff
					if len(b) != 1 || b[0].Outcome != "unavailable" || b[0].Status != status {
						t.Errorf("recorded %+v", b)
					}
					c, err := pass.Answered(s.Context(), backoff.Answer{Status: status}) // the pass has ended
					if err != nil || c.Event != "" {
						t.Errorf("Answered after the end: %+v, %v", c, err)
					}
					s.until(40 * time.Second)
					// What the store did not take while it failed is not made up for, so
					// the reservation expires in both cases.
					s.wantWent(30 * time.Second)
				})
			})
		}
	}
}

func TestP40_AGoodAnswerThatCannotBeKeptReleases(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		store := &unkept{Store: s.store}
		s.Dispatcher = backoff.NewDispatcher(store, backoff.Config{})
		for i, status := range []int{200, 503} {
			s.plantFailing(0)
			pass, err := s.Go(s.Context(), s.request(0))
			s.must(err)
			s.must(pass.Handed(s.Context()))
			if _, err := pass.Answered(s.Context(), backoff.Answer{Status: status}); !errors.Is(err, broken) {
				t.Errorf("Answered: %v", err)
			}
			state := s.store.Stored(host)
			if kept := state.Reservation.ID != ""; kept != (status == 503) || state.Backoff.Failures != 1 {
				t.Errorf("%d, %d: left is %+v", i, status, state)
			}
		}
	})
}

// An unkept store is one that keeps no answers.
type unkept struct{ backoff.Store }

func (unkept) Answered(context.Context, string, backoff.Answer) (backoff.Change, error) {
	return backoff.Change{}, broken
}

// A counted store counts its calls.
type counted struct {
	backoff.Store
	looks, answers, others atomic.Int32
}

func (c *counted) Look(ctx context.Context, host string) (backoff.State, time.Time, error) {
	c.looks.Add(1)
	return c.Store.Look(ctx, host)
}

func (c *counted) Answered(ctx context.Context, host string, a backoff.Answer) (backoff.Change, error) {
	c.answers.Add(1)
	return c.Store.Answered(ctx, host, a)
}

func (c *counted) Turn(ctx context.Context, host string, delay, budget time.Duration) (backoff.Turn, error) {
	c.others.Add(1)
	return c.Store.Turn(ctx, host, delay, budget)
}

func (c *counted) Handed(ctx context.Context, host string, turn backoff.Turn, delay, lead time.Duration) (backoff.Handover, error) {
	c.others.Add(1)
	return c.Store.Handed(ctx, host, turn, delay, lead)
}

func (c *counted) Release(ctx context.Context, host string, id string) error {
	c.others.Add(1)
	return c.Store.Release(ctx, host, id)
}

func TestP37_AHealthyHostCostsALook(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		traced := newTracedFS(t.TempDir())
		store := &counted{Store: backoff.NewFileStore(t.TempDir(), backoff.FileOptions{FS: traced})}
		s.Dispatcher = backoff.NewDispatcher(store, backoff.Config{})
		s.serve = func(n int) reply { return reply{status: 200 + n%3*100, head: time.Second} }
		for i := range 9 {
			s.call(s.Context(), i, s.request(0))
		}
		s.until(time.Second)
		pass, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(pass.Handed(s.Context()))
		s.must(pass.Failed(s.Context()))
		if l, a, o := store.looks.Load(), store.answers.Load(), store.others.Load(); l != 10 || a != 0 || o != 0 {
			t.Errorf("%d looks, %d answers, %d other calls", l, a, o)
		}
		if calls := traced.calls(); strings.Trim(calls, "read ") != "" {
			t.Errorf("the files were touched: %s", calls)
		}
		if diff := cmp.Diff(backoff.Record{}, pass.Record()); diff != "" {
			t.Errorf("recorded:\n%s", diff)
		}
	})
}

func TestE18_ARecordSaysWhatPacingDid(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(3 * time.Second)
		r := s.request(2 * time.Second)
		pass, err := s.Go(s.Context(), r)
		s.must(err)
		s.must(pass.Handed(s.Context()))
		s.must(pass.HeadArrived(s.Context(), 503))
		date := s.now().Add(10 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
		_, err = pass.Answered(s.Context(), backoff.Answer{Status: 503, RetryAfter: []string{date}, Date: "as sent"})
		s.must(err)
		want := backoff.Record{
			Delay: &backoff.DelayRuling{Delay: 2 * time.Second, Outcome: "clear", Budget: 17 * time.Second, NextAt: s.start.Add(3 * time.Second)},
			Backoff: []backoff.BackoffRuling{
				{Target: host, Outcome: "waited", Failures: 1, Status: 503, Until: s.start.Add(3 * time.Second), Wait: 3 * time.Second, Budget: 20 * time.Second},
				{Target: host, Outcome: "set", Failures: 2, Status: 503, Until: s.start.Add(13 * time.Second), RetryAfter: true, Date: true},
			},
			DateHeader: "as sent",
		}
		if diff := cmp.Diff(want, pass.Record(), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		s.until(5 * time.Second)
		if pass, err = s.Go(s.Context(), r); err != nil {
			t.Fatal(err)
		}
		s.must(pass.Handed(s.Context()))
		_, err = pass.Answered(s.Context(), backoff.Answer{Status: 200})
		s.must(err)
		got := pass.Record().Backoff
		if len(got) != 2 || got[0].Outcome != "waited" || got[0].Wait != 8*time.Second || got[1].Outcome != "reset" || got[1].Failures != 0 {
			t.Errorf("recorded %+v", got)
		}
	})
}

// A reservation that is given up before its end lets the next request reserve the
// host, and the answer of the first still counts (P21). That of a failure stays,
// which nothing may go beside (P22).
func TestP26_AReservationThatIsYielded(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		went     []time.Duration // before the end of the answer
		failures int             // after it
	}{
		"of an answer that is good": {200, []time.Duration{2 * time.Second}, 0},
		"of a failure":              {503, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				s.serve = func(int) reply { return reply{status: 200, head: 10 * time.Minute} }
				s.plantFailing(0)
				owner, err := s.Go(s.Context(), s.request(0))
				s.must(err)
				s.must(owner.Handed(s.Context()))
				s.must(owner.HeadArrived(s.Context(), c.status))
				s.call(s.Context(), 0, s.request(0))
				s.until(2 * time.Second)
				s.wantWent()
				for range 2 {
					s.must(owner.Yield(s.Context()))
				}
				s.until(3 * time.Second)
				s.wantWent(c.went...)
				held := s.store.Stored(host).Reservation
				_, err = owner.Answered(s.Context(), backoff.Answer{Status: c.status})
				s.must(err)
				state := s.store.Stored(host)
				if state.Backoff.Failures != c.failures || c.went != nil && (held.ID == "" || state.Reservation.ID != held.ID) {
					t.Errorf("of %+v there is %+v", held, state)
				}
				s.must(owner.Yield(s.Context())) // after its end
			})
		})
	}
}

// What comes after the end of a pass, and what comes twice, does nothing.
func TestP26_APassEndsOnce(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(time.Second))
		s.must(err)
		for range 2 {
			s.must(pass.Handed(s.Context()))
		}
		s.must(pass.HeadArrived(s.Context(), 103)) // not final
		for range 2 {
			s.must(pass.HeadArrived(s.Context(), 503))
		}
		s.must(pass.Failed(s.Context()))
		before := s.store.Stored(host)
		s.must(pass.Failed(s.Context()))
		s.must(pass.Handed(s.Context()))
		s.must(pass.HeadArrived(s.Context(), 503))
		_, err = pass.Answered(s.Context(), backoff.Answer{Status: 503})
		s.must(err)
		if after := s.store.Stored(host); !after.Equal(before) || after.Backoff.Failures != 0 {
			t.Errorf("the state went from %+v to %+v", before, after)
		}
		s.call(s.Context(), 0, s.request(time.Second))
		s.until(2 * time.Second)
		s.wantWent(time.Second)
	})
}

// An answer counts though the agent went away meanwhile, and a pass of which only
// the answer was told has left the line.
func TestP16_AnAnswerCountsThoughItsContextEnded(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		ctx, cancel := context.WithCancel(s.Context())
		pass, err := s.Go(ctx, s.request(time.Second))
		s.must(err)
		cancel()
		_, err = pass.Answered(ctx, backoff.Answer{Status: 500})
		s.must(err)
		if state := s.store.Stored(host); state.Backoff.Failures != 1 {
			t.Errorf("the state is %+v", state)
		}
		s.call(s.Context(), 0, s.request(time.Second))
		s.until(10 * time.Second)
		s.wantWent(10 * time.Second)
		if _, err := s.Go(ctx, s.request(0)); !errors.Is(err, context.Canceled) {
			t.Errorf("Go with a context that ended: %v", err)
		}
		synctest.Wait()
	})
}
