package backoff_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// The delay of a paced host in the fault table.
const pacedDelay = 2 * time.Second

// A stage is a store with a fault, and one host.
type stage struct {
	dir   string
	clock *clock
	fs    *tracedFS
	store *backoff.FileStore
}

func newStage(t *testing.T) *stage {
	s := &stage{dir: filepath.Join(t.TempDir(), "backoff"), clock: newClock()}
	s.fs = newTracedFS(s.dir)
	s.store = backoff.NewFileStore(s.dir, backoff.FileOptions{Now: s.clock.now, FS: s.fs})
	return s
}

// hosts bring a host into the state of a column of the fault table.
var hosts = map[string]func(t *testing.T, s *stage){
	"healthy":       func(*testing.T, *stage) {},
	"paced":         func(*testing.T, *stage) {},
	"in_backoff":    func(t *testing.T, s *stage) { plant(t, s.dir, failing(600*time.Second)) },
	"backoff_ended": func(t *testing.T, s *stage) { plant(t, s.dir, failing(0)) },
}

func failing(wait time.Duration) backoff.State {
	return backoff.State{Host: host, SetAt: after(-time.Second), Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: after(wait), RetryAfter: true}}
}

// faults break the store. Those that need another user refuse in its file
// interface here, and on the disk in TestFaultTableAsAnotherUser.
var faults = map[string]func(t *testing.T, s *stage){
	"none":                func(*testing.T, *stage) {},
	"directory_read_only": refuse(syscall.EROFS, "lock", "create", "mkdir", "rename", "remove"),
	"directory_full":      refuse(syscall.ENOSPC, "lock", "create", "mkdir"),
	"directory_owned":     refuse(syscall.EACCES, "lock", "create", "rename", "remove"),
	"directory_missing":   refuse(syscall.EACCES, "mkdir"),
	"directory_is_a_file": func(t *testing.T, s *stage) { must(t, os.WriteFile(s.dir, nil, 0o600)) },
	"state_unreadable":    refuse(syscall.EACCES, "read"),
	"state_not_json":      garble("nonsense"),
	"state_empty":         garble(""),
	"state_other_host":    garble(`{"host":"other.test","set_at":"2026-11-30T12:00:00.000Z"}`),
	"state_impossible":    garble(`{"host":"host.test","set_at":"2026-11-30T12:00:00.000Z","backoff":{"failures":-1,"status":503,"until":"2026-11-30T12:00:00.000Z"}}`),
	"lock_held":           holdLock,
	"lock_not_openable":   closeLock,
	"write_fails":         refuse(syscall.EIO, "write"),
	"sync_fails":          refuse(syscall.EIO, "sync"),
	"rename_fails":        refuse(syscall.EIO, "rename"),
	"remove_fails":        refuse(syscall.EIO, "remove"),
	"write_fails_after_turn": func(_ *testing.T, s *stage) {
		creations := 0
		s.fs.failing(false, func(call string) error {
			if call == "create" {
				creations++
			}
			if creations > 1 && call == "write" {
				return syscall.EIO
			}
			return nil
		})
	},
}

func refuse(err error, calls ...string) func(*testing.T, *stage) {
	return func(_ *testing.T, s *stage) { s.fs.failing(false, only(err, calls...)) }
}

func garble(text string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) { plantText(t, s.dir, host, text) }
}

func (s *stage) path(extension string) string { return filepath.Join(s.dir, host+extension) }

func holdLock(t *testing.T, s *stage) {
	must(t, os.MkdirAll(s.dir, 0o700))
	l := flock.New(s.path(".lock"))
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	t.Cleanup(func() { l.Unlock() })
}

func closeLock(t *testing.T, s *stage) {
	must(t, os.MkdirAll(s.dir, 0o700))
	must(t, os.WriteFile(s.path(".lock"), nil, 0o600))
	refuse(syscall.EACCES, "lock")(t, s)
}

// A crossed is what came of one request.
type crossed struct {
	asked  int // how often the origin was asked
	agent  int // the status the agent reads
	reason backoff.Reason
	err    error // the store's
}

// cross makes one request as P24 orders it, without any wait. Its order is the
// exchange's; what is asked here is what the store answers on the way.
func cross(ctx context.Context, store backoff.Store, delay time.Duration, answer backoff.Answer) crossed {
	fault := func(asked int, err error) crossed {
		return crossed{asked, 503, backoff.ReasonPacingStore, err}
	}
	wait := func() (crossed, backoff.State, backoff.Next) {
		s, now, err := store.Look(ctx, host)
		if err != nil {
			return fault(0, err), s, backoff.Next{}
		}
		next := s.Next(now, "me", 0)
		if next.Step == backoff.StepRefuse {
			return crossed{0, 429, backoff.ReasonBackoff, nil}, s, next
		}
		return crossed{}, s, next
	}
	if c, _, _ := wait(); c.agent != 0 {
		return c
	}
	turn, err := store.Turn(ctx, host, delay, 0)
	if err != nil {
		return fault(0, err)
	}
	if turn.Outcome == backoff.Refused {
		return crossed{0, 429, backoff.ReasonCrawlDelay, nil}
	}
	c, seen, next := wait()
	if c.agent != 0 {
		return c
	}
	if next.Step == backoff.StepReserve {
		if _, err := store.Reserve(ctx, host, seen, backoff.Sender{ID: "me"}, 30*time.Second); err != nil {
			return fault(0, err)
		}
	}
	answer.Paced, answer.Reservation = delay > 0, "me"
	_, err = store.Handed(ctx, host, turn, pacedDelay, 0)
	if err == nil {
		_, err = store.Answered(ctx, host, answer)
	}
	if err != nil {
		return fault(1, err)
	}
	return crossed{1, answer.Status, "", nil}
}

// crossWithFault runs one step fault of the vectors.
func crossWithFault(t *testing.T, s backofftest.Step) (got map[string]any) {
	st := newStage(t)
	kind := backofftest.Member[string](t, s.Do, "host")
	fault := faults[backofftest.Member[string](t, s.Do, "fault")]
	if hosts[kind] == nil || fault == nil {
		t.Fatalf("unknown host or fault in %s", s.Do)
	}
	hosts[kind](t, st)
	fault(t, st)
	before := snapshot(t, st.dir)
	answer := backoff.Answer{Status: backofftest.Member[int](t, s.Do, "origin_answers")}
	delay := map[string]time.Duration{"paced": pacedDelay}[kind]
	var c crossed
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c = cross(t.Context(), st.store, delay, answer)
		took = time.Since(start)
	})
	got = map[string]any{
		"origin_asked": c.asked, "agent": c.agent, "reason": c.reason, "outcome": outcome(c), "http_status": answer.Status,
		"fault_recorded": c.err != nil, "store_unchanged": cmp.Equal(before, snapshot(t, st.dir)),
	}
	if within := backofftest.Member[float64](t, s.Expect, "within_ms"); took <= time.Duration(within)*time.Millisecond {
		got["within_ms"] = within
	}
	if e := (*backoff.StoreError)(nil); errors.As(c.err, &e) {
		got["names"], got["says"] = named(e), says(t, st, e)
	}
	return got
}

func outcome(c crossed) string {
	switch {
	case c.err == nil && c.asked == 1:
		return "delivered"
	case c.asked == 1:
		return "unavailable"
	}
	return "refused"
}

// says returns what the vectors call the special part of an error's text.
func says(t *testing.T, st *stage, e *backoff.StoreError) any {
	info, err := os.Lstat(st.path(".lock"))
	switch {
	case e.Fault == backoff.LockHeld:
		return "held"
	case e.Owner == "":
		return nil
	case err != nil:
		t.Error(err)
	case e.Owner != strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)):
		t.Errorf("the owner is said to be uid %s", e.Owner)
	}
	return "owner_uid"
}

// snapshot returns the content of every file below dir, and dir's own if it is
// a file.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			files[path] = "directory"
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	must(t, err)
	return files
}
