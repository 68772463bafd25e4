package evidence

import (
	"slices"
	"strings"
	"time"
)

// openWindows are the windows that are open in a log, and the crossings that
// have begun in it and not ended (E39).
type openWindows struct {
	edges     map[string]time.Time // to the time of the edge's last record
	crossings map[uint64]string    // to the edge, empty when that is unknown
}

func newOpenWindows() *openWindows {
	return &openWindows{make(map[string]time.Time), make(map[uint64]string)}
}

// note takes in the record that l holds.
func (o *openWindows) note(l *logLine) {
	edge, at := l.text("edge"), time.UnixMilli(l.at)
	if _, open := o.edges[edge]; open {
		o.edges[edge] = at
	}
	switch l.event {
	case EventEdgeStarted:
		o.edges[edge] = at
	case EventEdgeStopped, EventSessionClosed:
		delete(o.edges, edge)
	case EventCrossingOpened:
		o.crossings[l.seq] = edge
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		delete(o.crossings, l.number("opened"))
	case EventSegmentOpened:
		o.carry(l, at)
	case EventEvidenceGap:
		switch l.text("reason") {
		case gapUncleanStop:
			delete(o.edges, l.text("of"))
		case gapUnfinishedCrossing:
			delete(o.crossings, l.number("crossing"))
		}
	}
}

// carry takes over what the segment before left open (E64). Behind that segment
// itself it changes nothing.
func (o *openWindows) carry(l *logLine, at time.Time) {
	var edges []string
	var crossings []uint64
	var windows []carriedWindow
	l.decode("open_edges", &edges)
	l.decode("open_crossings", &crossings)
	l.decode("windows", &windows)
	for _, edge := range edges {
		if _, known := o.edges[edge]; !known {
			o.edges[edge] = at
		}
	}
	for _, n := range crossings {
		if _, known := o.crossings[n]; !known {
			o.crossings[n] = ""
		}
	}
	for _, w := range windows {
		if _, open := o.edges[w.Edge]; open && !w.Last.IsZero() && w.Edge != l.text("edge") {
			o.edges[w.Edge] = w.Last
		}
		for _, n := range w.Crossings {
			o.crossings[n] = w.Edge
		}
	}
}

// A carriedWindow is what segment_opened says of one edge beside the numbers and
// ids of E64: what an unclean_stop and an unfinished_crossing need to be written
// by somebody who reads the active segment alone.
type carriedWindow struct {
	Edge      string    `json:"edge"`
	Last      time.Time `json:"last"` // its last record; zero when its window is closed
	Crossings []uint64  `json:"crossings"`
}

// byEdge returns for each edge what it left open. Crossings of an edge that is
// not known are left out.
func (o *openWindows) byEdge() []deadEdge {
	edges := make(map[string]*deadEdge)
	for edge, last := range o.edges {
		edges[edge] = &deadEdge{edge: edge, open: true, last: last}
	}
	for number, edge := range o.crossings {
		if edge == "" {
			continue
		}
		if edges[edge] == nil {
			edges[edge] = &deadEdge{edge: edge}
		}
		edges[edge].crossings = append(edges[edge].crossings, number)
	}
	list := make([]deadEdge, 0, len(edges))
	for _, d := range edges {
		slices.Sort(d.crossings)
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b deadEdge) int { return strings.Compare(a.edge, b.edge) })
	return list
}
