package backoff_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// behindALateOne lets caller 1 have the turn at 8 behind one of another process at
// 4, which goes at 5, and before one at 12. What others say is of a delay of 4 s.
func behindALateOne(s *scene, ctx context.Context, r backoff.Request) {
	other := func() backoff.Turn {
		turn, err := s.store.Turn(s.Context(), host, 4*time.Second, time.Hour)
		s.must(err)
		return turn
	}
	other()
	late := other()
	s.call(ctx, 1, r)
	other()
	s.until(5 * time.Second)
	if h, err := s.store.Handed(s.Context(), host, late, 4*time.Second, 0); err != nil || h.At.IsZero() {
		s.Errorf("%+v, %v", h, err)
	}
}

func TestP13_ARequestWaitsBehindALateOneOfAnotherProcess(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		r := s.request(4 * time.Second)
		behindALateOne(s, s.Context(), r)
		s.until(8500 * time.Millisecond)
		s.wantWent()
		if w := s.Waiting(); len(w) != 1 || w[0].Cause != backoff.ReasonCrawlDelay || w[0].Until.Sub(s.start) != 9*time.Second {
			t.Errorf("Waiting = %+v", w)
		}
		s.until(20 * time.Second)
		s.wantWent(9 * time.Second)
		if left := r.Budget.Left(); left != 11*time.Second {
			t.Errorf("%v are left of the budget", left)
		}
	})
}

func TestE18_ARecordHasTheWaitAtTheHandOver(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		first, err := s.store.Turn(s.Context(), host, 4*time.Second, 0)
		s.must(err)
		s.until(time.Second)
		pass, err := s.Go(s.Context(), s.request(4*time.Second)) // at 4
		s.must(err)
		_, err = s.store.Turn(s.Context(), host, 4*time.Second, time.Hour)
		s.must(err)
		// It has its pass, and goes only when the one before it has gone long enough.
		state := s.store.Stored(host)
		state.Turn.Handed = first.At.Add(1500 * time.Millisecond)
		s.store.Plant(s, state)
		s.must(pass.Handed(s.Context()))
		if d := pass.Record().Delay; d.Outcome != string(backoff.Waited) || d.Wait != 4500*time.Millisecond || s.since() != 5500*time.Millisecond {
			t.Errorf("at %v: %+v", s.since(), d)
		}
		s.must(pass.Failed(s.Context()))
	})
}

// What a turn fits into is ruled when it is taken. A little more is waited for; a
// wait that grew by more than that is refused like any that does not fit.
func TestP28_WhatLateRequestsAddIsWaitedForWithinBounds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget time.Duration
		goes   bool
	}{
		{"it fits", 9 * time.Second, true},
		{"by a quarter of the delay more", 8 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, backoff.Config{}, func(s *scene) {
				r := s.request(4 * time.Second)
				r.Budget = backoff.NewBudget(tt.budget)
				behindALateOne(s, s.Context(), r)
				s.until(20 * time.Second)
				s.wantWent(9 * time.Second)
			})
		})
	}
	t.Run("by more", func(t *testing.T) {
		inBubble(t, backoff.Config{}, func(s *scene) {
			r := s.request(4 * time.Second)
			r.Budget = backoff.NewBudget(8 * time.Second)
			behindALateOne(s, s.Context(), r)
			state := s.store.Stored(host)
			state.Turn.Handed = s.start.Add(5001 * time.Millisecond)
			s.store.Plant(s, state)
			s.until(10 * time.Second)
			e := s.wantRefused(1, 8*time.Second, backoff.ReasonCrawlDelay)
			if e.Wait != 1001*time.Millisecond || !e.Record.Delay.NextAt.Equal(s.start.Add(9001*time.Millisecond)) {
				t.Errorf("refused with %+v, %+v", e, e.Record.Delay)
			}
		})
	})
}

func TestP12_AClientThatLeavesAtTheHandOverLeavesItsTurn(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		leaves, leave := context.WithCancel(s.Context())
		behindALateOne(s, leaves, s.request(4*time.Second))
		s.call(s.Context(), 2, s.request(4*time.Second)) // at 16, and moves up
		s.until(8500 * time.Millisecond)
		leave()
		s.until(30 * time.Second)
		s.wantOrder(2)
		s.wantWent(9 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.refused[1].err; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller's end is %v", err)
		}
	})
}

// Back-off is looked at once more after the wait (P24).
func TestP24_AFailureWhileARequestWaitsForItsHandOverBindsIt(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		behindALateOne(s, s.Context(), s.request(4*time.Second))
		s.until(8500 * time.Millisecond)
		_, err := s.store.Answered(s.Context(), host, backoff.Answer{Status: 503, RetryAfter: []string{"60"}})
		s.must(err)
		s.until(10 * time.Second)
		s.wantWent()
		s.wantRefused(1, 9*time.Second, backoff.ReasonBackoff)
	})
}

// A process that stood still for longer than a delay finds its turn gone, and
// takes another.
func TestP13_ATurnThatOthersHavePassedIsTakenAnew(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		pass, err := s.Go(s.Context(), s.request(4*time.Second)) // at 0
		s.must(err)
		other, err := s.store.Turn(s.Context(), host, 4*time.Second, time.Hour)
		s.must(err)
		s.until(4 * time.Second)
		_, err = s.store.Handed(s.Context(), host, other, 4*time.Second, 0)
		s.must(err)
		s.until(5 * time.Second)
		s.must(pass.Handed(s.Context()))
		if s.since() != 8*time.Second {
			t.Errorf("it went at %v", s.since())
		}
		d := pass.Record().Delay
		if d.Outcome != string(backoff.Waited) || d.Wait != 3*time.Second || !d.NextAt.Equal(s.start.Add(8*time.Second)) {
			t.Errorf("recorded %+v", d)
		}
		s.must(pass.Failed(s.Context()))
	})
}
