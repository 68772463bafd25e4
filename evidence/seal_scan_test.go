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
		`{"seq":14,` + at + `,"event":"crossing_refused","payload":{"edge":"a","told":{"status":403}}}`,
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
	if usual != 6 {
		t.Errorf("%d lines are usual, want 6", usual)
	}
	type said struct {
		Records   int
		First     uint64
		Last      uint64
		At        int64
		Edges     int
		Crossings map[uint64]string
	}
	of := func(s *segmentScan) said {
		return said{s.records, s.firstSeq, s.lastSeq, s.last, len(s.windows.edges), s.windows.crossings}
	}
	if diff := cmp.Diff(of(strict), of(quick)); diff != "" {
		t.Errorf("strict reading (-), quick reading (+):\n%s", diff)
	}
}
