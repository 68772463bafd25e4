package allowances

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A faultyFS passes every call on to the disk, notes it, and fails those that a
// test wants to fail.
type faultyFS struct {
	FS
	mu    sync.Mutex
	calls []string
	fail  func(call string) error
	taken int // how many octets a failing write takes; -1: all
}

func (f *faultyFS) note(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	if f.fail == nil {
		return nil
	}
	return f.fail(call)
}

// failing sets which calls fail from now on, and notes calls from now on. The
// first times calls of that name fail; a negative number is all.
func (f *faultyFS) failing(call string, times int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
	f.fail = func(c string) error {
		if c != call || times == 0 {
			return nil
		}
		times--
		return err
	}
}

func (f *faultyFS) Open(name string, create bool) (File, error) {
	if err := f.note("open"); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name, create)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

type faultyFile struct {
	File
	fs *faultyFS
}

func (f *faultyFile) after(call string, then func() error) error {
	if err := f.fs.note(call); err != nil {
		return err
	}
	return then()
}

func (f *faultyFile) TryLock() error { return f.after("lock", f.File.TryLock) }
func (f *faultyFile) Sync() error    { return f.after("sync", f.File.Sync) }
func (f *faultyFile) SyncDir() error { return f.after("syncdir", f.File.SyncDir) }
func (f *faultyFile) Unlock() error  { return f.after("unlock", f.File.Unlock) }

func (f *faultyFile) Current() (ok bool, err error) {
	err = f.after("current", func() error { ok, err = f.File.Current(); return err })
	return ok, err
}

func (f *faultyFile) Size() (n int64, err error) {
	err = f.after("size", func() error { n, err = f.File.Size(); return err })
	return n, err
}

func (f *faultyFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.after("read", func() error { n, err = f.File.ReadAt(b, off); return err })
	return n, err
}

func (f *faultyFile) Write(b []byte) (int, error) {
	err := f.fs.note("write")
	if err == nil {
		return f.File.Write(b)
	}
	taken := f.fs.taken
	if taken < 0 {
		taken = len(b)
	}
	n, werr := f.File.Write(b[:min(taken, len(b))])
	return n, errors.Join(err, werr)
}

// newFaultyBench is newBench on a disk that can be made to fail.
func newFaultyBench(t *testing.T) (*bench, *faultyFS) {
	t.Helper()
	dir := t.TempDir() + "/allowances"
	f := &faultyFS{FS: Disk(dir)}
	return benchIn(t, dir, Options{FS: f}), f
}

// faults are the calls that can keep a line from being appended, and how many
// octets of it reach the file.
var faults = []struct {
	name, call string
	err        error
	taken      int
}{
	{"no file", "open", syscall.EACCES, 0},
	{"a file system without locks", "lock", syscall.ENOLCK, 0},
	{"no size", "size", syscall.EIO, 0},
	{"no look at the name", "current", syscall.EIO, 0},
	{"a full disk", "write", syscall.ENOSPC, 0},
	{"a disk that fills up within the line", "write", syscall.ENOSPC, 30},
	{"a read-only file system", "write", syscall.EROFS, 0},
	{"a write that fails but persists", "write", syscall.EIO, -1},
	{"a sync that fails", "sync", syscall.EIO, 0},
}

func TestO33_ALedgerThatTakesNothingIsUnenforceable(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			b, disk := newFaultyBench(t)
			b.spends(team, "1")
			b.drop(team) // so that it is opened anew
			disk.taken = fault.taken
			disk.failing(fault.call, -1, fault.err)
			v, err := b.Reserve(t.Context(), []Allowance{team}, Request{Price: usd("0.5")})
			if err != nil || v.Outcome != Unenforceable || v.Reservation != nil || !errors.Is(v.Each[0].Err, fault.err) || v.Each[0].Decision != DecisionDeclined {
				t.Fatalf("%+v, %v", v, err)
			}
			if strings.Contains(v.Each[0].Why, b.dir) {
				t.Errorf("the agent would be told %q", v.Each[0].Why)
			}
			disk.failing("", 0, nil)
			b.spends(team, "0.25")
			b.wants(team, map[bool]string{false: "1.25", true: "1.25 short"}[len(b.gaps) > 0])
			if s, err := benchIn(t, b.dir, Options{}).Spent(t.Context(), team); err != nil || s.Spent != 1_250_000 || s.Reserved != 0 || s.Unknown != "" {
				t.Errorf("another edge: %+v, %v\n%s", s, err, b.content(team))
			}
		})
	}
}

// drop makes the ledger be read again from its beginning.
func (b *bench) drop(a Allowance) {
	b.t.Helper()
	book := b.book(a.Name)
	must(b.t, book.wait(b.t.Context()))
	book.drop()
	book.leave()
}

func TestO34_ASettlementOrReleaseIsTriedTwice(t *testing.T) {
	for _, fault := range faults {
		for _, end := range []string{"settled", "released"} {
			t.Run(fault.name+", "+end, func(t *testing.T) {
				b, disk := newFaultyBench(t)
				b.spends(team, "1")
				r := b.reserve(team, usd("0.5"), Reserved)
				b.drop(team)
				disk.taken = fault.taken
				disk.failing(fault.call, 1, fault.err)
				want := "1"
				if end == "settled" {
					b.settle(r, observe("0.75"))
					want = "1.75"
				} else {
					must(t, r.Release())
				}
				b.wants(team, want)
				benchIn(t, b.dir, Options{}).wants(team, want)
			})
		}
	}
}

func TestO34_WhatTheLedgerDoesNotTakeIsAGapAndIsOwed(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			b, disk := newFaultyBench(t)
			b.spends(team, "1")
			r := b.reserve(team, usd("0.5"), Reserved)
			b.now = noon.Add(time.Minute)
			b.drop(team)
			disk.taken = fault.taken
			disk.failing(fault.call, -1, fault.err)
			s, err := r.Settle(observe("0.75"))
			var gap *GapError
			if !errors.As(err, &gap) || len(gap.Gaps) != 1 || !errors.Is(err, fault.err) || s.Observed.String() != "0.75 USD" {
				t.Fatalf("%+v, %v", s, err)
			}
			g := gap.Gaps[0]
			if g.Allowance != "team" || g.Reservation != r.ID() || g.Crossing != "s/1" || g.Observed.String() != "0.75 USD" || !g.From.Equal(noon) || !g.To.Equal(b.now) || g.Reason == "" {
				t.Errorf("%+v", g)
			}
			if b.Owed() != 1 || b.Close() == nil {
				t.Error("nothing is owed")
			}
			b.reserve(team, usd("0.01"), Unenforceable)
			disk.failing("", 0, nil)
			b.spends(team, "0.25")
			b.wants(team, "2 short")
			benchIn(t, b.dir, Options{}).wants(team, "2 short")
			if b.Owed() != 0 {
				t.Errorf("%d are owed", b.Owed())
			}
			for _, g := range b.gaps { // the crossing declined since may have one
				if g.Reservation == r.ID() {
					t.Errorf("told again of %+v", g)
				}
			}
		})
	}
}

func TestO34_WhatIsOwedIsAppendedAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(b *bench) error{
		"of the edge": func(b *bench) error { return b.Close() },
		"of a sweep":  func(b *bench) error { return b.Sweep(b.t.Context(), []Allowance{team}) },
	} {
		t.Run(name, func(t *testing.T) {
			b, disk := newFaultyBench(t)
			r := b.reserve(team, Price{Basis: Receipt}, Reserved)
			disk.failing("write", -1, syscall.ENOSPC)
			if _, err := r.Settle(Unreadable); err == nil {
				t.Fatal("no gap")
			}
			disk.failing("", 0, nil)
			must(t, end(b))
			benchIn(t, b.dir, Options{}).wants(team, "0 unknown short")
		})
	}
}

// A crossing that is carried although its ledger took nothing is counted when the
// ledger is to be had again.
func TestO33_ACarriedCrossingIsCountedLater(t *testing.T) {
	for _, fault := range faults {
		for _, charge := range []string{"0.75", ""} {
			t.Run(fault.name+" "+charge, func(t *testing.T) {
				b, disk := newFaultyBench(t)
				b.spends(team, "1")
				b.drop(team)
				disk.taken = fault.taken
				disk.failing(fault.call, -1, fault.err)
				r := b.carry(team, usd("0.5"), Unenforceable)
				disk.failing("", 0, nil)
				want := "1"
				if charge == "" {
					must(t, r.Release())
				} else {
					b.settle(r, observe(charge))
					want = "1.75"
				}
				b.wants(team, want)
				benchIn(t, b.dir, Options{}).wants(team, want)
			})
		}
	}
}

func TestO30_OneLedgerOfTwoThatFailsUndoesTheOther(t *testing.T) {
	b, disk := newFaultyBench(t)
	as := []Allowance{dollar, team}
	for _, a := range as {
		b.spends(a, "0.5")
	}
	for n := range 2 {
		writes := 0
		disk.fail = func(call string) error {
			if call == "write" {
				writes++
			}
			if call == "write" && writes == n+1 {
				return syscall.ENOSPC
			}
			return nil
		}
		v, err := b.Reserve(t.Context(), as, Request{Price: usd("0.1")})
		if err != nil || v.Outcome != Unenforceable || v.Reservation != nil || v.Each[n].Outcome != Unenforceable || v.Each[1-n].Outcome != Reserved {
			t.Fatalf("write %d: %+v, %v", n, v, err)
		}
		for _, a := range as {
			b.wants(a, "0.5")
		}
	}
	if len(b.gaps) != 0 {
		t.Errorf("%+v", b.gaps)
	}
}

func TestO31_ALedgerIsOnDiskBeforeAnybodyActsOnIt(t *testing.T) {
	b, disk := newFaultyBench(t)
	b.reserve(team, usd("1"), Reserved)
	b.reserve(team, usd("1"), Reserved)
	var writes []string
	for _, c := range disk.calls {
		if strings.Contains("lock write syncdir sync unlock", c) {
			writes = append(writes, c)
		}
	}
	// The first line, with its name; then a reservation, and another.
	want := "lock unlock lock write sync syncdir write sync unlock lock write sync unlock"
	if got := strings.Join(writes, " "); got != want && got != strings.TrimPrefix(want, "lock unlock ") {
		t.Errorf("calls %s, want %s", got, want)
	}
}

func TestO34_ADirectoryThatFailsToSyncKeepsNoLedger(t *testing.T) {
	b, disk := newFaultyBench(t)
	disk.failing("syncdir", -1, syscall.EIO)
	b.reserve(team, usd("1"), Unenforceable)
	disk.failing("", 0, nil)
	b.reserve(team, usd("1"), Reserved)
	b.wants(team, "0 +1")
}

func TestO33_ALockThatAnotherHolds(t *testing.T) {
	b, disk := newFaultyBench(t)
	tries := 0
	disk.fail = func(call string) error {
		if call == "lock" {
			if tries++; tries < 20 {
				return ErrLocked
			}
		}
		return nil
	}
	b.reserve(team, usd("1"), Reserved)
	if tries != 20 {
		t.Errorf("%d tries", tries)
	}
}

func TestO33_AnAllowanceThatCannotBeReadIsNotMissing(t *testing.T) {
	b, disk := newFaultyBench(t)
	b.spends(team, "1")
	b.drop(team)
	disk.failing("read", -1, syscall.EIO)
	if s, err := b.Spent(t.Context(), team); !errors.Is(err, syscall.EIO) || s.Missing || s.Unknown == "" {
		t.Errorf("%+v, %v", s, err)
	}
	b.reserve(team, usd("1"), Unenforceable)
	disk.failing("open", -1, fmt.Errorf("%w", fs.ErrPermission))
	if s, err := b.Spent(t.Context(), team); !errors.Is(err, fs.ErrPermission) || s.Missing || s.Unknown == "" {
		t.Errorf("%+v, %v", s, err)
	}
}
