package evidence

import (
	"errors"
	"time"
)

// envelopeRoom is more than what is added to an encoded record when it is
// committed: its seq, its timestamp, and the number of a crossing.
const envelopeRoom = 112

// seqRoom is how much longer the mention of a record makes another.
const seqRoom = 24

// ErrRecordTooLarge says that a record is over 1 MiB even with everything in it
// that others chose cut short (E6).
var ErrRecordTooLarge = errors.New("the record is larger than 1 MiB")

// An entry is what one call of Append waits for: records that go into one batch,
// next to each other. Entries are pooled for the buffers in them.
type entry struct {
	// Its caller's until it is queued, then its log's writer's.
	since   time.Time // when its caller began to wait
	enc     encoder
	records []encoded
	closes  *closing // the entry closes the log; it has no other record
	seq     uint64   // of the last record; set by the writer when it builds the batch

	// Guarded by Log.mu. An entry ends when it is settled or late, and its
	// caller is told through done; or its caller has abandoned it.
	ended, late, abandoned bool

	done chan ending // has room for one
}

// An ending is what the caller of Append waits for. After any but a late one the
// entry is the caller's again.
type ending struct {
	seq  uint64
	err  error
	late bool // the caller is to wait no more (E29)
}

// An encoded record is a stretch of its entry's buffer that lacks only the seq
// and timestamp in front.
type encoded struct {
	event string
	end   int
	opens bool // a crossing_opened
	ends  bool // the final record of a crossing that was opened

	// What it names of records whose seqs are known when the batch is built.
	judged int        // how many directly before it in its entry have judged it
	refers string     // the member that has the crossing's number; empty: it is known already
	late   latecomers // of the crossing that it refers to
}

// size is how many octets the entry occupies.
func (e *entry) size() int { return len(e.enc.b) + len(e.records)*(envelopeRoom+seqRoom) }

// add encodes r behind what the entry holds already.
func (e *entry) add(r Record) error {
	start := len(e.enc.b)
	for _, e.enc.bounds = range everTighter {
		e.enc.b = e.enc.b[:start]
		e.enc.record(r)
		if len(e.enc.b)-start <= maxLineBytes-envelopeRoom {
			rec := encoded{event: r.Event(), end: len(e.enc.b), opens: r.Event() == EventCrossingOpened}
			switch r := r.(type) {
			case CrossingEnded:
				rec.judged = e.invoked()
				rec.ends = r.Opened != 0
				if r.late.opened != nil && r.Opened == 0 {
					rec.ends, rec.refers, rec.late = true, "opened", r.late
				}
			case CrossingUndelivered:
				if r.Crossing == 0 && r.Late != nil {
					rec.refers, rec.late = "crossing", r.Late.late
				}
			}
			e.records = append(e.records, rec)
			return nil
		}
	}
	e.enc.b = e.enc.b[:start]
	return ErrRecordTooLarge
}

// invoked is how many processor_invoked stand at the end of the entry.
func (e *entry) invoked() (n int) {
	for n < len(e.records) && e.records[len(e.records)-1-n].event == EventProcessorInvoked {
		n++
	}
	return n
}

// record writes r from its event on, with the line's end.
func (e *encoder) record(r Record) {
	e.b = append(e.b, `"event":"`...)
	e.b = append(e.b, r.Event()...)
	e.b = append(e.b, `","payload":`...)
	p := place{len(e.b), len(e.b)}
	e.word("edge", e.edge)
	r.payload(e)
	e.close(p)
	e.b = append(e.b, '}', '\n')
}

// maxPooled is the largest buffer that is kept for later entries.
const maxPooled = 64 << 10

// newEntry returns an empty entry for s.
func (s *Store) newEntry() *entry {
	e, ok := s.entries.Get().(*entry)
	if !ok {
		e = &entry{done: make(chan ending, 1), enc: encoder{edge: s.o.EdgeID, redact: s.redactor}}
	}
	e.since = time.Now()
	return e
}

// recycle gives e back. Nobody else may hold it.
func (s *Store) recycle(e *entry) {
	if cap(e.enc.b) > maxPooled {
		return
	}
	e.enc.b, e.records, e.closes = e.enc.b[:0], e.records[:0], nil
	e.seq, e.ended, e.late, e.abandoned = 0, false, false, false
	s.entries.Put(e)
}
