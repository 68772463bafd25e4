package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/rulings"
)

// beginPolicy puts the policy in force that the edge starts with. A section that
// does not load leaves the edge refusing everything (O3).
func (e *edge) beginPolicy() error {
	if e.cfg.policy == nil {
		e.faults.Store(&e.cfg.policyFaults)
		logFaults(e.log, "the policy does not load; everything is refused", e.cfg.policyFaults)
		return nil
	}
	if err := e.keepPolicy(e.cfg.policy); err != nil {
		e.log.Error("rulings by this policy cannot be made again from the data directory", "error", err)
	}
	e.adopt(e.cfg.policy)
	return nil
}

// keepPolicy puts the canonical bytes of a policy and its overlays on disk, which
// has to be before any record names their digest (O5).
func (e *edge) keepPolicy(p *rulings.Policy) error {
	kept := []*rulings.Policy{p}
	for _, o := range p.Overlays() {
		kept = append(kept, o.Policy)
	}
	for _, k := range kept {
		if _, err := e.book.PutObject(k.Canonical()); err != nil {
			return fmt.Errorf("keeping policy %s as a term object: %w", k.Digest(), err)
		}
	}
	return nil
}

// adopt puts a policy in force: in one step, and for crossings that begin from
// here on.
func (e *edge) adopt(p *rulings.Policy) {
	e.policy.Store(p)
	e.faults.Store(nil)
	e.log.Info("policy in force", "policy_digest", p.Digest().String(), "overlays", len(p.Overlays()))
}

// reload reads and checks the whole configuration anew and then swaps the
// policy (O4). On any fault, which is the error, the old policy stays in force.
func (e *edge) reload() (next *config, err error) {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	next, err = e.next(e.source)
	if err == nil {
		err = e.keepPolicy(next.policy)
	}
	if err != nil {
		e.reloads.WithLabelValues("refused").Inc()
		logFaults(e.log, "the configuration does not load; the policy in force stays", err)
		return nil, err
	}
	e.adopt(next.policy)
	e.reloads.WithLabelValues("adopted").Inc()
	if keys := e.cfg.fixedChanges(next); len(keys) > 0 {
		e.log.Warn("changed keys that need a restart were left as they are", "keys", keys)
	}
	return next, nil
}

// next loads a configuration that could follow the one the edge started with.
func (e *edge) next(src source) (*config, error) {
	src.read = readAgain
	next, err := src.whole()
	switch {
	case err != nil:
		return nil, err
	case next.blank && src.draft == nil && !samePolicy(e.policy.Load(), next.policy):
		// It was cut short, as by who is still writing it: that is no wish for the default (O3).
		return nil, faults{{position{src.file, 1, 1}, "policy", "the file is empty; for the default policy write policy: {}", true}}
	case len(next.policy.Overlays()) > 0 && e.cfg.auth != authToken:
		// The file may say auth: token by now, but who comes is asked for nothing (O6).
		const key = "policy.sessions"
		return nil, faults{{next.place(key), key, fmt.Sprintf("needs auth: token, but the edge was started with auth: %s; start it again", e.cfg.auth), false}}
	}
	return next, nil
}

// readAgain is readConfig for a reload. What is no regular file, such as a pipe, can
// be read only once: it would read as empty now, or never end.
func readAgain(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file, so it is read only when the edge starts")
	}
	return readConfig(name)
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
