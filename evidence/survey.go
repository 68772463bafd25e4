package evidence

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A survey is what a writer learns from a log before it appends (E26 step 4, E39).
type survey struct {
	size int64
	seq  uint64    // of the last record, 0 when none was read
	last time.Time // its timestamp

	// ragged: the last line lacks its line end. torn are the lengths of the
	// lines that a torn_record has to name; none when the file ends whole.
	ragged bool
	torn   []int64

	// run are the unparsable lines at the end so far: one of any kind, then
	// those that look like unfinished repairs of it (E38).
	run []int64

	// Filled when the whole segment is read: the windows that are open in it,
	// by edge, and its unfinished crossings, by number. Else the maps are nil.
	windows   map[string]time.Time // to the time of the edge's last record
	crossings map[uint64]string    // to the edge
	dead      []deadEdge

	line logLine // the record that is read
}

// A deadEdge is an edge that ended without saying so.
type deadEdge struct {
	edge      string
	open      bool // its window is
	last      time.Time
	crossings []uint64
}

// inspect does step 4. The lock is held, so nobody is writing: an unfinished line
// is one that was cut short.
func (w *writer) inspect() (*survey, error) {
	size, err := w.file.Size()
	if err != nil {
		return nil, err
	}
	s := &survey{size: size}
	switch {
	case size < w.size:
		w.altered = &gapRecord{reason: gapLogAltered, from: w.wrote, sizes: &[2]int64{w.size, size},
			detail: w.name + " is shorter than this edge left it"}
		w.size, w.unknown, w.started = 0, false, false
	case w.started && size == w.size:
		return s, nil
	}
	from := w.size
	if !w.started {
		from = 0
		s.windows, s.crossings = make(map[string]time.Time), make(map[uint64]string)
	}
	if err := w.survey(s, from); err != nil {
		return nil, err
	}
	s.findTorn(w.cut)
	w.findDead(s)
	return s, nil
}

// survey reads the file from an offset at which a line begins. Its memory is
// bounded by the longest line a record can have.
func (w *writer) survey(s *survey, from int64) error {
	r := bufio.NewReaderSize(io.NewSectionReader(w.file, from, s.size-from), int(min(s.size-from, 64<<10)))
	var buf []byte
	for {
		line, length, ended, err := readLine(r, buf[:0])
		buf = line
		if err != nil {
			return fmt.Errorf("reading %s: %w", w.name, err)
		}
		if length == 0 && !ended {
			return nil
		}
		whole := length == int64(len(line)) && s.line.read(line) == ""
		if whole {
			if err := w.note(s, from == 0); err != nil {
				return err
			}
		}
		s.noteLine(line, length, whole, ended)
	}
}

// readLine reads one line, without its end, into buf. Of a line that is longer
// than a record can be only the beginning is kept; length is always the whole.
// At the end of the file length is 0 and ended false.
func readLine(r *bufio.Reader, buf []byte) (line []byte, length int64, ended bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if err == nil {
			part, ended = part[:len(part)-1], true
		}
		length += int64(len(part))
		buf = append(buf, part[:min(len(part), maxLineBytes-len(buf))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF {
			err = nil
		}
		return buf, length, ended, err
	}
}

// noteLine keeps track of the unparsable lines at the end.
func (s *survey) noteLine(line []byte, length int64, whole, ended bool) {
	s.ragged = !ended
	switch {
	case whole && ended:
		s.run = s.run[:0]
	case whole:
		// It lacks its line end and nothing else: it is kept as a record, and
		// named all the same (E37).
		s.run = append(s.run[:0], length)
	case unfinishedRepair(line):
		s.run = append(s.run, length)
	default:
		s.run = append(s.run[:0], length)
	}
}

// note takes in the record that s.line holds.
func (w *writer) note(s *survey, first bool) error {
	l := &s.line
	if s.seq == 0 && first {
		if err := l.nameFault(w.log.id); err != nil {
			return err
		}
	}
	s.seq, s.last = l.seq, time.UnixMilli(l.at)
	if s.windows != nil {
		s.noteWindow(l)
	}
	return nil
}

// nameFault says whether l, a log's first record, names another session than id:
// a file system that ignores case gives two sessions one log (E2).
func (l *logLine) nameFault(id string) error {
	if name := l.text("session"); l.event == EventEdgeStarted && name != "" && name != id {
		return fmt.Errorf("%w: the log belongs to session %s", ErrSessionInvalid, name)
	}
	return nil
}

func (s *survey) noteWindow(l *logLine) {
	edge := l.text("edge")
	if _, open := s.windows[edge]; open {
		s.windows[edge] = s.last
	}
	switch l.event {
	case EventEdgeStarted:
		s.windows[edge] = s.last
	case EventEdgeStopped, EventSessionClosed:
		delete(s.windows, edge)
	case EventCrossingOpened:
		s.crossings[l.seq] = edge
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		delete(s.crossings, l.number("opened"))
	case EventEvidenceGap:
		switch l.text("reason") {
		case gapUncleanStop:
			delete(s.windows, l.text("of"))
		case gapUnfinishedCrossing:
			delete(s.crossings, l.number("crossing"))
		}
	}
}

// findDead finds the edges that left a window or a crossing open and are dead.
// The window of an edge of which that cannot be told is left alone.
func (w *writer) findDead(s *survey) {
	edges := make(map[string]*deadEdge)
	for edge, last := range s.windows {
		edges[edge] = &deadEdge{edge: edge, open: true, last: last}
	}
	for number, edge := range s.crossings {
		if edges[edge] == nil {
			edges[edge] = &deadEdge{edge: edge}
		}
		edges[edge].crossings = append(edges[edge].crossings, number)
	}
	for _, d := range edges {
		if d.edge == w.log.store.o.EdgeID || w.log.store.mayLive(d.edge) {
			continue
		}
		slices.Sort(d.crossings)
		s.dead = append(s.dead, *d)
	}
	slices.SortFunc(s.dead, func(a, b deadEdge) int { return strings.Compare(a.edge, b.edge) })
}
