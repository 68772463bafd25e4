package backoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP43_P44_Recover(t *testing.T) {
	set := func(s backoff.State) backoff.State {
		s.Host, s.SetAt = host, after(0)
		return s
	}
	turn := func(reserved, answered time.Duration) backoff.State {
		return set(backoff.State{Turn: backoff.Turns{Reserved: after(reserved), Answered: after(answered)}})
	}
	wait := func(until time.Duration, date bool) backoff.State {
		return set(backoff.State{Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: after(until), Date: date}})
	}
	held := func(deadline time.Duration) backoff.State {
		return set(backoff.State{Reservation: backoff.Reservation{ID: "A", Deadline: after(deadline)}})
	}
	healed := set(backoff.State{Turn: backoff.Turns{Answered: after(0)}})
	for _, tt := range []struct {
		name  string
		state backoff.State
		now   time.Duration
		want  backoff.State // SetAt apart
		says  string        // empty: nothing to recover
	}{
		{"on time", wait(10*time.Second, true), 0, wait(10*time.Second, true), ""},
		{"a second behind is no step of the clock", wait(10*time.Second, true), -time.Second, wait(10*time.Second, true), ""},
		{"an hour back: the wait keeps its length", wait(10*time.Second, true), -time.Hour, wait(10*time.Second-time.Hour, true), "the clock went back by 1h0m0s"},
		{"an hour back: so does the turn", turn(5*time.Second, -time.Second), -time.Hour, turn(5*time.Second-time.Hour, -time.Second-time.Hour), "the clock went back by 1h0m0s"},
		{"an hour back: so does the reservation", held(30 * time.Second), -time.Hour, held(30*time.Second - time.Hour), "the clock went back by 1h0m0s"},
		{"an hour ahead: the wait is over", wait(10*time.Second, false), time.Hour, wait(10*time.Second, false), ""},
		{"an end of more than an hour is cut and is no date any more", wait(time.Hour+time.Millisecond, true), 0, wait(time.Hour, false), "the stored end of the wait was 1h0m0.001s ahead"},
		{"an end of an hour stays", wait(time.Hour, true), 0, wait(time.Hour, true), ""},
		{"a reservation of more than an hour is cut", held(2 * time.Hour), 0, held(time.Hour), "the stored reservation was 2h0m0s ahead"},
		{"a turn as late as can be stays", turn(80*time.Second, 0), 0, turn(80*time.Second, 0), ""},
		{"B19: a turn later than that counts as just asked", turn(72*time.Hour, 0), 0, healed, "the stored turn was 72h0m0s ahead"},
		{"so does an answer", turn(0, 81*time.Second), 0, healed, "the stored turn was 1m21s ahead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := rules.Recover(tt.state, after(tt.now))
			if got.Recovered != tt.says {
				t.Errorf("recovered: %q, want %q", got.Recovered, tt.says)
			}
			if strings.HasPrefix(tt.says, "the clock") && !got.SetAt.Equal(after(tt.now)) {
				t.Errorf("set at %v", got.SetAt)
			}
			if got.SetAt = tt.want.SetAt; !got.Equal(tt.want) {
				t.Errorf("recovered to %+v, want %+v", got, tt.want)
			}
			if again := rules.Recover(rules.Recover(tt.state, after(tt.now)), after(tt.now)); again.Recovered != "" {
				t.Errorf("there is more to recover: %s", again.Recovered)
			}
		})
	}
}

// What would come to lie before instants begin lies where they begin.
func TestP43_NoInstantMovesBefore1970(t *testing.T) {
	s := backoff.State{Host: host, SetAt: after(0), Turn: backoff.Turns{Reserved: time.Unix(1000, 0)}}
	if got := rules.Recover(s, after(-time.Hour)).Turn.Reserved; !got.Equal(time.Unix(0, 0)) {
		t.Errorf("moved to %v", got)
	}
}

// A wait in progress keeps its length whatever the clock does (P42; case B20):
// looks after it show an hour more, and the caller knows better.
func TestP42_AClockSetBackDoesNotProlongAWait(t *testing.T) {
	seen, _ := rules.Answered(backoff.State{Host: host}, after(0), backoff.Answer{Status: 500})
	// The caller sleeps 10 s; after 2 s of them the clock is set back.
	now := after(10*time.Second - time.Hour)
	looked := rules.Recover(seen, now)
	if next := looked.Next(now, "A", time.Minute); next.Step != backoff.StepWait {
		t.Errorf("a look says %+v", next)
	}
	if !backoff.Outwaited(seen, looked) {
		t.Error("the caller is to wait once more")
	}
	s, r, ok := rules.Reserve(seen, now, seen, backoff.Sender{ID: "A"}, 30*time.Second)
	if !ok || !r.Deadline.Equal(now.Add(30*time.Second)) {
		t.Fatalf("Reserve = %+v, %v", r, ok)
	}
	s, _ = rules.Answered(s, now.Add(time.Second), backoff.Answer{Status: 200, Reservation: "A"})
	if !s.Empty() {
		t.Errorf("after a success there is %+v", s)
	}

	other, _ := rules.Answered(seen, after(time.Second), backoff.Answer{Status: 503, RetryAfter: []string{"60"}})
	if backoff.Outwaited(seen, rules.Recover(other, now)) {
		t.Error("the caller need not wait what was stored since")
	}
	if backoff.Outwaited(seen, rules.Recover(seen, after(10*time.Second))) {
		t.Error("the clock did not go back, and a wait is said to be outwaited")
	}
}

func TestP42_AClockSetAheadEndsAWaitEarlyForOne(t *testing.T) {
	s, _ := rules.Answered(backoff.State{Host: host}, after(0), backoff.Answer{Status: 500})
	now := after(time.Hour)
	seen := rules.Recover(s, now)
	if next := seen.Next(now, "A", 0); next.Step != backoff.StepReserve {
		t.Fatalf("Next = %+v", next)
	}
	s, _, ok := rules.Reserve(s, now, seen, backoff.Sender{ID: "A"}, 30*time.Second)
	if next := s.Next(now, "B", 0); !ok || !next.Held {
		t.Errorf("reserved %v, and for another sender %+v", ok, next)
	}
}
