package backoff_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
)

// vectorsDir is the folder whose vectors are run.
func vectorsDir() string {
	if dir := os.Getenv("WAYLEAVE_VECTORS"); dir != "" {
		return dir
	}
	return filepath.Join("testdata", "vectors")
}

func TestVectorsOfTheArithmeticP8ToP44(t *testing.T) {
	backofftest.RunVectors(t, vectorsDir(), memorySubject)
}

func TestVectorsOfTheFileStoreP8ToP44(t *testing.T) {
	backofftest.RunVectors(t, vectorsDir(), fileSubject)
}

func TestContractOfTheArithmeticP45P46(t *testing.T) { backofftest.Run(t, memorySubject) }

func TestContractOfTheFileStoreP45P46(t *testing.T) { backofftest.Run(t, fileSubject) }

func memorySubject(t *testing.T) backofftest.Subject {
	clock := newClock()
	m := backofftest.NewMemory(backoff.Config{}, clock.now)
	return backofftest.Subject{Store: m, SetNow: clock.set, Plant: m.Plant}
}

func fileSubject(t *testing.T) backofftest.Subject {
	clock := newClock()
	dir := filepath.Join(t.TempDir(), "backoff")
	return backofftest.Subject{
		Store:  backoff.NewFileStore(dir, backoff.FileOptions{Config: patient, Now: clock.now}),
		SetNow: clock.set,
		Plant:  func(t testing.TB, s backoff.State) { plant(t, dir, s) },
	}
}

// values are the operations that no store takes part in.
var values = map[string]func(*testing.T, backofftest.Step) map[string]any{
	"delay": readDelay, "retry_after": readRetryAfter, "key": readKey, "told": tell, "fault": crossWithFault,
}

// TestVectorsOfValuesAndFaultsP1P5P18P30P38 runs the vectors that need no store,
// and those of its faults.
func TestVectorsOfValuesAndFaultsP1P5P18P30P38(t *testing.T) {
	count := map[string]int{}
	for _, v := range backofftest.Read(t, vectorsDir()) {
		if v.OfStore(t) {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			for _, s := range v.Steps {
				run, ok := values[s.Op(t)]
				if !ok {
					t.Fatalf("unknown operation %s", s.Op(t))
				}
				count[s.Op(t)]++
				s.Compare(t, run(t, s))
			}
		})
	}
	for op := range values {
		if count[op] == 0 {
			t.Errorf("no step %s in %s", op, vectorsDir())
		}
	}
}

// readDelay takes the values through a robots.txt: what counts there is T44's
// and T45's, how much is kept P7's.
func readDelay(t *testing.T, s backofftest.Step) map[string]any {
	file := "User-agent: *\n"
	for _, v := range backofftest.Member[[]string](t, s.Do, "values") {
		file += "Crawl-delay: " + v + "\n"
	}
	read := robots.Parse([]byte(file)).Select([]string{"wayleave"}, "").Delay()
	got := map[string]any{}
	if len(read.Unreadable) > 0 {
		got["unreadable"] = read.Unreadable
	}
	if read.Known {
		kept := backoff.Config{}.Rules().Honour(read.Milliseconds, read.Written)
		got["honoured_ms"], got["capped"] = kept.Honoured, kept.Capped
	}
	for _, name := range []string{"honoured_ms", "unreadable"} {
		if _, ok := got[name]; ok && s.Expect[name] == nil {
			t.Errorf("%s is %v, want nothing", name, got[name])
		}
	}
	return got
}

func readRetryAfter(t *testing.T, s backofftest.Step) map[string]any {
	r := backoff.ReadRetryAfter(backofftest.Member[[]string](t, s.Do, "fields"), s.Time())
	return map[string]any{"usable": r.Usable, "interval_ms": r.End.Sub(s.Time()), "capped": r.Capped, "date": r.Date}
}

func readKey(t *testing.T, s backofftest.Step) map[string]any {
	key, err := hostkey.Key(backofftest.Member[string](t, s.Do, "host"))
	if err != nil {
		return map[string]any{"error": true}
	}
	return map[string]any{"key": key, "file": backoff.FileName(key) + ".json", "error": false}
}

func tell(t *testing.T, s backofftest.Step) map[string]any {
	ms := func(name string) time.Duration {
		return time.Duration(backofftest.Member[float64](t, s.Do, name) * float64(time.Millisecond))
	}
	own := true // where a vector is silent, as in single tenancy, it is the asker's
	if raw, ok := s.Do["own"]; ok {
		if err := json.Unmarshal(raw, &own); err != nil {
			t.Fatal(err)
		}
	}
	told := backoff.Tell(backoff.Refusal{
		Reason: backoff.Reason(backofftest.Member[string](t, s.Do, "reason")), Wait: ms("wait_ms"), Delay: ms("delay_ms"),
		Status: backofftest.Member[int](t, s.Do, "status"), Date: backofftest.Member[bool](t, s.Do, "date"),
		Held: backofftest.Member[bool](t, s.Do, "held"), Own: own,
	}, s.Time(), backofftest.Member[string](t, s.Do, "tenancy") == "shared")
	if told.RetryAt.IsZero() != (s.Expect["retry_at"] == nil) {
		t.Errorf("retry_at is %v, want %s", told.RetryAt, s.Expect["retry_at"])
	}
	return map[string]any{"status": told.Status, "retry_after_s": told.RetryAfter, "retry_at": told.RetryAt, "names_status": told.HostStatus != 0}
}

// The classes of faults by what the vectors say the record names.
func named(e *backoff.StoreError) string {
	switch e.Fault {
	case backoff.StateUnreadable:
		return "state_file"
	case backoff.LockHeld, backoff.LockNotOpenable:
		return "lock_file"
	case backoff.DirectoryNotWritable, backoff.DirectoryMissing, backoff.StateNotWritable:
		return "directory"
	}
	return strings.ToLower(e.Fault.String())
}
