package allowances

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing here.
const nobody = 65534

// asAnotherUser runs f with the rights of a user who does not own the files of the
// test: for root of another one, and otherwise of this user, from whom the test has
// taken them. Only the thread changes (setfsuid(2)).
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

// A ledger that may only be read: nothing is reserved, a crossing in progress ends
// in an allowance_gap, and both are well again when the ledger may be written.
func TestO34_ALedgerThatMayOnlyBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		shut func(b *bench) error
		then Outcome // when everything may be written
	}{
		"a file":                          {func(b *bench) error { return os.Chmod(b.path(team), 0o444) }, Reserved},
		"a directory, and ledger is gone": {func(b *bench) error { return errors.Join(os.Remove(b.path(team)), os.Chmod(b.dir, 0o555)) }, Unenforceable},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for dir := b.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				must(t, os.Chmod(dir, 0o755))
			}
			r := b.reserve(team, usd("0.5"), Reserved)
			must(t, tt.shut(b))
			t.Cleanup(func() { _ = os.Chmod(b.dir, 0o755) })
			b.drop(team)
			asAnotherUser(t, func() {
				v, err := b.Reserve(t.Context(), []Allowance{team}, Request{Price: usd("1")})
				if err != nil || v.Outcome != Unenforceable || !errors.Is(v.Each[0].Err, fs.ErrPermission) {
					t.Errorf("%+v, %v", v, err)
				}
				var gap *GapError
				if _, err := r.Settle(observe("0.75")); !errors.As(err, &gap) || !errors.Is(err, fs.ErrPermission) || gap.Gaps[0].Observed.String() != "0.75 USD" {
					t.Errorf("settled: %v", err)
				}
			})
			must(t, os.Chmod(b.dir, 0o777))
			if _, err := os.Stat(b.path(team)); err == nil {
				must(t, os.Chmod(b.path(team), 0o600))
				if os.Getuid() == 0 {
					must(t, os.Chown(b.path(team), nobody, nobody))
				}
			}
			asAnotherUser(t, func() {
				v, err := b.Reserve(t.Context(), []Allowance{team}, Request{Price: usd("1")})
				if err != nil || v.Outcome != tt.then || b.Owed() != 0 {
					t.Errorf("after repair: %+v, %v, %d owed", v, err, b.Owed())
				}
			})
		})
	}
}
