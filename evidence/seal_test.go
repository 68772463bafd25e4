package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smallSegments makes every batch of a test fill its segment.
const smallSegments = 200

// readSegments returns the octets of each segment of a session's log, in order.
func readSegments(t *testing.T, dir, session string) (segments []string) {
	t.Helper()
	for n := 1; ; n++ {
		octets, err := os.ReadFile(filepath.Join(dir, "sessions", session, segmentName(n)))
		if errors.Is(err, os.ErrNotExist) {
			return segments
		}
		must(t, err)
		segments = append(segments, string(octets))
	}
}

func recordsOf(t *testing.T, segment string) (records []logged) {
	t.Helper()
	for line := range strings.Lines(segment) {
		if r, ok := parseLogged(strings.TrimSuffix(line, "\n")); ok {
			records = append(records, r)
		}
	}
	return records
}

// checkChain checks what E60 and E64 say of a log: each segment behind the first
// begins with the digest of the one before, which has a summary that says the
// same. It returns the records of all.
func checkChain(t *testing.T, dir, session string) (all []logged) {
	t.Helper()
	segments := readSegments(t, dir, session)
	for i, segment := range segments {
		records := recordsOf(t, segment)
		all = append(all, records...)
		if i+1 == len(segments) {
			break
		}
		sum := sha256.Sum256([]byte(segment))
		want := map[string]any{"segment": float64(i + 1), "records": float64(len(records)), "bytes": float64(len(segment)),
			"sha256": "sha256:" + hex.EncodeToString(sum[:])}
		next := recordsOf(t, segments[i+1])
		head := 0
		for head < len(next) && next[head].get("reason") == gapTornRecord {
			head++
		}
		if head == len(next) || next[head].event != EventSegmentOpened || next[head].get("segment") != float64(i+2) {
			t.Fatalf("segment %d begins with %v", i+2, next)
		}
		if diff := cmp.Diff(any(want), next[head].get("previous")); diff != "" {
			t.Errorf("what segment %d says of the one before (-want +got):\n%s", i+2, diff)
		}
		if n := countEvent(next, EventSegmentOpened); n != 1 {
			t.Errorf("segment %d has %d segment_opened", i+2, n)
		}
		text, err := os.ReadFile(filepath.Join(dir, "sessions", session, summaryName(i+1)))
		must(t, err)
		var got map[string]any
		must(t, json.Unmarshal(text, &got))
		if got["sealed_at"] == nil {
			t.Errorf("the summary of segment %d is %s", i+1, text)
		}
		delete(got, "sealed_at")
		want["first_seq"], want["last_seq"] = float64(records[0].seq), float64(records[len(records)-1].seq)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the summary of segment %d (-want +got):\n%s", i+1, diff)
		}
	}
	for i := 1; i < len(all); i++ {
		if all[i].seq <= all[i-1].seq {
			t.Errorf("seq %d stands behind %d", all[i].seq, all[i-1].seq)
		}
	}
	return all
}

func TestSealE60StepsComeInOrder(t *testing.T) {
	dir := t.TempDir()
	fs := newTracedFS(t, dir)
	s := openStore(t, dir, Options{FS: fs, SegmentBytes: smallSegments})
	s.writers.Wait() // for the edge's own log
	fs.failing(nil)
	l, _ := s.Session("s")
	_, err := l.Append(t.Context(), opened("x"))
	must(t, err)
	s.writers.Wait() // the waiter is answered before the segment is sealed
	want := []string{
		callOpen, callLock, callWrite, callSync, callSyncDir, callUnlock, // the record
		callLock, callSync, callNext, callLock, // both locks are held from here
		callWrite, callSync, callSummary, callSyncDir, callUnlock, callClose,
	}
	if diff := cmp.Diff(want, fs.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	checkChain(t, dir, "s")
}

func TestSealE60E64SegmentsFormAChain(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second edge goes on where the first stopped
		s, err := Open(dir, Options{SegmentBytes: 2000})
		must(t, err)
		l, _ := s.Session("s")
		for range 30 {
			_, err := l.Append(t.Context(), CrossingEnded{typical()})
			must(t, err)
		}
		must(t, s.Close(context.Background()))
	}
	if n := len(readSegments(t, dir, "s")); n < 10 {
		t.Errorf("%d segments", n)
	}
	all := checkChain(t, dir, "s")
	if n := countEvent(all, EventCrossingMediated); n != 60 {
		t.Errorf("%d crossings", n)
	}
	if n := countEvent(all, EventEdgeStarted); n != 2 {
		t.Errorf("%d edge_started, want one an edge and none a segment", n)
	}
}

func TestSealE60TheSegmentIsReadAheadOfItsSeal(t *testing.T) {
	const limit = 3 << 20
	dir := t.TempDir()
	s := openStore(t, dir, Options{SegmentBytes: limit})
	l, _ := s.Session("s")
	for ahead := false; len(readSegments(t, dir, "s")) < 2; {
		_, err := l.Append(t.Context(), summed(200_000))
		must(t, err)
		s.writers.Wait()
		if scan := l.w.scanned; scan != nil && scan.size >= limit-2*aheadBytes {
			ahead = true
		}
		if len(readSegments(t, dir, "s")) == 2 && !ahead {
			t.Error("nothing was read before the segment was full")
		}
	}
	checkChain(t, dir, "s")
}

func TestSealE60E61ThreeProcessesLoseNothingAtTheSeals(t *testing.T) {
	dir := t.TempDir()
	const each = 60
	var children []*child
	for range 3 {
		children = append(children, startChild(t, "write", dir, "s", fmt.Sprint(each), fmt.Sprint(300_000)))
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	segments := readSegments(t, dir, "s")
	if len(segments) < 10 {
		t.Errorf("%d segments", len(segments))
	}
	written := 0
	for _, r := range checkChain(t, dir, "s") {
		if r.event == EventCrossingMediated {
			written++
			if !checkSummed(r) {
				t.Errorf("record %d is not as it was written", r.seq)
			}
		}
	}
	if written != 3*each {
		t.Errorf("%d records, want %d", written, 3*each)
	}
}

func TestSealE62AStepThatFailsIsMadeUpForByTheNextOpening(t *testing.T) {
	for name, row := range map[string]struct {
		call string
		nth  int // from the append that fills the segment on
	}{
		"before the successor is there":         {callNext, 1},
		"before the successor is locked":        {callLock, 3},
		"before its head is written":            {callWrite, 2},
		"before its head is on disk":            {callSync, 3},
		"before the summary is written":         {callSummary, 1},
		"before the directory is on disk":       {callSyncDir, 2},
		"after all, before the lock is let go":  {callUnlock, 2},
		"before the old segment is synced":      {callSync, 2},
		"before the old segment's lock is held": {callLock, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fs := newTracedFS(t, dir)
			s := openStore(t, dir, Options{FS: fs, SegmentBytes: smallSegments})
			s.writers.Wait()
			fs.failing(func(call string, nth int) error {
				if call == row.call && nth >= row.nth {
					return syscall.EIO
				}
				return nil
			})
			l, _ := s.Session("s")
			if _, err := l.Append(t.Context(), opened("acknowledged")); err != nil {
				t.Fatalf("the record hangs on the seal: %v", err)
			}
			s.writers.Wait()
			fs.failing(nil)

			next := openStore(t, dir, Options{SegmentBytes: smallSegments})
			l, _ = next.Session("s")
			_, err := l.Append(t.Context(), opened("next"))
			must(t, err)
			next.writers.Wait()
			all := checkChain(t, dir, "s")
			if n := countEvent(all, EventCrossingOpened); n != 2 {
				t.Errorf("%d crossings", n)
			}
		})
	}
}

func TestSealE62AHeadThatIsTornAnywhereIsFinished(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{SegmentBytes: smallSegments})
	must(t, err)
	l, _ := s.Session("s")
	_, err = l.Append(t.Context(), opened("x"))
	must(t, err)
	s.writers.Wait()
	segments := readSegments(t, dir, "s")
	if len(segments) != 2 {
		t.Fatalf("%d segments", len(segments))
	}
	for cut := range len(segments[1]) {
		dir := t.TempDir()
		log := filepath.Join(dir, "sessions", "s")
		must(t, os.MkdirAll(log, 0o700), os.WriteFile(filepath.Join(log, segmentName(1)), []byte(segments[0]), 0o600),
			os.WriteFile(filepath.Join(log, segmentName(2)), []byte(segments[1][:cut]), 0o600))
		next, err := Open(dir, Options{})
		must(t, err)
		l, _ := next.Session("s")
		_, err = l.Append(t.Context(), opened("next"))
		must(t, err, next.Close(context.Background()))
		checkChain(t, dir, "s")
		if n := unmarked(readSegments(t, dir, "s")[1]); n != 0 {
			t.Errorf("cut at %d octets %d lines are left unmarked", cut, n)
		}
	}
	must(t, s.Close(context.Background()))
}

func TestSealE64TheActiveSegmentAloneSaysWhatIsOpen(t *testing.T) {
	dir := t.TempDir()
	dead, deadID, left := linger(t, dir) // an edge with two crossings under way
	s, err := Open(dir, Options{SegmentBytes: smallSegments})
	must(t, err)
	l, _ := s.Session("s")
	_, err = l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err)
	s.writers.Wait()
	segments := readSegments(t, dir, "s")
	head := recordsOf(t, segments[len(segments)-1])[0]
	if diff := cmp.Diff(any(left), head.get("open_crossings")); diff != "" {
		t.Errorf("open_crossings (-want +got):\n%s", diff)
	}
	pair := sortedPair(deadID, s.EdgeID())
	if diff := cmp.Diff(any([]any{pair[0], pair[1]}), head.get("open_edges")); diff != "" {
		t.Errorf("open_edges (-want +got):\n%s", diff)
	}
	must(t, s.Close(context.Background()))
	kill(t, dead)

	// The operator takes the sealed segments away (E63).
	must(t, os.Remove(filepath.Join(dir, "sessions", "s", segmentName(1))))
	next := openStore(t, dir, Options{})
	l, _ = next.Session("s")
	_, err = l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err)
	octets, err := os.ReadFile(filepath.Join(dir, "sessions", "s", segmentName(len(segments))))
	must(t, err)
	edges, crossings := uncleanStops(recordsOf(t, string(octets)))
	if diff := cmp.Diff([]any{deadID}, edges); diff != "" {
		t.Errorf("unclean stops (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(left, crossings); diff != "" {
		t.Errorf("unfinished crossings (-want +got):\n%s", diff)
	}
}

func TestSealE64TheActiveSegmentAloneSaysTheContextUsed(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{SegmentBytes: smallSegments})
	l, _ := s.Session("s")
	used := int64(0)
	for len(readSegments(t, dir, "s")) < 3 {
		_, err := l.Append(t.Context(), CrossingEnded{typical()})
		must(t, err)
		used += typical().ContentBytes
		s.writers.Wait()
	}
	want := func(when string) {
		t.Helper()
		if got, err := s.ContextBytes("s"); err != nil || got != used {
			t.Errorf("%s the context used is %d, %v; want %d", when, got, err, used)
		}
	}
	want("with all segments")
	for n := range 2 { // the operator takes the sealed segments away (E63)
		must(t, os.Remove(filepath.Join(dir, "sessions", "s", segmentName(n+1))))
		want("without " + segmentName(n+1))
	}

	// A head that was written when the segment before was gone cannot say it.
	active := filepath.Join(dir, "sessions", "s", segmentName(3))
	head, err := os.ReadFile(active)
	must(t, err, os.WriteFile(active, bytes.Replace(head, []byte(`"context_bytes":`), []byte(`"context_lost":`), 1), 0o600))
	if got, err := s.ContextBytes("s"); err == nil {
		t.Errorf("the context used is %d where what was used before is lost", got)
	}
}
