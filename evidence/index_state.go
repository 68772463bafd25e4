package evidence

import (
	"io/fs"
	"maps"
	"slices"
)

// A logState is what the index knows of one log, up to its last settled line
// (E44). A state that queries can see never changes; reading on makes a new one
// (next), which shares the full blocks with it.
type logState struct {
	id    string
	next  lineAt  // where reading goes on
	full  []block // in order; only ever appended to
	open  block   // grows until it is full; its end is 0 when it is empty
	max   int64   // running maximum of the timestamps
	prev  int64   // length of the line before next when that was a record, else 0
	bad   []badLine
	tally tally

	damaged int      // all damage, also what Damage leaves out
	damage  []Damage // the first of it
	tear    *Tear
	fault   string // why the log cannot be read any further, empty when it can

	segments []int       // numbers, in order
	sealed   int64       // octets in the segments before next.segment
	file     fs.FileInfo // the segment next stands in, as last looked at
	size     int64       // its octets then
}

// keptDamage is how much damage of one log is named; all of it is counted.
const keptDamage = 16

// keptBad bounds the run of bad lines that a torn_record may still excuse.
const keptBad = 4096

// A badLine is a line that is no record and waits for the next record, which
// excuses it or does not (E42).
type badLine struct {
	at     lineAt
	length int64
	fault  lineFault
}

// fork returns a copy of s to read on with, which s does not see.
func (s *logState) fork() *logState {
	n := *s
	n.bad = slices.Clone(s.bad)
	n.damage = slices.Clone(s.damage)
	n.tally = s.tally.clone()
	n.tear = nil
	return &n
}

// settle takes in the next line, given without its end. long is its length,
// which is more than len(line) when it was too long to be held.
func (s *logState) settle(l *logLine, line []byte, long int64) {
	at := s.next
	s.next.off += long + 1
	s.next.line++
	fault := faultTooLong
	if long == int64(len(line)) {
		fault = l.read(line)
	}
	if fault != "" {
		s.spoil(badLine{at, long, fault})
		return
	}
	if s.tally.records == 0 && l.nameFault(s.id) != nil {
		*s = logState{id: s.id, next: s.next, fault: "its first record names another session"}
		return
	}
	s.excuse(l, at)
	s.prev = long
	if s.open.full(at.off) {
		s.seal()
	}
	s.open.add(l, at.segment, at.off, s.next.off, s.max)
	s.max = max(s.max, l.at)
	s.tally.add(l)
}

// spoil takes in a line that is no record.
func (s *logState) spoil(b badLine) {
	s.prev = 0
	if s.bad = append(s.bad, b); len(s.bad) > keptBad {
		s.condemn()
	}
	if b.length > maxLineBytes {
		s.seal() // so that no block holds it
	}
}

// excuse rules the bad lines that stand directly before the record l (E42). A
// gap may also name one whole record that lacked only its line's end (E37).
func (s *logState) excuse(l *logLine, at lineAt) {
	if l.event != EventEvidenceGap || l.text("reason") != gapTornRecord {
		s.condemn()
		return
	}
	var torn []int64
	l.decode("torn", &torn)
	switch {
	case len(s.bad) > 0 && slices.EqualFunc(s.bad, torn, func(b badLine, n int64) bool { return b.length == n }):
		s.bad = s.bad[:0]
	case len(s.bad) > 0:
		s.condemn()
	case len(torn) != 1 || torn[0] != s.prev:
		s.hurt(Damage{Segment: at.segment, Line: at.line, Offset: at.off, Fault: "it speaks of a torn line that does not stand before it"})
	}
}

// condemn makes damage of the bad lines that nothing excused.
func (s *logState) condemn() {
	for _, b := range s.bad {
		s.hurt(Damage{Segment: b.at.segment, Line: b.at.line, Offset: b.at.off, Fault: string(b.fault)})
	}
	s.bad = s.bad[:0]
}

func (s *logState) hurt(d Damage) {
	if s.damaged++; len(s.damage) < keptDamage {
		s.damage = append(s.damage, d)
	}
}

// seal ends the open block.
func (s *logState) seal() {
	if s.open.end > 0 {
		s.full = append(s.full, s.open)
		s.open = block{}
	}
}

// enter goes on to segment. What is bad at the end of the one before stays
// damage: nothing is appended there any more (E61).
func (s *logState) enter(segment int) {
	s.condemn()
	s.seal()
	s.sealed += s.size
	s.size, s.prev = 0, 0
	s.next = lineAt{segment: segment, line: 1}
}

// end takes in the octets behind the last line's end, which are not settled:
// they are read again next time. A whole record is kept, anything else is a
// tear (E43).
func (s *logState) end(l *logLine, tail tailLine) {
	// The open block is about to differ from the settled state's, and full
	// must not grow into memory the settled state will grow into as well.
	s.full = slices.Clip(s.full)
	if tail.length == int64(len(tail.line)) && l.read(tail.line) == "" {
		s.settle(l, tail.line, tail.length)
		s.open.end-- // the line's end is not there
		return
	}
	s.tear = &Tear{Segment: s.next.segment, Line: s.next.line, Offset: s.next.off, Bytes: tail.length, Writing: tail.writing}
}

// conclude makes s a state for queries: bad lines that nothing follows are
// damage until something does.
func (s *logState) conclude() {
	if s.tear == nil {
		s.condemn()
	}
}

// blocks returns how many blocks s has, the open one included.
func (s *logState) blocks() int {
	if s.open.end > 0 {
		return len(s.full) + 1
	}
	return len(s.full)
}

func (s *logState) block(i int) *block {
	if i < len(s.full) {
		return &s.full[i]
	}
	return &s.open
}

// A tally counts the records of a log.
type tally struct {
	records     int
	first, last int64 // timestamps of the first and the last record by position
	crossings   map[Grade]map[Outcome]int
	gaps        map[string]int
	windows     map[string]struct{} // edges whose window is open (E39)
	unended     int                 // crossing_opened without a final record
}

func (t *tally) clone() tally {
	n := *t
	n.gaps, n.windows = maps.Clone(t.gaps), maps.Clone(t.windows)
	n.crossings = make(map[Grade]map[Outcome]int, len(t.crossings))
	for grade, outcomes := range t.crossings {
		n.crossings[grade] = maps.Clone(outcomes)
	}
	return n
}
