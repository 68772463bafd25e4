package allowances

import (
	"fmt"
	"math"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// A view is what a ledger's lines come to in one period of an allowance.
type view struct {
	of       Allowance
	from, to time.Time

	spent   money.Amount
	unknown string // why the total is not all there is, to the end of the period
	short   bool

	// Reservations neither settled nor released: those of the period, which count
	// in full, and those of earlier ones until it is known what became of their
	// edge.
	open map[string]*opened
}

// An opened is a reservation that is open.
type opened struct {
	amount   money.Amount
	unknown  string // why amount is not all it may cost
	at       time.Time
	edge     string
	crossing string
	basis    Basis
	lost     bool // its edge died, and a line says so
}

// newView returns the empty view of the period that now lies in.
func newView(a Allowance, now time.Time) *view {
	from, to := a.Period.Bounds(now, a.Location)
	return &view{of: a, from: from, to: to, open: map[string]*opened{}}
}

// fits reports whether v is of a's period at now.
func (v *view) fits(a Allowance, now time.Time) bool {
	return v != nil && v.of.Name == a.Name && v.of.Period == a.Period && v.of.Currency == a.Currency &&
		v.of.Location.String() == a.Location.String() && v.within(now)
}

func (v *view) within(t time.Time) bool { return !t.Before(v.from) && t.Before(v.to) }

// take counts one line.
func (v *view) take(r record) {
	switch r.Event {
	case eventOpened:
		v.takeOpened(r)
	case eventReserved:
		v.takeReserved(r)
	case eventSettled, eventReleased:
		v.takeEnd(r)
	case eventLost:
		v.takeLost(r)
	case eventUnreadable:
		if v.within(r.At) {
			v.doubt(r.Reason)
		}
	}
}

// takeOpened counts what the evidence said when the ledger was made from it. A
// total is of the period it was made for and cannot be divided up for another one.
func (v *view) takeOpened(r record) {
	switch {
	case r.From.IsZero() || r.At.Before(v.from):
	case !r.From.Equal(v.from):
		v.doubt("the ledger was made anew from the evidence of another period")
	default:
		if r.Money != nil {
			v.spend(*r.Money)
		}
		if r.Reason != "" {
			v.doubt(r.Reason)
		}
	}
}

func (v *view) takeReserved(r record) {
	if _, twice := v.open[r.Reservation]; twice {
		return
	}
	o := &opened{at: r.At, edge: r.Edge, crossing: r.Crossing, basis: r.Basis}
	switch {
	case r.Basis == Unknown:
		o.unknown = "what a crossing in progress costs is not known"
	case r.Basis == Declared && r.Money.Currency != v.of.Currency:
		o.unknown = "a crossing in progress costs " + r.Money.Currency
	case r.Basis == Declared:
		o.amount = r.Money.Amount
	}
	v.open[r.Reservation] = o
}

// takeEnd counts a settlement or release. One whose reservation is not open is of
// a ledger that was made anew meanwhile, or says again what another line said.
func (v *view) takeEnd(r record) {
	_, known := v.open[r.Reservation]
	delete(v.open, r.Reservation)
	if !v.within(r.ReservedAt) {
		return
	}
	v.short = v.short || r.Late
	switch {
	case r.Event == eventReleased || !known && r.Again:
	case r.Money == nil:
		v.doubt(r.Reason)
	default:
		v.spend(*r.Money)
	}
}

func (v *view) takeLost(r record) {
	o := v.open[r.Reservation]
	if !v.within(r.ReservedAt) {
		delete(v.open, r.Reservation)
		return
	}
	v.short = true
	if o == nil {
		return
	}
	o.lost = true
	if o.basis != Declared {
		v.doubt("an edge died before it knew what its crossing cost")
	}
}

func (v *view) spend(m money.Money) {
	if m.Currency != v.of.Currency {
		v.doubt("a charge was made in " + m.Currency)
		return
	}
	v.spent = sum(v.spent, m.Amount)
}

// doubt says why the total is not all there is; the first reason stays.
func (v *view) doubt(why string) {
	if v.unknown == "" {
		v.unknown = why
	}
}

// damage takes note of lines that could not be read between those of two instants;
// a zero instant is the beginning of the ledger.
func (v *view) damage(after, before time.Time, what string) {
	if after.Before(v.to) && !before.Before(v.from) {
		v.doubt(what)
	}
}

// sum is a + b, or more than any allowance where that is no amount.
func sum(a, b money.Amount) money.Amount {
	if s, ok := a.Add(b); ok {
		return s
	}
	return math.MaxInt64
}

func (v *view) state() State {
	s := State{From: v.from, Until: v.to, Spent: v.spent, Unknown: v.unknown, Short: v.short}
	for _, o := range v.open {
		if !v.within(o.at) {
			continue
		}
		s.Reserved = sum(s.Reserved, o.amount)
		if s.Unknown == "" {
			s.Unknown = o.unknown
		}
	}
	return s
}

// judge says what becomes of a crossing at price, with the money left that s says
// (O31 to O33).
func (a Allowance) judge(s State, price Price) (Outcome, string) {
	used := sum(s.Spent, s.Reserved)
	switch {
	case s.Unknown != "":
		return Unenforceable, s.Unknown
	case price.Basis == Declared && price.Money.Currency != a.Currency:
		return Unenforceable, fmt.Sprintf("the price is in %s and allowance %s in %s", price.Money.Currency, a.Name, a.Currency)
	case price.Basis == Declared && price.Money.Amount < 0:
		return Unenforceable, "the price is less than nothing"
	case price.Basis == Declared && sum(used, price.Money.Amount) <= a.Amount:
		return Reserved, ""
	case price.Basis == Receipt && used < a.Amount:
		return Reserved, ""
	case price.Basis != Declared && price.Basis != Receipt:
		return Unenforceable, "what the crossing costs is not known"
	}
	return Exhausted, fmt.Sprintf("allowance %s has %v %s a %s, of which %v is spent and %v reserved", a.Name, a.Amount, a.Currency, a.Period, s.Spent, s.Reserved)
}
