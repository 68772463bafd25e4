package evidence

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A seal passes over what it need not know of a usual line. What it says of the
// segment is the same as if each line had been read strictly.
func TestSealE60UsualLinesCountAsStrictlyReadOnes(t *testing.T) {
	const at = `"timestamp":"2026-01-02T03:04:05.678Z"`
	log := strings.Join([]string{
		`{"seq":1,` + at + `,"event":"edge_started","payload":{"edge":"a"}}`,
		`{"seq":2,` + at + `,"event":"crossing_opened","payload":{"edge":"a"}}`,
		`{"seq":3,` + at + `,"event":"crossing_opened","payload":{"edge":"a"}}`,
		`{"seq":4,` + at + `,"event":"crossing_opened","payload":{"edge":"a"}}`,
		`{"seq":5,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","url":"x","opened":2,"bytes":{"down":1}}}`,
		`{"seq":6,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","url":"x,\"opened\":3,","bytes":{"down":1}}}`,
		`{"seq":7,` + at + `,"event":"crossing_refused","payload":{"edge":"a","told":{"status":403}}}`,
		`{"seq":8,` + at + `,"event":"crossing_observed","payload":{"edge":"a","x":{},"opened":4}}`,
		`{"seq":9,` + at + `,"event":"terms_probed","payload":{"edge":"a","opened":3,"timings":{"first_byte":1}}}`,
		`{"seq":10,` + at + `,"event":"crossing_undelivered","payload":{"edge":"a","failure":{"kind":"client"}}}`,
		`{"seq":11,` + at + `,"event":"crossing_mediated","payload":{"edge":"stranger","bytes":{"down":1}}}`,
		`{"seq":0,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","bytes":{"down":1}}}`,
		`{"seq":13,"timestamp":"yesterday","event":"crossing_mediated","payload":{"edge":"a","bytes":{"down":1}}}`,
		`{"seq":14,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"source","outcome":"delivered","retrieved_bytes":20,"content_bytes":300,"delivered":{"bytes":20,"complete":true}}}`,
		`{"seq":15,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"source","outcome":"delivered","retrieved_bytes":4000,"delivered":{"bytes":4000}}}`,
		`{"seq":16,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"source","outcome":"delivered","retrieved_bytes":5,"delivered":{"bytes":3,"complete":false}}}`,
		`{"seq":17,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"service","outcome":"delivered","content_bytes":6,"delivered":{"bytes":6,"complete":true}}}`,
		`{"seq":18,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"source","outcome":"cut","content_bytes":7}}`,
		`{"seq":19,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","url":"\"class\":\"source\"","class":"source","outcome":"delivered","content_bytes":"much","delivered":{"bytes":8,"complete":true}}}`,
		`{"seq":20,` + at + `,"event":"crossing_mediated","payload":{"edge":"a","grade":"mediated","class":"source","outcome":"delivered","content_bytes":100,"opened":3}}`,
		`{"seq":21,` + at + `,"event":"crossing_refused","payload":{"edge":"a","told":{"status":403}}}`,
		``,
	}, "\n")
	quick, strict := newSegmentScan(1, ""), newSegmentScan(1, "")
	if err := quick.read(strings.NewReader(log), int64(len(log))); err != nil {
		t.Fatal(err)
	}
	usual := 0
	probe := newSegmentScan(1, "")
	probe.windows.edges["a"] = time.Time{}
	for line := range bytes.Lines([]byte(log)) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if probe.usual(line) {
			usual++
		}
		if strict.line.read(line) == "" {
			strict.note(&strict.line)
		}
	}
	if usual != 13 {
		t.Errorf("%d lines are usual, want 13", usual)
	}
	type said struct {
		Records   int
		First     uint64
		Last      uint64
		At        int64
		Edges     int
		Crossings map[uint64]string
		Context   int64
	}
	of := func(s *segmentScan) said {
		return said{s.records, s.firstSeq, s.lastSeq, s.last, len(s.windows.edges), s.windows.crossings, s.context.bytes}
	}
	if diff := cmp.Diff(of(strict), of(quick)); diff != "" {
		t.Errorf("strict reading (-), quick reading (+):\n%s", diff)
	}
	if quick.context.bytes != 4400 {
		t.Errorf("the context used is %d, want 4400", quick.context.bytes)
	}
}
