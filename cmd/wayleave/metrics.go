package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
)

// newMetrics makes the registry of one edge (A16), with what is known before
// anything runs: the Go runtime, the process, and which build this is. It is the
// edge's own and not the process's, because run and demo start edges too.
func newMetrics(execution string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wayleave_info", Help: "What is running; always 1.",
		ConstLabels: prometheus.Labels{"version": version(), "ruleset": rulings.Ruleset, "execution": execution},
	})
	info.Set(1)
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
		info,
	)
	return r
}

// faultClasses are the rows of the table of store faults (P38), as labels.
var faultClasses = map[backoff.Fault]string{
	backoff.FaultUnknown:         "unknown",
	backoff.DirectoryNotWritable: "directory_not_writable",
	backoff.DirectoryMissing:     "directory_missing",
	backoff.StateUnreadable:      "state_unreadable",
	backoff.LockHeld:             "lock_held",
	backoff.LockNotOpenable:      "lock_not_openable",
	backoff.StateNotWritable:     "state_not_writable",
}

// A countedStore counts the calls of a pacing store that failed, by the class of
// the fault, and logs when a server that keeps the pace goes away and comes back.
type countedStore struct {
	backoff.Store
	faults *prometheus.CounterVec
	log    *slog.Logger

	// What the log says of a server that cannot be reached, at most once a minute:
	// of one that is slow some calls come through.
	away   atomic.Bool  // by the last call
	logged atomic.Bool  // that it is
	told   atomic.Int64 // when, in Unix seconds
}

// newCountedStore counts the faults of s in reg. Nil counts nothing.
func newCountedStore(s backoff.Store, reg prometheus.Registerer, log *slog.Logger) backoff.Store {
	if reg == nil {
		return s
	}
	counted := &countedStore{Store: s, log: log, faults: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wayleave_pacing_store_faults_total", Help: "Calls of the pacing store that failed, by class of the fault.",
	}, []string{"class"})}
	for _, class := range faultClasses {
		counted.faults.WithLabelValues(class) // 0 is a figure, too
	}
	reg.MustRegister(counted.faults)
	return counted
}

// failed counts err if it is a fault of the store.
func (s *countedStore) failed(err error) {
	if err == nil {
		if s.away.Load() && s.away.CompareAndSwap(true, false) && s.logged.CompareAndSwap(true, false) {
			s.log.Info("the server that keeps the pace is back")
		}
		return
	}
	if fault, ok := errors.AsType[*backoff.StoreError](err); ok {
		if now := time.Now().Unix(); fault.Away && s.away.CompareAndSwap(false, true) && now-s.told.Load() >= 60 {
			s.told.Store(now)
			s.logged.Store(true)
			s.log.Warn("the server that keeps the pace cannot be reached; what needs a pace is refused until it can", "error", err)
		}
		class, known := faultClasses[fault.Fault]
		if !known {
			class = faultClasses[backoff.FaultUnknown]
		}
		s.faults.WithLabelValues(class).Inc()
	}
}

// Look implements backoff.Store, as the methods below do.
func (s *countedStore) Look(ctx context.Context, host string) (backoff.State, time.Time, error) {
	state, now, err := s.Store.Look(ctx, host)
	s.failed(err)
	return state, now, err
}

func (s *countedStore) Turn(ctx context.Context, host string, delay, budget time.Duration) (backoff.Turn, error) {
	turn, err := s.Store.Turn(ctx, host, delay, budget)
	s.failed(err)
	return turn, err
}

func (s *countedStore) Handed(ctx context.Context, host string, turn backoff.Turn, delay, lead time.Duration) (backoff.Handover, error) {
	h, err := s.Store.Handed(ctx, host, turn, delay, lead)
	s.failed(err)
	return h, err
}

func (s *countedStore) GiveBack(ctx context.Context, host string, turn backoff.Turn) error {
	err := s.Store.GiveBack(ctx, host, turn)
	s.failed(err)
	return err
}

func (s *countedStore) Reserve(ctx context.Context, host string, seen backoff.State, sender backoff.Sender, length time.Duration) (backoff.Reservation, error) {
	r, err := s.Store.Reserve(ctx, host, seen, sender, length)
	s.failed(err)
	return r, err
}

func (s *countedStore) Answered(ctx context.Context, host string, a backoff.Answer) (backoff.Change, error) {
	change, err := s.Store.Answered(ctx, host, a)
	s.failed(err)
	return change, err
}

func (s *countedStore) Release(ctx context.Context, host string, id string) error {
	err := s.Store.Release(ctx, host, id)
	s.failed(err)
	return err
}

// Hosts implements backoff.Lister. A store that is none has no hosts to tell.
func (s *countedStore) Hosts(ctx context.Context) iter.Seq2[string, error] {
	lister, ok := s.Store.(backoff.Lister)
	if !ok {
		return func(func(string, error) bool) {}
	}
	return lister.Hosts(ctx)
}
