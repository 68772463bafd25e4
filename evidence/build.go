package evidence

import (
	"strconv"
	"time"
)

// build does step 5: it makes one buffer of what the log has to say before
// anything else, and of b's records. Order matters: what repairs comes first,
// because it must stand directly behind what it repairs (E36), then what begins a
// segment (E62), then what is owed (E32), then what opening the log found (E40).
func (w *writer) build(b *batch, found *survey) {
	now := w.log.store.o.Now()
	var room [len("2006-01-02T15:04:05.000Z")]byte
	stamp := appendInstant(room[:0], now)
	w.seq = max(w.seq, found.seq)
	if found.ragged {
		w.buf = append(w.buf, '\n')
	}
	if len(found.torn) > 0 {
		b.torn = found.torn
		from := found.last
		if from.IsZero() {
			from = w.wrote
		}
		w.add(b, stamp, gapRecord{reason: gapTornRecord, from: from, to: now, torn: found.torn,
			detail: "a line was cut short while it was written; no record of it was acknowledged"})
	}
	if found.headless {
		w.addSegmentOpened(b, stamp, found)
	}
	if b.owed.owed() {
		w.add(b, stamp, b.owed.gap())
	}
	if w.altered != nil {
		altered := *w.altered
		altered.to = now
		w.add(b, stamp, altered)
	}
	if len(b.late) > 0 {
		w.add(b, stamp, gapRecord{reason: gapLateRecord, from: now, to: now, late: b.late,
			detail: "the agent was answered before the record was on disk"})
	}
	if !w.started {
		w.start(b, stamp, now, found)
	}
	for _, e := range b.entries {
		w.addEntry(b, stamp, e)
	}
}

// start adds what opening a log says: the ends of edges that did not stop
// cleanly, and then that this edge begins (E40).
func (w *writer) start(b *batch, stamp []byte, now time.Time, found *survey) {
	for _, d := range found.dead {
		if d.open {
			w.add(b, stamp, gapRecord{reason: gapUncleanStop, of: d.edge, from: d.last, to: now,
				detail: "the edge ended without closing the log; what it did not acknowledge may be missing"})
		}
		for _, n := range d.crossings {
			w.add(b, stamp, gapRecord{reason: gapUnfinishedCrossing, of: d.edge, crossing: n, from: d.last, to: now,
				detail: "the edge ended before it recorded how the crossing ended"})
		}
	}
	o := &w.log.store.o
	started := edgeStarted{version: o.Version, execution: o.Execution,
		session: w.log.id, tenancy: o.Tenancy, resumed: found.size > 0 || w.file.Number() > 1}
	if o.Run != nil {
		started.session, started.run = "", o.Run.id
	}
	w.add(b, stamp, started)
	b.starts, b.counted = true, 0
}

// addEntry adds the records of a caller.
func (w *writer) addEntry(b *batch, stamp []byte, e *entry) {
	start := 0
	for _, r := range e.records {
		record := e.enc.b[start:r.end]
		start = r.end
		number := r.late.number()
		if number == 0 && r.event == EventCrossingUndelivered && r.refers != "" {
			continue // nothing of the crossing is on disk: the gap tells of it
		}
		w.envelope(b, stamp)
		w.buf = r.appendFilled(w.buf, record, w.seq, number)
		e.seq = w.seq
	}
	if e.closes != nil {
		c := *e.closes
		c.lost, c.appended = w.lost, b.counted
		if !b.starts {
			c.appended += w.appended
		}
		w.add(b, stamp, c)
		e.seq = w.seq
	}
}

// appendFilled appends the record, which gets seq, with the numbers that are known
// only now: those of the records that judged it, and that of its crossing.
func (r *encoded) appendFilled(buf, record []byte, seq, crossing uint64) []byte {
	if r.judged == 0 && crossing == 0 {
		return append(buf, record...)
	}
	const end = "}}\n" // of the payload, the record and the line
	buf = append(buf, record[:len(record)-len(end)]...)
	if r.judged > 0 {
		buf = appendJudged(buf, seq, r.judged)
	}
	if crossing != 0 {
		buf = append(append(append(buf, `,"`...), r.refers...), `":`...)
		buf = strconv.AppendUint(buf, crossing, 10)
	}
	return append(buf, end...)
}

// add adds a record that the writer itself has to say.
func (w *writer) add(b *batch, stamp []byte, r Record) {
	w.envelope(b, stamp)
	w.enc.b, w.enc.bounds = w.enc.b[:0], everTighter[0]
	w.enc.record(r)
	w.buf = append(w.buf, w.enc.b...)
}

// envelope begins a record with the next seq.
func (w *writer) envelope(b *batch, stamp []byte) {
	w.seq++
	b.written++
	b.counted++
	w.buf = append(w.buf, `{"seq":`...)
	w.buf = strconv.AppendUint(w.buf, w.seq, 10)
	w.buf = append(w.buf, `,"timestamp":"`...)
	w.buf = append(w.buf, stamp...)
	w.buf = append(w.buf, '"', ',')
}
