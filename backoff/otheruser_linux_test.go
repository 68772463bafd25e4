package backoff_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// nobody is a user who owns nothing here.
const nobody = 65534

// asAnotherUser runs f with the rights of a user who does not own the files of
// the test: for root of another one, and otherwise of this user, from whom the
// test has taken them. Only the thread changes (setfsuid(2)).
func asAnotherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must(t, syscall.Setfsuid(nobody))
	defer syscall.Setfsuid(0)
	f()
}

// open lets other users into the directories that lead to the test's own.
func open(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(d, 0o755))
	}
}

// TestP38_FaultTableAsAnotherUser shows the rows of the table of faults that
// hang on who owns what, on the disk itself: what is named, whose it is, and that
// the next request goes after repair (case B21, case B23).
func TestP38_FaultTableAsAnotherUser(t *testing.T) {
	const (
		sent    = "asked, 200"
		notUsed = "asked, 503 pacing_store"
		notSent = "not asked, 503 pacing_store"
		binds   = "not asked, 429 backoff"
	)
	// shut takes from everybody but root what mode does not say.
	shut := func(mode os.FileMode, path ...string) func(t *testing.T, s *stage) {
		return func(t *testing.T, s *stage) {
			must(t, os.Chmod(filepath.Join(append([]string{s.dir}, path...)...), mode))
		}
	}
	for _, row := range []struct {
		name   string
		broken func(t *testing.T, s *stage)
		class  backoff.Fault
		names  string // extension of the file named; empty: the directory
		cells  map[string]string
	}{
		{"a directory that is another's", shut(0o555), backoff.DirectoryNotWritable, "", map[string]string{
			"healthy 200": sent, "healthy 503": notUsed, "paced 200": notSent, "in_backoff 200": binds, "backoff_ended 200": notSent}},
		{"a directory that cannot be searched", shut(0), backoff.StateUnreadable, "", map[string]string{
			"healthy 200": notSent, "healthy 503": notSent, "paced 200": notSent, "in_backoff 200": notSent, "backoff_ended 200": notSent}},
		{"a directory that cannot be made", func(t *testing.T, s *stage) { must(t, os.RemoveAll(s.dir)); shut(0o555, "..")(t, s) }, backoff.DirectoryMissing, "", map[string]string{
			"healthy 200": sent, "healthy 503": notUsed, "paced 200": notSent}},
		{"a state that is another's", func(t *testing.T, s *stage) { touch(t, s.path(".json")); shut(0, host+".json")(t, s) }, backoff.StateUnreadable, ".json", map[string]string{
			"healthy 200": notSent, "paced 200": notSent, "in_backoff 200": notSent, "backoff_ended 200": notSent}},
		{"a lock that is another's", func(t *testing.T, s *stage) {
			touch(t, s.path(".lock"))
			shut(0, host+".lock")(t, s)
			shut(0o777)(t, s)
		}, backoff.LockNotOpenable, ".lock", map[string]string{
			"healthy 200": sent, "healthy 503": notUsed, "paced 200": notSent, "in_backoff 200": binds, "backoff_ended 200": notSent}},
	} {
		for of, want := range row.cells {
			t.Run(row.name+", and a host "+of, func(t *testing.T) {
				crossAsAnotherUser(t, of, want, row.class, row.names, row.broken)
			})
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE, 0o600)
	must(t, err)
	f.Close()
}

func crossAsAnotherUser(t *testing.T, of, want string, class backoff.Fault, names string, broken func(*testing.T, *stage)) {
	kind, answer := of[:len(of)-4], of[len(of)-3:]
	code, err := strconv.Atoi(answer)
	must(t, err)
	s := newStage(t)
	open(t, filepath.Dir(s.dir))
	must(t, os.MkdirAll(s.dir, 0o755))
	hosts[kind](t, s)
	mend := func() { // give everything to everybody
		for _, path := range []string{filepath.Dir(s.dir), s.dir} {
			_ = os.Chmod(path, 0o777)
		}
		for path := range snapshot(t, s.dir) {
			_ = os.Chmod(path, 0o777)
		}
	}
	t.Cleanup(mend)
	if err := os.Chmod(s.path(".json"), 0o644); err != nil && kind != "healthy" && kind != "paced" {
		t.Fatal(err)
	}
	broken(t, s)
	delay := map[string]time.Duration{"paced": pacedDelay}[kind]
	var c crossed
	asAnotherUser(t, func() { c = cross(t.Context(), s.store, delay, backoff.Answer{Status: code}) })
	if got := c.String(); got != want {
		t.Fatalf("%s, want %s (%v)", got, want, c.err)
	}
	if c.err != nil {
		path := s.dir
		if names != "" {
			path = s.path(names)
		}
		e := wantFault(t, c.err, class, path)
		if me := strconv.Itoa(os.Getuid()); class != backoff.DirectoryMissing && e.Owner != me {
			t.Errorf("the owner is said to be uid %q, and is %s", e.Owner, me)
		}
	}
	mend()
	if found, err := os.ReadFile(s.path(".json")); err == nil && len(found) == 0 {
		must(t, os.Remove(s.path(".json")))
	}
	asAnotherUser(t, func() { c = cross(t.Context(), s.store, delay, backoff.Answer{Status: 200}) })
	if c.err != nil || c.asked == 0 && kind != "in_backoff" {
		t.Errorf("after repair: %s, %v", c, c.err)
	}
}
