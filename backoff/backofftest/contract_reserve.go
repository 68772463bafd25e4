package backofftest

import (
	"sync"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// waitOver brings the host to the end of a wait of 10 s.
func (r *runner) waitOver() backoff.State {
	r.answers(500, backoff.Answer{Tenant: "t"})
	r.SetNow(at(10_000))
	return r.state()
}

func (r *runner) reserveAtOnce() {
	seen := r.waitOver()
	won := make(chan string, 16)
	var all sync.WaitGroup
	for i := range cap(won) {
		all.Go(func() {
			id := string(rune('a' + i))
			if err := r.reserves(seen, id); err == nil {
				won <- id
			} else {
				r.wantLookAgain(id, err)
			}
		})
	}
	all.Wait()
	close(won)
	winner := <-won
	if another, more := <-won; winner == "" || more {
		r.Fatalf("%q and %q reserved", winner, another)
	}
	if res := r.state().Reservation; res.ID != winner || res.By != "of "+winner || !res.Deadline.Equal(at(40_000)) {
		r.Errorf("%s has reserved, and the store says %+v", winner, res)
	}
}

func (r *runner) reserveOutdated() {
	before := r.state()
	seen := r.waitOver()
	r.wantLookAgain("with the state before the failure", r.reserves(before, "A"))
	r.answers(500, backoff.Answer{})
	r.SetNow(at(30_000))
	r.wantLookAgain("with the state before the next failure", r.reserves(seen, "A"))
	seen = r.state()
	r.take(0)
	r.must(r.reserves(seen, "A")) // a turn taken meanwhile does not matter
	r.must(r.reserves(seen, "A")) // nor that it is A's already
	r.wantLookAgain("while A has it", r.reserves(r.state(), "B"))
}

func (r *runner) reserveNothing() {
	r.wantLookAgain("a healthy host", r.reserves(r.state(), "A"))
	r.want("healthy", nil)
	r.answers(500, backoff.Answer{})
	r.wantLookAgain("a wait that is not over", r.reserves(r.state(), "A"))
	r.SetNow(at(10_000))
	r.wantLookAgain("without an ID", r.reserves(r.state(), ""))
	got, err := r.Store.Reserve(r.Context(), host, r.state(), backoff.Sender{ID: "A"}, 100*time.Hour)
	if err != nil || !got.Deadline.Equal(at(10_000).Add(backoff.MaxInterval)) {
		r.Errorf("Reserve = %+v, %v, want an hour", got, err)
	}
}

func (r *runner) releaseTwice() {
	r.must(r.Store.Release(r.Context(), host, "A"))
	r.want("nothing to release", nil)
	r.must(r.reserves(r.waitOver(), "A"))
	held := r.state()
	for _, id := range []string{"B", ""} {
		r.must(r.Store.Release(r.Context(), host, id))
		if s := r.state(); !s.Equal(held) {
			r.Errorf("released by %q: %+v", id, s)
		}
	}
	for range 2 {
		r.must(r.Store.Release(r.Context(), host, "A"))
		if s := r.state(); s.Reservation.ID != "" || s.Backoff.Failures != 1 {
			r.Errorf("released: %+v", s)
		}
	}
}
