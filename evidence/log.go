package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of a batch and of what waits for one (E25, E29).
const (
	maxBatchRecords = 1024
	maxBatchBytes   = 1 << 20
	maxQueueBytes   = 16 << 20
)

var (
	// ErrLate says that the record was not on disk within Options.AppendWait.
	// It may still get there; a gap tells of it either way.
	ErrLate = errors.New("the record was not on disk in time")
	// ErrQueueFull says that too much waits for the disk already.
	ErrQueueFull = errors.New("too many records wait for the disk")
	// ErrClosed says that the edge has stopped.
	ErrClosed = errors.New("the log is closed")

	// errRetired says that the store has another Log of the session by now.
	errRetired = errors.New("the log is retired")
)

// A Log is the log of one session. Any number of goroutines may append to it,
// and other processes may append to the same log.
//
// There is one writer per log and process: a goroutine that runs while something
// waits, takes all of it as one batch and answers every waiter when the batch is
// on disk (group commit). While one batch is being synced the next one gathers.
type Log struct {
	store *Store
	id    string

	// mu guards the fields below. It is never held while the disk is waited
	// for, so a hung disk hangs no caller.
	mu       sync.Mutex
	queue    []*entry
	inFlight []*entry    // being written
	queued   int         // octets of both
	writing  bool        // the writer runs
	watching bool        // the watchdog will look again
	watchdog *time.Timer // nil before the first append
	again    bool        // the writer has to commit though no entry may be waiting
	closed   bool        // the edge has stopped
	retired  bool        // no longer the store's log of this session
	active   bool        // used since the store last looked
	since    time.Time   // when the store last saw it used
	open     int         // crossings opened and not ended

	// What is not on disk and has no gap there yet. claimed is what the batch
	// being written represents by a gap: it is owed until that is on disk.
	owed    losses
	claimed losses
	given   int      // records of callers who were answered without them
	refused int      // records lost before they were queued, for edge_stopped
	late    []uint64 // crossings recorded after their agent was answered, to be told

	w writer // the writer's own
}

// ID returns the session's id.
func (l *Log) ID() string { return l.id }

// Name returns the name by which OpenReader knows the log: its id, and that of a
// batch run behind "runs/".
func (l *Log) Name() string {
	if l.store.o.Run != nil {
		return runPrefix + l.id
	}
	return l.id
}

// Append records recs, in order and next to each other, and returns the seq of
// the last one when all are on disk. Records are encoded before it returns, so
// the caller may change them afterwards.
//
// After an error the records are not acknowledged. They are owed: the next
// append that succeeds writes a gap that tells of them, and the caller goes on
// (E30). When ctx ends, only the waiting does. After ErrLate they may still come to
// be on disk, and what is appended of a crossing afterwards then names them.
func (l *Log) Append(ctx context.Context, recs ...Record) (seq uint64, err error) {
	e := l.store.newEntry()
	for _, r := range recs {
		if err := e.add(r); err != nil {
			l.store.recycle(e)
			l.lose(err, recs...)
			return 0, err
		}
	}
	began := e.since
	seq, err = l.await(ctx, e)
	noteLate(recs, e, err)
	l.store.metrics.appended(began)
	return seq, err
}

// await queues e and waits until it is settled, at most append_wait (E29).
func (l *Log) await(ctx context.Context, e *entry) (uint64, error) {
	err := l.enqueue(e)
	for ; err == errRetired; err = l.enqueue(e) {
		l = l.store.log(l.id)
	}
	if err != nil {
		l.store.recycle(e)
		return 0, l.fault(err)
	}
	var end ending
	select {
	case end = <-e.done:
	case <-ctx.Done():
		if l.abandon(e) {
			return 0, l.fault(context.Cause(ctx))
		}
		end = <-e.done // it ended just now
	}
	if end.late {
		return 0, l.fault(ErrLate) // e is the writer's
	}
	l.store.recycle(e)
	return end.seq, end.err
}

func (l *Log) fault(err error) error {
	return fmt.Errorf("appending to the log of session %s: %w", l.id, err)
}

// enqueue puts e into the queue and sees to it that a writer runs.
func (l *Log) enqueue(e *entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed && e.closes == nil:
		return ErrClosed
	case l.retired:
		return errRetired
	case l.queued+e.size() > maxQueueBytes:
		l.owed.fail(l.store.o.Now(), stepQueueFull, "more than 16 MiB of records wait for the disk")
		for _, r := range e.records {
			l.owed.lose(r.event, 0)
		}
		l.refused += len(e.records)
		return ErrQueueFull
	}
	for _, r := range e.records {
		if r.ends {
			l.open--
		}
	}
	l.active = true
	l.queue = append(l.queue, e)
	l.queued += e.size()
	l.watch()
	l.wake()
	return nil
}

// wake starts the writer unless it runs. It is a goroutine of its own and not
// the caller, although the hand-over costs a lone append some microseconds: a caller
// who is stuck in a sync could not go on after append_wait, and a hung disk must
// stop nobody (E29). It ends as soon as nothing waits. l.mu is held.
func (l *Log) wake() {
	if !l.writing {
		l.writing = true
		l.store.writers.Go(l.write)
	}
}

// abandon notes that e's caller waits no more; from then on e is the writer's.
// It reports false when e has ended already.
func (l *Log) abandon(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.ended {
		return false
	}
	e.abandoned = true
	return true
}

// lose notes that recs were not even queued.
func (l *Log) lose(err error, recs ...Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.owed.fail(l.store.o.Now(), stepEncode, err.Error())
	for _, r := range recs {
		l.owed.lose(r.Event(), 0)
	}
	l.refused += len(recs)
	l.again = true
	l.wake()
}

// owing returns how many records the log owes: those that are not on disk and
// not told of by a gap on disk either. A log that could not be opened owes one.
func (l *Log) owing() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.owed.count + l.claimed.count + l.given
	if n == 0 && (l.owed.owed() || l.claimed.owed()) {
		n = 1
	}
	return n + len(l.late)
}
