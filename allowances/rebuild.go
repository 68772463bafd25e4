package allowances

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// A Fact is what the evidence says of one charge: of a crossing's allowance, or of
// an allowance_gap.
type Fact struct {
	Allowance string
	// Reservation tells facts of the same charge apart from others; of several the
	// last counts. Empty: it is the only one.
	Reservation string
	At          time.Time    // of the reservation, or the crossing
	Charge      *money.Money // what it was charged, or may have been at most; nil: nobody knows
}

// Rebuild makes the ledger of a from facts if it is missing, and reports whether it
// did. Facts of other allowances and other periods are passed over. An error that
// facts yield leaves what was charged unknown: the ledger is made, and the
// allowance unenforceable for the rest of the period.
func (l *Ledger) Rebuild(ctx context.Context, a Allowance, facts iter.Seq2[Fact, error]) (bool, error) {
	if err := a.check(); err != nil {
		return false, err
	}
	b := l.book(a.Name)
	if err := b.wait(ctx); err != nil {
		return false, err
	}
	err := b.open(ctx, a, nil)
	missing := errors.Is(err, errNoLedger)
	if missing {
		first := l.first(a, facts, b.had)
		err = b.open(ctx, a, &first)
	}
	l.tell(b.leave())
	return missing && err == nil, err
}

// charges are the facts that Options.Charges has of a's period, nil if it is not
// set.
func (l *Ledger) charges(a Allowance) iter.Seq2[Fact, error] {
	if l.o.Charges == nil {
		return nil
	}
	from, _ := a.Period.Bounds(l.now(), a.Location)
	return l.o.Charges(a, from)
}

// first returns the line that a's ledger begins with. Its total is the only one a
// line can state, so that a ledger half made is either none or whole. gone says
// that this process has read a ledger of that name before.
func (l *Ledger) first(a Allowance, facts iter.Seq2[Fact, error], gone bool) record {
	now := l.instant()
	r := record{Event: eventOpened, At: now, Edge: l.edge, Format: ledgerFormat, Allowance: a.Name}
	v := newView(a, now)
	if facts == nil && gone {
		r.From, r.Reason = v.from, "the ledger was there, and is not any more"
	}
	if facts == nil {
		return r
	}
	r.From = v.from
	counted := map[string]Fact{}
	for f, err := range facts {
		switch {
		case err != nil:
			l.log.Error("the evidence of charges cannot be read", "allowance", a.Name, "error", err)
			v.doubt("the ledger was missing, and the evidence of charges cannot be read")
		case f.Allowance != a.Name || !v.within(f.At):
		case f.Reservation == "":
			v.count(f)
		default:
			counted[f.Reservation] = f
		}
	}
	for _, f := range counted {
		v.count(f)
	}
	if v.spent >= money.Limit {
		v.spent = 0
		v.doubt("the ledger was missing, and what was charged has too many digits")
	}
	r.Money, r.Reason = &money.Money{Amount: v.spent, Currency: a.Currency}, v.unknown
	return r
}

func (v *view) count(f Fact) {
	if f.Charge == nil {
		v.doubt("the ledger was missing, and the evidence does not know every charge")
		return
	}
	v.spend(*f.Charge)
}
