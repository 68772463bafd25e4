package evidence

import (
	"fmt"
	"maps"
	"slices"
)

// references are what later records of a log may point at.
type references struct {
	partial  bool            // the log begins with a later segment
	floor    uint64          // then the seq of its first record
	last     uint64          // seq of the last record
	previous *segmentMeasure // of the segment before, once it was read

	opened    map[uint64]string // crossings under way, to their edge
	ended     seqSet            // crossings that have ended, by number
	processed seqSet            // processor_invoked
	windows   map[string]*openWindow
}

// An openWindow counts what an edge has appended since its edge_started.
type openWindow struct {
	records int
	unknown bool // it began before what was read
}

func newReferences() references {
	return references{opened: make(map[uint64]string), ended: seqSet{}, processed: seqSet{}, windows: make(map[string]*openWindow)}
}

// record checks the record in v.line and what it refers to.
func (v *logVerifier) record() {
	l, r := &v.line, &v.refs
	if v.state.tally.records == 1 {
		r.floor = l.seq
	}
	if l.seq <= r.last {
		v.fault(v.at, fmt.Sprintf("its seq %d does not rise above %d", l.seq, r.last))
	}
	r.last = max(r.last, l.seq)
	v.chained()
	edge := l.text("edge")
	v.window(edge)
	switch l.event {
	case EventCrossingOpened:
		r.opened[l.seq] = edge
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		v.ended()
	case EventCrossingUndelivered:
		if n := l.number("crossing"); !r.ended.has(n) && !r.before(n) {
			v.fault(v.at, fmt.Sprintf("it speaks of crossing %d, which did not end before it", n))
		}
	case EventRunStarted, EventRunCompleted:
		v.noteRun()
	case "processor_invoked":
		r.processed.add(l.seq)
	case EventEvidenceGap:
		v.gap()
	case EventSegmentOpened:
		v.segmentOpened()
	}
	v.nameObjects()
	if v.decide != nil {
		v.recompute()
	}
}

// before reports whether n may stand in a segment that is not there.
func (r *references) before(n uint64) bool { return r.partial && n < r.floor }

// ended checks the final record of a crossing.
func (v *logVerifier) ended() {
	l, r := &v.line, &v.refs
	number := l.seq
	if l.member("opened") != nil {
		number = l.number("opened")
		_, open := r.opened[number]
		switch delete(r.opened, number); {
		case open || r.before(number) && !r.ended.has(number):
		case r.ended.has(number):
			v.fault(v.at, fmt.Sprintf("crossing %d has ended before", number))
		default:
			v.fault(v.at, fmt.Sprintf("opened names %d, which is no crossing_opened before it", number))
		}
	}
	r.ended.add(number)
	var processors []uint64
	if raw := l.member("processors"); raw != nil && !l.decode("processors", &processors) {
		v.fault(v.at, "processors is no list of seqs")
	}
	for _, n := range processors {
		if !r.processed.has(n) && !r.before(n) {
			v.fault(v.at, fmt.Sprintf("processors names %d, which is no processor_invoked before it", n))
		}
	}
}

// gap checks an evidence_gap.
func (v *logVerifier) gap() {
	l, r := &v.line, &v.refs
	switch l.text("reason") {
	case "":
		v.fault(v.at, "a gap without a reason")
	case gapTornRecord:
		var torn []int64
		l.decode("torn", &torn)
		v.report.Tears += len(torn)
	case gapUncleanStop:
		delete(r.windows, l.text("of"))
	case gapUnfinishedCrossing:
		n := l.number("crossing")
		if _, open := r.opened[n]; !open && !r.before(n) {
			v.fault(v.at, fmt.Sprintf("it speaks of crossing %d, which is not under way", n))
		}
		delete(r.opened, n)
		r.ended.add(n)
	}
}

// window follows the windows of edges (E39). A gap may come before the
// edge_started of who writes it, and so may what begins a segment.
func (v *logVerifier) window(edge string) {
	l, r := &v.line, &v.refs
	w := r.windows[edge]
	switch l.event {
	case EventEdgeStarted:
		r.windows[edge] = &openWindow{}
		return
	case EventEvidenceGap, EventSegmentOpened:
		if w == nil {
			return
		}
	}
	if w == nil {
		if !r.partial {
			v.fault(v.at, "a record of an edge that has not begun, or has stopped")
		}
		w = &openWindow{unknown: true} // told once for each such stretch
		r.windows[edge] = w
	}
	if l.event != EventEdgeStopped && l.event != EventSessionClosed {
		w.records++
		return
	}
	if appended := int(l.number("appended")); !w.unknown && w.records < appended {
		v.fault(v.at, fmt.Sprintf("the edge had appended %d records since it began, and %d are there", appended, w.records))
	}
	delete(r.windows, edge)
}

// carry takes over what a log that begins with a later segment has open (E64).
func (r *references) carry(l *logLine) {
	var edges []string
	var crossings []uint64
	l.decode("open_edges", &edges)
	l.decode("open_crossings", &crossings)
	for _, edge := range edges {
		if r.windows[edge] == nil {
			r.windows[edge] = &openWindow{unknown: true}
		}
	}
	for _, n := range crossings {
		r.opened[n] = ""
	}
}

// endWindows judges the windows and crossings that nothing ended.
func (v *logVerifier) endWindows() {
	r := &v.refs
	alive := false
	for _, edge := range slices.Sorted(maps.Keys(r.windows)) {
		if v.home.alive(edge) {
			alive = true
			v.report.OpenEdges = append(v.report.OpenEdges, edge)
			continue
		}
		v.doubt(lineAt{}, fmt.Sprintf("edge %s neither stopped nor runs, and no gap says so", edge))
	}
	for _, n := range slices.Sorted(maps.Keys(r.opened)) {
		if edge := r.opened[n]; alive && (edge == "" || slices.Contains(v.report.OpenEdges, edge)) {
			continue // it may still end
		}
		v.doubt(lineAt{}, fmt.Sprintf("crossing %d was opened, and nothing says how it ended", n))
	}
}

// A seqSet is a set of seqs, which lie close together. A seq costs it a bit, and
// at the very most some 100 octets.
type seqSet map[uint64]*[8]uint64

func (s seqSet) add(n uint64) {
	block := s[n/512]
	if block == nil {
		block = new([8]uint64)
		s[n/512] = block
	}
	block[n%512/64] |= 1 << (n % 64)
}

func (s seqSet) has(n uint64) bool {
	block := s[n/512]
	return block != nil && block[n%512/64]&(1<<(n%64)) != 0
}
