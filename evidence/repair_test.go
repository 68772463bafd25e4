package evidence

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// damagedLog returns a data directory with a log of session s that ends with the
// given octets behind two whole records, and how long it is without them.
func damagedLog(t *testing.T, tail string) (dir string, whole int) {
	t.Helper()
	dir = t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	l, _ := s.Session("s")
	_, err = l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err, s.Close(context.Background()))
	whole = len(readFile(t, dir, "s"))
	appendOctets(t, dir, tail)
	return dir, whole
}

func appendOctets(t *testing.T, dir, octets string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "sessions", "s", "000001.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(octets)
	must(t, err, f.Close())
}

// appendNext opens the log in a new store and appends one record.
func appendNext(t *testing.T, dir string) {
	t.Helper()
	s := openStore(t, dir, Options{})
	l, _ := s.Session("s")
	_, err := l.Append(t.Context(), opened("next"))
	must(t, err)
}

const wholeRecord = `{"seq":9,"timestamp":"2026-03-01T12:00:00.000Z","event":"x","payload":{"edge":"e"}}`

func TestAppendE36E37MarksATornLastLineAndChangesNoOctet(t *testing.T) {
	for name, row := range map[string]struct {
		tail  string
		torn  []any // what the torn_record names; nil: there is none
		lines int   // lines of the tail that stay no records and are not named
	}{
		"a whole log":                         {"", nil, 0},
		"half a record":                       {`{"seq":9,"time`, []any{14.0}, 0},
		"one octet":                           {"{", []any{1.0}, 0},
		"NULs that a crash left":              {"\x00\x00\x00", []any{3.0}, 0},
		"half a record and NULs":              {"{\"se\x00\x00", []any{6.0}, 0},
		"text that is no UTF-8":               {"{\"a\":\"\xff", []any{7.0}, 0},
		"a line longer than a record can be":  {strings.Repeat("x", 1<<20+5), []any{float64(1<<20 + 5)}, 0},
		"a record that lacks only its end":    {wholeRecord, []any{float64(len(wholeRecord))}, 0},
		"a bad line with its end is damage":   {"bad\n", nil, 1},
		"and is not excused by a torn line":   {"bad\n{\"a\"", []any{4.0}, 1},
		"nor by a half record of another use": {"bad\n" + wholeRecord[:60], []any{60.0}, 1},
		"an empty line is damage":             {"\n", nil, 1},
		"an unfinished repair of a torn line": {"{\"a\"\n" + `{"seq":9,"timestamp":"2026-03-01T12:00:00.000Z","event":"evidence_gap","payl`, []any{4.0, 76.0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir, whole := damagedLog(t, row.tail)
			before := readFile(t, dir, "s")
			appendNext(t, dir)
			after := readFile(t, dir, "s")
			if !strings.HasPrefix(after, before) {
				t.Fatal("octets that were in the log are not there any more")
			}
			if row.torn != nil && after[len(before)] != '\n' {
				t.Errorf("the torn line is continued with %.20q", after[len(before):])
			}
			if got := firstTorn(after[whole:]); !cmp.Equal(any(row.torn), got) && (row.torn != nil || got != nil) {
				t.Errorf("torn is %v, want %v", got, row.torn)
			}
			if n := unmarked(after); n != row.lines {
				t.Errorf("%d bad lines are not marked, want %d", n, row.lines)
			}
		})
	}
}

// firstTorn returns the member torn of the first torn_record in log.
func firstTorn(log string) any {
	for line := range strings.Lines(log) {
		if r, ok := parseLogged(strings.TrimSuffix(line, "\n")); ok && r.get("reason") == gapTornRecord {
			return r.get("torn")
		}
	}
	return nil
}

// unmarked counts the lines of log that are no record and not named, exactly and
// in order, by the very next one (E42).
func unmarked(log string) (n int) {
	var bad []any
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		r, ok := parseLogged(line)
		if !ok {
			bad = append(bad, float64(len(line)))
			continue
		}
		named, _ := r.get("torn").([]any)
		if len(named) <= len(bad) && cmp.Equal(named, bad[len(bad)-len(named):]) {
			bad = bad[:len(bad)-len(named)]
		}
		n += len(bad)
		bad = nil
	}
	return n + len(bad)
}

func TestAppendE38ARepairThatIsCutShortIsFinishedByAnotherProcess(t *testing.T) {
	const torn = `{"seq":9,"time`
	dir, whole := damagedLog(t, torn)
	appendNext(t, dir)
	repaired := readFile(t, dir, "s")[whole+len(torn):]
	end := strings.Index(repaired[1:], "\n") + 1 // of the torn_record, behind the line end it begins with
	for cut := 1; cut <= end; cut++ {
		dir, _ := damagedLog(t, torn+repaired[:cut])
		appendNext(t, dir)
		want := 0
		if cut == 1 {
			want = 1 // E38: cut right behind the line end, nobody knows it for a torn line
		}
		if n := unmarked(readFile(t, dir, "s")); n != want {
			t.Errorf("cut %d octets into the repair, %d bad lines are left, want %d", cut, n, want)
		}
	}
}

func TestAppendE38ARepairThatIsCutShortIsFinishedByTheSameProcess(t *testing.T) {
	for cut := range 140 { // up to the end of the member torn
		dir := t.TempDir()
		fs := newTracedFS(t, dir)
		s := openStore(t, dir, Options{FS: fs})
		l, _ := s.Session("s")
		_, err := l.Append(t.Context(), opened("first"))
		must(t, err)
		// Two batches fail: the first tears its line, the second its repair.
		for _, taken := range []int{30, cut} {
			fs.taken = taken
			fs.failing(always(callWrite, syscall.EIO))
			if _, err := l.Append(t.Context(), opened("lost")); err == nil {
				t.Fatal("Append succeeded")
			}
		}
		fs.failing(nil)
		_, err = l.Append(t.Context(), opened("next"))
		must(t, err)
		if n := unmarked(readFile(t, dir, "s")); n != 0 {
			t.Errorf("cut %d octets into the repair, %d bad lines are left", cut, n)
		}
		must(t, s.Close(context.Background()))
	}
}

func TestAppendE20ALogThatWasAlteredUnderTheWriterIsAGap(t *testing.T) {
	for name, row := range map[string]struct {
		alter  func(path string) error
		events []string // of the log as it is then
	}{
		"cut short": {
			func(path string) error { return os.Truncate(path, 0) },
			[]string{gapLogAltered, EventEdgeStarted, EventCrossingOpened},
		},
		"replaced": {
			func(path string) error {
				if err := os.Rename(path, path+".old"); err != nil {
					return err
				}
				return os.WriteFile(path, nil, 0o600)
			},
			[]string{gapLogAltered, EventEdgeStarted, EventCrossingOpened},
		},
		"removed with its directory": {
			func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
			[]string{gapLogAltered, EventEdgeStarted, EventCrossingOpened},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, Options{})
			l, _ := s.Session("s")
			first, err := l.Append(t.Context(), opened("first"))
			must(t, err)
			must(t, row.alter(filepath.Join(dir, "sessions", "s", "000001.jsonl")))
			next, err := l.Append(t.Context(), opened("next"))
			must(t, err)
			records := readLog(t, dir, "s")
			if diff := cmp.Diff(row.events, events(records)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if records[0].get("expected") == nil || records[0].get("found") == nil {
				t.Errorf("the gap is %v", records[0])
			}
			if next <= first || records[0].seq <= first {
				t.Errorf("seqs %d and %d do not rise above %d", records[0].seq, next, first)
			}
		})
	}
}

// FuzzSurveyE36 reads logs of any octets as a writer does that opens them.
func FuzzSurveyE36(f *testing.F) {
	for _, s := range []string{"", "\n", wholeRecord, wholeRecord + "\n", wholeRecord + "\n{\"se", "bad\n" + `{"seq":1,"timestamp":"2026`, "\x00\x00", "\xff\n\xff",
		`{"seq":2,"timestamp":"2026-03-01T12:00:00.000Z","event":"edge_started","payload":{"edge":"../../x","session":"s"}}` + "\n",
		`{"seq":3,"timestamp":"2026-03-01T12:00:00.000Z","event":"crossing_opened","payload":{"edge":7}}` + "\n"} {
		f.Add(s)
	}
	s := &Store{o: Options{EdgeID: testEdge}.withDefaults(), dir: f.TempDir()}
	f.Fuzz(func(t *testing.T, octets string) {
		fs := &hangingFS{logs: map[string]*bytes.Buffer{"s": bytes.NewBufferString(octets)}}
		file, _ := fs.OpenLog("s")
		w := &writer{log: &Log{store: s, id: "s"}, file: file}
		found, err := w.inspect()
		if err != nil {
			return // it is the log of another session
		}
		lines := strings.Split(octets, "\n")
		last := lines[len(lines)-1]
		if found.ragged != (last != "") || found.ragged != (len(found.torn) > 0) {
			t.Errorf("ragged is %v, torn %v", found.ragged, found.torn)
		}
		for i, n := range found.torn {
			if want := lines[len(lines)-len(found.torn)+i]; n != int64(len(want)) {
				t.Errorf("torn is %v, but %q has %d octets", found.torn, want, len(want))
			}
		}
	})
}
