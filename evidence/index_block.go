package evidence

// blockBytes is how much of a log one block of the index describes, roughly: a
// block ends with the first record at or past it. The index holds about 140
// octets for each, so a log of 1 GiB costs it half a megabyte.
const blockBytes = 256 << 10

// A block is what the index knows of a stretch of one segment: enough to find a
// record by number or time, and to pass over the stretch when nothing in it can
// match. The records themselves are read from the log each time.
type block struct {
	segment  int
	off, end int64 // octets [off, end) of the segment, whole lines

	// The running maximum of the log's timestamps before the block's first
	// record, after it, and after its last. Timestamps may go backwards when
	// the clock does; their running maximum never does, and a record's own
	// never changes once the record is written, so it is what lists are
	// ordered by.
	before, first, max int64

	earliest, latest int64 // timestamps as written
	minSeq, maxSeq   uint64
	// Range of the numbers that final records in here give as "opened"; empty
	// when minOpened is 0.
	minOpened, maxOpened uint64

	finals, refused, gaps, breaches int // final records, and those among them that were refused, have gaps, have breaches
	after                           int // records that may follow up a crossing's end, or tell of a gap, and end none
}

// add takes in the record l, which stands at [off, end) of segment, where
// before is the running maximum in front of it.
func (b *block) add(l *logLine, segment int, off, end, before int64) {
	now := max(before, l.at)
	if b.end == 0 {
		*b = block{segment: segment, off: off, before: before, first: now,
			earliest: l.at, latest: l.at, minSeq: l.seq, maxSeq: l.seq}
	}
	b.end, b.max = end, now
	b.earliest, b.latest = min(b.earliest, l.at), max(b.latest, l.at)
	b.minSeq, b.maxSeq = min(b.minSeq, l.seq), max(b.maxSeq, l.seq)
	switch {
	case l.final():
		b.addFinal(l)
	case l.event == EventCrossingUndelivered, l.event == EventEvidenceGap,
		l.event == eventAllowanceGap, l.event == eventProcessorInvoked && l.listed("gaps"):
		b.after++
	}
}

func (b *block) addFinal(l *logLine) {
	b.finals++
	if l.event == EventCrossingRefused {
		b.refused++
	}
	if l.listed("gaps") {
		b.gaps++
	}
	if l.listed("breach") {
		b.breaches++
	}
	if n := l.number("opened"); n > 0 {
		if b.minOpened == 0 {
			b.minOpened = n
		}
		b.minOpened, b.maxOpened = min(b.minOpened, n), max(b.maxOpened, n)
	}
}

// full reports whether a record at off begins a block of its own. Asking where
// the record begins, and not where the block ends, bounds a block also when bad
// lines stand between the two.
func (b *block) full(off int64) bool { return b.end > 0 && off-b.off >= blockBytes }

// mayEnd reports whether the final record of the crossing number may stand here.
func (b *block) mayEnd(number uint64) bool {
	return b.minOpened != 0 && b.minOpened <= number && number <= b.maxOpened
}

// A lineAt is a place in a log: a segment, the octet at which a line begins,
// and the line's number in its segment, from 1.
type lineAt struct {
	segment int
	off     int64
	line    int
}
