package evidence

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Steps of a batch that can fail, as a gap's fault names them (E20).
const (
	stepOpen      = "open"
	stepLock      = "lock"
	stepWrite     = "write"
	stepSync      = "sync"
	stepQueueFull = "queue_full"
	stepEncode    = "encode"
)

const (
	lockWait = 5 * time.Second // how long the lock may take, reopening included (E26)
	lockPoll = time.Millisecond

	// maxOpenFiles bounds how many logs stay open between two batches, with two
	// descriptors each: who may name a session may name thousands, and the edge
	// needs descriptors to answer anybody. One beyond it is opened anew for each
	// batch.
	maxOpenFiles = 200
)

// A stepError says at which step a batch failed.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", e.step, e.err) }
func (e *stepError) Unwrap() error { return e.err }

// fault returns the step and the system's name for its error, where it has one.
func (e *stepError) fault() string {
	var errno syscall.Errno
	if errors.As(e.err, &errno) {
		if name := unix.ErrnoName(errno); name != "" {
			return e.step + " " + name
		}
	}
	return e.step
}

// A writer commits the batches of one log. It belongs to the goroutine that runs
// Log.write and to nobody else.
type writer struct {
	log   *Log
	batch batch

	// The descriptor, nil when there is none to trust. A failure of any kind
	// gives it up: after a failed sync nothing it says proves anything (E33),
	// and after the others the next opening finds out what is there.
	file           File
	named          bool   // its name is on disk
	name, identity string // of the file last used; kept when file is nil

	size    int64     // what the file held after the last batch that succeeded
	wrote   time.Time // when that was
	unknown bool      // octets from size on were written and not synced
	seq     uint64    // the last one given out, also to a record that failed (E7)
	cut     []int64   // torn lines that a failed batch had set out to mark (E38)
	altered *gapRecord
	number  int          // of the segment last used
	scanned *segmentScan // of the segment to be sealed, as far as it was read

	// This edge's window in the log.
	started  bool // open: an edge_started of ours is on disk and nothing closed it
	appended int  // records of ours on disk since
	lost     int  // records of ours that are not

	enc encoder // of the records the writer adds
	buf []byte  // of the batch being built
}

// commit writes b, in the ten steps of E26; the tenth, telling the waiters, is
// Log.settle. When it returns nil every record of b is on disk. Otherwise none is
// acknowledged, and b.lost is what the log owes for it.
func (w *writer) commit(b *batch) error {
	if w.nothingToDo(b) {
		return nil
	}
	err := w.acquire()
	if err == nil {
		err = w.commitLocked(b)
	}
	if err != nil {
		w.fail(b, err)
		return w.log.fault(err)
	}
	return nil
}

// nothingToDo reports whether b has no record and would only open a log that is
// open, or close one that is not.
func (w *writer) nothingToDo(b *batch) bool {
	return b.records() == 0 && !b.owed.owed() && len(b.late) == 0 && w.started != b.closes()
}

// acquire does steps 1 to 3: it leaves the segment to append to open and locked.
func (w *writer) acquire() error {
	deadline := time.Now().Add(lockWait)
	for {
		if w.file == nil {
			if err := w.open(); err != nil {
				return &stepError{stepOpen, err}
			}
		}
		if err := w.lock(deadline); err != nil {
			return &stepError{stepLock, err}
		}
		switch current, err := w.file.Current(); {
		case err != nil:
			return &stepError{stepOpen, err}
		case current:
			return nil
		case time.Now().After(deadline):
			return &stepError{stepLock, fmt.Errorf("%s kept being replaced for %v", w.name, lockWait)}
		}
		w.drop()
	}
}

// open opens the segment and compares it with the one used before.
func (w *writer) open() error {
	f, err := w.log.store.fs.OpenLog(w.log.id)
	if err != nil {
		return err
	}
	switch {
	case w.number < f.Number(): // the first segment, or a later one than before
		w.size, w.unknown = 0, false
	case w.number > f.Number() || w.identity != f.Identity():
		w.altered = &gapRecord{reason: gapLogAltered, from: w.wrote, expected: w.identity, found: f.Identity(),
			detail: "another file has taken the place of " + f.Name()}
		// Whether this edge's window is open in that one, nobody knows.
		w.size, w.unknown, w.started = 0, false, false
	}
	w.use(f)
	w.log.store.files.Add(1)
	return nil
}

// use makes f the descriptor to append through.
func (w *writer) use(f File) {
	w.file, w.named, w.name, w.identity, w.number = f, false, f.Name(), f.Identity(), f.Number()
}

// lock takes the lock of the file. A live writer holds it only for as long as one
// batch takes.
func (w *writer) lock(deadline time.Time) error {
	for {
		err := w.file.TryLock()
		if !errors.Is(err, ErrLocked) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the lock of %s was not had in %v", w.name, lockWait)
		}
		time.Sleep(lockPoll)
	}
}

// drop gives the descriptor up, and with it the lock.
func (w *writer) drop() {
	if w.file != nil {
		w.file.Close() // whatever it says, the descriptor is gone
		w.file = nil
		w.log.store.files.Add(-1)
	}
}

// commitLocked does steps 4 to 9.
func (w *writer) commitLocked(b *batch) error {
	found, err := w.inspect()
	if errors.Is(err, ErrSessionInvalid) {
		return err
	}
	if err != nil {
		return &stepError{stepOpen, err}
	}
	from := found.size // of what is not on disk if the sync fails
	if w.unknown {
		from = w.size
	}
	pooled := w.log.store.buffers.Get().(*[]byte)
	w.buf = (*pooled)[:0]
	w.build(b, found)
	defer func() {
		*pooled, w.buf = w.buf, nil
		w.log.store.buffers.Put(pooled)
	}()
	w.unknown = true
	// Step 6. A crash from here to the end of step 7 leaves any part of the
	// buffer in the file, the last line perhaps torn; the next writer marks it.
	if err := w.write(); err != nil {
		return &stepError{stepWrite, err}
	}
	if err := w.sync(); err != nil {
		b.lost.unsynced = extent{from, found.size + int64(len(w.buf))}
		return &stepError{stepSync, err}
	}
	w.succeed(b, found.size+int64(len(w.buf)))
	return nil
}

// write does step 6. There is nothing to write when another process has begun the
// segment this one set out to begin.
func (w *writer) write() error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.file.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	return err
}

// sync does steps 7 and 8. A crash after step 7 may leave synced octets in a file
// that has no name yet, which is why nobody is told before step 8.
func (w *writer) sync() error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	if w.named {
		return nil
	}
	w.summarizeSealed()
	if err := w.file.SyncDir(); err != nil {
		return err
	}
	w.named = true
	return nil
}

// succeed does step 9 and notes what is on disk now. An unlocking that fails
// costs the descriptor and not the batch: its records are on disk.
func (w *writer) succeed(b *batch, size int64) {
	w.size, w.wrote, w.unknown, w.cut, w.altered = size, w.log.store.o.Now(), false, nil, nil
	if b.starts {
		w.started, w.appended = true, 0
	}
	w.appended += b.counted
	if b.closes() {
		w.started, w.lost = false, 0
		w.drop()
	} else if err := w.file.Unlock(); err != nil || w.log.store.files.Load() > maxOpenFiles {
		w.drop()
	}
	w.log.store.metrics.committed(b.written)
}

// fail notes what of b is lost, and at which step.
func (w *writer) fail(b *batch, err error) {
	w.drop()
	if errors.Is(err, ErrSessionInvalid) {
		return // the log is another session's and is told nothing
	}
	fault := stepOpen
	var step *stepError
	if errors.As(err, &step) {
		fault = step.fault()
	}
	if !b.owed.owed() { // once a window, not once a batch
		w.log.store.o.Logger.Error("evidence could not be written", "session", w.log.id, "fault", fault, "error", err)
	}
	b.lost.fail(w.log.store.o.Now(), fault, err.Error())
	for _, e := range b.entries {
		for i, r := range e.records {
			seq := uint64(0)
			if e.seq != 0 {
				seq = e.seq - uint64(len(e.records)-1-i)
			}
			b.lost.lose(r.event, seq)
			w.lost++
		}
	}
	if len(b.torn) > 0 {
		w.cut = b.torn
	}
}
