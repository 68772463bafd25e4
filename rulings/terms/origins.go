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
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

const (
	// lockPatience is how long the writer waits for another process. One that
	// was stopped while it held the lock costs repeated probes, no more.
	lockPatience = 5 * time.Second
	lockPause    = 2 * time.Millisecond
)

func (b *Book) originPath(o hostkey.Origin) string {
	return filepath.Join(b.dir, "origins", o.FileKey()+".json")
}

// readLedger reads the file of origin o. A file that is not there or cannot be
// read is an empty ledger (T20).
func (b *Book) readLedger(o hostkey.Origin) ledger {
	data, err := readRegular(b.originPath(o), maxOriginFile)
	var l ledger
	if err == nil {
		l, err = parseOrigin(data, o)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("terms cache not readable", "origin", o.String(), "error", err)
	}
	if err != nil {
		return ledger{}
	}
	return l
}

// catchUp returns k, or what it comes to with the file of origin o where that
// holds something newer: a neighbour's answer, or this edge's from before it was
// started or before k was evicted. K may be nil.
func (b *Book) catchUp(o hostkey.Origin, k *known) *known {
	var have ledger
	if k != nil {
		have = k.ledger
	}
	return b.adopt(o, k, merge(have, b.readLedger(o), b.now()))
}

// adopt returns what is known by the ledger l, which is k's merged with that of
// the file of origin o. When the object of an answer cannot be read, k stays.
func (b *Book) adopt(o hostkey.Origin, k *known, l ledger) *known {
	switch {
	case l == ledger{} || k != nil && l == k.ledger:
		return k
	case k != nil && l.answered == k.answered:
		return newKnown(k.url, l, k.site, k.body)
	case l.answered == nil:
		return newKnown(robotsURL(o), l, nil, nil)
	case l.answered.Outcome == rulings.TermNoRules:
		return newKnown(robotsURL(o), l, noRules, nil)
	}
	body, err := b.Object(l.answered.Object)
	if err == nil && len(body) > robots.MaxBytes {
		err = ErrDamaged
	}
	if err != nil {
		b.log.Warn("terms cache not readable", "origin", o.String(), "error", err)
		return k
	}
	return newKnown(robotsURL(o), l, rulings.ParseSite(body), nil)
}

// save writes the file of e unless a neighbour has written something newer,
// which e then adopts (T122). A crash leaves the old file or the new one.
func (b *Book) save(e *entry, k *known) {
	if k.body != nil {
		return // the file would name an object that is not there
	}
	if err := b.saveLocked(e, k); err != nil {
		b.log.Warn("terms cache not written", "origin", e.origin.String(), "error", err)
	}
}

func (b *Book) saveLocked(e *entry, k *known) error {
	unlock, err := b.lockOrigins()
	if err != nil {
		return err
	}
	defer unlock()
	onDisk := b.readLedger(e.origin)
	l := merge(k.ledger, onDisk, b.now())
	if !l.same(k.ledger) {
		e.known.CompareAndSwap(k, b.adopt(e.origin, k, l))
	}
	if l.same(onDisk) {
		return nil
	}
	data, err := formatOrigin(e.origin, l)
	if err != nil {
		return err
	}
	return durable.WriteFile(b.originPath(e.origin), data, 0o600)
}

// lockOrigins keeps other processes from replacing files of origins/ between
// another's look at one and its own replacing it.
func (b *Book) lockOrigins() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	lock := flock.New(filepath.Join(b.dir, "origins", ".lock"))
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		lock.Close()
		return nil, fmt.Errorf("locking the terms cache: %w", err)
	}
	return func() { lock.Unlock() }, nil
}
