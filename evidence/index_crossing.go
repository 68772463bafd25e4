package evidence

import (
	"bytes"
)

// CrossingRecords are the records of one crossing, each the line as logged
// without its end, nil when there is none.
type CrossingRecords struct {
	Session string
	Number  uint64 // as the agent was told it (E12)

	Opened      []byte // crossing_opened
	Final       []byte // crossing_mediated, crossing_refused or crossing_observed; nil while the crossing runs
	Undelivered []byte // crossing_undelivered
	Unfinished  []byte // the evidence_gap unfinished_crossing: its edge died before the crossing ended
}

// Crossing finds a crossing by its number, or by the seq of its final record,
// which is what lists show. It returns ErrNotFound when session has no such
// crossing.
func (x *Index) Crossing(session string, seq uint64) (CrossingRecords, error) {
	state, err := x.log(session)
	if err != nil {
		return CrossingRecords{}, err
	}
	root, err := x.root()
	if err != nil {
		return CrossingRecords{}, err
	}
	s := search{walk: walk{root: root}, state: state, out: CrossingRecords{Session: session}}
	defer s.close()
	if err := s.find(seq); err != nil {
		return CrossingRecords{}, err
	}
	return s.out, nil
}

// A search looks for the records of one crossing.
type search struct {
	walk
	state *logState
	out   CrossingRecords
}

// find collects the records of the crossing that has seq.
func (s *search) find(seq uint64) error {
	var opened uint64
	// A look at every block's range is as quick as a binary search is needed
	// to be, and it stays right where damage left numbers out of order.
	from, err := s.blocks(0, func(b *block) bool { return b.minSeq <= seq && seq <= b.maxSeq },
		func(l *logLine, line []byte) bool {
			if l.seq != seq {
				return false
			}
			switch {
			case l.final():
				opened = l.number("opened")
				s.out.Number, s.out.Final = seq, bytes.Clone(line)
			case l.event == EventCrossingOpened:
				opened = seq
				s.out.Number, s.out.Opened = seq, bytes.Clone(line)
			}
			return true
		})
	switch {
	case err != nil:
		return err
	case s.out.Number == 0:
		return ErrNotFound
	case opened != 0 && opened != seq:
		s.out = CrossingRecords{Session: s.out.Session}
		return s.find(opened) // once: a crossing_opened names no other
	}
	return s.rest(from)
}

// rest collects what came of the crossing from block from on.
func (s *search) rest(from int) error {
	number := s.out.Number
	if s.out.Final == nil {
		_, err := s.blocks(from, func(b *block) bool { return b.mayEnd(number) }, func(l *logLine, line []byte) bool {
			if !l.final() || l.number("opened") != number {
				return false
			}
			s.out.Final = bytes.Clone(line)
			return true
		})
		if err != nil {
			return err
		}
	}
	_, err := s.blocks(from, func(b *block) bool { return b.after > 0 }, func(l *logLine, line []byte) bool {
		if l.number("crossing") != number {
			return false
		}
		switch {
		case l.event == EventCrossingUndelivered:
			s.out.Undelivered = bytes.Clone(line)
		case l.event == EventEvidenceGap && l.text("reason") == gapUnfinishedCrossing:
			s.out.Unfinished = bytes.Clone(line)
		default:
			return false
		}
		return true
	})
	return err
}

// blocks reads the blocks from from on that may hold what is looked for, until
// record says that it has it. It returns the index of that block, or of the
// block after the last.
func (s *search) blocks(from int, may func(*block) bool, record func(l *logLine, line []byte) bool) (int, error) {
	for i := from; i < s.state.blocks(); i++ {
		b := s.state.block(i)
		if !may(b) {
			continue
		}
		octets, err := s.octets(s.state.id, b.segment, b.off, int(b.end-b.off))
		if err != nil {
			return 0, err
		}
		for len(octets) > 0 {
			line, rest, _ := bytes.Cut(octets, []byte{'\n'})
			octets = rest
			if s.line.read(line) == "" && record(&s.line, line) {
				return i, nil
			}
		}
	}
	return s.state.blocks(), nil
}
