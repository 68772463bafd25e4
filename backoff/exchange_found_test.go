package backoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// What is told of a wait's end is that end, and not that and the time it took to
// say so (P30, P33).
func TestP30_TheEndThatIsToldIsTheOneThatIsStored(t *testing.T) {
	end := after(600 * time.Second)
	for name, c := range map[string]struct {
		state backoff.State
		delay time.Duration
	}{
		"of a back-off":     {failing(600 * time.Second), 0},
		"of a reservation":  {backoff.State{Host: host, SetAt: after(0), Backoff: failing(0).Backoff, Reservation: backoff.Reservation{ID: "A", Deadline: end}}, 0},
		"of a host's delay": {backoff.State{Host: host, SetAt: after(0), Turn: backoff.Turns{Reserved: after(595 * time.Second)}}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			plant(t, s.dir, c.state)
			config := backoff.Config{MaxWait: -1, MaxDelay: time.Hour}
			store := backoff.NewFileStore(s.dir, backoff.FileOptions{Now: s.clock.now, Config: config})
			d := backoff.NewDispatcher(store, config)
			_, err := d.Go(t.Context(), backoff.Request{Host: host, Delay: backoff.Delay{Honoured: c.delay}, Budget: d.NewBudget()})
			refusal := (*backoff.RefusalError)(nil)
			if !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			if told := backoff.Tell(refusal.Refusal, refusal.Now, false); !told.RetryAt.Equal(end) || told.RetryAfter != 600 {
				t.Errorf("told: %v and %d s, want %v", told.RetryAt, told.RetryAfter, end)
			}
		})
	}
}
