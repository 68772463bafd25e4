package evidence

import "runtime"

// A batch is what one commit writes: entries in the order they came, and in
// front of them what the log owes.
type batch struct {
	entries []*entry
	owed    losses
	late    []uint64

	// Filled while it is built.
	torn    []int64 // lines it marks as torn
	starts  bool    // it has an edge_started
	written int     // records in it
	counted int     // records in it behind its edge_started

	lost losses // filled when it fails: its own records
}

// records returns how many records callers gave to b.
func (b *batch) records() (n int) {
	for _, e := range b.entries {
		n += len(e.records)
	}
	return n
}

// closes reports whether b closes the log. Only its last entry can.
func (b *batch) closes() bool {
	return len(b.entries) > 0 && b.entries[len(b.entries)-1].closes != nil
}

// write is the log's writer: it commits batches until nothing waits.
func (l *Log) write() {
	for {
		b := l.take()
		if b == nil {
			return
		}
		err := l.w.commit(b)
		l.settle(b, err)
		if err == nil {
			l.w.sealWhenFull()
		}
		// Whoever was answered is runnable now, and under load has its next
		// record in a few microseconds: letting them run first makes batches
		// larger by a third. When nobody is runnable this costs nothing.
		runtime.Gosched()
	}
}

// take returns the next batch, or nil when the writer has to end.
func (l *Log) take() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 && !l.again {
		l.writing = false
		return nil
	}
	n, records, size := 0, 0, 0
	for _, e := range l.queue {
		records += len(e.records)
		size += e.size()
		if n > 0 && (records > maxBatchRecords || size > maxBatchBytes) {
			break
		}
		n++
		if e.closes != nil {
			break // what comes after it opens the log again
		}
	}
	b := &l.w.batch
	*b = batch{entries: append(b.entries[:0], l.queue[:n]...), owed: l.owed, late: l.late}
	l.queue = append(l.queue[:0], l.queue[n:]...)
	clear(l.queue[len(l.queue):cap(l.queue)])
	l.inFlight = b.entries
	l.claimed, l.owed, l.late, l.again = l.owed, losses{}, nil, false
	l.w.lost += l.refused
	l.refused = 0
	return b
}

// settle answers everybody who waited for b: all get the same result (E27).
func (l *Log) settle(b *batch, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claimed = losses{}
	if err != nil {
		// The window stays owed and grows; later is what came while b was
		// being written.
		later := l.owed
		l.owed, l.late = b.owed, append(b.late, l.late...)
		l.owed.join(b.lost)
		l.owed.join(later)
	}
	for _, e := range b.entries {
		l.queued -= e.size()
		l.settleEntry(e, err)
	}
	l.inFlight = nil
}

func (l *Log) settleEntry(e *entry, err error) {
	switch {
	case e.late:
		// Its caller may not have read done yet, so e is not used again.
		l.given -= len(e.records)
		if err == nil {
			l.tellLate(e)
		} else {
			e.seq = 0
		}
	case e.abandoned:
		l.store.recycle(e)
	case err != nil:
		e.ended = true
		e.done <- ending{err: err}
	default:
		for _, r := range e.records {
			if r.opens {
				l.open++
			}
		}
		e.ended = true
		e.done <- ending{seq: e.seq}
	}
}

// tellLate notes the crossings of e for a late_record.
func (l *Log) tellLate(e *entry) {
	seq := e.seq - uint64(len(e.records)) + 1
	for i, r := range e.records {
		if isCrossing(r.event) {
			l.late = append(l.late, seq+uint64(i))
			l.again = true
		}
	}
}

func isCrossing(event string) bool {
	switch event {
	case EventCrossingOpened, EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		return true
	}
	return false
}
