package allowances

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// A Reservation is money set aside for one crossing, in one or more ledgers. The
// first of Settle and Release ends it. A nil Reservation is of nothing, and both do
// nothing.
type Reservation struct {
	l        *Ledger
	id       string
	crossing string
	price    Price
	parts    []part
	ended    atomic.Bool
}

// A part is a reservation in one ledger.
type part struct {
	a       Allowance
	at      time.Time
	written bool // its line may be in the ledger
}

// ErrEnded is what Settle answers for a reservation that was settled or released.
var ErrEnded = errors.New("the reservation was settled or released before")

// ID is the name of the reservation in every ledger it is in.
func (r *Reservation) ID() string {
	if r == nil {
		return ""
	}
	return r.id
}

// A Settlement is what a reservation was settled by.
type Settlement struct {
	Basis    Basis        // Declared, Receipt, or Unknown: nobody can tell
	Observed *money.Money // what the receipt named
	// Unknown says why an allowance is unenforceable from now on (O33); empty: it
	// is not on account of this charge.
	Unknown string
}

// Settle ends the reservation with what the crossing was charged, whatever was
// reserved. It is on disk when Settle returns; it waits for a ledger as Reserve
// does, and does not end with the agent's request. A ledger that does not take it is tried
// once more. A *GapError names those that did not take it then either; the
// settlement holds all the same. ErrEnded is the other error there is.
func (r *Reservation) Settle(c Charge) (Settlement, error) {
	if r == nil {
		return Settlement{}, nil
	}
	if r.ended.Swap(true) {
		return Settlement{}, ErrEnded
	}
	s, rec := r.settlement(c)
	return s, r.end(rec)
}

// settlement returns what c settles r by, and the line that says so.
func (r *Reservation) settlement(c Charge) (s Settlement, rec record) {
	rec = record{Event: eventSettled}
	switch {
	case c.kind == observed && c.money.Amount >= 0 && c.money.Amount < money.Limit && money.IsCurrency(c.money.Currency):
		s = Settlement{Basis: Receipt, Observed: &c.money}
		rec.Money = &c.money
	case c.kind == unnamed && basis(r.price) == Declared:
		s = Settlement{Basis: Declared}
		rec.Money = &r.price.Money
	case c.kind == unnamed:
		rec.Reason = "an answer did not say what was charged"
	default:
		rec.Reason = "what an answer says was charged cannot be read"
	}
	if rec.Money == nil {
		return Settlement{Basis: Unknown, Unknown: rec.Reason}, rec
	}
	for _, p := range r.parts {
		if p.a.Currency != rec.Money.Currency {
			s.Unknown = "a charge was made in " + rec.Money.Currency + " and allowance " + p.a.Name + " is in " + p.a.Currency
			break
		}
	}
	return s, rec
}

// Release ends the reservation of a crossing of which nothing was sent, under the
// conditions of Settle. After either it does nothing.
func (r *Reservation) Release() error {
	if r == nil || r.ended.Swap(true) {
		return nil
	}
	return r.end(record{Event: eventReleased})
}

// end appends rec to each ledger the reservation is in.
func (r *Reservation) end(rec record) error {
	var gap *GapError
	for _, p := range r.parts {
		if rec.Event == eventReleased && !p.written {
			continue
		}
		rec := rec
		rec.Edge, rec.Reservation, rec.ReservedAt = r.l.edge, r.id, p.at
		err := r.l.take(p.a, rec)
		if err == nil {
			continue
		}
		if gap == nil {
			gap = &GapError{}
		}
		gap.Gaps = append(gap.Gaps, Gap{Allowance: p.a.Name, Reservation: r.id, Crossing: r.crossing, Observed: rec.observed(),
			Reason: "the ledger did not take its " + words[rec.Event] + ": " + err.Error(), From: p.at, To: r.l.now()})
		gap.err = errors.Join(gap.err, err)
	}
	if gap == nil {
		return nil
	}
	return gap
}

var words = map[string]string{eventSettled: "settlement", eventReleased: "release"}

func (r record) observed() *money.Money {
	if r.Event != eventSettled {
		return nil
	}
	return r.Money
}

// take appends rec to a's ledger, with one retry. What it does not take is owed.
func (l *Ledger) take(a Allowance, rec record) error {
	b := l.book(a.Name)
	err := b.enterAndAppend(a, rec)
	if err == nil {
		return nil
	}
	rec.Again = true // the line may be in the file, although its sync failed
	if err = b.enterAndAppend(a, rec); err == nil {
		return nil
	}
	rec.Late, rec.At = true, l.instant()
	b.owe(rec)
	l.log.Error("the ledger did not take a line, which is owed", "allowance", a.Name, "event", rec.Event, "reservation", rec.Reservation, "error", err)
	return err
}

func (b *book) enterAndAppend(a Allowance, rec record) error {
	if err := b.enter(context.Background(), a); err != nil {
		return err
	}
	rec.At = b.now
	_, err := b.append(rec)
	b.l.tell(b.leave())
	return err
}

// undo releases what a declined reservation left in ledgers, and returns the gaps.
func (r *Reservation) undo() []Gap {
	var gap *GapError
	if err := r.Release(); errors.As(err, &gap) {
		return gap.Gaps
	}
	return nil
}
