package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP27_AtTheEndOfAWaitExactlyOneOfManyGoes(t *testing.T) {
	inBubble(t, backoff.Config{MaxWait: time.Minute}, func(s *scene) {
		s.serve = func(n int) reply {
			if n < 2 {
				return reply{status: 429, retryAfter: "5", head: time.Second, body: 500 * time.Millisecond}
			}
			return reply{status: 200}
		}
		s.plantFailing(5 * time.Second)
		for i := range 200 {
			s.call(s.Context(), i, s.request(0))
		}
		s.until(11499 * time.Millisecond)
		s.wantWent(5 * time.Second) // answered 429 at 6.5, for 5 s
		s.until(17999 * time.Millisecond)
		s.wantWent(5*time.Second, 11500*time.Millisecond) // answered 429 at 13, for 5 s
		s.until(18 * time.Second)                         // answered 200 at once: all others go
		if went := s.times(); len(went) != 200 || went[199] != 18*time.Second {
			t.Errorf("requests went at %v", went)
		}
		if first, second := s.who[0], s.who[1]; first != 0 || second != 1 {
			t.Errorf("%d went before %d", first, second)
		}
	})
}

// With a delay each of them still waits for its turn.
func TestP24_BackOffThenTurnThenBackOffAgain(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(n int) reply { return reply{status: 200, head: 1500 * time.Millisecond} }
		s.plantFailing(3 * time.Second)
		for i := range 4 {
			s.call(s.Context(), i, s.request(time.Second))
		}
		if reserved := s.store.Stored(host).Turn.Reserved; !reserved.IsZero() {
			t.Errorf("a turn was taken before the wait was over: %v", reserved)
		}
		s.until(20 * time.Second)
		s.wantOrder(0, 1, 2, 3)
		// The first reserves at 3 and is answered at 4.5, which dates the next turn,
		// unless the others took theirs before it reserved: then they are from 5 on.
		if went := s.times(); len(went) != 4 || went[0] != 3*time.Second {
			t.Fatalf("requests went at %v, want four, the first at 3s", went)
		}
		s.wantSpaced(3, time.Second, 5*time.Second, 7500*time.Millisecond)
	})
}

// Turns that passed while the host was left alone are nobody's any more, since
// other processes have those between; the last in line take new ones.
func TestP24_AQueueThatWasHeldUpKeepsItsOrderAndSpacing(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(n int) reply {
			if n == 0 {
				return reply{status: 503, retryAfter: "5", head: 500 * time.Millisecond}
			}
			return reply{status: 200}
		}
		other := backoff.NewDispatcher(s.store, backoff.Config{})
		for i := range 10 {
			d := s.Dispatcher
			if i == 7 { // has the turn at 7 s
				d = other
			}
			s.callers.Go(func() { s.carry(s.Context(), d, i, s.request(time.Second)) })
			synctest.Wait()
		}
		s.until(20 * time.Second)
		s.wantOrder(0, 1, 7, 2, 3, 4, 5, 6, 8, 9) // to 9 s on the turns that were left, then on new ones
		s.wantWent(append([]time.Duration{0}, secondsUpTo(14)[6:]...)...)
	})
}

func TestP22_NothingGoesFromTheHeadOfAFailureToItsEnd(t *testing.T) {
	for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run("delay "+delay.String(), func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				s.serve = func(n int) reply {
					if n == 0 {
						return reply{status: 429, retryAfter: "5", head: time.Second, body: 2 * time.Second}
					}
					return reply{status: 200, head: time.Minute}
				}
				for i := range 20 {
					s.call(s.Context(), i, s.request(delay))
					time.Sleep(150 * time.Millisecond)
				}
				s.until(7999 * time.Millisecond)
				early := s.times()
				if n := len(early); n != 7 || early[n-1] != 900*time.Millisecond {
					t.Errorf("requests went at %v", early)
				}
				s.until(8 * time.Second) // 3 s, and 5 s that it asked for
				if went := s.times(); len(went) != len(early)+1 {
					t.Errorf("at the end of the wait %v", went)
				}
			})
		})
	}
}

func TestP22_AFailureThatBreaksOffBindsNobody(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(pass.Handed(s.Context()))
		s.must(pass.HeadArrived(s.Context(), 503))
		s.call(s.Context(), 1, s.request(0))
		s.until(2 * time.Second)
		s.wantWent()
		s.must(pass.Failed(s.Context()))
		s.wantWent(2 * time.Second)
		if state := s.store.Stored(host); !state.Empty() {
			t.Errorf("the state is %+v", state)
		}
	})
}

// A body that does not end is waited for as long as the budget lasts.
func TestP22_P29_AFailureThatIsReadForLongUsesUpTheBudget(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(pass.Handed(s.Context()))
		s.must(pass.HeadArrived(s.Context(), 503))
		s.call(s.Context(), 1, s.request(0))
		s.until(20 * time.Second)
		if e := s.wantRefused(1, 20*time.Second, backoff.ReasonBackoff); !e.Held || backoff.Tell(e.Refusal, e.Now, false).RetryAfter != 1 {
			t.Errorf("refused with %+v", e)
		}
		s.must(pass.Failed(s.Context()))
	})
}

// What becomes of the owner of a reservation, and of those that wait for it.
func TestP26_TheEndOfAReservation(t *testing.T) {
	const s = time.Second
	type ending func(ctx context.Context, p *backoff.Pass) error
	answered := func(status int) ending {
		return func(ctx context.Context, p *backoff.Pass) error {
			_, err := p.Answered(ctx, backoff.Answer{Status: status})
			return errors.Join(p.HeadArrived(ctx, status), err)
		}
	}
	tests := []struct {
		name string
		end  ending // at 2 s; nil: never
		want []time.Duration
	}{
		{"answers well: all go", answered(200), []time.Duration{2 * s, 2 * s, 2 * s}},
		{"answers 404: all go", answered(404), []time.Duration{2 * s, 2 * s, 2 * s}},
		{"fails: the wait is renewed, then one goes", answered(503), []time.Duration{22 * s}},
		{"is cut: the next one reserves", func(ctx context.Context, p *backoff.Pass) error { return p.Failed(ctx) }, []time.Duration{2 * s}},
		{"is cut in the body of a failure: the next one reserves", func(ctx context.Context, p *backoff.Pass) error {
			return errors.Join(p.HeadArrived(ctx, 503), p.Failed(ctx))
		}, []time.Duration{2 * s}},
		{"dies: its reservation expires", nil, []time.Duration{30 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, backoff.Config{MaxWait: time.Minute}, func(s *scene) {
				s.serve = func(int) reply { return reply{status: 200, head: 10 * time.Minute} }
				s.plantFailing(0)
				owner, err := s.Go(s.Context(), s.request(0))
				s.must(err)
				s.must(owner.Handed(s.Context()))
				if by := owner.HeadBy().Sub(s.start); by != 30*time.Second {
					t.Errorf("the head is to be there after %v", by)
				}
				for i := range 3 {
					s.call(s.Context(), i, s.request(0))
				}
				s.until(2 * time.Second)
				s.wantWent()
				if tt.end != nil {
					s.must(tt.end(s.Context(), owner))
				}
				s.until(tt.want[0] - time.Millisecond)
				if tt.want[0] > 2*time.Second {
					s.wantWent()
				}
				s.until(tt.want[0])
				s.wantWent(tt.want...)
			})
		})
	}
}

func TestP26_AnOwnerThatIsNotSentReleases(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(0)
		owner, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.call(s.Context(), 1, s.request(0))
		s.until(time.Second)
		s.must(owner.Failed(s.Context()))
		s.wantWent(time.Second)
		if state := s.store.Stored(host); !state.Empty() {
			t.Errorf("the state is %+v", state)
		}
	})
}

func TestP26_TheLateEndOfAFormerOwnerTouchesNobodyElses(t *testing.T) {
	inBubble(t, backoff.Config{MaxWait: time.Minute}, func(s *scene) {
		s.serve = func(int) reply { return reply{status: 200, head: 10 * time.Second} }
		s.plantFailing(0)
		former, err := s.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(former.Handed(s.Context()))
		s.call(s.Context(), 1, s.request(0))
		s.until(31 * time.Second) // the next one has reserved at 30
		s.must(former.Failed(s.Context()))
		s.call(s.Context(), 2, s.request(0))
		s.until(39 * time.Second)
		s.wantWent(30 * time.Second)
		s.until(40 * time.Second)
		s.wantWent(30*time.Second, 40*time.Second)
	})
}

func TestP25_AnotherProcesssReservationIsLookedAtEvery50ms(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(0)
		other := backoff.NewDispatcher(s.store, backoff.Config{})
		owner, err := other.Go(s.Context(), s.request(0))
		s.must(err)
		s.must(owner.Handed(s.Context()))
		for i := range 3 {
			s.call(s.Context(), i, s.request(0))
		}
		s.until(1025 * time.Millisecond)
		_, err = owner.Answered(s.Context(), backoff.Answer{Status: 200})
		s.must(err)
		s.until(2 * time.Second)
		const at = 1050 * time.Millisecond
		s.wantWent(at, at, at)
	})
}

func TestP29_P31_AReservationIsWaitedForUntilTheBudgetIsUsedUp(t *testing.T) {
	for _, own := range []bool{true, false} {
		inBubble(t, backoff.Config{}, func(s *scene) {
			s.plantFailing(0)
			d := s.Dispatcher
			if !own {
				d = backoff.NewDispatcher(s.store, backoff.Config{})
			}
			owner, err := d.Go(s.Context(), s.request(0))
			s.must(err)
			for i := range 3 {
				s.call(s.Context(), i, s.request(0))
			}
			s.until(20 * time.Second)
			for i := range 3 {
				e := s.wantRefused(i, 20*time.Second, backoff.ReasonBackoff)
				r := e.Record.Backoff
				if e.Wait != 10*time.Second || !e.Held || e.Status != 0 || len(r) != 2 || r[0].Outcome != "waited" || r[0].Wait != 20*time.Second ||
					r[1].Outcome != "refused" || r[1].ReservedUntil.Sub(s.start) != 30*time.Second || r[1].Failures != 0 {
					if i > 0 && len(r) == 1 { // who was not the first did not look
						continue
					}
					t.Errorf("caller %d refused with %+v", i, e)
				}
			}
			s.must(owner.Failed(s.Context()))
		})
	}
}

func TestP29_AWaitThatDoesNotFitIsRefusedAtOnce(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(600 * time.Second)
		r := s.request(time.Second)
		r.Tenant = "t"
		s.call(s.Context(), 0, r)
		e := s.wantRefused(0, 0, backoff.ReasonBackoff)
		if e.Wait != 600*time.Second || e.Status != 503 || !e.Own || e.Record.Delay != nil {
			t.Errorf("refused with %+v", e)
		}
		b := e.Record.Backoff
		if len(b) != 1 || b[0].Outcome != "refused" || b[0].Failures != 1 || b[0].Until.Sub(s.start) != e.Wait || b[0].Target != host || b[0].Budget != 20*time.Second {
			t.Errorf("recorded %+v", b)
		}
		if turn := s.store.Stored(host).Turn; !turn.Reserved.IsZero() { // P24
			t.Errorf("it took the turn %v", turn.Reserved)
		}
	})
}

// A wait that grows while callers sleep is refused when it does.
func TestP29_AWaitThatNoLongerFitsIsRefusedAtOnce(t *testing.T) {
	for _, delay := range []time.Duration{0, 2 * time.Second} {
		t.Run("delay "+delay.String(), func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				s.serve = func(int) reply { return reply{status: 503, retryAfter: "60", head: time.Second} }
				if delay == 0 {
					s.plantFailing(0)
				}
				for i := range 5 {
					s.call(s.Context(), i, s.request(delay))
				}
				s.until(time.Second)
				s.wantWent(0)
				for i := 1; i < 5; i++ {
					if e := s.wantRefused(i, time.Second, backoff.ReasonBackoff); e.Wait != time.Minute || e.Held {
						t.Errorf("caller %d refused with %+v", i, e)
					}
				}
				synctest.Wait()
				if last := s.store.Stored(host).Turn.Reserved; delay > 0 && !last.Equal(s.start) {
					t.Errorf("the turns were not given back: %v", last.Sub(s.start))
				}
			})
		})
	}
}

func TestP42_ABackOffIsWaitedForAsLongAsWhenItBegan(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				s.plantFailing(15 * time.Second)
				s.call(s.Context(), 0, s.request(0))
				s.until(4 * time.Second)
				s.skew.Store(int64(skew))
				s.until(15 * time.Second)
				s.wantWent(15 * time.Second)
			})
		})
	}
}

// Nobody waits, and still a wait must run while the clock is behind.
func TestP43_ARefusalLetsTheWaitRunThoughTheClockWentBack(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(60 * time.Second)
		s.skew.Store(int64(-time.Hour))
		s.call(s.Context(), 0, s.request(0))
		s.wantRefused(0, 0, backoff.ReasonBackoff)
		s.until(45 * time.Second)
		s.call(s.Context(), 1, s.request(0))
		s.until(60 * time.Second)
		s.wantWent(60 * time.Second)
	})
}

func TestP12_ACancelledWaiterLeavesABackOffToTheNext(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(int) reply { return reply{status: 200, head: time.Second} }
		s.plantFailing(5 * time.Second)
		leaves, leave := context.WithCancel(s.Context())
		s.call(leaves, 0, s.request(0))
		s.call(s.Context(), 1, s.request(0))
		s.call(leaves, 2, s.request(0))
		s.call(s.Context(), 3, s.request(0))
		s.until(time.Second)
		leave()
		s.until(10 * time.Second)
		s.wantOrder(1, 3)
		s.wantWent(5*time.Second, 6*time.Second)
	})
}

func TestP11_ABackOffIsWaitedForByNoMoreThanSoMany(t *testing.T) {
	inBubble(t, backoff.Config{MaxWaiters: 10}, func(s *scene) {
		s.plantFailing(5 * time.Second)
		for i := range 11 {
			s.call(s.Context(), i, s.request(0))
		}
		if e := s.wantRefused(10, 0, backoff.ReasonBackoff); e.Wait != 5*time.Second {
			t.Errorf("refused with %+v", e)
		}
		want := backoff.HostWait{Host: host, Count: 10, Cause: backoff.ReasonBackoff}
		got := s.Waiting()
		if len(got) != 1 || got[0].Until.Sub(s.start) != 5*time.Second {
			t.Fatalf("Waiting = %+v", got)
		}
		if got[0].Until = want.Until; got[0] != want {
			t.Errorf("Waiting = %+v, want %+v", got[0], want)
		}
		s.until(5 * time.Second)
	})
}
