package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

// execution is the mode of execution (O60).
func (e *edge) execution() string {
	if e.batch != "" {
		return executionLive
	}
	return executionSession
}

// createRun makes the log of the edge's batch run (E70).
func (e *edge) createRun() (err error) {
	if e.cfg.policy == nil {
		return usage(e.cfg.policyFaults)
	}
	e.run, err = evidence.CreateRun(e.cfg.data, e.batch, e.id, e.cfg.policy.Canonical())
	return err
}

// beginRun writes the run's first record, when the policy it names is an object
// on disk.
func (e *edge) beginRun(ctx context.Context) error {
	if e.run != nil {
		e.run.Start(ctx, e.store)
	}
	return nil
}

// startBatchEdge starts an edge of the run's own, whatever else runs.
func (c *cli) startBatchEdge(ctx context.Context, cfg *config, run string) (*edge, edgeAccess, error) {
	own := *cfg
	own.listen, own.adminListen = "127.0.0.1:0", "127.0.0.1:0"
	e, err := startEdge(ctx, &own, edgeOptions{log: c.quietLogger(), systemRoots: c.getenv("SSL_CERT_FILE"), unlisted: true, batch: run})
	if err != nil {
		return nil, edgeAccess{}, fmt.Errorf("the edge of the run does not start: %w", err)
	}
	access, err := c.ownEdge(ctx, cfg, e, run)
	if err != nil {
		return nil, edgeAccess{}, errors.Join(err, e.run.Discard())
	}
	return e, access, nil
}

// runBatch is the whole of a batch run: an edge with one log, a child, the
// closing and publishing of the run, an exit code (E70-E73).
func (c *cli) runBatch(ctx context.Context, cfg *config, o runOptions, args []string) error {
	if o.session != "" {
		return usage(errors.New("a batch run has one log and no sessions; leave out --session"))
	}
	if _, err := sessionID(o.batch, ""); err != nil || o.batch == "" {
		return usage(fmt.Errorf("%q is no name of a run: use 1 to 128 letters, digits, '.', '_' and '-', not beginning with '.' or 'edge-'", o.batch))
	}
	e, access, err := c.startBatchEdge(ctx, cfg, o.batch)
	if err != nil {
		return err
	}
	signals := relaySignals(runSignals...)
	defer signals.stop()
	end := c.showWaits(access.waits)
	code, err := c.runChild(args, access.env, signals)
	end()
	owed := access.close(signals)
	if err != nil {
		return errors.Join(err, e.run.Discard()) // nothing ran, so there is no run
	}
	// What kept the edge from stopping cleanly may have kept a record away.
	summary, err := e.run.Publish(context.WithoutCancel(ctx), owed != nil)
	if err != nil {
		return errors.Join(err, owed)
	}
	if err := c.sumUpRun(cfg, summary, o); err != nil {
		owed = errors.Join(owed, err)
	}
	switch {
	case code != 0:
		return &exitError{code: code}
	case owed != nil:
		return &exitError{exitUnknown, owed}
	case !summary.Complete:
		return &exitError{exitUnknown, errors.New("the evidence of the run is not complete")}
	}
	return nil
}

// sumUpRun tells what the published run holds.
func (c *cli) sumUpRun(cfg *config, s evidence.RunSummary, o runOptions) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if o.summaryFile != "" {
		if err := durable.WriteFile(o.summaryFile, text, 0o600); err != nil {
			return err
		}
	}
	if o.asJSON {
		_, err = c.stderr.Write(text)
		return err
	}
	parts := []string{fmt.Sprintf("%d delivered", s.Crossings[evidence.Delivered]), fmt.Sprintf("%d refused", s.Crossings[evidence.Refused])}
	for _, rare := range []evidence.Outcome{evidence.Unavailable, evidence.Cut, evidence.Abandoned} {
		if n := s.Crossings[rare]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, rare))
		}
	}
	if s.Gaps == nil {
		parts = []string{"the log does not read back whole"}
	} else {
		parts = append(parts, fmt.Sprintf("%d gaps", *s.Gaps))
	}
	_, err = fmt.Fprintf(c.stderr, "wayleave: %s (run %s, in %s)\n", strings.Join(parts, ", "), s.Run, filepath.Join(cfg.data, "runs", s.Run))
	return err
}
