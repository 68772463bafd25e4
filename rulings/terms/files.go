package terms

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

const (
	// lockPatience is how long the writer waits for another process. One that
	// was stopped while it held the lock costs repeated probes, no more.
	lockPatience = 5 * time.Second
	lockPause    = 2 * time.Millisecond
)

// readLedger reads the file of p. A file that is not there or cannot be read is
// an empty ledger (T20).
func (s *shelf) readLedger(p place) ledger {
	data, err := readRegular(s.path(p), maxCacheFile)
	var l ledger
	if err == nil {
		l, err = s.parseFile(data, p)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.unreadable(p, err)
		}
		return ledger{}
	}
	return l
}

func (s *shelf) unreadable(p place, err error) {
	s.book.log.Warn("terms cache not readable", "url", s.book.redact(s.url(p)), "error", err)
}

// merge is what two processes know together, as far as it is kept.
func (s *shelf) merge(a, b ledger, now time.Time) ledger { return s.kept(merge(a, b, now)) }

// catchUp returns k, or what it comes to with the file of p where that holds
// something newer: a neighbour's answer, or this edge's from before it was started
// or before k was evicted. K may be nil.
func (s *shelf) catchUp(p place, k *known) *known {
	var have ledger
	if k != nil {
		have = k.ledger
	}
	return s.adopt(p, k, s.merge(have, s.readLedger(p), s.book.now()))
}

// adopt returns what is known by the ledger l, which is k's merged with that of
// the file of p. When the object of an answer cannot be read, k stays.
func (s *shelf) adopt(p place, k *known, l ledger) *known {
	switch {
	case l == ledger{} || k != nil && l == k.ledger:
		return k
	case l.answered == nil:
		return newKnown(s.kind, s.url(p), l, document{}, nil)
	case k != nil && l.answered == k.answered:
		return newKnown(s.kind, k.url, l, k.doc, k.body)
	}
	doc, err := s.restore(l.answered)
	if err != nil {
		s.unreadable(p, err)
		return k
	}
	return newKnown(s.kind, s.url(p), l, doc, nil)
}

// restore returns the document of an answer that another process or an earlier
// life of this one has read. One that was read otherwise, by other rules, is an
// error: it has to be asked for again.
func (s *shelf) restore(v *visit) (document, error) {
	if v.Object == (rulings.Digest{}) {
		return s.nothing, nil
	}
	body, err := s.book.Object(v.Object)
	if err != nil {
		return document{}, err
	}
	if len(body) > robots.MaxBytes {
		return document{}, ErrDamaged
	}
	doc, cause := s.parse(body)
	if cause != v.Cause {
		return document{}, fmt.Errorf("%w: it was read otherwise", errIllFormed)
	}
	return doc, nil
}

// save writes the file of e unless a neighbour has written something newer,
// which e then adopts (T122). A crash leaves the old file or the new one.
func (s *shelf) save(e *entry, k *known) {
	if k.body != nil {
		return // the file would name an object that is not there
	}
	if err := s.saveLocked(e, k); err != nil {
		s.book.log.Warn("terms cache not written", "url", s.book.redact(e.url), "error", err)
	}
}

func (s *shelf) saveLocked(e *entry, k *known) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	onDisk := s.readLedger(e.place)
	l := s.merge(k.ledger, onDisk, s.book.now())
	if !l.same(k.ledger) {
		e.known.CompareAndSwap(k, s.adopt(e.place, k, l))
	}
	if l.same(onDisk) {
		return nil
	}
	data, err := s.formatFile(e.place, l)
	if err != nil {
		return err
	}
	return durable.WriteFile(s.path(e.place), data, 0o600)
}

// lock keeps other processes from replacing files of the shelf between another's
// look at one and its own replacing it.
func (s *shelf) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	lock := flock.New(filepath.Join(s.book.held, s.dir, ".lock"))
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		lock.Close()
		return nil, fmt.Errorf("locking the terms cache: %w", err)
	}
	return func() { lock.Unlock() }, nil
}
