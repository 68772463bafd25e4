package evidence

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestSessionA8DescribesALog(t *testing.T) {
	d := newLogDir(t)
	content := lines(
		recordLine(1, 0, EventEdgeStarted, `,"session":"s"`),
		recordLine(2, 1, EventCrossingRefused, `,"grade":"mediated","outcome":"refused"`),
		recordLine(3, 2, EventCrossingRefused, `,"grade":"mediated","outcome":"refused","repeated":9`),
		recordLine(4, 9, EventCrossingOpened, `,"grade":"mediated"`),
		recordLine(5, 4, EventCrossingOpened, `,"grade":"observed"`),
		recordLine(6, 4, EventCrossingObserved, `,"grade":"observed","outcome":"delivered","opened":5,"gaps":[{"reason":"capability_unavailable"},{"reason":"evidence_missing"}]`),
		recordLine(7, 4, "processor_invoked", `,"gaps":[{"reason":"budget_exhausted"}]`),
		recordLine(8, 4, "allowance_gap", `,"reason":"x"`),
		recordLine(9, 3, EventEvidenceGap, `,"reason":"write_failed"`),
	)
	d.append("s", 1, content)
	x := d.index()
	no := false
	want := SessionInfo{
		Session: "s", State: "open", Records: 9, Segments: 1, Bytes: int64(len(content)),
		First: "2026-03-04T00:00:00.000Z", Last: "2026-03-04T00:00:00.003Z",
		Crossings: map[Grade]map[Outcome]int{Mediated: {Refused: 10}, Observed: {Delivered: 1}},
		Unended:   1,
		Gaps: map[string]int{
			"capability_unavailable": 1, "evidence_missing": 1, "budget_exhausted": 1, "allowance_gap": 1, "write_failed": 1,
		},
		Completeness: Completeness{Complete: &no, OpenEdges: []string{"e1"}},
		SHA256:       fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))),
		first:        day,
	}
	if diff := cmp.Diff(want, d.session(x, "s"), cmp.AllowUnexported(SessionInfo{})); diff != "" {
		t.Error(diff)
	}
	sum, err := x.Summary("s")
	if diff := cmp.Diff(Summary{Refused: 10, Observed: 1, Gaps: 5}, sum); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
}

func TestSessionE39WindowsAndCompleteness(t *testing.T) {
	started := recordLine(1, 0, EventEdgeStarted, "")
	another := strings.Replace(started, `"e1"`, `"e2"`, 1)
	yes, no := true, false
	tests := []struct {
		name, log string
		open      []string
		complete  *bool
		unended   int
	}{
		{"an edge that runs", lines(started), []string{"e1"}, nil, 0},
		{"an edge that stopped", lines(started, recordLine(2, 0, EventEdgeStopped, "")), nil, &yes, 0},
		{"a session that was closed", lines(started, recordLine(2, 0, EventSessionClosed, "")), nil, &yes, 0},
		{"one of two edges stopped", lines(started, another, recordLine(2, 0, EventEdgeStopped, "")), []string{"e2"}, nil, 0},
		{"an edge found dead in the middle of a crossing", lines(started, recordLine(2, 0, EventCrossingOpened, ""),
			recordLine(3, 0, EventEvidenceGap, `,"reason":"unclean_stop","of":"e1"`),
			recordLine(4, 0, EventEvidenceGap, `,"reason":"unfinished_crossing","of":"e1","crossing":2`)), nil, &no, 0},
		{"a crossing that runs", lines(started, recordLine(2, 0, EventCrossingOpened, "")), []string{"e1"}, nil, 1},
		{"damage beside an edge that runs", lines(started, "x"), []string{"e1"}, &no, 0},
		{"nothing yet", "", nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newLogDir(t)
			d.append("s", 1, tt.log)
			got := d.session(d.index(), "s")
			if diff := cmp.Diff(tt.complete, got.Completeness.Complete); diff != "" {
				t.Errorf("completeness: %s", diff)
			}
			if !slices.Equal(got.Completeness.OpenEdges, tt.open) || (got.State == "open") != (len(tt.open) > 0) || got.Unended != tt.unended {
				t.Errorf("the session is %+v", got)
			}
		})
	}
}

func TestSessionE63NamesMissingSegments(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	for _, n := range []int{1, 2, 3, 4, 6} {
		d.append("s", n, lines(crossingLine(uint64(n), int64(n), "http://a.test/")))
	}
	if got := d.session(x, "s").Completeness; !slices.Equal(got.Missing, []string{"000005"}) || *got.Complete {
		t.Errorf("completeness is %+v", got)
	}
	for _, n := range []int{1, 2, 3} {
		if err := os.Remove(d.file("s", n)); err != nil {
			t.Fatal(err)
		}
	}
	d.append("s", 6, lines(recordLine(7, 9, EventEdgeStopped, "")))
	got := d.session(x, "s")
	if !slices.Equal(got.Completeness.Missing, []string{"000001-000003", "000005"}) || got.Records != 3 || got.Completeness.Damaged != 0 {
		t.Errorf("when sealed segments were moved away: %+v", got)
	}
	d = newLogDir(t)
	d.append("s", 2, lines(recordLine(9, 0, "segment_opened", `,"open_edges":["e1","e2"],"open_crossings":[3,4]`), recordLine(10, 0, EventEdgeStopped, "")))
	if got := d.session(d.index(), "s"); !slices.Equal(got.Completeness.OpenEdges, []string{"e2"}) || got.Unended != 2 {
		t.Errorf("a log that begins with its second segment: %+v", got)
	}
}

func TestSessionE15SeesALogThatShrank(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	d.append("s", 1, lines(crossingLine(1, 0, "http://a.test/"), crossingLine(2, 0, "http://a.test/")))
	d.session(x, "s")
	if err := os.Truncate(d.file("s", 1), 10); err != nil {
		t.Fatal(err)
	}
	got := d.session(x, "s")
	if got.Records != 0 || got.Completeness.Damaged != 1 || !strings.Contains(got.Completeness.Damage[0].Fault, "shrank") {
		t.Errorf("when it shrank: %+v", got)
	}
	if err := os.Remove(d.file("s", 1)); err != nil {
		t.Fatal(err)
	}
	d.append("s", 1, lines(crossingLine(1, 0, "http://a.test/")))
	if got := d.session(x, "s"); got.Records != 1 || got.Completeness.Damaged != 1 {
		t.Errorf("when it was replaced: %+v", got)
	}
}

func TestSessionsA8NewestFirst(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	if got, err := x.Sessions(); err != nil || len(got) != 0 {
		t.Errorf("an empty data directory: %+v, error %v", got, err)
	}
	d.append("b", 1, lines(recordLine(1, 5, EventEdgeStarted, "")))
	d.append("a", 1, lines(recordLine(1, 5, EventEdgeStarted, "")))
	d.append("c", 1, lines(recordLine(1, 9, EventEdgeStarted, ""), recordLine(2, 1, EventEdgeStopped, "")))
	d.append("d", 1, lines(recordLine(1, 1, EventEdgeStarted, ""), recordLine(2, 99, EventEdgeStopped, "")))
	order := func() (ids []string) {
		all, err := x.Sessions()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			ids = append(ids, s.Session)
		}
		return ids
	}
	if got := order(); !slices.Equal(got, []string{"c", "b", "a", "d"}) {
		t.Errorf("the order is %q", got)
	}
	if err := os.RemoveAll(filepath.Join(d.path, "sessions", "b")); err != nil {
		t.Fatal(err)
	}
	if got := order(); !slices.Equal(got, []string{"c", "a", "d"}) {
		t.Errorf("when one is gone the order is %q", got)
	}
}

// Sessions that begin or end while somebody walks disturb no page.
func TestSessionPageA8LosesAndRepeatsNothing(t *testing.T) {
	d := newLogDir(t)
	x := d.index()
	var want []string
	for n := range 9 {
		id := fmt.Sprintf("s%d", n)
		d.append(id, 1, lines(recordLine(1, int64(n/2), EventEdgeStarted, "")))
		want = append([]string{id}, want...)
	}
	var got []string
	for cursor, n := "", 0; ; n++ {
		page, next, err := x.SessionPage(cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatalf("%d sessions, error %v", len(page), err)
		}
		for _, s := range page {
			got = append(got, s.Session)
		}
		if next == "" {
			break
		}
		d.append(fmt.Sprintf("later%d", n), 1, lines(recordLine(1, 50, EventEdgeStarted, "")))
		d.append("s0", 1, lines(recordLine(2, 99, EventEdgeStopped, "")))
		cursor = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages hold %q", got)
	}
	if page, next, err := x.SessionPage(rank{at: day - 1, session: "a"}.String(), 2); err != nil || page != nil || next != "" {
		t.Errorf("behind the end: %v, %q, %v", page, next, err)
	}
	if _, _, err := x.SessionPage("x", 2); !errors.Is(err, ErrQuery) {
		t.Errorf("a cursor that is none: %v", err)
	}
}

func TestCrossingE12FindsAllRecordsOfACrossing(t *testing.T) {
	d := newLogDir(t)
	filler := strings.Repeat("x", 100<<10) // several blocks lie between the records
	opened := recordLine(2, 0, EventCrossingOpened, `,"url":"http://a.test/`+filler+`"`)
	ended := recordLine(9, 5, EventCrossingMediated, `,"grade":"mediated","outcome":"delivered","opened":2`)
	late := recordLine(14, 5, EventCrossingUndelivered, `,"crossing":2,"bytes":7`)
	dead := recordLine(18, 5, EventEvidenceGap, `,"reason":"unfinished_crossing","crossing":17,"of":"e1"`)
	list := []string{recordLine(1, 0, EventEdgeStarted, ""), opened}
	for seq := uint64(3); seq < 9; seq++ {
		list = append(list, crossingLine(seq, 1, "http://b.test/"+filler))
	}
	list = append(list, ended)
	for seq := uint64(10); seq < 14; seq++ {
		list = append(list, crossingLine(seq, 1, "http://b.test/"+filler))
	}
	d.append("s", 1, lines(append(list, late)...))
	d.append("s", 2, lines(recordLine(15, 0, "segment_opened", ""), recordLine(16, 0, EventEvidenceGap, `,"reason":"late_record","crossings":[2]`),
		recordLine(17, 0, EventCrossingOpened, ""), dead))
	x := d.index()
	tests := []struct {
		name string
		seq  uint64
		want CrossingRecords
	}{
		{"by its number", 2, CrossingRecords{"s", 2, []byte(opened), []byte(ended), []byte(late), nil}},
		{"by its final record", 9, CrossingRecords{"s", 2, []byte(opened), []byte(ended), []byte(late), nil}},
		{"one without crossing_opened", 12, CrossingRecords{"s", 12, nil, []byte(list[11]), nil, nil}},
		{"one whose edge died", 17, CrossingRecords{"s", 17, []byte(recordLine(17, 0, EventCrossingOpened, "")), nil, nil, []byte(dead)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := x.Crossing("s", tt.seq)
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(bytes.Equal)); err != nil || diff != "" {
				t.Errorf("error %v, %.500s", err, diff)
			}
		})
	}
	for _, seq := range []uint64{0, 1, 14, 15, 16, 18, 19, 1 << 63} {
		if _, err := x.Crossing("s", seq); !errors.Is(err, ErrNotFound) {
			t.Errorf("record %d is a crossing: %v", seq, err)
		}
	}
	if _, err := x.Crossing("absent", 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestOpenLogA8IsTheSegmentsInOrder(t *testing.T) {
	d := newLogDir(t)
	var whole strings.Builder
	for n := 1; n <= 12; n++ {
		part := lines(crossingLine(uint64(n), 0, "http://a.test/"+strings.Repeat("x", n*n)))
		d.append("s", n, part)
		whole.WriteString(part)
	}
	d.append("s", 13, "") // just begun
	log, err := d.index().OpenLog("s")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.append("s", 13, "more")
	if log.Size() != int64(whole.Len()) {
		t.Errorf("%d octets, want %d", log.Size(), whole.Len())
	}
	if err := iotest.TestReader(log, []byte(whole.String())); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(d.file("s", 5), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(log); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a segment that shrank: %v", err)
	}
}

// heapInUse is what the process holds after a collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A log far larger than the bound is indexed, listed, searched and hashed
// within it, and a filter that matches at its far end alone gets there.
func TestIndexE44A6UsesBoundedMemory(t *testing.T) {
	const bound = 32 << 20
	d := newLogDir(t)
	d.append("s", 1, lines(crossingLine(1, 0, "http://wanted.test/")))
	filler := strings.Repeat("x", 8<<10)
	var chunk bytes.Buffer
	seq := uint64(1)
	for range 40 {
		for chunk.Reset(); chunk.Len() < 1<<20; {
			seq++
			chunk.WriteString(lines(crossingLine(seq, int64(seq), "http://a.test/"+filler)))
		}
		d.append("s", 1, chunk.String())
	}
	before := heapInUse()
	x := d.index()
	held := func(what string) {
		if after := heapInUse(); after > before+bound {
			t.Errorf("%s holds %d octets more", what, after-before)
		}
	}
	page, err := x.Crossings(Query{Limit: MaxLimit})
	if err != nil || len(page.Items) == 0 {
		t.Fatalf("%d items, error %v", len(page.Items), err)
	}
	held("a page of the most records")
	runtime.KeepAlive(page)
	got, calls := walkPages(t, x, Query{Host: "wanted.test"}, nil)
	if !slices.Equal(got, []string{"s/1"}) || calls != 2 {
		t.Errorf("the filter found %q in %d calls", got, calls)
	}
	if c, err := x.Crossing("s", seq/2); err != nil || c.Final == nil {
		t.Errorf("a crossing in the middle: %v", err)
	}
	if info := d.session(x, "s"); info.Records != int(seq) {
		t.Errorf("%d records, want %d", info.Records, seq)
	}
	held("the index")
	if n := len(x.logs["s"].settled.full); n > 40<<20/blockBytes+1 {
		t.Errorf("%d blocks", n)
	}
}
