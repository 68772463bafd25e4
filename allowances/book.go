package allowances

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"
)

const (
	lockWait = 5 * time.Second // how long a ledger may take to be had (E26)
	lockPoll = time.Millisecond
)

// errNoLedger says that there is no ledger, or one in which nothing stands yet.
var errNoLedger = errors.New("there is no ledger")

// A book is this process's side of one ledger.
type book struct {
	name string
	l    *Ledger
	turn chan struct{} // holds one token while nobody has the turn

	// The rest but the last group belongs to who has the turn.

	// The descriptor, nil when there is none to trust: a failure of any kind
	// gives it up, and the next opening finds out what is there (E33).
	file  File
	named bool // its name is on disk

	// What was read of the file, and how it ends. Without a view it is to be read
	// from the beginning.
	scan   scan
	view   *view
	size   int64
	ragged bool      // its last line has no end
	torn   []int     // what the next append has to excuse
	cut    []int     // what a failed append had set out to excuse (E38)
	now    time.Time // when it was read; lines that are appended are of then
	last   Allowance // as it was asked for last
	had    bool      // there was a ledger once

	gaps []Gap // to be told of when the turn is over

	mu   sync.Mutex
	owed []record // what the ledger would not take; it goes before anything else
}

func newBook(l *Ledger, name string) *book {
	b := &book{name: name, l: l, turn: make(chan struct{}, 1)}
	b.turn <- struct{}{}
	return b
}

// enter takes the turn and the lock of a's ledger, reads what others appended, and
// appends what has to stand before anything new. A ledger that is missing is made.
// If it returns no error, leave is to be called.
func (b *book) enter(ctx context.Context, a Allowance) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	err := b.open(ctx, a, nil)
	if errors.Is(err, errNoLedger) {
		// The evidence is read without the ledger's lock, and by one goroutine.
		first := b.l.first(a, b.l.charges(a), b.had)
		err = b.open(ctx, a, &first)
	}
	if err != nil {
		b.turn <- struct{}{}
	}
	return err
}

// wait takes the turn.
func (b *book) wait(ctx context.Context) error {
	timer := time.NewTimer(lockWait)
	defer timer.Stop()
	select {
	case <-b.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("the turn at ledger %s was not had in %v", b.name, lockWait)
	}
}

// open is enter for who has the turn. first is the line that a new ledger begins
// with; without one a missing ledger stays missing.
func (b *book) open(ctx context.Context, a Allowance, first *record) error {
	err := b.acquire(ctx, a, first != nil)
	if err == nil {
		err = b.refresh(a)
	}
	if err == nil && b.fresh() && first == nil {
		err = errNoLedger
	}
	if err == nil {
		err = b.settleIn(first)
	}
	if err != nil {
		b.drop()
	}
	return err
}

// leave gives up the lock and the turn, and returns the gaps to tell of.
func (b *book) leave() []Gap {
	if b.file != nil && b.file.Unlock() != nil {
		b.drop() // closing the descriptor gives the lock up
	}
	gaps := b.gaps
	b.gaps = nil
	b.turn <- struct{}{}
	return gaps
}

// drop gives the descriptor up, and with it the lock and what was read.
func (b *book) drop() {
	if b.file != nil {
		_ = b.file.Close() // whatever it says, the descriptor is gone
	}
	b.file, b.view, b.scan = nil, nil, scan{}
}

// acquire leaves the file that has the ledger's name open and locked.
func (b *book) acquire(ctx context.Context, a Allowance, create bool) error {
	for {
		if b.file == nil {
			f, err := b.l.fs.Open(b.name, create)
			if errors.Is(err, fs.ErrNotExist) && !create {
				return errNoLedger
			}
			if err != nil {
				return err
			}
			b.file, b.named = f, false
		}
		if err := b.readAhead(a); err != nil {
			return err
		}
		if err := b.lock(ctx); err != nil {
			return err
		}
		if current, err := b.file.Current(); current || err != nil {
			return err
		}
		b.drop() // another file has the name now, or none
	}
}

// lock waits for the lock, which a living process holds for as long as a write
// takes.
func (b *book) lock(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		err := b.file.TryLock()
		if !errors.Is(err, ErrLocked) {
			return err
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-timer.C:
			continue
		case <-limited.Done():
			timer.Stop()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("the lock of ledger %s was not had in %v", b.name, lockWait)
	}
}

// readAhead reads the whole lines there are before the lock is taken, if none were
// read yet: they do not change any more, and others need not wait for a long ledger
// to be read.
func (b *book) readAhead(a Allowance) error {
	now := b.l.instant()
	if b.view.fits(a, now) {
		return nil
	}
	size, err := b.file.Size()
	if err == nil {
		b.scan, b.view = scan{}, newView(a, now)
		_, err = b.scan.read(b.file, size, b.view)
	}
	return err
}

// refresh reads what was appended since the last turn, or everything if what was
// read is of another period. It leaves the ledger as it is.
func (b *book) refresh(a Allowance) error {
	size, err := b.file.Size()
	if err != nil {
		return err
	}
	b.now, b.last = b.l.instant(), a
	if size < b.scan.offset {
		b.owe(record{Event: eventUnreadable, At: b.now, Edge: b.l.edge,
			Reason: fmt.Sprintf("the ledger had %d octets and has %d", b.scan.offset, size)})
		b.view = nil
	}
	if !b.view.fits(a, b.now) {
		b.scan, b.view = scan{}, newView(a, b.now)
	}
	tail, err := b.scan.read(b.file, size, b.view)
	if err != nil {
		return err
	}
	length := int(size - b.scan.offset)
	b.had = b.had || b.scan.begun
	b.size, b.ragged, b.torn = size, length > 0, b.scan.torn(tail, length, b.cut)
	if !b.ragged {
		return nil
	}
	if r, err := decode(tail); err == nil && len(tail) == length {
		b.torn = []int{length} // whole but for its end (E37)
		return b.scan.take(r, length, b.view)
	}
	b.scan.run = append(b.scan.run, length)
	return nil
}

// fresh reports whether nothing was ever written to the ledger that counts. A line
// that was cut short does not: nobody was told that it stands there.
func (b *book) fresh() bool { return !b.scan.begun && slices.Equal(b.scan.run, b.torn) }

// settleIn appends what has to stand in the ledger before anything new: its first
// line, that lines before cannot be read, what is owed, and whose edge died.
func (b *book) settleIn(first *record) error {
	var records []record
	if b.fresh() {
		records = append(records, *first)
	} else if len(b.scan.run) > 0 && len(b.torn) == 0 {
		records = append(records, record{Event: eventUnreadable, At: b.now, Edge: b.l.edge, Reason: b.scan.fault()})
	}
	b.mu.Lock()
	owed := len(b.owed)
	records = append(records, b.owed...)
	b.mu.Unlock()
	lost, gaps := b.findLost()
	if records = append(records, lost...); len(records) == 0 && len(b.torn) == 0 {
		return nil
	}
	if _, err := b.append(records...); err != nil {
		return err
	}
	b.mu.Lock()
	b.owed = b.owed[owed:]
	b.mu.Unlock()
	b.gaps = append(b.gaps, gaps...)
	return nil
}

// owe keeps a record for the next append that succeeds.
func (b *book) owe(r record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed = append(b.owed, r)
}

// owes reports how many records are owed.
func (b *book) owes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.owed)
}
