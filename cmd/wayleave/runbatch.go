package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

// createRun makes the log of the edge's batch run (E70).
func (e *edge) createRun() (err error) {
	if e.cfg.policy == nil {
		return usage(e.cfg.policyFaults)
	}
	e.run, err = evidence.CreateRun(e.cfg.data, evidence.RunOptions{
		ID: e.batch, Edge: e.id, Execution: e.execution(), Policy: e.cfg.policy.Canonical(), Recording: e.mode.replayed(),
	})
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
func (c *cli) startBatchEdge(ctx context.Context, cfg *config, run string, mode executionMode) (*edge, edgeAccess, error) {
	own := *cfg
	own.listen, own.adminListen = "127.0.0.1:0", "127.0.0.1:0"
	mode.restrict(&own)
	e, err := startEdge(ctx, &own, edgeOptions{log: c.quietLogger(), systemRoots: c.getenv("SSL_CERT_FILE"), unlisted: true, batch: run, mode: mode})
	if err != nil {
		return nil, edgeAccess{}, fmt.Errorf("the edge of the run does not start: %w", err)
	}
	access, err := c.ownEdge(ctx, &own, e, run)
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
	if !evidence.ValidSession(o.batch) {
		return usage(fmt.Errorf("%q is no name of a run: use 1 to 128 letters, digits, '.', '_' and '-', not beginning with '.'", o.batch))
	}
	mode, err := o.mode(cfg)
	if err != nil {
		return err
	}
	defer mode.close()
	e, access, err := c.startBatchEdge(ctx, cfg, o.batch, mode)
	if err != nil {
		return errors.Join(err, mode.discard())
	}
	signals := relaySignals(runSignals...)
	defer signals.stop()
	end := c.showWaits(access.waits)
	code, err := c.runChild(args, access.env, signals)
	end()
	owed := access.close(signals)
	if err != nil {
		return errors.Join(err, e.run.Discard(), mode.discard()) // nothing ran, so there is no run
	}
	if missed := e.upstream.Missed(); len(missed) > 0 {
		return &exitError{cmp.Or(code, exitNotSo), errors.Join(notReplayed(o.batch, missed), owed, e.run.Discard())}
	}
	// What kept the edge from stopping cleanly may have kept a record away.
	summary, err := e.run.Publish(context.WithoutCancel(ctx), owed != nil, e.recordingFacts())
	if err != nil {
		return errors.Join(err, owed)
	}
	if err := c.sumUpRun(cfg, summary, o); err != nil {
		owed = errors.Join(owed, err)
	}
	owed = errors.Join(owed, e.made.fault)
	switch {
	case code != 0:
		return &exitError{code, owed} // the code is the command's, whatever else there is to say
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
	parts = append(parts, recordingWords(s)...)
	_, err = fmt.Fprintf(c.stderr, "wayleave: %s (run %s, in %s)\n", strings.Join(parts, ", "), s.Run, filepath.Join(cfg.data, "runs", s.Run))
	return err
}
