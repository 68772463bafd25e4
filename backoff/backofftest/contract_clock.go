package backofftest

import (
	"context"
	"errors"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// hourBack is an hour before Start, in milliseconds.
const hourBack = -3_600_000.0

func (r *runner) clockBack() {
	r.answers(500, backoff.Answer{})
	r.SetNow(at(hourBack))
	seen, now, err := r.Store.Look(r.Context(), host)
	r.must(err)
	if wait := seen.Next(now, "", budget).Wait; wait != 10*time.Second || seen.Recovered == "" {
		r.Errorf("waits %v, recovered %q", wait, seen.Recovered)
	}
	if turn := r.take(0); turn.Recovered == "" || turn.Outcome != backoff.Clear { // whatever writes, heals
		r.Errorf("turn %+v", turn)
	}
	r.runsOn()
}

// releaseHeals shows what a caller that refuses on a recovered state does.
func (r *runner) releaseHeals() {
	r.answers(500, backoff.Answer{})
	r.SetNow(at(hourBack))
	r.must(r.Store.Release(r.Context(), host, ""))
	r.runsOn()
}

// runsOn shows that a wait of 10 s, of which the clock's way back has left all,
// is shorter 4 s later.
func (r *runner) runsOn() {
	r.SetNow(at(hourBack + 4000))
	seen, now, err := r.Store.Look(r.Context(), host)
	r.must(err)
	if wait := seen.Next(now, "", budget).Wait; wait != 6*time.Second || seen.Recovered != "" {
		r.Errorf("4 s later waits %v, recovered %q", wait, seen.Recovered)
	}
}

func (r *runner) outwaited() {
	r.answers(500, backoff.Answer{})
	before := r.state()
	r.SetNow(at(hourBack)) // while a caller sleeps what it saw
	looked := r.state()
	if !backoff.Outwaited(before, looked) {
		r.Error("who saw the wait before the clock went back is to wait once more")
	}
	r.wantLookAgain("who looked after it has not waited", r.reserves(looked, "B"))
	r.SetNow(at(hourBack + 9999))
	r.wantLookAgain("not yet", r.reserves(looked, "B"))
	r.SetNow(at(hourBack + 10_000))
	r.must(r.reserves(looked, "B"))
	if s := r.state(); s.Recovered != "" || s.Backoff.Until.After(at(hourBack+10_000)) {
		r.Errorf("after it: %+v", s)
	}
	r.must(r.Store.Release(r.Context(), host, "B"))
	r.wantLookAgain("something was written since", r.reserves(before, "A"))
}

func (r *runner) damagedTurn() {
	for _, tt := range []struct {
		delay time.Duration
		want  backoff.TurnOutcome
		turn  map[string]any
	}{
		{5 * time.Second, backoff.Waited, map[string]any{"answered": 0.0, "reserved": 5000.0}},
		{45 * time.Second, backoff.Refused, map[string]any{"answered": 0.0}},
	} {
		r.Plant(r, backoff.State{Host: host, SetAt: Start, Turn: backoff.Turns{Reserved: Start.AddDate(0, 0, 3)}})
		turn, err := r.Store.Turn(r.Context(), host, tt.delay, budget)
		if err != nil || turn.Outcome != tt.want || turn.Wait != tt.delay || turn.Recovered == "" {
			r.Errorf("Turn = %+v, %v", turn, err)
		}
		r.want("healed", map[string]any{"turn": tt.turn})
		if s := r.state(); s.Recovered != "" {
			r.Errorf("still to be recovered: %s", s.Recovered)
		}
	}
}

func (r *runner) cancelled() {
	seen := r.waitOver()
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	_, _, err1 := r.Store.Look(ctx, host)
	_, err2 := r.Store.Turn(ctx, host, delay, budget)
	_, err3 := r.Store.Reserve(ctx, host, seen, backoff.Sender{ID: "A"}, length)
	_, err4 := r.Store.Answered(ctx, host, backoff.Answer{Status: 200})
	_, err5 := r.Store.Handed(ctx, host, backoff.Turn{}, delay, 0)
	for i, err := range []error{err1, err2, err3, err4, err5, r.Store.GiveBack(ctx, host, backoff.Turn{}), r.Store.Release(ctx, host, "A")} {
		if !errors.Is(err, context.Canceled) {
			r.Errorf("call %d: %v", i, err)
		}
	}
	if s := r.state(); !s.Equal(seen) {
		r.Errorf("the state became %+v", s)
	}
}
