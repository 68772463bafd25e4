package main

import (
	"context"
	"iter"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/allowances"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
)

func allowancesDir(data string) string { return filepath.Join(data, "allowances") }

const (
	sweepEvery = 30 * time.Second // how often ledgers are looked through for edges that died
	spentWait  = 2 * time.Second  // for the ledgers of all allowances, of who only wants to look
)

// openLedger opens the ledgers of money and looks after them until the edge closes
// (O31, O34).
func (e *edge) openLedger() (err error) {
	if e.mode.replay != nil {
		return nil // nothing is spent, and none is touched (O60)
	}
	e.ledger, err = allowances.Open(allowancesDir(e.cfg.data), allowances.Options{
		Edge: e.id, Alive: e.store.MayLive, Charges: e.charges, Gap: e.allowanceGap, Logger: e.log,
	})
	if err != nil {
		return err
	}
	e.metrics.MustRegister(&spentFigures{e})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go e.sweepLedgers(ctx, done)
	e.onClose(func(context.Context) error {
		stop()
		<-done
		return e.ledger.Close()
	})
	return nil
}

// sweepLedgers looks through the ledgers at once and then again and again, and
// closes done when ctx has ended.
func (e *edge) sweepLedgers(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := e.ledger.Sweep(ctx, e.allowances()); err != nil && ctx.Err() == nil {
			e.log.Warn("the ledgers of allowances could not be looked through", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// allowances are those of the policy in force.
func (e *edge) allowances() (list []allowances.Allowance) {
	if p := e.policy.Load(); p != nil {
		for _, a := range p.Allowances() {
			list = append(list, proxy.AllowanceOf(a))
		}
	}
	return list
}

// charges is what the logs say, of which a ledger that is missing is made.
func (e *edge) charges(a allowances.Allowance, from time.Time) iter.Seq2[allowances.Fact, error] {
	return proxy.RecordedCharges(context.Background(), e.cfg.data, a, from)
}

func (e *edge) allowanceGap(g allowances.Gap) {
	if err := proxy.RecordAllowanceGap(e.store, g); err != nil {
		e.log.Warn("a record is owed as a gap", "error", err)
	}
}

// A spending is what is spent of one allowance.
type spending struct {
	rulings.Allowance
	state allowances.State
}

// told reports whether there is a figure of what is spent: none stands in a ledger
// that is missing, which the next crossing makes from the logs.
func (s spending) told() bool { return !s.state.Until.IsZero() && !s.state.Missing }

// spent reads what is spent of each allowance of the policy in force.
func (e *edge) spent(ctx context.Context) (list []spending) {
	p := e.policy.Load()
	if p == nil || e.ledger == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, spentWait)
	defer cancel()
	for _, a := range p.Allowances() {
		state, err := e.ledger.Spent(ctx, proxy.AllowanceOf(a))
		if err != nil { // state says so
			e.log.Debug("an allowance's ledger cannot be read", "allowance", a.Name, "error", err)
		}
		list = append(list, spending{a, state})
	}
	return list
}

// allowanceStatus is how the allowances stand (A5).
func (e *edge) allowanceStatus() (list []admin.AllowanceStatus) {
	for _, s := range e.spent(context.Background()) {
		view := admin.AllowanceStatus{
			Name: s.Name, Period: s.Period, Currency: s.Currency, Amount: s.Amount.String(),
			Enforceable: s.state.Unknown == "", Unknown: s.state.Unknown, Short: s.state.Short,
		}
		if !s.state.Until.IsZero() {
			from, until := s.state.From.UTC(), s.state.Until.UTC()
			view.From, view.Until = &from, &until
		}
		if s.told() {
			view.Spent, view.Reserved = s.state.Spent.String(), s.state.Reserved.String()
		}
		list = append(list, view)
	}
	return list
}

// ledgerStatus is the health of the ledgers (A5); nil where no allowance needs one.
func (e *edge) ledgerStatus() []admin.StoreStatus {
	if len(e.allowances()) == 0 || e.ledger == nil {
		return nil
	}
	s := admin.StoreStatus{Name: "allowances", Healthy: e.ledger.Owed() == 0}
	if !s.Healthy {
		s.Detail = "ledgers have not taken every settlement yet"
	}
	return []admin.StoreStatus{s}
}

// Figures of each allowance, by the name that the operator gave it.
var (
	allowanceAmount = prometheus.NewDesc("wayleave_allowance_amount", "What crossings may cost in the period.", []string{"allowance", "currency"}, nil)
	allowanceSpent  = prometheus.NewDesc("wayleave_allowance_spent", "What is spent in the period, as far as it is known.", []string{"allowance", "currency"}, nil)
	allowanceHeld   = prometheus.NewDesc("wayleave_allowance_reserved",
		"What is reserved for crossings that are not settled, and for those whose edge died.", []string{"allowance", "currency"}, nil)
	allowanceKnown = prometheus.NewDesc("wayleave_allowance_enforceable",
		"1 while it is known what is spent, else 0: the allowance covers nothing more then.", []string{"allowance", "currency"}, nil)
)

// spentFigures are the figures of what is spent, read when they are asked for.
type spentFigures struct{ e *edge }

// Describe implements prometheus.Collector.
func (*spentFigures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{allowanceAmount, allowanceSpent, allowanceHeld, allowanceKnown} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (f *spentFigures) Collect(out chan<- prometheus.Metric) {
	const unit = 1e6 // an Amount counts millionths
	for _, s := range f.e.spent(context.Background()) {
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Name, s.Currency)
		}
		known := 1.0
		if s.state.Unknown != "" {
			known = 0
		}
		gauge(allowanceAmount, float64(s.Amount)/unit)
		gauge(allowanceKnown, known)
		if s.told() {
			gauge(allowanceSpent, float64(s.state.Spent)/unit)
			gauge(allowanceHeld, float64(s.state.Reserved)/unit)
		}
	}
}
