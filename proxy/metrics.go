package proxy

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
)

// metrics are the edge's figures (A16). Labels take values from fixed sets only:
// never a host, a session or anything a stranger chose.
type metrics struct {
	crossings     *prometheus.CounterVec
	legs          *prometheus.HistogramVec
	bytes         *prometheus.CounterVec
	tunnels       prometheus.Gauge
	interceptions prometheus.Counter

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
	}
	m.firstByte, m.connect, m.tls = m.legs.WithLabelValues("first_byte"), m.legs.WithLabelValues("connect"), m.legs.WithLabelValues("tls")
	m.up, m.down = m.bytes.WithLabelValues("up"), m.bytes.WithLabelValues("down")
	if reg != nil {
		reg.MustRegister(m.crossings, m.legs, m.bytes, m.tunnels, m.interceptions)
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
	if rec.Up.N > 0 {
		m.up.Add(float64(rec.Up.N))
	}
	if rec.Down.N > 0 {
		m.down.Add(float64(rec.Down.N))
	}
}

func (m *metrics) interceptionFailed() { m.interceptions.Inc() }
