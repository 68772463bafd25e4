package proxy

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/terms"
)

// figures reads the figures of pacing: of counters and gauges the value, of
// histograms the count, and under "sum " the sum.
func figures(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	families, err := reg.Gather()
	must(t, err)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "wayleave_pacing") {
			continue
		}
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			switch {
			case m.Histogram != nil:
				found[name], found["sum "+name] = float64(m.Histogram.GetSampleCount()), m.Histogram.GetSampleSum()
			case m.Counter != nil:
				found[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				found[name] = m.Gauge.GetValue()
			}
		}
	}
	return found
}

func TestA16WhatPacingDidToACrossingIsCounted(t *testing.T) {
	const (
		waits    = "wayleave_pacing_wait_seconds cause="
		refusals = "wayleave_pacing_refusals_total of=agent reason="
	)
	delay := func(outcome string) *evidence.PacedDelay {
		return &evidence.PacedDelay{Outcome: outcome, Wait: 3 * time.Second}
	}
	tests := map[string]struct {
		pacing evidence.Pacing
		want   map[string]float64
	}{
		"it did nothing":                    {evidence.Pacing{}, nil},
		"a turn at once":                    {evidence.Pacing{Delay: delay("clear")}, nil},
		"a turn that was waited for":        {evidence.Pacing{Delay: delay("waited")}, map[string]float64{waits + "crawl_delay of=agent": 1, "sum " + waits + "crawl_delay of=agent": 3}},
		"a turn that did not fit":           {evidence.Pacing{Delay: delay("refused")}, map[string]float64{refusals + "crawl_delay": 1}},
		"a turn that could not be kept":     {evidence.Pacing{Delay: delay("unavailable")}, map[string]float64{refusals + "pacing_store": 1}},
		"an answer that set or ended a row": {evidence.Pacing{Backoff: []evidence.PacedBackoff{{Outcome: "set"}, {Outcome: "reset"}}}, nil},
		"a wait, and then a refusal": {
			evidence.Pacing{Backoff: []evidence.PacedBackoff{{Outcome: "waited", Wait: 2 * time.Second}, {Outcome: "refused", Wait: time.Hour}}},
			map[string]float64{waits + "backoff of=agent": 1, "sum " + waits + "backoff of=agent": 2, refusals + "backoff": 1},
		},
		"an answer that was not used": {evidence.Pacing{Backoff: []evidence.PacedBackoff{{Outcome: "unavailable"}}}, map[string]float64{refusals + "pacing_store": 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			m := newMetrics(reg)
			m.crossing(&evidence.Crossing{Outcome: evidence.Delivered, Class: rulings.Source, Pacing: tt.pacing})
			if diff := cmp.Diff(tt.want, figures(t, reg), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Probes are counted beside the crossings, in the same families.
func TestA16WhatPacingDidToTheEdgesOwnRequestsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := backoff.Config{}
		store := backofftest.NewMemory(c, time.Now)
		p := &Pacing{Dispatcher: backoff.NewDispatcher(store, c), Store: store, Rules: c.Rules()}
		reg := prometheus.NewRegistry()
		pacer := p.Metered(reg)
		newMetrics(reg) // shares the families
		ask := terms.Ask{
			Kind: rulings.TermLicence, Origin: hostkey.Origin{Scheme: "https", Host: "host.test", Port: 443},
			Delay: robots.Delay{Known: true, Milliseconds: 5000, Written: "5"},
		}
		for range 2 { // the second waits for its turn
			pass, err := pacer.Pace(t.Context(), ask)
			must(t, err)
			must(t, pass.Handed(t.Context()))
			must(t, pass.Ended(t.Context(), nil, false))
		}
		now := backoff.Instant(time.Now())
		store.Plant(t, backoff.State{Host: "host.test", SetAt: now, Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: now.Add(time.Hour)}})
		if _, err := pacer.Pace(t.Context(), ask); err == nil {
			t.Error("a host that is left alone was asked")
		}
		store.Fail(&backoff.StoreError{Fault: backoff.LockHeld})
		if _, err := pacer.Pace(t.Context(), ask); err == nil {
			t.Error("a host was asked whose pace cannot be kept")
		}
		want := map[string]float64{
			"wayleave_pacing_wait_seconds cause=crawl_delay of=edge":     1,
			"sum wayleave_pacing_wait_seconds cause=crawl_delay of=edge": 5,
			"wayleave_pacing_refusals_total of=edge reason=backoff":      1,
			"wayleave_pacing_refusals_total of=edge reason=pacing_store": 1,
			"wayleave_pacing_waiting":                                    0,
		}
		if diff := cmp.Diff(want, figures(t, reg)); diff != "" {
			t.Error(diff)
		}
	})
}

// A request that waits is in the gauge while it does.
func TestA16WhoWaitsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := backoff.Config{}
		store := backofftest.NewMemory(c, time.Now)
		p := &Pacing{Dispatcher: backoff.NewDispatcher(store, c), Store: store, Rules: c.Rules()}
		reg := prometheus.NewRegistry()
		p.Metered(reg)
		for range 3 {
			req := backoff.Request{Host: "host.test", Delay: backoff.Delay{Honoured: 5 * time.Second}, Budget: p.Dispatcher.NewBudget()}
			go func() {
				if pass, err := p.Dispatcher.Go(t.Context(), req); err == nil {
					_ = pass.Handed(t.Context())
					_ = pass.Failed(t.Context())
				}
			}()
		}
		synctest.Wait()
		for _, want := range []float64{2, 1, 0} {
			if got := figures(t, reg)["wayleave_pacing_waiting"]; got != want {
				t.Errorf("%v wait, want %v", got, want)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
	})
}

func TestA16FiguresWithoutARegistryAreKept(t *testing.T) {
	m := newMetrics(nil)
	m.crossing(&evidence.Crossing{Pacing: evidence.Pacing{Delay: &evidence.PacedDelay{Outcome: "waited", Wait: time.Second}}})
	p := &Pacing{Dispatcher: backoff.NewDispatcher(backofftest.NewMemory(backoff.Config{}, time.Now), backoff.Config{})}
	if p.Metered(nil) == nil {
		t.Error("no pacer")
	}
}
