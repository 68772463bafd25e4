package evidence

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// An indexedLog is the index of one log.
type indexedLog struct {
	id string

	// mu is held while the log is read on, so that it is read once however many
	// ask together. States are replaced, never changed.
	mu      sync.Mutex
	settled *logState // up to the last settled line
	view    *logState // settled, and what stood behind it at the last look
}

// refresh reads on from where the last refresh stopped and returns a state that
// never changes. A fault of the log is part of the state; fs.ErrNotExist means
// that there is no such log.
func (g *indexedLog) refresh(sessions *os.Root) (*logState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	dir, err := openDir(sessions, g.id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return g.faulty(err), nil
	}
	defer dir.Close()
	numbers, err := listSegments(dir)
	if err != nil {
		return g.faulty(err), nil
	}
	if g.unchanged(dir, numbers) {
		return g.view, nil
	}
	if err := g.read(dir, numbers); err != nil {
		return g.faulty(err), nil
	}
	return g.view, nil
}

// faulty returns what is known of the log so far, with the fault that keeps it
// from being read now. The next refresh tries again.
func (g *indexedLog) faulty(err error) *logState {
	s := &logState{id: g.id}
	if g.settled != nil {
		s = g.settled.fork()
	}
	s.fault = faultWords(err)
	g.view = nil
	return s
}

// unchanged reports whether the log stands as it did at the last look. A tear is
// always looked at again: whoever was writing it may have died.
func (g *indexedLog) unchanged(dir *os.Root, numbers []int) bool {
	if g.view == nil || g.view.tear != nil || !slices.Equal(numbers, g.view.segments) {
		return false
	}
	if len(numbers) == 0 {
		return true
	}
	info, err := dir.Lstat(segmentName(numbers[len(numbers)-1]))
	return err == nil && os.SameFile(info, g.view.file) && info.Size() == g.view.size
}

// begin returns the state to read on with: the settled one, or an empty one
// when the log is not the one that was read.
func (g *indexedLog) begin(dir *os.Root, numbers []int) *logState {
	old := g.settled
	if old == nil || old.fault != "" || len(old.segments) == 0 {
		return &logState{id: g.id}
	}
	if known := old.segments; len(known) > len(numbers) || !slices.Equal(known, numbers[:len(known)]) {
		return &logState{id: g.id} // the operator moved segments away (E63)
	}
	info, err := dir.Lstat(segmentName(old.next.segment))
	if err != nil || !os.SameFile(info, old.file) || info.Size() < old.next.off {
		s := &logState{id: g.id}
		s.hurt(Damage{Segment: old.next.segment, Fault: "the log shrank or was replaced after it was read"})
		return s
	}
	return old.fork()
}

// read settles all that was appended since the last look. After an error nothing
// of it is kept.
func (g *indexedLog) read(dir *os.Root, numbers []int) error {
	s := g.begin(dir, numbers)
	s.segments = numbers
	var line logLine
	var tail tailLine
	for i, number := range numbers {
		if number < s.next.segment {
			continue
		}
		if number > s.next.segment {
			s.enter(number)
		}
		var err error
		if tail, err = readSegment(dir, s, &line, i == len(numbers)-1); err != nil {
			return err
		}
		if s.fault != "" {
			tail = tailLine{}
			break
		}
	}
	g.show(s, &line, tail)
	return nil
}

// show makes the settled state s, with what stands behind it, the view.
func (g *indexedLog) show(s *logState, l *logLine, tail tailLine) {
	g.settled, g.view = s, s
	if tail.length == 0 && len(s.bad) == 0 {
		return
	}
	g.view = s.fork()
	if tail.length > 0 {
		g.view.end(l, tail)
	}
	g.view.conclude()
}

// A tailLine is what stands behind a segment's last line end; its length is 0
// when nothing does.
type tailLine struct {
	line    []byte
	length  int64
	writing bool // somebody holds the lock of an append
}

// looks is how often a tail that turns out to have grown is read on within one
// refresh, before it passes for being written.
const looks = 3

// readSegment settles the lines of the segment s.next stands in. active says
// that it is the last: what stands behind its last line end may still grow and
// is returned; in any other segment that is a line like the rest (E61).
func readSegment(dir *os.Root, s *logState, l *logLine, active bool) (tailLine, error) {
	f, info, err := openRegular(dir, segmentName(s.next.segment))
	if err != nil {
		return tailLine{}, err
	}
	defer f.Close()
	for look := 1; ; look++ {
		s.file, s.size = info, info.Size()
		tail, err := settleLines(f, s, l)
		if err != nil || tail.length == 0 {
			return tailLine{}, err
		}
		if !active {
			s.settle(l, tail.line, tail.length)
			return tailLine{}, nil
		}
		if l.read(tail.line) == "" {
			return tail, nil
		}
		// Under the lock nobody is writing: what is torn then, is torn (E43).
		tail.writing = beingWritten(f)
		if info, err = f.Stat(); err != nil || info.Size() == s.size || look == looks {
			return tail, err
		}
	}
}

// settleLines settles every whole line of f from s.next up to s.size, unless
// the log turns out not to be the session's.
func settleLines(f io.ReaderAt, s *logState, l *logLine) (tailLine, error) {
	rest := s.size - s.next.off
	r := bufio.NewReaderSize(io.NewSectionReader(f, s.next.off, rest), int(min(rest, 256<<10)))
	var line []byte
	for s.fault == "" {
		var length int64
		var ended bool
		var err error
		line, length, ended, err = readLine(r, line[:0])
		switch {
		case err != nil:
			return tailLine{}, err
		case !ended:
			return tailLine{line: line, length: length}, nil
		}
		s.settle(l, line, length)
	}
	return tailLine{}, nil
}
