package allowances

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/wayleave/wayleave/internal/money"
)

// A Request is a crossing that asks for money.
type Request struct {
	Crossing string // its name in the evidence, or whatever tells it apart
	Price    Price
	// Carry says that the crossing goes on whatever the outcome, in the modes
	// observe and prefer; what it costs is then counted all the same.
	Carry bool
}

// Reserve reserves the price of a crossing in every allowance of as, or in none:
// without Carry one that does not take it declines it for all. What it reserved is
// on disk when it returns. The error is that of ctx, and nothing else is one: what
// keeps a ledger from being used makes its allowance Unenforceable.
//
// A ledger that others use is waited for: 5 s for those of this process, and 5 s for
// those of others.
func (l *Ledger) Reserve(ctx context.Context, as []Allowance, q Request) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	t := &taking{l: l, q: q, r: &Reservation{l: l, id: newID(), crossing: q.Crossing, price: q.Price}}
	t.q.Crossing = q.Crossing[:min(len(q.Crossing), maxCrossing)]
	t.enter(ctx, as)
	if ctx.Err() == nil && (q.Carry || t.outcome() == Reserved) {
		t.write()
	}
	gaps := t.leave()
	if !q.Carry && t.outcome() != Reserved {
		gaps = append(gaps, t.r.undo()...)
	}
	l.tell(gaps)
	if err := ctx.Err(); err != nil && len(t.r.parts) == 0 {
		return Verdict{}, err
	}
	return t.verdict(), nil
}

// maxCrossing bounds the name of a crossing, and so the line it stands in.
const maxCrossing = 1024

// newID returns the name of a new reservation.
func newID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// A taking is one call of Reserve.
type taking struct {
	l     *Ledger
	q     Request
	r     *Reservation
	items []*item // in the order asked
}

// An item is what becomes of one allowance.
type item struct {
	a     Allowance
	book  *book // nil: not entered
	found Finding
}

// enter takes the locks of all ledgers, in the order of their names so that no two
// callers wait for each other, and judges.
func (t *taking) enter(ctx context.Context, as []Allowance) {
	for _, a := range as {
		t.items = append(t.items, &item{a: a, found: Finding{Allowance: a.Name}})
	}
	names := map[string]bool{}
	sorted := slices.SortedFunc(slices.Values(t.items), func(a, b *item) int { return cmp.Compare(a.a.Name, b.a.Name) })
	for _, i := range sorted {
		if err := i.a.check(); err != nil || names[i.a.Name] {
			i.found.Outcome, i.found.Why = Unenforceable, "the allowance cannot be kept as it is configured"
			continue
		}
		names[i.a.Name] = true
		b := t.l.book(i.a.Name)
		if err := b.enter(ctx, i.a); err != nil {
			t.fail(i, err)
			continue
		}
		i.book = b
		i.found.State = b.view.state()
		i.found.Outcome, i.found.Why = i.a.judge(i.found.State, t.q.Price)
	}
}

// fail makes i unenforceable because its ledger cannot be used.
func (t *taking) fail(i *item, err error) {
	i.found.Outcome, i.found.Why, i.found.Err = Unenforceable, cannotBeHad(i.a), err
	if errors.Is(err, context.Canceled) {
		return // the agent's doing
	}
	t.l.log.Error("the ledger cannot be used", "allowance", i.a.Name, "error", err)
}

// write appends the reservation to each ledger that was entered.
func (t *taking) write() {
	for _, i := range t.items {
		if i.book == nil {
			if t.q.Carry && i.found.Err != nil { // it is settled all the same
				t.r.parts = append(t.r.parts, part{a: i.a, at: t.l.instant()})
			}
			continue
		}
		rec := record{Event: eventReserved, At: i.book.now, Edge: t.l.edge, Reservation: t.r.id, Crossing: t.q.Crossing,
			Decision: DecisionReserved, Basis: basis(t.q.Price)}
		if i.found.Outcome != Reserved {
			rec.Decision = DecisionCarried
		}
		if rec.Basis == Declared {
			rec.Money = &money.Money{Amount: t.q.Price.Money.Amount, Currency: t.q.Price.Money.Currency}
		}
		reached, err := i.book.append(rec)
		if err != nil {
			t.fail(i, err)
		}
		if err == nil || reached || t.q.Carry {
			t.r.parts = append(t.r.parts, part{a: i.a, at: rec.At, written: err == nil || reached})
		}
		if err != nil && !t.q.Carry {
			return
		}
	}
}

// basis is that of p, of a price that cannot be written Unknown.
func basis(p Price) Basis {
	switch {
	case p.Basis == Declared && p.Money.Amount >= 0 && p.Money.Amount < money.Limit && money.IsCurrency(p.Money.Currency), p.Basis == Receipt:
		return p.Basis
	}
	return Unknown
}

// leave gives the ledgers back.
func (t *taking) leave() (gaps []Gap) {
	for _, i := range t.items {
		if i.book != nil {
			gaps = append(gaps, i.book.leave()...)
		}
	}
	return gaps
}

// outcome is the first that is not Reserved.
func (t *taking) outcome() Outcome {
	for _, i := range t.items {
		if i.found.Outcome != Reserved {
			return i.found.Outcome
		}
	}
	return Reserved
}

func (t *taking) verdict() Verdict {
	v := Verdict{Outcome: t.outcome()}
	for _, i := range t.items {
		switch {
		case i.found.Outcome == Reserved && v.Outcome == Reserved || i.found.Outcome == Reserved && t.q.Carry:
			i.found.Decision = DecisionReserved
		case t.q.Carry:
			i.found.Decision = DecisionCarried
		default:
			i.found.Decision = DecisionDeclined
		}
		v.Each = append(v.Each, i.found)
	}
	if len(t.r.parts) > 0 && (t.q.Carry || v.Outcome == Reserved) {
		v.Reservation = t.r
	}
	return v
}
