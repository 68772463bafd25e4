package evidence

import (
	"errors"
	"time"
)

// envelopeRoom is more than what goes in front of an encoded record when it is
// committed: its seq and its timestamp.
const envelopeRoom = 80

// ErrRecordTooLarge says that a record is over 1 MiB even with everything in it
// that others chose cut short (E6).
var ErrRecordTooLarge = errors.New("the record is larger than 1 MiB")

// An entry is what one call of Append waits for: records that go into one batch,
// next to each other. Entries are pooled with the buffers and timers in them.
type entry struct {
	// Its caller's until it is queued, then its log's writer's.
	enc     encoder
	records []encoded
	closes  *closing // the entry closes the log; it has no other record

	// The writer sets these before it settles the entry.
	seq uint64 // of the last record
	err error

	// Guarded by Log.mu. An entry ends either settled, and done is told, or
	// abandoned by a caller who waits no more.
	settled, abandoned bool
	late               bool // abandoned, and the agent was answered (E29)

	done  chan struct{} // has room for one
	timer *time.Timer
}

// An encoded record is a stretch of its entry's buffer that lacks only the seq
// and timestamp in front.
type encoded struct {
	event string
	end   int
	opens bool // a crossing_opened
	ends  bool // the final record of a crossing that was opened
}

// size is how many octets the entry occupies.
func (e *entry) size() int { return len(e.enc.b) + len(e.records)*envelopeRoom }

// add encodes r behind what the entry holds already.
func (e *entry) add(r Record) error {
	start := len(e.enc.b)
	for _, e.enc.bounds = range everTighter {
		e.enc.b = e.enc.b[:start]
		e.enc.record(r)
		if len(e.enc.b)-start <= maxLineBytes-envelopeRoom {
			ended, _ := r.(CrossingEnded)
			e.records = append(e.records, encoded{
				event: r.Event(),
				end:   len(e.enc.b),
				opens: r.Event() == EventCrossingOpened,
				ends:  ended.Crossing != nil && ended.Opened != 0,
			})
			return nil
		}
	}
	e.enc.b = e.enc.b[:start]
	return ErrRecordTooLarge
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
	if e, ok := s.entries.Get().(*entry); ok {
		return e
	}
	e := &entry{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	e.timer.Stop()
	e.enc = encoder{edge: s.o.EdgeID, redact: s.redactor}
	return e
}

// recycle gives e back. Nobody else may hold it.
func (s *Store) recycle(e *entry) {
	if cap(e.enc.b) > maxPooled {
		return
	}
	e.enc.b, e.records, e.closes = e.enc.b[:0], e.records[:0], nil
	e.seq, e.err, e.settled, e.abandoned, e.late = 0, nil, false, false, false
	s.entries.Put(e)
}
