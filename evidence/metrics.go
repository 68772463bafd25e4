package evidence

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the store's numbers (A16). Their labels never carry a host or a
// session. A nil *metrics counts nothing.
type metrics struct {
	appends prometheus.Histogram
	batches prometheus.Histogram
	records prometheus.Counter
}

// newMetrics registers the store's metrics, or returns nil when there is no
// registry.
func newMetrics(r prometheus.Registerer, owed func() float64) (*metrics, error) {
	if r == nil {
		return nil, nil
	}
	m := &metrics{
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "wayleave_evidence_append_seconds",
			Help:    "How long an append waited until its records were on disk, or until it gave up.",
			Buckets: prometheus.ExponentialBuckets(0.00005, 2, 18), // 50 us to 6.5 s
		}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "wayleave_evidence_batch_records",
			Help:    "Records in one synced batch.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11), // 1 to 1,024
		}),
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wayleave_evidence_records_total",
			Help: "Records on disk, gaps and edge records included.",
		}),
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "wayleave_evidence_owed",
		Help: "Records that are neither on disk nor told of by a gap on disk.",
	}, owed)
	for _, c := range []prometheus.Collector{m.appends, m.batches, m.records, gauge} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) appended(began time.Time) {
	if m != nil {
		m.appends.Observe(time.Since(began).Seconds())
	}
}

func (m *metrics) committed(records int) {
	if m != nil {
		m.batches.Observe(float64(records))
		m.records.Add(float64(records))
	}
}
