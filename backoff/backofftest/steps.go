package backofftest

import (
	"errors"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// operations are those that a store takes part in.
var operations = map[string]func(*runner, Step) map[string]any{
	"turn": (*runner).turn, "handed": (*runner).handed, "give_back": (*runner).giveBack, "look": (*runner).look,
	"reserve": (*runner).reserve, "answer": (*runner).answer, "release": (*runner).release, "fit": (*runner).fit,
}

// OfStore reports whether every step of the vector is one that a store takes
// part in, so that RunVectors runs it.
func (v Vector) OfStore(t testing.TB) bool {
	for _, s := range v.Steps {
		if operations[s.Op(t)] == nil {
			return false
		}
	}
	return true
}

// RunVectors runs every vector of the files named pacing.json below dir that is
// about a store, each on a store of its own.
func RunVectors(t *testing.T, dir string, subject func(t *testing.T) Subject) {
	count := map[string]int{}
	for _, v := range Read(t, dir) {
		if !v.OfStore(t) {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			r := &runner{TB: t, Subject: subject(t)}
			r.SetNow(v.Steps[0].Time())
			if v.Given != nil {
				r.Plant(t, v.state())
			}
			for _, s := range v.Steps {
				count[s.Op(t)]++
				r.SetNow(s.Time())
				got := operations[s.Op(t)](r, s)
				got["state"] = written(r.state())
				s.Compare(t, got)
			}
		})
	}
	for op := range operations {
		if count[op] == 0 {
			t.Errorf("no step %s in the vectors of %s", op, dir)
		}
	}
}

// A runner takes a store through the steps of one vector.
type runner struct {
	testing.TB
	Subject
}

func (r *runner) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// state returns the state as a look finds it.
func (r *runner) state() backoff.State {
	s, _, err := r.Store.Look(r.Context(), host)
	r.must(err)
	return s
}

// duration reads a member in milliseconds; one that is not there is 0.
func (r *runner) duration(s Step, name string) time.Duration {
	return time.Duration(Member[float64](r, s.Do, name) * float64(time.Millisecond))
}

// retryAfter is the Retry-After of a refusal that tells everything.
func (r *runner) retryAfter(s Step, reason backoff.Reason, wait time.Duration) int {
	return backoff.Tell(backoff.Refusal{Reason: reason, Wait: wait}, s.Time(), false).RetryAfter
}

func (r *runner) turn(s Step) map[string]any {
	turn, err := r.Store.Turn(r.Context(), host, r.duration(s, "delay_ms"), r.duration(s, "budget_ms"))
	r.must(err)
	return map[string]any{
		"outcome": turn.Outcome, "wait_ms": turn.Wait, "turn_at": turn.At, "next_at": turn.At, "recovered": turn.Recovered != "",
		"retry_after_s": r.retryAfter(s, backoff.ReasonCrawlDelay, turn.Wait),
	}
}

func (r *runner) handed(s Step) map[string]any {
	turn := backoff.Turn{Outcome: backoff.Waited, At: at(Member[float64](r, s.Do, "turn"))}
	_, err := r.Store.Handed(r.Context(), host, turn, r.duration(s, "delay_ms"), 0)
	r.must(err)
	return map[string]any{}
}

func (r *runner) giveBack(s Step) map[string]any {
	before := r.state().Turn
	turn := backoff.Turn{Outcome: backoff.Waited, At: at(Member[float64](r, s.Do, "turn")), Before: optional(Member[*float64](r, s.Do, "before"))}
	r.must(r.Store.GiveBack(r.Context(), host, turn))
	return map[string]any{"given_back": r.state().Turn != before}
}

func (r *runner) look(s Step) map[string]any {
	state, now, err := r.Store.Look(r.Context(), host)
	r.must(err)
	if !now.Equal(s.Time()) {
		r.Errorf("the store's clock is %v, want %v", now, s.Time())
	}
	next := state.Next(now, Member[string](r, s.Do, "who"), r.duration(s, "budget_ms"))
	return map[string]any{
		"next": next.Step, "wait_ms": next.Wait, "recovered": state.Recovered != "",
		"retry_after_s": r.retryAfter(s, backoff.ReasonBackoff, next.Wait),
	}
}

func (r *runner) reserve(s Step) map[string]any {
	sender := backoff.Sender{ID: Member[string](r, s.Do, "who"), Tenant: "tenant"}
	got, err := r.Store.Reserve(r.Context(), host, r.state(), sender, r.duration(s, "length_ms"))
	if !errors.Is(err, backoff.ErrLookAgain) {
		r.must(err)
	}
	if reserved := err == nil; reserved != (got.ID == sender.ID) {
		r.Errorf("Reserve = %+v, %v", got, err)
	}
	return map[string]any{"reserved": err == nil}
}

func (r *runner) answer(s Step) map[string]any {
	change, err := r.Store.Answered(r.Context(), host, backoff.Answer{
		Status: Member[int](r, s.Do, "status"), RetryAfter: Member[[]string](r, s.Do, "retry_after"),
		Paced: Member[bool](r, s.Do, "paced"), Reservation: Member[string](r, s.Do, "who"), Tenant: "tenant",
	})
	r.must(err)
	if found := r.state(); !found.Equal(change.State) {
		r.Errorf("Answered says that %+v is left, Look that %+v is", change.State, found)
	}
	return map[string]any{"event": change.Event}
}

func (r *runner) release(s Step) map[string]any {
	before := r.state().Reservation
	r.must(r.Store.Release(r.Context(), host, Member[string](r, s.Do, "who")))
	return map[string]any{"released": r.state().Reservation != before}
}

func (r *runner) fit(s Step) map[string]any {
	state, now, err := r.Store.Look(r.Context(), host)
	r.must(err)
	fit := backoff.Config{}.Rules().Fit(state, now, r.duration(s, "delay_ms"), Member[int](r, s.Do, "licences"), r.duration(s, "budget_ms"))
	return map[string]any{"outcome": fit.Outcome, "need_ms": fit.Need, "reads": fit.Reads, "retry_after_s": r.retryAfter(s, backoff.ReasonCrawlDelay, fit.Pending)}
}
