package backoff_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// patient is for stores on a disk or among processes that may stand still.
var patient = backoff.Config{LockWait: time.Minute}

// A clock stands where the test sets it.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock() *clock {
	c := &clock{}
	c.set(backofftest.Start)
	return c
}

func (c *clock) now() time.Time          { return *c.at.Load() }
func (c *clock) set(t time.Time)         { c.at.Store(&t) }
func (c *clock) advance(d time.Duration) { c.set(c.now().Add(d)) }

const host = "host.test"

// plant writes a state into dir as it stands.
func plant(t testing.TB, dir string, s backoff.State) {
	t.Helper()
	plantText(t, dir, s.Host, string(backoff.Encode(s)))
}

func plantText(t testing.TB, dir, host, text string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, backoff.FileName(host)+".json"), []byte(text), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// after returns the instant d after the start of the tests' clocks.
func after(d time.Duration) time.Time { return backofftest.Start.Add(d) }
