package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	"github.com/wayleave/wayleave/allowances"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/rulings"
)

// A bill is what is set aside for a crossing until it is known what it costs.
type bill struct {
	reserved *allowances.Reservation // nil: nothing, or it is settled
	receipt  string                  // the field of the answer that names the charge; empty: none does
	currency string                  // that a receipt which names none is in; empty: nobody knows
}

// afford reserves what the crossing costs in the allowances that cover it, and
// breaks policy where one of them does not (O14, order 5).
func (x *crossing) afford(ctx context.Context) rulings.Ruling {
	if service, priced := x.priced(); priced {
		return x.reserveFor(ctx, service.Price, service.ChargeHeader)
	}
	return x.ruling
}

// affordTunnel is afford for a tunnel that is not read. How many requests are in
// it, and so what it costs, nobody knows (O33).
func (x *crossing) affordTunnel(ctx context.Context) rulings.Ruling {
	if _, priced := x.priced(); priced {
		return x.reserveFor(ctx, rulings.Price{}, "")
	}
	return x.ruling
}

// priced returns what policy says of a service that costs something. A replay costs
// nothing, and touches no ledger (O60).
func (x *crossing) priced() (service rulings.ServiceTerms, priced bool) {
	if x.rec.Class != rulings.Service || x.edge.opt.Upstream.replay != nil {
		return rulings.ServiceTerms{}, false
	}
	service, priced = x.policy.ServiceFor(x.origin.Host)
	return service, priced && service.Price.Kind != rulings.PriceFree
}

// reserveFor reserves price in the allowances of the crossing's user.
func (x *crossing) reserveFor(ctx context.Context, price rulings.Price, receipt string) rulings.Ruling {
	covering := x.policy.AllowancesFor(x.user)
	if len(covering) == 0 {
		return x.ruling
	}
	start := time.Now()
	as := make([]allowances.Allowance, len(covering))
	for i, a := range covering {
		as[i] = AllowanceOf(a)
	}
	q := allowances.Request{Crossing: x.log.Name(), Price: priceOf(price), Carry: x.policy.Mode.Carries(rulings.AllowanceExhausted)}
	verdict, err := x.edge.ledger.Reserve(ctx, as, q)
	if err != nil {
		x.ruling = rulings.CouldNotDecide("what allowances cover: " + err.Error()) // its client has left
		return x.ruling
	}
	x.bill = bill{reserved: verdict.Reservation, currency: currencyOf(price, covering)}
	if price.Kind == rulings.PriceFixed || price.Kind == rulings.PriceReported {
		x.bill.receipt = textproto.CanonicalMIMEHeaderKey(receipt)
	}
	x.rec.Timings.Ruling += time.Since(start)
	x.judgeMoney(covering, verdict, q.Price)
	return x.ruling
}

// judgeMoney records what each allowance said, and breaks policy where one does not
// cover the crossing.
func (x *crossing) judgeMoney(covering []rulings.Allowance, verdict allowances.Verdict, price allowances.Price) {
	var until time.Time // when every exhausted one begins anew
	for _, f := range verdict.Each {
		if f.Outcome == allowances.Exhausted && f.State.Until.After(until) {
			until = f.State.Until
		}
	}
	for i, f := range verdict.Each {
		paid := evidence.Paid{Name: f.Allowance, Decision: string(f.Decision), Basis: string(allowances.Unknown)}
		if price.Basis != "" {
			paid.Basis = string(price.Basis)
		}
		if price.Basis == allowances.Declared {
			paid.Declared = &price.Money
		}
		if f.Decision != allowances.DecisionDeclined {
			paid.Reservation = verdict.Reservation.ID()
		}
		x.rec.Paid = append(x.rec.Paid, paid)
		switch f.Outcome {
		case allowances.Reserved:
		case allowances.Exhausted:
			x.ruling.Break(x.policy.Mode, rulings.StageBefore, exhausted(f.Why, covering[i].Position, until))
		default:
			x.ruling.Break(x.policy.Mode, rulings.StageBefore, unenforceable(f.Why, covering[i].Position))
		}
	}
}

// charged settles what is set aside by what the answer says that it cost (O31 to
// O33). Whatever comes of the answer after that, it was paid for.
func (x *crossing) charged(resp *http.Response) {
	if x.bill.reserved == nil {
		return
	}
	start := time.Now()
	x.settleBy(allowances.ReadReceipt(resp.Header[x.bill.receipt], x.bill.currency))
	x.watch.aside += time.Since(start)
}

// uncharged ends what is set aside for a crossing that got no answer: it is
// released if nothing was sent (O15), and otherwise taken for spent. After charged
// it does nothing.
func (x *crossing) uncharged() {
	switch {
	case x.bill.reserved == nil:
	case x.watch.address() == "": // there was no connection to send it on
		x.lacks(x.bill.reserved.Release())
		x.bill.reserved = nil
	default:
		x.settleBy(allowances.Unnamed)
	}
}

// settleBy settles what is set aside by a charge. One that is not known leaves what
// was spent unknown, which nothing can be refused for any more.
func (x *crossing) settleBy(c allowances.Charge) {
	reserved := x.bill.reserved
	x.bill.reserved = nil // whatever comes of it, it is settled once
	settled, err := reserved.Settle(c)
	x.lacks(err)
	for i := range x.rec.Paid {
		p := &x.rec.Paid[i]
		p.Basis, p.Observed = string(settled.Basis), settled.Observed
	}
	known := func(b rulings.Breach) bool { return b.Reason == rulings.AllowanceUnenforceable }
	if settled.Unknown != "" && !slices.ContainsFunc(x.ruling.Breaches, known) {
		x.ruling.Carry(rulings.Breach{Reason: rulings.AllowanceUnenforceable, Gap: evidence.Unenforceable, Detail: settled.Unknown})
	}
}

// lacks records what a ledger did not take (O34).
func (x *crossing) lacks(err error) {
	gap, ok := errors.AsType[*allowances.GapError](err)
	if !ok {
		return
	}
	for _, g := range gap.Gaps {
		x.edge.metrics.allowanceGaps.Inc()
		if _, err := x.log.Append(context.Background(), allowanceGap(g)); err != nil {
			x.edge.owed(err)
		}
	}
}

func exhausted(why string, position int, until time.Time) rulings.Breach {
	return rulings.Breach{
		Reason: rulings.AllowanceExhausted, Detail: why, RetryAt: until,
		Told: rulings.Say("What is left of the operator's allowance % does not cover this request.", rulings.Number(position)),
	}
}

func unenforceable(why string, position int) rulings.Breach {
	return rulings.Breach{
		Reason: rulings.AllowanceUnenforceable, Gap: evidence.Unenforceable, Detail: why,
		Told: rulings.Say("What is spent of the operator's allowance % is not known, so that it lets no more requests to this service through.", rulings.Number(position)),
	}
}

func priceOf(p rulings.Price) allowances.Price {
	switch p.Kind {
	case rulings.PriceFixed:
		return allowances.Price{Basis: allowances.Declared, Money: money.Money{Amount: p.Amount, Currency: p.Currency}}
	case rulings.PriceReported:
		return allowances.Price{Basis: allowances.Receipt}
	}
	return allowances.Price{}
}

// currencyOf is what a receipt is in that names no currency: that of the price, or
// else of all the allowances.
func currencyOf(p rulings.Price, covering []rulings.Allowance) string {
	if p.Kind == rulings.PriceFixed {
		return p.Currency
	}
	for _, a := range covering[1:] {
		if a.Currency != covering[0].Currency {
			return ""
		}
	}
	return covering[0].Currency
}
