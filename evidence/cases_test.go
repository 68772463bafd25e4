package evidence

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCasesOfFaultsMetInTheWild holds what other logs got wrong on real disks.
// The numbers are those of the project's list of cases. E09 is the test of three
// processes on one log (TestAppendE7E28ThreeProcessesShareOneLog); E16 to E18
// are followed through a whole edge by the script secrets of cmd/wayleave.
func TestCasesOfFaultsMetInTheWild(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"E03 a record queued behind a failed write is not lost with it (E31)", caseQueuedBehindAFailure},
		{"E04 a repair keeps the damaged octets (E36)", caseRepairKeepsOctets},
		{"E06 a torn log on a full disk stops no edge (E34)", caseFullAtStart},
		{"E08 every result is looked at, in order (E26)", caseResultsAreChecked},
		{"E10 marker, gap and record are one write (E26)", caseOneWrite},
		{"E11 a link in the place of a log is not followed (E4)", func(t *testing.T) {
			caseNoRegularFile(t, func(path string) error { return os.Symlink(filepath.Join(t.TempDir(), "victim"), path) })
		}},
		{"E12 a FIFO in the place of a log hangs nobody (E4)", func(t *testing.T) {
			caseNoRegularFile(t, func(path string) error { return unix.Mkfifo(path, 0o600) })
		}},
		{"E12 a directory in the place of a log (E4)", func(t *testing.T) {
			caseNoRegularFile(t, func(path string) error { return os.Mkdir(path, 0o700) })
		}},
		{"E15 a log truncated under its run is told of (E20, E71)", caseTruncatedUnderTheWriter},
		{"E21 line breaks in what others chose forge no record (E6)", caseLineBreaks},
		{"E22 a byte order mark and CRLF are damage at a line (E42)", caseEditorDamage},
	} {
		t.Run(c.name, c.test)
	}
}

func caseQueuedBehindAFailure(t *testing.T) {
	dir, fs, l := tracedLog(t)
	fs.taken = 40
	fs.failing(func(call string, nth int) error {
		if call == callWrite && nth == 1 {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := l.Append(t.Context(), opened("A")); err == nil {
		t.Fatal("the record that was half written was acknowledged")
	}
	seq, err := l.Append(t.Context(), opened("B"))
	must(t, err)
	r := verifyOne(t, filepath.Join(dir, "sessions", "s"))
	if r.Faulty > 0 || r.Gaps[gapTornRecord] != 1 || r.Gaps[gapWriteFailed] != 1 {
		t.Errorf("%+v", r)
	}
	log := readFile(t, dir, "s")
	if !strings.Contains(string(log), `"method":"B"`) || seq < 4 {
		t.Errorf("B has seq %d:\n%s", seq, log)
	}
}

func caseRepairKeepsOctets(t *testing.T) {
	tail := `{"seq":9,"timestamp":"2026-03-01T12:00:00.000Z","event":"`
	if len(tail) != 57 {
		t.Fatalf("the tail has %d octets", len(tail))
	}
	dir, whole := damagedLog(t, tail)
	appendNext(t, dir)
	log := readFile(t, dir, "s")
	if string(log[whole:whole+57]) != tail || !strings.Contains(string(log), `"torn":[57]`) {
		t.Errorf("%s", log[whole:])
	}
}

func caseFullAtStart(t *testing.T) {
	dir, _ := damagedLog(t, "{torn")
	fs := newTracedFS(t, dir)
	fs.taken = 0
	fs.failing(func(call string, _ int) error {
		if call == callWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	s := openStore(t, dir, Options{FS: fs})
	l, err := s.Session("s")
	must(t, err)
	if _, err := l.Append(t.Context(), opened("A")); err == nil || s.Healthy() == nil {
		t.Fatalf("on a full disk: %v, healthy %v", err, s.Healthy())
	}
	fs.failing(nil)
	_, err = l.Append(t.Context(), opened("B"))
	must(t, err)
	_, err = s.Own().Append(t.Context())
	must(t, err, s.Healthy())
	if log := readFile(t, dir, "s"); !strings.Contains(string(log), `"torn":[5]`) || !strings.Contains(string(log), `"reason":"write_failed"`) {
		t.Errorf("%s", log)
	}
}

func caseResultsAreChecked(t *testing.T) {
	for _, failing := range []string{callWrite, callSync, callSyncDir} {
		dir := t.TempDir()
		fs := newTracedFS(t, dir)
		s := openStore(t, dir, Options{FS: fs})
		l, _ := s.Session("s")
		fs.taken = -1
		fs.failing(func(call string, _ int) error {
			if call == failing {
				return syscall.EIO
			}
			return nil
		})
		if _, err := l.Append(t.Context(), opened("x")); err == nil {
			t.Errorf("a fault of %s was no error of the append", failing)
		}
		fs.failing(nil)
	}
}

func caseOneWrite(t *testing.T) {
	dir, _ := damagedLog(t, "{torn")
	fs := newTracedFS(t, dir)
	s := openStore(t, dir, Options{FS: fs})
	l, _ := s.Session("s")
	fs.failing(nil)
	_, err := l.Append(t.Context(), opened("x"))
	must(t, err)
	if n := fs.count(callWrite); n != 1 {
		t.Errorf("%d writes for a marker, a gap and a record", n)
	}
}

func caseNoRegularFile(t *testing.T, plant func(path string) error) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	log := filepath.Join(dir, "sessions", "s")
	must(t, os.Mkdir(log, 0o700), plant(filepath.Join(log, segmentName(1))))
	before, _ := os.Lstat(filepath.Join(log, segmentName(1)))
	l, err := s.Session("s")
	must(t, err)
	if _, err := l.Append(t.Context(), opened("x")); err == nil {
		t.Error("it was written to")
	}
	after, err := os.Lstat(filepath.Join(log, segmentName(1)))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another file now (%v)", err)
	}
	if r := verifyOne(t, log); r.Verdict == Sound {
		t.Error("verify takes it for a sound log")
	}
	must(t, os.RemoveAll(log)) // so that the store can end cleanly
}

func caseTruncatedUnderTheWriter(t *testing.T) {
	dir := t.TempDir()
	r, err := CreateRun(dir, RunOptions{ID: "r", Edge: "20260301T120000Z-0123456789abcdef", Policy: []byte(runPolicy)})
	must(t, err)
	s, err := Open(dir, Options{EdgeID: "20260301T120000Z-0123456789abcdef", Run: r})
	must(t, err)
	r.Start(t.Context(), s)
	must(t, os.Truncate(filepath.Join(r.dir(), runLogName), 0))
	_, err = s.Own().Append(t.Context(), opened("x"))
	must(t, err)
	r.Complete(t.Context(), s, "")
	must(t, s.Close(t.Context()))
	log, err := os.ReadFile(filepath.Join(r.dir(), runLogName))
	must(t, err)
	if bytes.IndexByte(log, 0) >= 0 {
		t.Error("there are NULs in the log")
	}
	summary, err := r.Publish(t.Context(), false, RunRecording{})
	must(t, err)
	if *summary.Gaps == 0 || !strings.Contains(string(log), gapLogAltered) {
		t.Errorf("nothing says that the log was truncated: %+v", summary)
	}
	// And once it is published.
	must(t, os.Truncate(filepath.Join(dir, "runs", "r", runLogName), 0))
	if v := verifyOne(t, filepath.Join(dir, "runs", "r")); v.Verdict != Unsound {
		t.Errorf("%s, want %s", v.Verdict, Unsound)
	}
}

func caseLineBreaks(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	l, _ := s.Session("s")
	forged := "\r\n" + wholeRecord + "\n\u2028\u0085"
	c := &Crossing{Grade: Mediated, Method: "GET" + forged, URL: "https://h/a%0A%7B%22seq%22:9%7D" + forged,
		Client: Client{UserAgent: forged, Protocol: forged}, ContentType: forged, Failure: Failure{"x", forged}}
	_, err := l.Append(t.Context(), CrossingEnded{c})
	must(t, err)
	if records := readLog(t, dir, "s"); len(records) != 2 {
		t.Errorf("%d records, want edge_started and the crossing", len(records))
	}
}

func caseEditorDamage(t *testing.T) {
	for name, save := range map[string]func(log string) string{
		"a byte order mark": func(log string) string { return "\ufeff" + log },
		"CRLF":              func(log string) string { return strings.ReplaceAll(log, "\n", "\r\n") },
	} {
		g := newGoldenLog(t)
		writeFile(t, g.segment(1), save(g.text()))
		r := verifyOne(t, g.data)
		if first := r.FirstFault(); r.Verdict != Unsound || first == nil || first.Line != 1 {
			t.Errorf("%s: %s, %+v", name, r.Verdict, first)
		}
	}
}
