package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// metrics are the edge's figures (A16). Labels take values from fixed sets, and
// names that the operator gave to allowances: never a host, a session or anything a
// stranger chose.
type metrics struct {
	crossings     *prometheus.CounterVec
	legs          *prometheus.HistogramVec
	bytes         *prometheus.CounterVec
	tunnels       prometheus.Gauge
	interceptions prometheus.Counter
	unreadHeads   prometheus.Counter
	pace          paceMetrics

	allowances    *prometheus.CounterVec
	allowanceGaps prometheus.Counter

	firstByte, connect, tls prometheus.Observer
	up, down                prometheus.Counter
	resolved                sync.Map // crossingLabels -> prometheus.Counter, so that the usual path builds no label
}

type crossingLabels struct{ outcome, reason, class string }

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		crossings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wayleave_crossings_total",
			Help: "Crossings that ended, by outcome, reason of refusal or failure, and class of host."}, []string{"outcome", "reason", "class"}),
		legs: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "wayleave_upstream_seconds",
			Help: "Time spent in each leg of a request upstream.", Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9)}, []string{"leg"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wayleave_body_bytes_total",
			Help: "Octets of bodies sent up to and received from upstream."}, []string{"direction"}),
		tunnels: prometheus.NewGauge(prometheus.GaugeOpts{Name: "wayleave_tunnels",
			Help: "Tunnels now being passed through unread."}),
		interceptions: prometheus.NewCounter(prometheus.CounterOpts{Name: "wayleave_interception_failures_total",
			Help: "Tunnels in which the TLS handshake with the client did not succeed."}),
		unreadHeads: prometheus.NewCounter(prometheus.CounterOpts{Name: "wayleave_unread_heads_total",
			Help: "Requests of clients that were turned away or given up before they were any: a head that is malformed, too long, never whole, or has an Expect that nobody knows."}),
		pace: newPaceMetrics(reg, paceOfAgents),
		allowances: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wayleave_allowance_crossings_total",
			Help: "Crossings to services with a price, by allowance and what it decided: reserved, carried or declined."}, []string{"allowance", "decision"}),
		allowanceGaps: prometheus.NewCounter(prometheus.CounterOpts{Name: "wayleave_allowance_gaps_total",
			Help: "Settlements and releases that a ledger did not take in time."}),
	}
	m.firstByte, m.connect, m.tls = m.legs.WithLabelValues("first_byte"), m.legs.WithLabelValues("connect"), m.legs.WithLabelValues("tls")
	m.up, m.down = m.bytes.WithLabelValues("up"), m.bytes.WithLabelValues("down")
	if reg != nil {
		reg.MustRegister(m.crossings, m.legs, m.bytes, m.tunnels, m.interceptions, m.unreadHeads, m.allowances, m.allowanceGaps)
	}
	return m
}

// crossing counts one crossing that ended.
func (m *metrics) crossing(rec *evidence.Crossing) {
	l := crossingLabels{outcome: string(rec.Outcome), class: string(rec.Class)}
	if rec.Told.Reason != "" {
		l.reason = string(rec.Told.Reason)
	} else {
		l.reason = string(rec.Refusal.Reason)
	}
	c, ok := m.resolved.Load(l)
	if !ok {
		c, _ = m.resolved.LoadOrStore(l, m.crossings.WithLabelValues(l.outcome, l.reason, l.class))
	}
	c.(prometheus.Counter).Inc()
	if t := &rec.Timings; t.FirstByte > 0 {
		m.firstByte.Observe(t.FirstByte.Seconds())
		if t.Connect > 0 {
			m.connect.Observe(t.Connect.Seconds())
		}
		if t.TLS > 0 {
			m.tls.Observe(t.TLS.Seconds())
		}
	}
	m.pace.count(rec.Pacing)
	for i := range rec.Paid {
		m.allowances.WithLabelValues(rec.Paid[i].Name, rec.Paid[i].Decision).Inc()
	}
	if rec.Up.N > 0 {
		m.up.Add(float64(rec.Up.N))
	}
	if rec.Down.N > 0 {
		m.down.Add(float64(rec.Down.N))
	}
}

func (m *metrics) interceptionFailed() { m.interceptions.Inc() }

// Whose requests were paced (P2).
const (
	paceOfAgents = "agent"
	paceOfEdge   = "edge" // for robots.txt, licences and tdmrep.json
)

// paceMetrics are the figures of what pacing did to the requests of one side.
type paceMetrics struct {
	waits    prometheus.ObserverVec // by cause: crawl_delay or backoff
	refusals *prometheus.CounterVec // by reason: the same, or pacing_store
}

// newPaceMetrics registers the figures. Agents' requests and the edge's own are
// counted in different places, so the second to come shares what the first has
// registered. A nil reg keeps them to itself.
func newPaceMetrics(reg prometheus.Registerer, of string) paceMetrics {
	side := prometheus.Labels{"of": of}
	waits := shared(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "wayleave_pacing_wait_seconds",
		Help:    "How long requests waited for the pace of their hosts, by cause, of agents and of the edge itself.",
		Buckets: prometheus.ExponentialBuckets(0.05, 2, 12)}, []string{"cause", "of"})) // 50 ms to 102 s
	refusals := shared(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wayleave_pacing_refusals_total",
		Help: "Requests that were not sent, or whose answer was not used, for the pace of their hosts, by reason, of agents and of the edge itself."}, []string{"reason", "of"}))
	return paceMetrics{waits.MustCurryWith(side), refusals.MustCurryWith(side)}
}

// shared registers c, or returns the collector that is registered in its place.
func shared[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return already.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // as MustRegister
	}
	return c
}

// count counts what pacing did to one request.
func (m *paceMetrics) count(p evidence.Pacing) {
	if d := p.Delay; d != nil {
		m.ruled(string(rulings.CrawlDelay), d.Outcome, d.Wait)
	}
	for i := range p.Backoff {
		m.ruled(string(rulings.Backoff), p.Backoff[i].Outcome, p.Backoff[i].Wait)
	}
}

// ruled counts one ruling of pacing; those that neither waited nor refused are
// not counted.
func (m *paceMetrics) ruled(cause, outcome string, wait time.Duration) {
	switch outcome {
	case backoff.BackoffWaited: // of a turn, too
		m.waits.WithLabelValues(cause).Observe(wait.Seconds())
	case backoff.BackoffRefused:
		m.refusals.WithLabelValues(cause).Inc()
	case backoff.Unavailable:
		m.refusals.WithLabelValues(string(rulings.PacingStore)).Inc()
	}
}

// Metered returns p as the pacer of a book of terms, with what it does to the
// edge's own requests counted in reg, beside how many callers wait.
func (p *Pacing) Metered(reg prometheus.Registerer) terms.Pacer {
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "wayleave_pacing_waiting",
		Help: "Requests that wait for the pace of their hosts now."}, func() float64 {
		n := 0
		for _, w := range p.Dispatcher.Waiting() {
			n += w.Count
		}
		return float64(n)
	})
	shared[prometheus.Collector](reg, waiting)
	return &meteredPacer{p, newPaceMetrics(reg, paceOfEdge)}
}

// A meteredPacer counts what pacing does to the edge's own requests.
type meteredPacer struct {
	pacing  *Pacing
	metrics paceMetrics
}

// Pace implements terms.Pacer.
func (m *meteredPacer) Pace(ctx context.Context, ask terms.Ask) (terms.Pass, error) {
	pass, err := m.pacing.Pace(ctx, ask)
	if paced, ok := pass.(*probePass); ok {
		m.metrics.count(recorded(paced.pass.Record()))
	}
	if refused, ok := errors.AsType[*terms.FetchError](err); ok && refused.Barred != "" {
		m.metrics.refusals.WithLabelValues(string(refused.Barred)).Inc()
	}
	return pass, err
}
