package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// Modes of execution, named wherever they can be read (O60).
const (
	executionSession = "session"
	executionLive    = "live"    // a batch run
	executionReplay  = "replay"  // a batch run from a recording
	executionOffline = "offline" // of what needs nothing from outside
)

// An executionMode is where content comes from. The zero value is the network.
type executionMode struct {
	offline bool
	record  *recording.Writer    // gets what is exchanged; nil: nothing is recorded
	replay  *recording.Recording // answers in place of the network; nil: that does
}

// execution names the mode of execution (O60).
func (e *edge) execution() string {
	switch {
	case e.mode.replay != nil:
		return executionReplay
	case e.mode.offline:
		return executionOffline
	case e.batch != "":
		return executionLive
	}
	return executionSession
}

// check finds flags that do not go together. None is left out in silence: what runs
// would then be in another mode than was asked for.
func (o *runOptions) check(given func(flag string) bool) error {
	for _, flag := range []string{"record", "replay"} {
		switch {
		case given(flag) && !given("batch"):
			return fmt.Errorf("--%s is for a batch run; add --batch NAME", flag)
		case given(flag) && o.record == "" && o.replay == "":
			return fmt.Errorf("--%s wants a directory", flag)
		}
	}
	switch {
	case o.replay != "" && o.record != "":
		return errors.New("a replay exchanges nothing that could be recorded; leave out --record or --replay")
	case o.replay != "" && o.offline:
		return errors.New("a run is a replay or offline; leave out --offline or --replay")
	}
	return nil
}

// mode opens what the batch run needs for its mode of execution, before there is
// anything of the run (O63).
func (o *runOptions) mode(cfg *config) (m executionMode, err error) {
	m.offline = o.offline
	switch {
	case o.replay != "":
		m.replay, err = recording.Open(o.replay, cfg.replayRequires)
	case o.record != "":
		m.record, err = recording.Create(o.record, recording.Options{Ruleset: rulings.Ruleset})
	}
	if err != nil {
		return m, notSo(err)
	}
	return m, nil
}

// restrict takes from the configuration of a replay whatever leads to a network, a
// credential or another's state.
func (m *executionMode) restrict(cfg *config) {
	if m.replay != nil {
		cfg.auth, cfg.shared = authOpen, false
		cfg.upstreamProxy, cfg.paceStore = secretURL{}, secretURL{}
	}
}

// discard leaves nothing of a recording of a run that came to nothing.
func (m *executionMode) discard() error {
	if m.record == nil {
		return nil
	}
	return m.record.Discard()
}

// close lets go of a recording that was replayed.
func (m *executionMode) close() {
	if m.replay != nil {
		_ = m.replay.Close() // it was only read
	}
}

// replayed is the digest of the recording that is replayed, empty for none.
func (m *executionMode) replayed() string {
	if m.replay == nil {
		return ""
	}
	return m.replay.Digest()
}

// checkMode refuses a configuration under which the mode would ask nobody, or only by
// way of somebody whom it may not ask.
func (e *edge) checkMode() error {
	by := e.cfg.upstreamProxy.url
	if !e.mode.offline || by == nil || e.cfg.policy == nil {
		return nil
	}
	if o, err := hostkey.ParseOrigin(by.Scheme, by.Host); err != nil || !e.cfg.policy.Inside(o) {
		return usage(errors.New("offline, requests cannot go through upstream.proxy, which policy.allow_private does not name"))
	}
	return nil
}

// heldTerms is where the terms of sites are held from one start to the next; empty:
// where all edges hold them. A run that is recorded, or replays, begins with none.
func (e *edge) heldTerms() string {
	if e.mode.record == nil && e.mode.replay == nil {
		return ""
	}
	dir := filepath.Join(e.run.Dir(), "held")
	e.onClose(func(context.Context) error { return os.RemoveAll(dir) })
	return dir
}

// paced is the pace of hosts for requests; nil in a replay, which asks none.
func (e *edge) paced() *proxy.Pacing {
	if e.mode.replay != nil {
		return nil
	}
	return e.pacing
}

// money is the ledger of allowances; nil in a replay, which spends none.
func (e *edge) money() proxy.Ledger {
	if e.ledger == nil {
		return nil
	}
	return e.ledger
}

func (e *edge) pacer() terms.Pacer {
	if e.mode.replay != nil {
		return nil
	}
	return e.pacing.Metered(e.metrics)
}

// A recorded is what came of a recording. Its fault is that it is not whole, which
// the evidence may be all the same.
type recorded struct {
	recording.Summary
	fault error
}

func (e *edge) endRecording() {
	if e.mode.record != nil {
		e.made.Summary, e.made.fault = e.mode.record.Close()
	}
}

// recordingFacts is what the summary of the run says of the recording (O66).
func (e *edge) recordingFacts() (facts evidence.RunRecording) {
	add := func(x recording.Exchange, served string) {
		facts.Exchanges = append(facts.Exchanges, evidence.RunExchange{N: x.N, Kind: string(x.Kind), Method: x.Method,
			URL: e.store.Redact(x.URL), Recorded: x.BodySHA256, Served: served})
	}
	if e.mode.replay != nil {
		all := true
		for _, u := range e.mode.replay.Uses() {
			add(u.Exchange, u.Served)
			all = all && u.Taken
		}
		facts.AllUsed = &all
		return facts
	}
	for _, x := range e.made.Exchanges {
		add(x, "")
	}
	for _, l := range e.made.LeftOut {
		facts.LeftOut = append(facts.LeftOut, evidence.RunLeftOut{Method: l.Method, URL: e.store.Redact(l.URL), Why: l.Why})
	}
	if incomplete, ok := errors.AsType[*recording.IncompleteError](e.made.fault); ok {
		for _, err := range incomplete.Faults {
			facts.Faults = append(facts.Faults, err.Error())
		}
	}
	return facts
}

// recordingWords tell of the recording in the line that sums a run up.
func recordingWords(s evidence.RunSummary) (words []string) {
	switch n := len(s.Exchanges); {
	case s.AllUsed != nil && *s.AllUsed:
		return []string{fmt.Sprintf("all %d exchanges of the recording replayed", n)}
	case s.AllUsed != nil:
		return []string{"not all of the recording was asked for"}
	case s.Recordings != "":
		words = append(words, fmt.Sprintf("%d exchanges recorded", n))
	}
	if n := len(s.LeftOut); n > 0 {
		words = append(words, fmt.Sprintf("%d left out of the recording", n))
	}
	return words
}

// notReplayed is why a replay is not published (O67).
func notReplayed(run string, missed []proxy.Missed) error {
	lines := []string{fmt.Sprintf("run %s is not published: it asked for what it could not be given", run)}
	for _, m := range missed {
		lines = append(lines, "  "+m.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}
