package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP11_CallersGoInOrderOfArrivalSpacedByTheDelay(t *testing.T) {
	inBubble(t, backoff.Config{MaxWait: time.Minute}, func(s *scene) {
		for i := range 50 {
			s.call(s.Context(), i, s.request(time.Second))
		}
		s.until(49 * time.Second)
		s.wantOrder(countUpTo(49)...)
		s.wantWent(secondsUpTo(49)...)
	})
}

// The store of the machine behaves as the one in memory does.
func TestP11_CallersAreSpacedOverFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, start: time.Now(), refused: map[int]refused{}}
		c := backoff.Config{MaxWait: time.Minute}
		s.Dispatcher = backoff.NewDispatcher(backoff.NewFileStore(t.TempDir(), backoff.FileOptions{Config: c}), c)
		for i := range 50 {
			s.call(t.Context(), i, s.request(time.Second))
		}
		s.callers.Wait()
		s.wantOrder(countUpTo(49)...)
		s.wantWent(secondsUpTo(49)...)
	})
}

func TestP10_AnAnswerDatesTheTurnsThatAreTakenAfterIt(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(int) reply { return reply{status: 200, head: 700 * time.Millisecond, body: 10 * time.Second} }
		s.call(s.Context(), 0, s.request(time.Second))
		s.until(900 * time.Millisecond)
		s.call(s.Context(), 1, s.request(time.Second)) // head at 0.7
		s.until(5 * time.Second)
		s.wantWent(0, 1700*time.Millisecond)
	})
}

func TestP10_AFailureDatesTheTurnToo(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(n int) reply { return reply{head: 3 * time.Second} }
		s.call(s.Context(), 0, s.request(2*time.Second))
		s.until(3 * time.Second)
		s.call(s.Context(), 1, s.request(2*time.Second))
		s.until(5 * time.Second)
		s.wantWent(0, 5*time.Second)
	})
}

func TestP9_P29_WhatDoesNotFitIsRefusedAtOnce(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		for i := range 25 {
			s.call(s.Context(), i, s.request(time.Second))
		}
		for i := range 4 { // 0 to 20 fit
			e := s.wantRefused(21+i, 0, backoff.ReasonCrawlDelay)
			if e.Wait != 21*time.Second || e.Refusal.Delay != time.Second || e.Budget != 20*time.Second || e.Total != 20*time.Second {
				t.Errorf("refused with %+v", e)
			}
			d := e.Record.Delay
			if d == nil || d.Outcome != "refused" || d.Wait != e.Wait || d.Budget != e.Budget || d.NextAt.Sub(s.start) != e.Wait || len(e.Record.Backoff) > 0 {
				t.Errorf("recorded %+v", e.Record)
			}
		}
		s.until(20 * time.Second)
		s.wantWent(secondsUpTo(20)...)
	})
}

func TestP12_ACancelledWaitersTurnGoesToTheNext(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		leaves, leave := context.WithCancel(s.Context())
		for i := range 6 {
			ctx := s.Context()
			if i == 2 || i == 3 {
				ctx = leaves
			}
			s.call(ctx, i, s.request(time.Second))
		}
		s.until(1500 * time.Millisecond)
		leave()
		synctest.Wait()
		for _, i := range []int{2, 3} {
			if got := s.refused[i]; got.at != 1500*time.Millisecond || !errors.Is(got.err, context.Canceled) {
				t.Errorf("caller %d left at %v: %v", i, got.at, got.err)
			}
		}
		// The two turns at the end are given back, so a newcomer takes the first.
		s.call(s.Context(), 6, s.request(time.Second))
		s.until(10 * time.Second)
		s.wantOrder(0, 1, 4, 5, 6)
		s.wantWent(secondsUpTo(4)...)
	})
}

func TestP12_TheTurnOfTheOnlyWaiterIsGivenBack(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.call(s.Context(), 0, s.request(4*time.Second))
		leaves, leave := context.WithCancel(s.Context())
		s.call(leaves, 1, s.request(4*time.Second))
		before := s.store.Stored(host).Turn.Reserved
		leave()
		synctest.Wait()
		if after := s.store.Stored(host).Turn.Reserved; !after.Equal(s.start) || before.Sub(s.start) != 4*time.Second {
			t.Errorf("the last turn was %v and is %v", before, after)
		}
	})
}

func TestP12_ATurnWithAnotherProcessBehindItPassesUnused(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		other := backoff.NewDispatcher(s.store, backoff.Config{})
		s.call(s.Context(), 0, s.request(4*time.Second))
		leaves, leave := context.WithCancel(s.Context())
		s.call(leaves, 1, s.request(4*time.Second))
		s.callers.Go(func() { s.carry(s.Context(), other, 2, s.request(4*time.Second)) })
		synctest.Wait()
		leave()
		s.until(9 * time.Second)
		s.wantOrder(0, 2)
		s.wantWent(0, 8*time.Second)
	})
}

// A pass that is not used keeps nobody waiting.
func TestP12_ATurnThatIsNotUsedGoesToTheNext(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(time.Second))
		s.must(err)
		s.call(s.Context(), 1, s.request(time.Second))
		s.call(s.Context(), 2, s.request(time.Second))
		s.until(5 * time.Second)
		s.wantWent() // the first might still go
		s.must(pass.Failed(s.Context()))
		s.until(10 * time.Second)
		s.wantOrder(1, 2)
		s.wantWent(5*time.Second, 6*time.Second)
	})
}

func TestP11_RequestsHandedOverLateKeepTheSpacing(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(time.Second))
		s.must(err)
		s.call(s.Context(), 1, s.request(time.Second)) // its turn is at 1
		time.Sleep(1600 * time.Millisecond)
		s.must(pass.Handed(s.Context()))
		s.must(pass.Failed(s.Context()))
		s.call(s.Context(), 2, s.request(time.Second))
		s.until(10 * time.Second)
		s.wantOrder(1, 2)
		// The first of them may take another turn before the late one went, and lose what is left of it.
		s.wantSpaced(2, time.Second, 2600*time.Millisecond, 4*time.Second)
	})
}

func TestP11_NoMoreThanSoManyWait(t *testing.T) {
	inBubble(t, backoff.Config{MaxWait: time.Hour}, func(s *scene) {
		leaves, leave := context.WithCancel(s.Context())
		for i := range 1001 {
			s.call(leaves, i, s.request(time.Second))
		}
		s.call(leaves, 1001, s.request(time.Second))
		if e := s.wantRefused(1001, 0, backoff.ReasonCrawlDelay); e.Wait != 1001*time.Second {
			t.Errorf("refused with %+v", e)
		}
		got := s.Waiting()
		if len(got) != 1 || got[0].Host != host || got[0].Count != 1000 || got[0].Cause != backoff.ReasonCrawlDelay || got[0].Until.Sub(s.start) != time.Second {
			t.Errorf("Waiting = %+v", got)
		}
		leave()
		synctest.Wait()
		if last := s.store.Stored(host).Turn.Reserved; !last.Equal(s.start) {
			t.Errorf("the last turn is %v after the beginning, though nobody waits", last.Sub(s.start))
		}
	})
}

func TestP11_ARestartAndAnotherProcessKeepTheSpacing(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		for i := range 12 {
			d := backoff.NewDispatcher(s.store, backoff.Config{})
			s.callers.Go(func() { s.carry(s.Context(), d, i, s.request(time.Second)) })
		}
		s.until(12 * time.Second)
		s.wantWent(secondsUpTo(11)...)
	})
}

func TestP42_ATurnWaitsAsLongAsWhenItWasTaken(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				for i := range 3 {
					s.call(s.Context(), i, s.request(4*time.Second))
				}
				s.until(time.Second)
				s.skew.Store(int64(skew))
				s.until(20 * time.Second)
				s.wantWent(0, 4*time.Second, 8*time.Second)
			})
		})
	}
}

// The store takes the next turn for due when its clock jumped ahead; this process
// knows better.
func TestP11_AClockThatJumpsAheadDoesNotShortenTheDelay(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.call(s.Context(), 0, s.request(5*time.Second))
		s.until(time.Second)
		s.skew.Store(int64(time.Hour))
		s.call(s.Context(), 1, s.request(5*time.Second))
		s.until(10 * time.Second)
		s.wantWent(0, 5*time.Second)
	})
}

func TestP2_RobotsTxtTakesNoTurnAndDatesIt(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(n int) reply { return reply{status: 200, head: 500 * time.Millisecond} }
		robots := s.request(0)
		robots.NoTurn = true
		s.call(s.Context(), 0, robots) // nobody knows yet that the host is paced
		s.until(500 * time.Millisecond)
		if state := s.store.Stored(host); !state.Empty() {
			t.Errorf("a host that states no delay has the state %+v", state)
		}
		s.call(s.Context(), 1, s.request(4*time.Second)) // at 0.5, answered at 1
		s.call(s.Context(), 2, s.request(4*time.Second)) // its turn is at 4.5
		s.until(2 * time.Second)
		s.call(s.Context(), 3, robots)                   // answered at 2.5
		s.call(s.Context(), 4, s.request(4*time.Second)) // behind caller 2
		s.until(10 * time.Second)
		s.wantOrder(0, 1, 3, 2, 4)
		s.wantWent(0, 500*time.Millisecond, 2*time.Second, 4500*time.Millisecond, 8500*time.Millisecond)
		s.until(20 * time.Second)
		s.call(s.Context(), 5, robots) // answered at 20.5
		s.until(21 * time.Second)
		s.call(s.Context(), 6, s.request(4*time.Second))
		s.until(30 * time.Second)
		if went := s.times(); went[len(went)-1] != 24500*time.Millisecond {
			t.Errorf("after the answer for robots.txt requests went at %v", went)
		}
	})
}

// One step of a crossing: a licence or, with nothing behind it, the page.
type errand struct {
	host   string
	delay  time.Duration
	behind int
}

func TestP14_P15_LicencesComeBeforeThePageWithinOneBudget(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name     string
		reserved time.Duration // the last turn before the crossing
		errands  []errand
		want     []string
	}{
		{"need met exactly", 0, []errand{{host, 5 * s, 3}, {host, 5 * s, 2}, {host, 5 * s, 1}, {host, 5 * s, 0}}, []string{"5s", "10s", "15s", "20s"}},
		{"need a second beyond", s, []errand{{host, 5 * s, 3}}, []string{"licence first: 6s of 21s"}},
		{"never fits: licences as far as the budget goes", -9 * s, []errand{{host, 9 * s, 4}, {host, 9 * s, 3}, {host, 9 * s, 2}, {host, 9 * s, 1}},
			[]string{"0s", "9s", "18s", "9s of 9s"}},
		{"never fits: the page is told its own wait", -15 * s, []errand{{host, 15 * s, 2}, {host, 15 * s, 1}, {host, 15 * s, 0}}, []string{"0s", "15s", "15s of 15s"}},
		{"a licence elsewhere may not eat the page's turn", -5 * s, []errand{{host, 5 * s, 2}, {"other.test", 19 * s, 0}, {"other.test", 19 * s, 0}, {host, 5 * s, 1}, {host, 5 * s, 0}},
			[]string{"0s", "0s", "19s of 19s", "5s", "10s"}},
		{"a licence elsewhere takes of the same budget", -5 * s, []errand{{"other.test", 12 * s, 0}, {"other.test", 12 * s, 0}, {host, 5 * s, 0}, {host, 9 * s, 0}},
			[]string{"0s", "12s", "12s", "9s of 9s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				now := time.Now().Round(0)
				s.store.Plant(s, backoff.State{Host: host, SetAt: now, Turn: backoff.Turns{Reserved: now.Add(tt.reserved)}})
				budget, before := s.NewBudget(), s.since()
				var got []string
				for _, e := range tt.errands {
					r := backoff.Request{Host: e.host, Delay: backoff.Delay{Honoured: e.delay}, Budget: budget, Behind: e.behind}
					pass, err := s.Go(s.Context(), r)
					var refusal *backoff.RefusalError
					switch {
					case errors.As(err, &refusal) && refusal.Record.Delay.LicenceFirst:
						got = append(got, fmt.Sprintf("licence first: %v of %v", refusal.Wait, refusal.Record.Delay.Wait))
					case errors.As(err, &refusal):
						got = append(got, fmt.Sprintf("%v of %v", refusal.Wait, refusal.Record.Delay.Wait))
					default:
						s.must(err)
						s.must(pass.Handed(s.Context()))
						s.must(pass.Failed(s.Context()))
						got = append(got, (s.since() - before).String())
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}
