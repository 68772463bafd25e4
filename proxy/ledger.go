package proxy

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/wayleave/wayleave/allowances"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/rulings"
)

// A Ledger sets money aside for crossings to services that have a price (specs:
// policy O30 to O34). An *allowances.Ledger is one. It is safe for concurrent use.
type Ledger interface {
	// Reserve reserves the price of a crossing in every allowance of as, or in none
	// unless the request is carried. The error is that of ctx, and nothing else is
	// one. The caller settles or releases what was reserved.
	Reserve(ctx context.Context, as []allowances.Allowance, q allowances.Request) (allowances.Verdict, error)
}

// AllowanceOf returns a as ledgers keep it. One whose time zone this machine does
// not know has no period, and so cannot be kept.
func AllowanceOf(a rulings.Allowance) allowances.Allowance {
	out := allowances.Allowance{Name: a.Name, Period: allowances.Period(a.Period), Amount: a.Amount, Currency: a.Currency}
	zone, known := zones.Load(a.Timezone)
	if !known {
		loaded, err := time.LoadLocation(a.Timezone)
		if err != nil {
			out.Period = ""
			return out
		}
		zone, _ = zones.LoadOrStore(a.Timezone, loaded)
	}
	out.Location = zone.(*time.Location)
	return out
}

// zones are the time zones that were loaded, by name: reading one takes longer than
// a ruling.
var zones sync.Map

// RecordAllowanceGap writes a gap that no crossing is told of, such as a
// reservation whose edge died, into the log of the session that the reservation was
// for, or where that is not its own into the edge's. The error says that the record
// is owed as a gap.
func RecordAllowanceGap(store *evidence.Store, g allowances.Gap) error {
	log := store.Own()
	if !evidence.OwnSession(g.Crossing) {
		if l, err := store.Session(g.Crossing); err == nil {
			log = l
		}
	}
	_, err := log.Append(context.Background(), allowanceGap(g))
	return err
}

func allowanceGap(g allowances.Gap) evidence.AllowanceGap {
	return evidence.AllowanceGap{Allowance: g.Allowance, Reservation: g.Reservation, Observed: g.Observed, Reason: g.Reason, From: g.From, To: g.To}
}

// RecordedCharges yields what the logs below dataDir say that a was charged from an
// instant on, for a ledger that is missing (O34).
func RecordedCharges(ctx context.Context, dataDir string, a allowances.Allowance, from time.Time) iter.Seq2[allowances.Fact, error] {
	return func(yield func(allowances.Fact, error) bool) {
		for c, err := range evidence.Charges(ctx, dataDir, from) {
			if err == nil && c.Allowance != a.Name {
				continue
			}
			f := allowances.Fact{Allowance: c.Allowance, Reservation: c.Reservation, At: c.At, Charge: c.Money}
			if c.Nothing {
				f.Charge = &money.Money{Currency: a.Currency}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// noLedger is that of an edge without one: nothing that it cannot count is covered.
type noLedger struct{}

// Reserve implements Ledger.
func (noLedger) Reserve(_ context.Context, as []allowances.Allowance, q allowances.Request) (allowances.Verdict, error) {
	v := allowances.Verdict{Outcome: allowances.Unenforceable}
	decision := allowances.DecisionDeclined
	if q.Carry {
		decision = allowances.DecisionCarried
	}
	for _, a := range as {
		v.Each = append(v.Each, allowances.Finding{Allowance: a.Name, Outcome: allowances.Unenforceable, Decision: decision, Why: "this edge keeps no ledger"})
	}
	return v, nil
}
