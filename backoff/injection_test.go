package backoff_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// A change is one call of the store that changes something, and the state it
// starts from.
type change struct {
	name  string
	given backoff.State
	make  func(t *testing.T, s *stage) error
}

func changes() []change {
	set := func(s backoff.State) backoff.State {
		s.Host, s.SetAt = host, after(-time.Second)
		return s
	}
	wait := failing(0).Backoff
	turn := backoff.Turns{Reserved: after(0)}
	held := backoff.Reservation{ID: "A", Deadline: after(time.Minute)}
	answered := func(a backoff.Answer) func(t *testing.T, s *stage) error {
		return func(t *testing.T, s *stage) error { _, err := s.store.Answered(t.Context(), host, a); return err }
	}
	return []change{
		{"a first turn", backoff.State{Host: host}, takeTurn},
		{"a turn", set(backoff.State{Turn: turn}), takeTurn},
		{"a turn handed over late", set(backoff.State{Turn: backoff.Turns{Reserved: after(-time.Second)}}), func(t *testing.T, s *stage) error {
			_, err := s.store.Handed(t.Context(), host, backoff.Turn{At: after(-time.Second)}, pacedDelay, 0)
			return err
		}},
		{"a turn handed over late before another", set(backoff.State{Turn: backoff.Turns{Reserved: after(time.Second)}}), func(t *testing.T, s *stage) error {
			_, err := s.store.Handed(t.Context(), host, backoff.Turn{At: after(-time.Second)}, time.Minute, 0)
			return err
		}},
		{"the only turn given back", set(backoff.State{Turn: turn}), func(t *testing.T, s *stage) error {
			return s.store.GiveBack(t.Context(), host, backoff.Turn{At: after(0)})
		}},
		{"a reservation", set(backoff.State{Backoff: wait}), func(t *testing.T, s *stage) error {
			_, err := s.store.Reserve(t.Context(), host, set(backoff.State{Backoff: wait}), backoff.Sender{ID: "A"}, time.Second)
			return err
		}},
		{"a release", set(backoff.State{Backoff: wait, Reservation: held}), func(t *testing.T, s *stage) error { return s.store.Release(t.Context(), host, "A") }},
		{"a first failure", backoff.State{Host: host}, answered(backoff.Answer{Status: 503})},
		{"a failure of a paced host", set(backoff.State{Turn: turn, Backoff: wait}), answered(backoff.Answer{Status: 429, RetryAfter: []string{"5"}, Paced: true})},
		{"a success that removes the state", set(backoff.State{Backoff: wait, Reservation: held}), answered(backoff.Answer{Status: 200, Reservation: "A"})},
		{"a turn that heals", set(backoff.State{Turn: backoff.Turns{Reserved: after(72 * time.Hour)}}), takeTurn},
	}
}

func takeTurn(t *testing.T, s *stage) error {
	_, err := s.store.Turn(t.Context(), host, pacedDelay, time.Minute)
	return err
}

// stageFor returns a store that holds the state a change starts from.
func stageFor(t *testing.T, c change) *stage {
	s := newStage(t)
	if !c.given.SetAt.IsZero() {
		plant(t, s.dir, c.given)
	}
	return s
}

// TestP46_AFailedCallHasChangedNothingOrTheWholeChange fails each call of the
// file interface that each change makes, once before it is made and once after.
func TestP46_AFailedCallHasChangedNothingOrTheWholeChange(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			clean := stageFor(t, c)
			must(t, c.make(t, clean))
			calls, changed := strings.Fields(clean.fs.calls()), stored(t, clean)
			if changed == stored(t, stageFor(t, c)) {
				t.Fatal("nothing was changed")
			}
			for n := range calls {
				for _, made := range []bool{false, true} {
					failOne(t, c, calls, n, made, changed)
				}
			}
		})
	}
}

// failOne fails the nth of the calls of a change.
func failOne(t *testing.T, c change, calls []string, n int, made bool, changed string) {
	t.Helper()
	s := stageFor(t, c)
	before := stored(t, s)
	count := 0
	s.fs.failing(made, func(string) error {
		if count++; count == n+1 {
			return syscall.EIO
		}
		return nil
	})
	err := c.make(t, s)
	s.fs.failing(false, nil)
	got, where := stored(t, s), strings.Join(slices.Concat(calls[:n], []string{"!" + calls[n]}), " ")
	switch fault := (*backoff.StoreError)(nil); {
	case err == nil && calls[n] != "clear" && calls[n] != "unlock":
		t.Errorf("%s: no error", where)
	case err == nil && got != changed:
		t.Errorf("%s: no error, and the state is %q, want %q", where, got, changed)
	case err != nil && !errors.As(err, &fault):
		t.Errorf("%s: %v", where, err)
	case err != nil && got != before && got != changed:
		t.Errorf("%s: the state is %q, want %q or %q", where, got, before, changed)
	case err != nil && !made && slices.Contains(calls[n:], "rename") && got != before:
		t.Errorf("%s: changed before the new state was whole", where)
	}
	if calls[n] == "unlock" {
		return // the lock stays with this process, as it would if the system refused
	}
	if err := takeTurn(t, s); err != nil { // P41: nothing is remembered
		t.Errorf("%s: then %v", where, err)
	}
	for path := range snapshot(t, s.dir) {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s: %s is left", where, path)
		}
	}
}

// stored returns the state file as it is.
func stored(t *testing.T, s *stage) string {
	t.Helper()
	data, err := os.ReadFile(s.path(".json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}
