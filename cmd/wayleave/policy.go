package main

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// adopt puts the policy of cfg in force: in one step, and for crossings that
// begin from here on. A configuration without a policy leaves the edge refusing
// everything (O3); that is how an edge starts, never what a reload does.
func (e *edge) adopt(cfg *config) {
	if cfg.policy == nil {
		logFaults(e.log, "the policy does not load; everything is refused", cfg.policyFaults)
		return
	}
	// The canonical bytes are on disk before any record names their digest (O5).
	if _, err := e.book.PutObject(cfg.policy.Canonical()); err != nil {
		e.log.Error("the policy could not be kept as a term object", "policy_digest", cfg.policy.Digest().String(), "error", err)
	}
	e.policy.Store(cfg.policy)
	e.log.Info("policy in force", "policy_digest", cfg.policy.Digest().String())
}

// reload reads and checks the whole configuration anew and then swaps the
// policy (O4). On any fault the old policy stays in force.
func (e *edge) reload() error {
	next, err := e.source.load()
	if err == nil && next.policy == nil {
		err = next.policyFaults
	}
	if err != nil {
		e.reloads.WithLabelValues("refused").Inc()
		logFaults(e.log, "the configuration does not load; the policy in force stays", err)
		return err
	}
	e.reloads.WithLabelValues("adopted").Inc()
	e.adopt(next)
	if keys := e.cfg.fixedChanges(next); len(keys) > 0 {
		e.log.Warn("changed keys that need a restart were left as they are", "keys", keys)
	}
	return nil
}

// fixedChanges names the keys outside the policy that next would change.
func (c *config) fixedChanges(next *config) []string {
	var keys []string
	for _, k := range configKeys {
		if !inPolicy(k.name) && !slices.Equal(c.written[k.name], next.written[k.name]) {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// logFaults writes a line for each fault.
func logFaults(log *slog.Logger, message string, err error) {
	var list faults
	if !errors.As(err, &list) {
		log.Error(message, "error", err)
		return
	}
	for _, f := range list {
		log.Error(message, "at", f.at.String(), "key", f.key, "problem", f.problem)
	}
}

// newReloads counts reloads by what came of them (O4).
func newReloads(r prometheus.Registerer) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wayleave_policy_reloads_total", Help: "Reloads of the configuration, by what came of them.",
	}, []string{"outcome"})
	r.MustRegister(v)
	for _, outcome := range []string{"adopted", "refused"} {
		v.WithLabelValues(outcome)
	}
	return v
}
