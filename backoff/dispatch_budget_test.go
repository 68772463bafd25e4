package backoff_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP28_TheWaitsOfACrossingShareOneBudget(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.plantFailing(6 * time.Second)
		r := s.request(0) // robots.txt waits for the back-off
		robots := r
		robots.NoTurn = true
		s.call(s.Context(), 0, robots)
		s.until(6 * time.Second)
		if left := r.Budget.Left(); left != 14*time.Second {
			t.Errorf("%v are left", left)
		}
		r.Delay.Honoured = 5 * time.Second
		s.call(s.Context(), 1, r)
		s.call(s.Context(), 2, r) // waits 5 s
		s.until(11 * time.Second)
		if left := r.Budget.Left(); left != 9*time.Second {
			t.Errorf("%v are left", left)
		}
		s.call(s.Context(), 3, r)
		s.until(16 * time.Second)
		s.call(s.Context(), 4, r)
		if e := s.wantRefused(4, 16*time.Second, backoff.ReasonCrawlDelay); e.Budget != 4*time.Second || e.Total != 20*time.Second || e.Wait != 5*time.Second {
			t.Errorf("refused with %+v", e)
		}
		s.wantWent(6*time.Second, 6*time.Second, 11*time.Second, 16*time.Second)
	})
}

// Only sleeping is charged (P28): not what connecting and reading take.
func TestP28_OnlySleepingIsCharged(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		s.serve = func(int) reply { return reply{status: 200, head: time.Minute, body: time.Minute} }
		r := s.request(time.Second)
		for i := range 3 {
			s.carry(s.Context(), s.Dispatcher, i, r)
		}
		if left := r.Budget.Left(); left != 20*time.Second {
			t.Errorf("%v are left", left)
		}
	})
}

func TestP28_WaitsAtTheSameTimeAreChargedOnce(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		now := time.Now().Round(0)
		for _, h := range []string{"a.test", "b.test", "c.test"} {
			s.store.Plant(s, backoff.State{Host: h, SetAt: now, Turn: backoff.Turns{Reserved: now}})
		}
		budget := s.NewBudget()
		r := backoff.Request{Budget: budget}
		for i, h := range []string{"a.test", "b.test", "c.test"} {
			r.Host, r.Delay.Honoured = h, time.Duration(4+2*i)*time.Second
			s.call(s.Context(), i, r)
		}
		s.until(5 * time.Second)
		if left := budget.Left(); left != 15*time.Second {
			t.Errorf("after 5 s %v are left", left)
		}
		s.until(30 * time.Second)
		if left := budget.Left(); left != 12*time.Second {
			t.Errorf("at last %v are left", left)
		}
		s.wantWent(4*time.Second, 6*time.Second, 8*time.Second)
	})
}

func TestP28_WithoutABudgetNothingIsWaitedFor(t *testing.T) {
	inBubble(t, backoff.Config{}, func(s *scene) {
		r := s.request(time.Second)
		r.Budget = nil
		s.call(s.Context(), 0, r)
		s.call(s.Context(), 1, r)
		s.wantRefused(1, 0, backoff.ReasonCrawlDelay)
		s.until(10 * time.Second)
		s.plantFailing(0)
		r.Delay = backoff.Delay{}
		pass, err := s.Go(s.Context(), r)
		s.must(err)
		s.call(s.Context(), 2, r)
		s.wantRefused(2, 10*time.Second, backoff.ReasonBackoff)
		s.must(pass.Failed(s.Context()))
		s.wantWent(0)
	})
}

// Whatever happens, requests keep the delay, no budget is exceeded, nothing goes
// while the host is in back-off, and nobody is left behind.
func TestP11_P28_InvariantsOfManyCallers(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			inBubble(t, backoff.Config{MaxWaiters: 50}, func(s *scene) { s.crowd(rand.New(rand.NewPCG(seed, 28))) })
		})
	}
}

// A crowd is many callers in several processes, some of which leave.
func (s *scene) crowd(random *rand.Rand) {
	const delay = 300 * time.Millisecond
	processes := []*backoff.Dispatcher{s.Dispatcher, backoff.NewDispatcher(s.store, backoff.Config{})}
	var mu sync.Mutex // guards random
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	s.serve = func(n int) reply {
		if b, now := s.store.Stored(host), s.now(); b.Backoff.Until.After(now) && b.SetAt.Before(now) {
			s.Errorf("a request went at %v, in a back-off until %v", s.since(), b.Backoff.Until.Sub(s.start))
		}
		kind, head, body := draw(12), time.Duration(draw(800))*time.Millisecond, time.Duration(draw(400))*time.Millisecond
		switch {
		case kind == 0:
			return reply{head: head}
		case kind == 1:
			return reply{status: 503, retryAfter: strconv.Itoa(draw(4)), head: head, body: body}
		}
		return reply{status: 200, head: head, body: body}
	}
	var all sync.WaitGroup
	var turns [150]bool
	for i := range turns {
		d, stay, r := processes[draw(2)], time.Duration(draw(30000))*time.Millisecond, s.request(delay)
		if draw(5) == 0 {
			r.Delay, r.NoTurn = backoff.Delay{}, true
		}
		turns[i] = !r.NoTurn
		all.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context(), stay)
			defer cancel()
			began := time.Now()
			s.carry(ctx, d, i, r)
			if slept := r.Budget.Total() - r.Budget.Left(); slept > 20*time.Second || slept > time.Since(began) {
				s.Errorf("caller %d slept %v", i, slept)
			}
		})
		time.Sleep(time.Duration(draw(200)) * time.Millisecond)
	}
	all.Wait()
	synctest.Wait()
	for _, d := range processes {
		if left := d.Waiting(); len(left) > 0 {
			s.Errorf("they still wait: %+v", left)
		}
	}
	if n := len(s.went) + len(s.refused); n != len(turns) || len(s.went) < len(turns)/4 {
		s.Errorf("%d callers came to an end, %d requests went", n, len(s.went))
	}
	last := -delay
	for n, at := range s.went {
		if !turns[s.who[n]] {
			continue
		}
		if at-last < delay {
			s.Errorf("a request went at %v, %v after the last one", at, at-last)
		}
		last = at
	}
}
