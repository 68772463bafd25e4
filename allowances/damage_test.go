package allowances

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// fill makes a ledger with one settled dollar, one open, and one released, and
// returns its lines.
func fill(t *testing.T) (b *bench, lines []string) {
	t.Helper()
	b = newBench(t)
	b.spends(team, "1")
	b.reserve(team, usd("0.5"), Reserved)
	must(t, b.reserve(team, usd("0.25"), Reserved).Release())
	return b, strings.SplitAfter(strings.TrimSuffix(b.content(team), "\n"), "\n")
}

// with returns a new edge that finds text in place of the ledger.
func (b *bench) with(text string) *bench {
	b.t.Helper()
	must(b.t, os.WriteFile(b.path(team), []byte(text), 0o600))
	return benchIn(b.t, b.dir, Options{Edge: "edge-2", FS: unsynced{Disk(b.dir)}})
}

// unsynced is a disk that nobody waits for: what stands in files is the same.
type unsynced struct{ FS }

type unsyncedFile struct{ File }

func (f unsynced) Open(name string, create bool) (File, error) {
	file, err := f.FS.Open(name, create)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{file}, nil
}

func (unsyncedFile) Sync() error    { return nil }
func (unsyncedFile) SyncDir() error { return nil }

// A ledger cut at any octet counts every line before the cut, and nobody acted on
// the one that was cut; the next append marks it, and another edge reads the same.
func TestO31_ALineThatWasCutShortIsMarked(t *testing.T) {
	b, lines := fill(t)
	whole := strings.Join(lines, "") + "\n"
	for cut := range len(whole) {
		text := whole[:cut]
		n := strings.Count(text, "\n")
		tail := text[strings.LastIndex(text, "\n")+1:]
		if _, err := decode([]byte(tail)); err == nil {
			n++ // it lacks its end only, and stands (E37)
		}
		want := []string{"0 missing", "0", "0 +1", "1", "1 +0.5", "1 +0.75", "1 +0.5"}[n]
		b := b.with(text)
		b.wants(team, want)
		if b.content(team) != text {
			t.Fatalf("cut at %d: looking changed the ledger", cut)
		}
		b.spends(team, "0.125")
		after := b.content(team)
		if !strings.HasPrefix(after, text) || tail != "" != strings.Contains(after, fmt.Sprintf(`"torn":[%d]`, len(tail))) {
			t.Fatalf("cut at %d: %q", cut, after[len(text):])
		}
		want = []string{"0.125", "0.125", "0.125 +1", "1.125", "1.125 +0.5", "1.125 +0.75", "1.125 +0.5"}[n]
		b.wants(team, want)
		benchIn(t, b.dir, Options{Edge: "edge-3"}).wants(team, want)
	}
}

// A repair that is cut short is finished by the next one, whoever makes it, but
// for a cut right behind the line's end of which another process cannot know (E38).
func TestO31_ARepairThatWasCutShortIsFinished(t *testing.T) {
	b, lines := fill(t)
	torn := strings.Join(lines[:3], "") + lines[3][:20]
	b = b.with(torn)
	b.spends(team, "0.125")
	repaired := b.content(team)
	for cut := len(torn) + 2; cut < len(repaired); cut++ {
		b := b.with(repaired[:cut])
		b.spends(team, "0.25")
		s, err := benchIn(t, b.dir, Options{}).Spent(t.Context(), team)
		if err != nil || s.Unknown != "" || s.Spent < 1_250_000 || s.Spent+s.Reserved > 1_375_000 {
			t.Fatalf("cut at %d: %+v, %v\n%s", cut, s, err, b.content(team))
		}
	}
	b.with(repaired[:len(torn)+1]).wants(team, "1 unknown")
}

func TestO33_DamageIsUnknownAndNeverZero(t *testing.T) {
	_, lines := fill(t)
	l := func(from, to int) string { return strings.Join(lines[from:to], "") }
	torn := string(record{Event: eventTorn, At: noon, Torn: []int{3}}.encode(nil))
	for name, text := range map[string]string{
		"a line in the middle":                      l(0, 2) + "garbage\n" + l(2, 5),
		"a line that lost an octet":                 l(0, 2) + lines[2][1:] + l(3, 5),
		"an empty line":                             l(0, 2) + "\n" + l(2, 5),
		"a carriage return":                         l(0, 1) + strings.TrimSuffix(lines[1], "\n") + "\r\n" + l(2, 5),
		"NUL octets":                                l(0, 2) + "\x00\x00\x00\n" + l(2, 5),
		"a bad last line that has its end":          l(0, 5) + "garbage\n",
		"a bad first line":                          "garbage\n" + l(1, 5),
		"a bad line and nothing else":               "garbage\n",
		"no first line":                             l(1, 5),
		"two ledgers one after the other":           l(0, 5) + l(0, 5),
		"a torn line of another length":             l(0, 2) + "four\n" + torn + l(2, 5),
		"two lines where the torn record names one": l(0, 2) + "bad\nbad\n" + torn + l(2, 5),
		"a torn record with nothing torn":           l(0, 2) + torn + l(2, 5),
		"a torn line in front of a bad one":         l(0, 2) + "bad\n" + torn + "bad\n" + l(2, 5),
		"an event that only another version knows":  l(0, 2) + strings.Replace(lines[1], "reserved", "refunded", 1) + l(2, 5),
		"a line longer than any may be":             l(0, 2) + strings.Repeat("x", 3*maxLine) + "\n" + l(2, 5),
		"a line longer than any may be, no end":     l(0, 2) + "garbage\n" + strings.Repeat("x", 3*maxLine),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.wants(team, "0 missing")
			b = b.with(text)
			if s, err := b.Spent(t.Context(), team); err != nil || s.Unknown == "" {
				t.Fatalf("%+v, %v", s, err)
			}
			if b.content(team) != text {
				t.Error("looking changed the ledger")
			}
			b.reserve(team, usd("0.01"), Unenforceable)
			b.reserve(team, usd("0.01"), Unenforceable)
			if !strings.HasPrefix(b.content(team), text) {
				t.Error("what was there was changed")
			}
			other := benchIn(t, b.dir, Options{})
			other.reserve(team, usd("0.01"), Unenforceable)
			// The period ends, and with it what nobody can know.
			for _, b := range []*bench{b, other, benchIn(t, b.dir, Options{})} {
				b.now = noon.Add(24 * time.Hour)
				b.spends(team, "0.25")
			}
			b.wants(team, "0.75")
		})
	}
}

func TestO33_DamageOfAnEarlierPeriodIsNoneOfThisOne(t *testing.T) {
	b, lines := fill(t)
	b.now = noon.Add(24 * time.Hour)
	b.spends(team, "0.125")
	today := strings.TrimPrefix(b.content(team), strings.Join(lines, ""))
	for name, tt := range map[string]struct{ text, want string }{
		"between lines of yesterday":    {lines[0] + "bad\n" + strings.Join(lines[1:], "") + today, "0.125"},
		"between yesterday and today":   {strings.Join(lines, "") + "\nbad" + today, "0.125 unknown"},
		"before the first of yesterday": {"bad\n" + strings.Join(lines, "") + today, "0.125"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.with(tt.text)
			b.now = noon.Add(24 * time.Hour)
			b.wants(team, tt.want)
			b.now = noon
			if s, err := b.Spent(t.Context(), team); err != nil || s.Unknown == "" {
				t.Errorf("yesterday: %+v, %v", s, err)
			}
		})
	}
}

func TestO31_ALedgerThatShrinksUnderAnEdge(t *testing.T) {
	b, lines := fill(t)
	must(t, os.Truncate(b.path(team), int64(len(lines[0])+len(lines[1]))))
	if s, err := b.Spent(t.Context(), team); err != nil || s.Unknown == "" {
		t.Errorf("%+v, %v", s, err)
	}
	b.reserve(team, usd("0.01"), Unenforceable)
	benchIn(t, b.dir, Options{}).reserve(team, usd("0.01"), Unenforceable)
}

func TestO34_ALedgerThatVanishesUnderAnEdge(t *testing.T) {
	b, _ := fill(t)
	must(t, os.Remove(b.path(team)))
	b.wants(team, "0 missing")
	b.reserve(team, usd("0.01"), Unenforceable) // nobody says what was spent
	b.wants(team, "0 unknown")
}

func TestE4_WhatIsNoLedger(t *testing.T) {
	for name, plant := range map[string]func(path, target string) error{
		"a link":                     func(path, target string) error { return os.Symlink(target, path) },
		"a directory":                func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a FIFO":                     func(path, _ string) error { return mkfifo(path) },
		"a file everybody may write": func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
		"the ledger of another, by name": func(path, _ string) error {
			other := record{Event: eventOpened, At: noon, Format: ledgerFormat, Allowance: "TEAM"}
			return os.WriteFile(path, other.encode(nil), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			target := t.TempDir() + "/target"
			must(t, os.WriteFile(target, []byte("mine"), 0o600))
			must(t, plant(b.path(team), target))
			if name == "a file everybody may write" {
				must(t, os.Chmod(b.path(team), 0o666))
			}
			before, err := os.Lstat(b.path(team))
			must(t, err)
			b.reserve(team, usd("0.01"), Unenforceable)
			if s, err := b.Spent(t.Context(), team); err == nil || s.Unknown == "" {
				t.Errorf("%+v, %v", s, err)
			}
			after, err := os.Lstat(b.path(team))
			if err != nil || after.Size() != before.Size() || after.Mode() != before.Mode() {
				t.Errorf("it was changed: %v, %v", after, err)
			}
			if text, err := os.ReadFile(target); err != nil || string(text) != "mine" {
				t.Errorf("the target holds %q (%v)", text, err)
			}
		})
	}
}

func TestE4_ModesUnderAnyUmask(t *testing.T) {
	umask(t, 0)
	b := newBench(t)
	b.spends(team, "1")
	for path, want := range map[string]os.FileMode{b.dir: 0o700 | os.ModeDir, b.path(team): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// FuzzLedger holds what a reader relies on for any file: it is read without an
// append, it is read alike by two edges before and after one, and what stands in it
// is never changed.
func FuzzLedger(f *testing.F) {
	seed := ""
	for _, r := range someRecords() {
		seed += string(r.encode(nil))
	}
	if seed == "" {
		f.Fatal("no seeds")
	}
	for _, text := range []string{"", "\n", seed, seed[:len(seed)-3], "x\n" + seed, seed + "\x00\x00", seed + `{"event":"torn"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := newBench(t).with(string(text))
		before, err := b.Spent(t.Context(), team)
		again, err2 := b.Spent(t.Context(), team)
		if before != again || (err == nil) != (err2 == nil) {
			t.Fatalf("%+v, %v and then %+v, %v", before, err, again, err2)
		}
		v, err := b.Reserve(t.Context(), []Allowance{team}, Request{Price: usd("0.01")})
		if err != nil || v.Outcome == Reserved && before.Unknown != "" {
			t.Fatalf("%+v, %v, of %+v", v, err, before)
		}
		if !strings.HasPrefix(b.content(team), string(text)) {
			t.Fatal("what was there was changed")
		}
		mine, err := b.Spent(t.Context(), team)
		theirs, err2 := benchIn(t, b.dir, Options{}).Spent(t.Context(), team)
		mine.Unknown, theirs.Unknown = known(mine), known(theirs)
		if mine != theirs || (err == nil) != (err2 == nil) {
			t.Fatalf("%+v, %v, and another edge %+v, %v\n%s", mine, err, theirs, err2, b.content(team))
		}
	})
}

// known leaves of the reason only that there is one: which one of several comes
// first hangs on how the reading was cut.
func known(s State) string {
	if s.Unknown != "" {
		return "unknown"
	}
	return ""
}
