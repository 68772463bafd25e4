package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func payloadOf(line string) map[string]any {
	var envelope struct{ Payload map[string]any }
	json.Unmarshal([]byte(line), &envelope)
	return envelope.Payload
}

// tracedLog returns an opened log on a traced disk, with the trace emptied.
func tracedLog(t *testing.T) (dir string, fs *tracedFS, l *Log) {
	t.Helper()
	dir = t.TempDir()
	fs = newTracedFS(t, dir)
	s := openStore(t, dir, Options{FS: fs})
	l, err := s.Session("s")
	must(t, err)
	_, err = l.Append(t.Context(), opened("first"))
	must(t, err)
	fs.failing(nil)
	return dir, fs, l
}

// opened returns a record that a test can know again by its method.
func opened(mark string) Record {
	return CrossingOpened{&Crossing{Grade: Mediated, Method: mark, URL: "https://h/"}}
}

func TestAppendE26StepsComeInOrder(t *testing.T) {
	dir := t.TempDir()
	fs := newTracedFS(t, dir)
	s := openStore(t, dir, Options{FS: fs})
	l, _ := s.Session("s")
	for _, want := range [][]string{
		{callOpen, callLock, callWrite, callSync, callSyncDir, callUnlock}, // the directory once per descriptor
		{callLock, callWrite, callSync, callUnlock},
		{callLock, callWrite, callSync, callUnlock},
	} {
		fs.failing(nil)
		if _, err := l.Append(t.Context(), opened("x")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fs.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
}

func TestAppendE25ManyWaitersShareFewSyncs(t *testing.T) {
	dir, fs, l := tracedLog(t)
	const waiters, each = 64, 20
	seen := make([]map[uint64]bool, waiters)
	var wg sync.WaitGroup
	for i := range waiters {
		seen[i] = make(map[uint64]bool)
		wg.Go(func() {
			for range each {
				seq, err := l.Append(t.Context(), opened("x"))
				if err != nil {
					t.Error(err)
				}
				seen[i][seq] = true
			}
		})
	}
	wg.Wait()
	if syncs := fs.count(callSync); syncs >= waiters*each/4 {
		t.Errorf("%d records took %d syncs", waiters*each, syncs)
	}
	if writes, syncs := fs.count(callWrite), fs.count(callSync); writes != syncs {
		t.Errorf("%d writes and %d syncs, want one of each per batch", writes, syncs)
	}
	all := make(map[uint64]bool)
	for _, s := range seen {
		for seq := range s {
			all[seq] = true
		}
	}
	if len(all) != waiters*each {
		t.Errorf("%d different seqs for %d records", len(all), waiters*each)
	}
	if records := readLog(t, dir, "s"); len(records) != waiters*each+2 {
		t.Errorf("%d records in the log", len(records))
	}
}

func TestAppendE11RecordsOfOneCallStandTogether(t *testing.T) {
	dir, _, l := tracedLog(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			mark := fmt.Sprint("m", i)
			seq, err := l.Append(t.Context(), opened(mark), opened(mark), opened(mark))
			if err != nil || seq < 3 {
				t.Error(seq, err)
			}
		})
	}
	wg.Wait()
	records := readLog(t, dir, "s")[2:]
	for i := 0; i < len(records); i += 3 {
		if a, b, c := records[i].get("method"), records[i+1].get("method"), records[i+2].get("method"); a != b || b != c {
			t.Errorf("records %v, %v and %v stand together", a, b, c)
		}
	}
}

func TestAppendE27NobodyIsAcknowledgedWhenAnyStepFails(t *testing.T) {
	for _, call := range []string{callOpen, callLock, callWrite, callSync, callSyncDir} {
		for _, fault := range diskFaults {
			name := unix.ErrnoName(fault.(syscall.Errno))
			t.Run(call+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				fs := newTracedFS(t, dir)
				s := openStore(t, dir, Options{FS: fs})
				l, _ := s.Session("s")
				fs.failing(always(call, fault))
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						if _, err := l.Append(t.Context(), opened("lost")); !errors.Is(err, fault) {
							t.Errorf("Append = %v", err)
						}
					})
				}
				wg.Wait()
				if n := l.owing(); n != 8 {
					t.Errorf("%d records are owed, want 8", n)
				}
				if err := s.Healthy(); !errors.Is(err, ErrOwed) {
					t.Errorf("Healthy = %v", err)
				}
				fs.failing(nil)
				if _, err := l.Append(t.Context(), opened("next")); err != nil {
					t.Fatal(err)
				}
				if n, err := l.owing(), s.Healthy(); n != 0 || err != nil {
					t.Errorf("%d records are owed after the gap was written (%v)", n, err)
				}
				checkGapBefore(t, readLog(t, dir, "s"), "next", 8, name)
			})
		}
	}
}

// checkGapBefore checks that a write_failed gap for count lost records stands in
// front of the record marked next. Where syncs failed, earlier and smaller gaps
// may have reached the file without counting (E32): the last one counts.
func checkGapBefore(t *testing.T, records []logged, next string, count float64, fault string) {
	t.Helper()
	var gap *logged
	for _, r := range records {
		if r.get("reason") == gapWriteFailed {
			gap = &r
		}
		if r.get("method") == next && gap == nil {
			t.Errorf("no gap stands before %v", r)
		}
	}
	if gap == nil {
		t.Fatal("there is no gap")
	}
	if gap.get("lost.count") != count || gap.get("lost.events.crossing_opened") != count {
		t.Errorf("lost is %v, want %v crossing_opened", gap.get("lost"), count)
	}
	if got, _ := gap.get("fault").(string); !strings.HasSuffix(got, fault) {
		t.Errorf("fault is %q, want one of %s", got, fault)
	}
	if gap.get("from") == nil || gap.get("to") == nil || gap.get("detail") == nil {
		t.Errorf("the gap lacks from, to or detail: %v", gap)
	}
}

func TestAppendE31E36AFailedWriteIsNeverTakenBackNorRepeated(t *testing.T) {
	for _, row := range []struct {
		name   string
		taken  int
		err    error
		events []string // behind edge_started and the first record
	}{
		{"failed and nothing persisted", 0, syscall.ENOSPC, []string{gapWriteFailed, EventCrossingOpened}},
		{"failed and half a record persisted", 40, syscall.ENOSPC, []string{gapTornRecord, gapWriteFailed, EventCrossingOpened}},
		{"failed but all of it persisted", -1, syscall.EIO, []string{EventCrossingOpened, gapWriteFailed, EventCrossingOpened}},
		{"a short write without an error", 40, errShort, []string{gapTornRecord, gapWriteFailed, EventCrossingOpened}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir, fs, l := tracedLog(t)
			fs.taken = row.taken
			fs.failing(once(callWrite, row.err))
			if _, err := l.Append(t.Context(), opened("lost")); err == nil {
				t.Fatal("Append succeeded")
			}
			_, err := l.Append(t.Context(), opened("next"))
			must(t, err)
			records := readMarked(t, dir, "s")
			if diff := cmp.Diff(row.events, events(records)[2:]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for i, r := range records[1:] {
				if r.seq <= records[i].seq {
					t.Errorf("seq %d stands behind %d", r.seq, records[i].seq)
				}
			}
		})
	}
}

// readMarked reads a log in which lines may be torn, and fails unless each of
// them is named by the very next record (E42).
func readMarked(t *testing.T, dir, session string) (records []logged) {
	t.Helper()
	var bad []any
	for line := range strings.Lines(readFile(t, dir, session)) {
		line = strings.TrimSuffix(line, "\n")
		r, ok := parseLogged(line)
		if !ok {
			bad = append(bad, float64(len(line)))
			continue
		}
		if bad != nil {
			if diff := cmp.Diff(any(bad), r.get("torn")); diff != "" {
				t.Errorf("torn lines and what the next record says of them (-want +got):\n%s", diff)
			}
			bad = nil
		}
		records = append(records, r)
	}
	if bad != nil {
		t.Errorf("lines of %v octets at the end are not marked", bad)
	}
	return records
}

func TestAppendE32AGapThatFailsAgainStaysOwedAndGrows(t *testing.T) {
	dir, fs, l := tracedLog(t)
	fs.failing(always(callWrite, syscall.ENOSPC))
	for i := range 3 {
		l.Append(t.Context(), opened("lost"))
		if n := l.owing(); n != i+1 {
			t.Errorf("%d records are owed after %d were lost", n, i+1)
		}
	}
	l.Append(t.Context(), CrossingEnded{typical()})
	fs.failing(nil)
	_, err := l.Append(t.Context(), opened("next"))
	must(t, err)
	records := readLog(t, dir, "s")
	if diff := cmp.Diff([]string{EventEdgeStarted, EventCrossingOpened, gapWriteFailed, EventCrossingOpened}, events(records)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	gap := records[2]
	if gap.get("lost.count") != 4.0 || gap.get("lost.events.crossing_opened") != 3.0 || gap.get("lost.events.crossing_mediated") != 1.0 {
		t.Errorf("lost is %v", gap.get("lost"))
	}
	from, to := gap.get("lost.seq_from"), gap.get("lost.seq_to")
	if from == nil || to == nil || from.(float64) >= to.(float64) || to.(float64) >= float64(gap.seq) {
		t.Errorf("lost seqs are %v to %v, the gap's is %d", from, to, gap.seq)
	}
}

func TestAppendE33AFailedSyncIsFinalForItsDescriptor(t *testing.T) {
	dir, fs, l := tracedLog(t)
	before := len(readFile(t, dir, "s"))
	fs.failing(once(callSync, syscall.EIO))
	if _, err := l.Append(t.Context(), opened("lost")); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Append = %v", err)
	}
	after := len(readFile(t, dir, "s"))
	_, err := l.Append(t.Context(), opened("next"))
	must(t, err)
	want := []string{callLock, callWrite, callSync, callClose, callOpen, callLock, callWrite, callSync, callSyncDir, callUnlock}
	if diff := cmp.Diff(want, fs.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	records := readLog(t, dir, "s")
	if diff := cmp.Diff([]string{EventEdgeStarted, EventCrossingOpened, EventCrossingOpened, gapWriteFailed, EventCrossingOpened}, events(records)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	gap := records[3]
	if gap.get("unsynced.from") != float64(before) || gap.get("unsynced.to") != float64(after) {
		t.Errorf("unsynced is %v, want %d to %d", gap.get("unsynced"), before, after)
	}
	if gap.get("fault") != "sync EIO" {
		t.Errorf("fault is %v", gap.get("fault"))
	}
}

func TestOpenE34StartsWithAFullDisk(t *testing.T) {
	dir := t.TempDir()
	fs := newTracedFS(t, dir)
	fs.failing(always(callWrite, syscall.ENOSPC))
	s, err := Open(dir, Options{FS: fs})
	must(t, err)
	if n := s.Owed(); n == 0 {
		t.Error("nothing is owed though the own log has no edge_started")
	}
	fs.failing(nil)
	must(t, s.Close(context.Background()))
	got := events(readLog(t, dir, s.Own().ID()))
	if diff := cmp.Diff([]string{gapWriteFailed, EventEdgeStarted, EventEdgeStopped}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAppendRecordsAreEncodedBeforeItReturns(t *testing.T) {
	dir, _, l := tracedLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &Crossing{Grade: Mediated, Method: "before"}
	if _, err := l.Append(ctx, CrossingOpened{c}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c.Method = "after" // the race detector watches this
	_, err := l.Append(t.Context(), opened("next"))
	must(t, err)
	records := readLog(t, dir, "s")
	if got := records[2].get("method"); got != "before" {
		t.Errorf("the record says %v; ending the wait must not end the write", got)
	}
}
