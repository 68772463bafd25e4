package backofftest

import (
	"sync"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// hands hands over the request of a turn, which is to go within lead.
func (r *runner) hands(turn backoff.Turn, lead time.Duration) backoff.Handover {
	r.Helper()
	h, err := r.Store.Handed(r.Context(), host, turn, delay, lead)
	r.must(err)
	return h
}

// wantHandover hands a turn over and fails the test unless that comes to want.
func (r *runner) wantHandover(what string, turn backoff.Turn, lead time.Duration, want backoff.Handover) {
	r.Helper()
	got := r.hands(turn, lead)
	if !got.At.Equal(want.At) || got.Left != want.Left || got.Wait != want.Wait || got.Missed != want.Missed {
		r.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// goes is the handover of a request that may go, and is kept at ms.
func goes(ms float64, left time.Duration) backoff.Handover {
	return backoff.Handover{At: at(ms), Left: left}
}

func waits(d time.Duration) backoff.Handover { return backoff.Handover{Wait: d} }

// wantTurns fails the test unless the host has these turns. Below 0 is none.
func (r *runner) wantTurns(what string, reserved, handed float64) {
	r.Helper()
	for name, pair := range map[string]struct {
		got  time.Time
		want float64
	}{"reserved": {r.state().Turn.Reserved, reserved}, "handed": {r.state().Turn.Handed, handed}} {
		if pair.want < 0 && !pair.got.IsZero() || pair.want >= 0 && !pair.got.Equal(at(pair.want)) {
			r.Errorf("%s: %s is %v, want %v ms", what, name, pair.got, pair.want)
		}
	}
}

func (r *runner) handedForward() {
	turn := r.take(0)
	r.wantHandover("on time", turn, 0, goes(0, 0))
	r.wantTurns("on time", 0, -1)
	r.SetNow(at(500.1))
	r.wantHandover("late, rounded up", turn, 0, goes(501, 900*time.Microsecond))
	r.wantTurns("late", 501, -1)
	turn.Handed = at(501)
	r.SetNow(at(490))
	r.wantHandover("again, by a clock that was slewed", turn, 0, goes(501, 11*time.Millisecond))
	r.wantTurns("forward only", 501, -1)
}

func (r *runner) handedAhead() {
	turn := r.take(0)
	before := r.state()
	r.wantHandover("on time", turn, 30*time.Millisecond, goes(0, 0))
	if after := r.state(); !after.Equal(before) {
		r.Errorf("a request on time moved %+v to %+v", before, after)
	}
	turn.Handed = at(0)
	r.wantHandover("which took longer, by a clock that stands", turn, 5*time.Millisecond, goes(5, 5*time.Millisecond))
	turn.Handed = time.Time{}
	turn.At = at(5)
	r.SetNow(at(10))
	r.wantHandover("late", turn, 30*time.Millisecond, goes(40, 30*time.Millisecond))
	r.wantTurns("late", 40, -1)
	turn.Handed = at(40)
	r.SetNow(at(50))
	r.wantHandover("later than its lead", turn, 60*time.Millisecond, goes(110, 60*time.Millisecond))
	r.wantTurns("later", 110, -1)
	if next := r.take(budget); !next.At.Equal(at(4110)) {
		r.Errorf("the next turn is %+v", next)
	}
}

func (r *runner) handedLate() {
	first, second, third := r.take(0), r.take(budget), r.take(budget)
	r.SetNow(at(1000))
	r.wantHandover("late", first, 20*time.Millisecond, goes(1020, 20*time.Millisecond))
	r.wantTurns("the turns behind it stay", 8000, 1020)
	r.want("to vectors", map[string]any{"turn": map[string]any{"reserved": 8000.0}})

	r.SetNow(at(4000))
	before := r.state()
	r.wantHandover("too close", second, 0, waits(1020*time.Millisecond))
	if after := r.state(); !after.Equal(before) {
		r.Errorf("a request that waits moved %+v to %+v", before, after)
	}
	r.SetNow(at(5019.5))
	r.wantHandover("still too close", second, 0, waits(time.Millisecond))
	r.SetNow(at(5020))
	r.wantHandover("a delay later", second, 0, goes(5020, 0))
	r.wantTurns("late in turn", 8000, 5020)

	second.Handed = at(5020)
	r.SetNow(at(5025))
	r.wantHandover("again: its own is not another's", second, 0, goes(5025, 0))
	r.SetNow(at(8000))
	r.wantHandover("the last one", third, 0, waits(1025*time.Millisecond))
	r.SetNow(at(9100))
	r.wantHandover("the last one", third, 0, goes(9100, 0))
	r.wantTurns("the last turn tells it again", 9100, -1)
}

func (r *runner) handedMissed() {
	first, second := r.take(0), r.take(budget)
	r.SetNow(at(3999))
	before := r.state()
	missed := backoff.Handover{Missed: true}
	r.wantHandover("would go when another may", first, time.Millisecond, missed)
	r.SetNow(at(4000))
	r.wantHandover("goes on time", second, 0, goes(4000, 0))
	r.wantHandover("when another went", first, 0, missed)
	r.SetNow(at(7999))
	r.wantHandover("a little less than a delay after another went", first, 0, missed)
	if after := r.state(); !after.Equal(before) {
		r.Errorf("a turn that was missed moved %+v to %+v", before, after)
	}
	r.SetNow(at(8000))
	r.wantHandover("when nobody can have gone for a delay", first, 0, goes(8000, 0))
	r.wantTurns("it is the last one", 8000, -1)

	third := r.take(budget)
	r.SetNow(at(9000))
	r.must(r.Store.GiveBack(r.Context(), host, third))
	r.wantTurns("given back", 8000, -1)
}

// handedAtOnce lets several requests on one turn come at the same moment, as they
// do where a turn that was missed is another's by now.
func (r *runner) handedAtOnce() {
	first, second := r.take(0), r.take(budget)
	r.take(budget) // so that the last turn does not tell
	r.SetNow(at(3000))
	r.hands(first, 0)
	r.SetNow(at(7000))
	results := make([]backoff.Handover, 4)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			h, err := r.Store.Handed(r.Context(), host, second, delay, 10*time.Millisecond)
			if err != nil {
				r.Error(err)
			}
			results[i] = h
		})
	}
	all.Wait()
	went := 0
	for _, h := range results {
		switch {
		case h.At.Equal(at(7010)):
			went++
		case h.Wait != 4010*time.Millisecond:
			r.Errorf("handed over at once: %+v", h)
		}
	}
	if went != 1 {
		r.Errorf("%d of them went", went)
	}
}

// handedClockBack shows that who has slept for its turn goes, whatever the store's
// clock is set to, and that what comes then is spaced again.
func (r *runner) handedClockBack() {
	first, second, third := r.take(0), r.take(budget), r.take(budget)
	r.SetNow(at(1000))
	r.hands(first, 0)
	r.SetNow(at(hourBack + 5000))
	if h := r.hands(second, 0); h.At.IsZero() {
		r.Errorf("after its wait: %+v", h)
	}
	r.SetNow(at(hourBack + 9000))
	if h := r.hands(third, 0); h.At.IsZero() {
		r.Errorf("after the next wait: %+v", h)
	}
	if s := r.state(); s.Recovered != "" || s.Turn.Handed.After(at(hourBack+9000)) {
		r.Errorf("left is %+v", s)
	}
}
