package evidence

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Reasons of evidence_gap (E20).
const (
	gapWriteFailed        = "write_failed"
	gapTornRecord         = "torn_record"
	gapLateRecord         = "late_record"
	gapUncleanStop        = "unclean_stop"
	gapUnfinishedCrossing = "unfinished_crossing"
	gapLogAltered         = "log_altered"
)

// A gapRecord is an evidence_gap: what the log itself could not say. Members
// that its reason does not have are zero.
type gapRecord struct {
	reason   string
	from, to time.Time
	detail   string // in our own words

	lost     losses // write_failed
	torn     []int64
	late     []uint64 // late_record: the numbers of the crossings
	of       string   // unclean_stop, unfinished_crossing: the edge
	crossing uint64   // unfinished_crossing

	expected, found string    // log_altered: the files' identities,
	sizes           *[2]int64 // or their sizes
}

// Event implements Record.
func (gapRecord) Event() string { return EventEvidenceGap }

func (g gapRecord) payload(e *encoder) {
	e.word("reason", g.reason)
	e.instant("from", g.from)
	e.instant("to", g.to)
	e.text("detail", g.detail)
	e.text("of", g.of)
	e.seq("crossing", g.crossing)
	e.word("expected", g.expected)
	e.word("found", g.found)
	if g.sizes != nil {
		e.number("expected", g.sizes[0])
		e.number("found", g.sizes[1])
	}
	writeNumbers(e, "torn", g.torn)
	writeNumbers(e, "crossings", g.late)
	g.lost.write(e)
}

// writeNumbers writes a list of numbers.
func writeNumbers[N int64 | uint64](e *encoder, name string, list []N) {
	p := e.open(name)
	for _, n := range list {
		e.b = append(e.b, ',')
		e.b = strconv.AppendUint(e.b, uint64(n), 10)
	}
	e.closeList(p)
}

// losses are records that did not reach the disk, as one window (E32). The zero
// value is a writer that owes nothing.
type losses struct {
	from, to time.Time // first and last failure; zero when nothing is owed
	count    int
	events   map[string]int
	first    uint64 // the seqs that were given to them, 0 when none was
	last     uint64
	fault    string // the first fault: its step and the system's name for the error
	detail   string // the first fault in words
	unsynced extent
}

// An extent is a range of octets of a segment. The zero extent is none.
type extent struct{ from, to int64 }

func (l *losses) owed() bool { return !l.from.IsZero() }

// fail notes a failure at now.
func (l *losses) fail(now time.Time, fault, detail string) {
	if !l.owed() {
		l.from, l.fault, l.detail = now, fault, detail
	}
	l.to = now
}

// lose notes that one record is lost; seq is 0 when none was given to it.
func (l *losses) lose(event string, seq uint64) {
	if l.events == nil {
		l.events = make(map[string]int)
	}
	l.events[event]++
	l.count++
	if seq != 0 {
		if l.first == 0 {
			l.first = seq
		}
		l.last = max(l.last, seq)
	}
}

// join makes l the window that covers both l and a later one.
func (l *losses) join(later losses) {
	if !later.owed() {
		return
	}
	l.fail(later.from, later.fault, later.detail)
	l.to = later.to
	for event, n := range later.events {
		if l.events == nil {
			l.events = make(map[string]int)
		}
		l.events[event] += n
	}
	l.count += later.count
	if l.first == 0 {
		l.first = later.first
	}
	l.last = max(l.last, later.last)
	if l.unsynced == (extent{}) {
		l.unsynced.from = later.unsynced.from
	}
	l.unsynced.to = max(l.unsynced.to, later.unsynced.to)
}

func (l *losses) write(e *encoder) {
	if !l.owed() {
		return
	}
	p := e.open("lost")
	e.positive("count", int64(l.count))
	events := e.open("events")
	for _, event := range slices.Sorted(maps.Keys(l.events)) {
		e.number(event, int64(l.events[event]))
	}
	e.close(events)
	e.seq("seq_from", l.first)
	e.seq("seq_to", l.last)
	e.close(p)
	e.word("fault", l.fault)
	if l.unsynced != (extent{}) {
		p := e.open("unsynced")
		e.number("from", l.unsynced.from)
		e.number("to", l.unsynced.to)
		e.close(p)
	}
}

// gap returns the record that l is owed as.
func (l *losses) gap() gapRecord {
	return gapRecord{reason: gapWriteFailed, from: l.from, to: l.to, detail: l.detail, lost: *l}
}
