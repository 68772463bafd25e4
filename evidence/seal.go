package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// sealWhenFull begins a new segment when the one in use has reached its size
// (E60). It runs after everybody who waited for the batch was answered: no
// record hangs on it, and one that fails is tried again behind the next batch,
// or finished by whoever appends next.
func (w *writer) sealWhenFull() {
	limit := w.log.store.o.SegmentBytes
	if w.file == nil || !w.started {
		return
	}
	if w.size < limit {
		w.readAhead(limit)
		return
	}
	w.batch.lost = losses{}
	err := w.seal()
	if err == nil {
		return
	}
	w.drop()
	w.log.store.o.Logger.Error("a segment could not be sealed", "session", w.log.id, "segment", w.name, "error", err)
	if unsynced := w.batch.lost.unsynced; unsynced != (extent{}) {
		// No record of a caller's is lost, but octets that are read back now
		// may not be there after a crash (E33).
		w.log.oweUnsynced(err, unsynced)
	}
}

// aheadBytes is how much of a segment is read at a time for the seal to come.
const aheadBytes = 1 << 20

// readAhead reads, a little at a time, what the seal will have to say of the
// segment: reading it all when it is full would hold everybody up for a fifth of
// a second. Segments that are far from full may never be sealed.
func (w *writer) readAhead(limit int64) {
	read := int64(0)
	if s := w.scanned; s != nil && s.identity == w.identity {
		read = s.size
	}
	if w.size >= limit/16 && w.size-read >= aheadBytes {
		_, _ = w.scanCurrent(w.size) // it is tried again, and its fault told, by the seal
	}
}

// oweUnsynced notes that the octets of unsynced were written and not synced.
func (l *Log) oweUnsynced(err error, unsynced extent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fault := stepSync
	var step *stepError
	if errors.As(err, &step) {
		fault = step.fault()
	}
	l.owed.fail(l.store.o.Now(), fault, err.Error())
	l.owed.unsynced = unsynced
}

// maxCarried bounds the crossings under way that a segment's head can name, so
// that it stays under 1 MiB (E6). With more the segment grows until some ended.
const maxCarried = 30_000

// seal does the steps of E60 in order. What a crash between them leaves is
// finished by the next append (E62):
//
//	before the successor is there: nothing has happened
//	before its segment_opened is on disk: a segment without its head
//	before the summary has its name: a sealed segment without its summary
//	before the directory is synced: names that may be missing; the file that is
//	then the highest is found whole, and sealed anew
func (w *writer) seal() error {
	// Most of the reading is done before the lock is taken. Nothing that was
	// appended ever changes, so it holds afterwards.
	scan, err := w.scanCurrent(w.size)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(lockWait)
	if err := w.lock(deadline); err != nil {
		return err
	}
	if current, err := w.file.Current(); err != nil || !current {
		w.drop() // another process has sealed it (E61)
		return err
	}
	size, err := w.file.Size()
	if err == nil && size > w.size {
		scan, err = w.scanCurrent(size)
	}
	if err != nil {
		return err
	}
	if size < w.size || scan.ragged || scan.bad || len(scan.windows.crossings) > maxCarried {
		return w.file.Unlock() // the next append has something to say of it first
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	return w.succeedWith(deadline)
}

// succeedWith makes the successor of the segment in use, begins it, and goes on
// there. The old segment stays locked until the new one is on disk, so that
// nobody appends to it meanwhile who looked for a successor too early.
func (w *writer) succeedWith(deadline time.Time) error {
	next, err := w.file.Next()
	if err != nil {
		return err
	}
	old := w.file
	defer old.Close()
	w.use(next)
	w.size, w.unknown = 0, false
	if err := w.lock(deadline); err != nil {
		return err
	}
	w.batch = batch{entries: w.batch.entries[:0]} // it has its segment_opened and nothing else
	return w.commitLocked(&w.batch)
}

// summarizeSealed writes the summaries that sealed segments lack. No record
// hangs on them: those that fail are written by a later opening.
func (w *writer) summarizeSealed() {
	if w.file.Number() == 1 {
		return
	}
	missing, err := w.file.Unsummed()
	for _, n := range missing {
		var scan *segmentScan
		if scan, err = w.scanSealed(n); err == nil {
			err = w.file.Summarize(n, scan.summary(w.log.store.o.Now()))
		}
		if err != nil {
			break
		}
	}
	w.scanned = nil
	if err != nil {
		w.log.store.o.Logger.Error("a sealed segment could not be summed up", "session", w.log.id, "before", w.name, "error", err)
	}
}

// scanCurrent reads the segment in use up to size, from where it was read to.
func (w *writer) scanCurrent(size int64) (*segmentScan, error) {
	if s := w.scanned; s == nil || s.identity != w.identity || s.size > size || s.ragged {
		w.scanned = newSegmentScan(w.file.Number(), w.identity)
	}
	if err := w.scanned.read(w.file, size); err != nil {
		w.scanned = nil
		return nil, fmt.Errorf("reading %s: %w", w.name, err)
	}
	return w.scanned, nil
}

// scanSealed reads the sealed segment n.
func (w *writer) scanSealed(n int) (*segmentScan, error) {
	f, err := w.file.OpenSealed(n)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if s := w.scanned; s != nil && s.number == n && s.size == size {
		return s, nil
	}
	s := newSegmentScan(n, "")
	if err := s.read(f, size); err != nil {
		return nil, fmt.Errorf("reading %s: %w", segmentName(n), err)
	}
	w.scanned = s
	return s, nil
}

// scanPrevious finds out what the head of the segment in use has to say.
func (w *writer) scanPrevious(s *survey) error {
	scan, err := w.scanSealed(w.file.Number() - 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the operator moved it away: there is nothing to say of it
	}
	if err != nil {
		return err
	}
	s.previous, s.seq = scan, max(s.seq, scan.lastSeq)
	if s.last.IsZero() {
		s.last = time.UnixMilli(scan.last)
	}
	if s.windows != nil {
		for edge, last := range scan.windows.edges {
			s.windows.edges[edge] = last
		}
		for n, edge := range scan.windows.crossings {
			s.windows.crossings[n] = edge
		}
	}
	return nil
}

// addSegmentOpened begins a segment.
func (w *writer) addSegmentOpened(b *batch, stamp []byte, found *survey) {
	w.add(b, stamp, segmentOpened{number: w.file.Number(), previous: found.previous})
}
