package evidence

import (
	"bufio"
	"fmt"
	"io"
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

	windows *openWindows // filled when the whole segment is read, else nil
	dead    []deadEdge

	// headless: the segment has a predecessor and does not begin with its
	// segment_opened (E62). begun: a record other than a repair was read.
	headless, begun bool
	previous        *segmentScan // of the predecessor when headless; nil: it is not there

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
	case w.started && size == w.size && size > 0:
		return s, nil
	}
	from := w.size
	if !w.started {
		from = 0
		s.windows = newOpenWindows()
	}
	s.headless = from == 0 && w.file.Number() > 1
	if err := w.survey(s, from); err != nil {
		return nil, err
	}
	if s.headless {
		if err := w.scanPrevious(s); err != nil {
			return nil, err
		}
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
	if !s.begun && !(l.event == EventEvidenceGap && l.text("reason") == gapTornRecord) {
		s.begun = true
		s.headless = s.headless && l.event != EventSegmentOpened
	}
	if s.windows != nil {
		s.windows.note(l)
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

// findDead finds the edges that left a window or a crossing open and are dead.
// The window of an edge of which that cannot be told is left alone.
func (w *writer) findDead(s *survey) {
	if s.windows == nil {
		return
	}
	for _, d := range s.windows.byEdge() {
		if d.edge == w.log.store.o.EdgeID || w.log.store.MayLive(d.edge) {
			continue
		}
		s.dead = append(s.dead, d)
	}
}
