package backoff_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// turn takes a turn of pacedDelay, and what may be slept is a minute.
func (s *stage) turn(t *testing.T) backoff.Turn {
	t.Helper()
	turn, err := s.store.Turn(t.Context(), host, pacedDelay, time.Minute)
	must(t, err)
	return turn
}

func (s *stage) answered(t *testing.T, a backoff.Answer) backoff.Change {
	t.Helper()
	c, err := s.store.Answered(t.Context(), host, a)
	must(t, err)
	return c
}

func (s *stage) look(t *testing.T) backoff.State {
	t.Helper()
	state, _, err := s.store.Look(t.Context(), host)
	must(t, err)
	return state
}

func TestP37_AHealthyHostCostsOneFailedOpen(t *testing.T) {
	s := newStage(t)
	for _, tt := range []struct {
		name string
		call func() error
		want string
	}{
		{"a look", func() error { _, _, err := s.store.Look(t.Context(), host); return err }, "read"},
		{"a turn without delay", func() error { _, err := s.store.Turn(t.Context(), host, 0, 0); return err }, ""},
		{"a good answer", func() error {
			_, err := s.store.Answered(t.Context(), host, backoff.Answer{Status: 200})
			return err
		}, "read"},
		{"no answer", func() error { _, err := s.store.Answered(t.Context(), host, backoff.Answer{}); return err }, "read"},
		{"a release", func() error { return s.store.Release(t.Context(), host, "A") }, "read"},
		{"a turn given back", func() error { return s.store.GiveBack(t.Context(), host, backoff.Turn{At: after(0)}) }, "read"},
		{"a turn handed over", func() error {
			_, err := s.store.Handed(t.Context(), host, backoff.Turn{At: after(0)}, pacedDelay, 0)
			return err
		}, "read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.fs.failing(false, nil)
			must(t, tt.call())
			if got := s.fs.calls(); got != tt.want {
				t.Errorf("calls: %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := os.Lstat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

// What each change costs, call by call. A turn's own change leaves out the sync
// of the directory (P34); "clear" removes what a dead process left (P36), if it
// is in the way.
func TestP34_CallsOfEachChange(t *testing.T) {
	const written = "read lock read create write sync close rename"
	s := newStage(t)
	var turn backoff.Turn
	for _, tt := range []struct {
		name string
		call func()
		want string
	}{
		{"the first turn makes the directory", func() { turn = s.turn(t) }, "read lock mkdir lock read create write sync close rename unlock"},
		{"a turn", func() { turn = s.turn(t) }, written + " unlock"},
		{"a turn handed over on time", func() {
			_, err := s.store.Handed(t.Context(), host, turn, pacedDelay, time.Second)
			must(t, err)
		}, "read"},
		{"a turn handed over late", func() {
			_, err := s.store.Handed(t.Context(), host, backoff.Turn{At: after(-time.Millisecond)}, pacedDelay, time.Second)
			must(t, err)
		}, written + " unlock"},
		{"a turn given back", func() { must(t, s.store.GiveBack(t.Context(), host, turn)) }, written + " unlock"},
		{"a dated answer", func() { s.clock.advance(time.Second); s.answered(t, backoff.Answer{Status: 200, Paced: true}) }, written + " unlock"},
		{"a failure", func() { s.answered(t, backoff.Answer{Status: 500, Paced: true}) }, written + " syncdir unlock"},
		{"a turn that does not fit", func() {
			if turn, err := s.store.Turn(t.Context(), host, time.Minute, 0); err != nil || turn.Outcome != backoff.Refused {
				t.Error(turn, err)
			}
		}, "read"},
		{"a reservation", func() {
			s.clock.advance(10 * time.Second)
			_, err := s.store.Reserve(t.Context(), host, s.look(t), backoff.Sender{ID: "A"}, time.Second)
			must(t, err)
		}, "read " + written + " syncdir unlock"},
		{"a success of a paced host keeps the turn", func() { s.answered(t, backoff.Answer{Status: 200, Reservation: "A"}) }, written + " syncdir unlock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.fs.failing(false, nil)
			tt.call()
			if got := s.fs.calls(); got != tt.want {
				t.Errorf("calls: %q, want %q", got, tt.want)
			}
		})
	}
	s.fs.failing(false, nil)
	other := backoff.Answer{Status: 429, RetryAfter: []string{"0"}}
	for _, a := range []backoff.Answer{other, {Status: 200}} {
		_, err := s.store.Answered(t.Context(), "other.test", a)
		must(t, err)
	}
	if got, want := s.fs.calls(), written+" syncdir unlock read lock read clear remove syncdir unlock"; got != want {
		t.Errorf("a failure and a success: %q, want %q", got, want)
	}
}

func TestP34_FilesAndTheirPermissions(t *testing.T) {
	s := newStage(t)
	s.answered(t, backoff.Answer{Status: 429, RetryAfter: []string{"0"}})
	modes := map[string]string{}
	for _, name := range []string{"", host + ".json", host + ".lock"} {
		info, err := os.Lstat(filepath.Join(s.dir, name))
		must(t, err)
		modes[name] = info.Mode().String()
	}
	if diff := cmp.Diff(map[string]string{"": "drwx------", host + ".json": "-rw-------", host + ".lock": "-rw-------"}, modes); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	lock, err := os.Lstat(s.path(".lock"))
	must(t, err)
	s.answered(t, backoff.Answer{Status: 200})
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != host+".lock" {
		t.Errorf("after a success there are %v", entries)
	}
	if again, err := os.Lstat(s.path(".lock")); err != nil || !os.SameFile(lock, again) {
		t.Errorf("the lock file is another one: %v", err)
	}
}

func TestP36_WhatADeadProcessLeftGoesAtTheNextVisit(t *testing.T) {
	s := newStage(t)
	must(t, os.MkdirAll(s.dir, 0o700))
	for _, visit := range []func(){
		func() { s.answered(t, backoff.Answer{Status: 429, RetryAfter: []string{"0"}}) },
		func() { s.answered(t, backoff.Answer{Status: 200}) },
	} {
		must(t, os.WriteFile(s.path(".json.tmp"), []byte(`{"host":"ho`), 0o600))
		visit()
		if _, err := os.Lstat(s.path(".json.tmp")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
	}
}

func TestP38_RemovingAFileOrTheDirectoryClearsThePace(t *testing.T) {
	s := newStage(t)
	for _, path := range []string{s.path(".json"), s.dir} {
		s.turn(t)
		s.answered(t, backoff.Answer{Status: 500})
		must(t, os.RemoveAll(path))
		if found := s.look(t); !found.Empty() {
			t.Errorf("without %s there is %+v", path, found)
		}
		if turn := s.turn(t); turn.Outcome != backoff.Clear {
			t.Errorf("without %s: %+v", path, turn)
		}
	}
}

// A link or a FIFO in a file's place is neither followed nor waited for.
func TestP38_WhatIsNoFileIsUnreadable(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a link to a state": func(path string) error {
			real := filepath.Join(t.TempDir(), "state")
			return errors.Join(os.WriteFile(real, []byte(full), 0o600), os.Symlink(real, path))
		},
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			must(t, os.MkdirAll(s.dir, 0o700))
			must(t, put(s.path(".json")))
			_, _, err := s.store.Look(t.Context(), host)
			wantFault(t, err, backoff.StateUnreadable, s.path(".json"))
		})
	}
	s := newStage(t)
	must(t, os.MkdirAll(s.dir, 0o700))
	must(t, os.Symlink("/dev/null", s.path(".lock")))
	_, err := s.store.Turn(t.Context(), host, time.Second, 0)
	wantFault(t, err, backoff.LockNotOpenable, s.path(".lock"))
}

func wantFault(t *testing.T, err error, fault backoff.Fault, path string) *backoff.StoreError {
	t.Helper()
	var e *backoff.StoreError
	if !errors.As(err, &e) {
		t.Fatalf("%v is no store error", err)
	}
	if e.Fault != fault || e.Path != path {
		t.Errorf("%v is %q of %s, want %q of %s", err, e.Fault, e.Path, fault, path)
	}
	if told := e.Told(); strings.Contains(told, "/") || strings.Contains(told, host) || !strings.Contains(err.Error(), e.Path) || !strings.Contains(err.Error(), e.Remedy()) {
		t.Errorf("the record reads %q, the agent %q", err, told)
	}
	return e
}

func TestP46_ALockHeldByAnotherIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		must(t, os.MkdirAll(s.dir, 0o700))
		held, err := backoff.Disk(s.dir).TryLock(host + ".lock")
		must(t, err)
		time.AfterFunc(1900*time.Millisecond, func() { held.Close() })
		start := time.Now()
		s.turn(t)
		if took := time.Since(start); took < 1900*time.Millisecond || took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestP46_ACallReturnsWithinLockWaitOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		holdLock(t, s)
		start := time.Now()
		_, err := s.store.Turn(t.Context(), host, time.Second, 0)
		e := wantFault(t, err, backoff.LockHeld, s.path(".lock"))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if words := e.Error(); !strings.Contains(words, "another process") || strings.Contains(words, "readable") || strings.Contains(words, "writable") {
			t.Errorf("the record reads %q", words)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start = time.Now()
		if _, err := s.store.Turn(ctx, host, time.Second, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		s.look(t) // needs no lock
		if _, err := s.store.Turn(t.Context(), "other.test", time.Second, 0); err != nil {
			t.Errorf("another host: %v", err)
		}
	})
}

// Callers of one process wait for each other within the same limit, and leave
// nothing behind.
func TestP46_CallersOfOneProcessWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		holdLock(t, s)
		start := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := s.store.Turn(t.Context(), host, time.Second, 0)
				wantFault(t, err, backoff.LockHeld, s.path(".lock"))
			})
		}
		all.Wait()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
