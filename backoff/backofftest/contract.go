package backofftest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// contract is what is asked of every store beyond the vectors.
var contract = []struct {
	name string
	show func(r *runner)
}{
	{"P37: a host nothing is known of has an empty state", (*runner).nothingKnown},
	{"P1: hosts do not touch each other", (*runner).hostsApart},
	{"P6: a delay of 0 paces nothing", (*runner).noDelay},
	{"P8: turns taken at once are spaced by the delay", (*runner).turnsAtOnce},
	{"P9: a turn that does not fit leaves no trace", (*runner).turnRefused},
	{"P10: a turn moves forward only", (*runner).handedForward},
	{"P10: a lead counts as late, and only where late", (*runner).handedAhead},
	{"P13: who follows one that went late waits", (*runner).handedLate},
	{"P13: who meets a turn behind its own has missed it", (*runner).handedMissed},
	{"P13: of many that are late at once one goes", (*runner).handedAtOnce},
	{"P12: giving back another's turn does nothing", (*runner).giveBackAnothers},
	{"P21: an answer that changes nothing changes nothing", (*runner).nothingToReset},
	{"P25: of many that reserve at once one succeeds", (*runner).reserveAtOnce},
	{"P25: who saw another state looks again", (*runner).reserveOutdated},
	{"P25: nothing to reserve is no reservation", (*runner).reserveNothing},
	{"P26: releasing is idempotent, and nobody else's to do", (*runner).releaseTwice},
	{"P33: the tenant whose request set a part is kept with it", (*runner).tenants},
	{"P35: members of a newer version are kept", (*runner).newerMembers},
	{"P42: a wait that was slept is over, though the clock went back", (*runner).outwaited},
	{"P43: a wait keeps its length when the clock goes back, and runs on", (*runner).clockBack},
	{"P43: releasing nothing heals", (*runner).releaseHeals},
	{"P43: a hand-over keeps nobody longer when the clock goes back", (*runner).handedClockBack},
	{"P44: a damaged turn is healed although it does not fit", (*runner).damagedTurn},
	{"P46: a context that ended changes nothing", (*runner).cancelled},
}

// Run shows that stores made by subject keep the contract of backoff.Store as
// far as one process can tell, each part on a store of its own.
func Run(t *testing.T, subject func(t *testing.T) Subject) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) {
			r := &runner{TB: t, Subject: subject(t)}
			r.SetNow(Start)
			c.show(r)
		})
	}
}

const (
	delay  = 4 * time.Second
	budget = 20 * time.Second
	length = 30 * time.Second
)

// want fails the test unless the state of the host is as vectors would write it.
func (r *runner) want(what string, parts any) {
	r.Helper()
	if diff := cmp.Diff(parts, written(r.state())); diff != "" {
		r.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (r *runner) take(budget time.Duration) backoff.Turn {
	r.Helper()
	turn, err := r.Store.Turn(r.Context(), host, delay, budget)
	r.must(err)
	return turn
}

// answers tells the store of an answer with this status.
func (r *runner) answers(status int, a backoff.Answer) backoff.Change {
	r.Helper()
	a.Status = status
	c, err := r.Store.Answered(r.Context(), host, a)
	r.must(err)
	return c
}

func (r *runner) reserves(seen backoff.State, id string) error {
	_, err := r.Store.Reserve(r.Context(), host, seen, backoff.Sender{ID: id, Tenant: "of " + id}, length)
	return err
}

func (r *runner) wantLookAgain(what string, err error) {
	r.Helper()
	if !errors.Is(err, backoff.ErrLookAgain) {
		r.Errorf("%s: %v, want ErrLookAgain", what, err)
	}
}

func (r *runner) nothingKnown() {
	s, now, err := r.Store.Look(r.Context(), host)
	r.must(err)
	if !s.Empty() || s.Host != host || s.Recovered != "" || !now.Equal(Start) {
		r.Errorf("Look = %+v, %v", s, now)
	}
	if next := s.Next(now, "", 0); next.Step != backoff.StepGo {
		r.Errorf("Next = %+v", next)
	}
}

func (r *runner) hostsApart() {
	r.take(budget)
	r.answers(503, backoff.Answer{})
	s, _, err := r.Store.Look(r.Context(), "other.test")
	if err != nil || !s.Empty() {
		r.Errorf("another host's state is %+v, %v", s, err)
	}
}

func (r *runner) noDelay() {
	turn, err := r.Store.Turn(r.Context(), host, 0, 0)
	if err != nil || turn.Outcome != backoff.Clear || turn.Wait != 0 {
		r.Errorf("Turn = %+v, %v", turn, err)
	}
	r.hands(turn, 0)
	r.must(r.Store.GiveBack(r.Context(), host, turn))
	r.want("state", nil)
}

func (r *runner) turnsAtOnce() {
	const callers = 16
	taken := make(chan backoff.Turn, callers)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			turn, err := r.Store.Turn(r.Context(), host, delay, callers*delay)
			if err != nil {
				r.Error(err)
			}
			taken <- turn
		})
	}
	all.Wait()
	close(taken)
	when := map[time.Duration]bool{}
	for turn := range taken {
		when[turn.At.Sub(Start)] = true
		if turn.Wait != turn.At.Sub(Start) {
			r.Errorf("turn %+v", turn)
		}
	}
	for i := range callers {
		if !when[time.Duration(i)*delay] {
			r.Errorf("nobody has the turn after %v; taken: %v", time.Duration(i)*delay, when)
		}
	}
}

func (r *runner) turnRefused() {
	r.take(0)
	before := r.state()
	r.SetNow(at(1000))
	if turn := r.take(0); turn.Outcome != backoff.Refused || turn.Wait != 3*time.Second || !turn.At.Equal(at(4000)) {
		r.Errorf("turn %+v", turn)
	}
	if after := r.state(); !after.Equal(before) {
		r.Errorf("the state went from %+v to %+v", before, after)
	}
}

func (r *runner) giveBackAnothers() {
	first := r.take(0)
	second := r.take(budget)
	r.must(r.Store.GiveBack(r.Context(), host, first))
	r.must(r.Store.GiveBack(r.Context(), host, backoff.Turn{}))
	r.must(r.Store.GiveBack(r.Context(), host, backoff.Turn{Outcome: backoff.Refused, At: at(8000), Before: at(4000)}))
	r.want("nothing given back", map[string]any{"turn": map[string]any{"reserved": 4000.0}})
	for range 2 {
		r.must(r.Store.GiveBack(r.Context(), host, second))
		r.want("the last given back", map[string]any{"turn": map[string]any{"reserved": 0.0}})
	}
	r.must(r.Store.GiveBack(r.Context(), host, first))
	r.want("both given back", nil)
}

func (r *runner) nothingToReset() {
	r.take(0)
	before := r.state()
	r.SetNow(at(50))
	for _, status := range []int{200, 404, 0, 103, 600} {
		if c := r.answers(status, backoff.Answer{}); c.Event != backoff.EventNone || !c.State.Equal(before) {
			r.Errorf("answer %d: %+v", status, c)
		}
	}
	if after := r.state(); !after.Equal(before) {
		r.Errorf("the state went from %+v to %+v", before, after)
	}
}

func (r *runner) tenants() {
	r.must(r.reserves(r.waitOver(), "A"))
	if s := r.state(); s.Backoff.By != "t" || s.Reservation.By != "of A" {
		r.Errorf("state %+v", s)
	}
	r.answers(503, backoff.Answer{RetryAfter: []string{"60"}, Tenant: "u"})
	r.answers(503, backoff.Answer{RetryAfter: []string{"5"}, Tenant: "v"})
	if by := r.state().Backoff.By; by != "u" {
		r.Errorf("the longer wait is said to be by %q", by)
	}
}

func (r *runner) newerMembers() {
	stored := `{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z",` +
		`"turn":{"reserved":"2026-11-30T12:00:00.000Z","lane":2},"backoff":{"failures":1,"status":503,"until":"2026-11-30T12:00:00.000Z","mood":{"a":[1]}},"quota":[7,null]}`
	s, err := backoff.Decode([]byte(stored), host)
	r.must(err)
	r.Plant(r, s)
	r.must(r.reserves(r.state(), "A"))
	r.take(budget)
	r.answers(500, backoff.Answer{Reservation: "A"})
	got, err := backoff.Decode(backoff.Encode(r.state()), host)
	r.must(err)
	got.SetAt, got.Turn.Reserved = s.SetAt, s.Turn.Reserved
	got.Backoff.Failures, got.Backoff.Status, got.Backoff.Until, got.Backoff.By = 1, 503, s.Backoff.Until, ""
	if !got.Equal(s) {
		r.Errorf("members were lost: %s became %s", backoff.Encode(s), backoff.Encode(got))
	}
}
