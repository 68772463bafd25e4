package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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

// Modes of execution, named wherever they can be read (O60).
const (
	executionSession = "session"
	executionLive    = "live" // a batch run
)
