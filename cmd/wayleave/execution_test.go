package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
)

// emptyRecording returns a recording of nothing.
func emptyRecording(t *testing.T) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	w, err := recording.Create(dir, recording.Options{Ruleset: rulings.Ruleset})
	mustDo(t, err)
	_, err = w.Close()
	mustDo(t, err)
	r, err := recording.Open(dir, nil)
	mustDo(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// Each mode is named wherever a mode can be read, and as no other.
func TestO60_EachModeIsNamedInEachPlace(t *testing.T) {
	for _, c := range []struct {
		name, want, batch string
		mode              func(t *testing.T) executionMode
	}{
		{"an edge of sessions", executionSession, "", func(*testing.T) executionMode { return executionMode{} }},
		{"a batch run", executionLive, "r", func(*testing.T) executionMode { return executionMode{} }},
		{"a batch run from a recording", executionReplay, "r", func(t *testing.T) executionMode { return executionMode{replay: emptyRecording(t)} }},
		{"an edge that is offline", executionOffline, "", func(*testing.T) executionMode { return executionMode{offline: true} }},
		{"a batch run that is offline", executionOffline, "r", func(*testing.T) executionMode { return executionMode{offline: true} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := loadText("data: "+t.TempDir()+"\nlisten: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0, open_metrics: true}\n", nil, nil)
			mustDo(t, err)
			e, err := startEdge(t.Context(), cfg, edgeOptions{log: slog.New(slog.DiscardHandler), batch: c.batch, mode: c.mode(t)})
			mustDo(t, err)
			named := map[string]string{"execution of the edge": e.execution()}
			status, err := statusAt(t.Context(), e.at)
			mustDo(t, err)
			named["/v1/status"] = status.Execution
			named["wayleave_info"] = infoOf(t, e.at)
			firstLines(t, cfg, e, named)
			mustDo(t, e.close(t.Context()))
			log := filepath.Join(cfg.data, "sessions", "edge-"+e.id, "000001.jsonl")
			if c.batch != "" {
				s, err := e.run.Publish(t.Context(), false, e.recordingFacts())
				mustDo(t, err)
				named["summary.json"] = s.Execution
				log = filepath.Join(cfg.data, "runs", c.batch, "evidence.jsonl")
			} else {
				s, err := summarise(cfg.data, "s", e.execution())
				mustDo(t, err)
				named["the summary of run"] = s.Execution
			}
			recordsThatName(t, log, named)
			for place, got := range named {
				if got != c.want {
					t.Errorf("%s names %q, want %q", place, got, c.want)
				}
			}
			if want := map[string]int{"": 8, "r": 10}[c.batch]; len(named) != want {
				t.Errorf("%d places, want %d: %v", len(named), want, named)
			}
		})
	}
}

// infoOf returns the mode that the metric names.
func infoOf(t *testing.T, at ready) string {
	t.Helper()
	resp, err := http.Get("http://" + at.Admin + "/metrics")
	mustDo(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	mustDo(t, err)
	_, line, _ := strings.Cut(string(text), "\nwayleave_info{execution=\"")
	mode, _, _ := strings.Cut(line, `"`)
	return mode
}

// firstLines adds what serve and run print first.
func firstLines(t *testing.T, cfg *config, e *edge, named map[string]string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{getenv: func(string) string { return "" }, stdout: &out, stderr: &errs}
	mustDo(t, c.announce(e, ""))
	named["the first line of serve"] = wordBehind(out.String(), "(execution ")
	own, err := c.ownEdge(t.Context(), cfg, e, "s")
	mustDo(t, err)
	named["the first line of run"] = wordBehind(errs.String(), "execution ")
	if own.execution != e.execution() {
		t.Errorf("run takes the mode for %q", own.execution)
	}
	errs.Reset()
	used, err := c.useEdge(t.Context(), cfg, e.at, "s")
	mustDo(t, err)
	named["the first line of run on a running edge"] = wordBehind(errs.String(), "execution ")
	if used.execution != e.execution() {
		t.Errorf("run takes the mode of the running edge for %q", used.execution)
	}
}

// wordBehind returns the word that stands behind marker in the first line of text.
func wordBehind(text, marker string) string {
	line, _, _ := strings.Cut(text, "\n")
	_, rest, _ := strings.Cut(line, marker)
	return strings.TrimRight(strings.Fields(rest + " -")[0], ",)")
}

// recordsThatName adds the records of a log that name a mode.
func recordsThatName(t *testing.T, log string, named map[string]string) {
	t.Helper()
	text, err := os.ReadFile(log)
	mustDo(t, err)
	for line := range strings.Lines(string(text)) {
		var r struct {
			Event   string
			Payload struct{ Execution string }
		}
		mustDo(t, json.Unmarshal([]byte(line), &r))
		switch r.Event {
		case evidence.EventEdgeStarted, evidence.EventRunStarted, evidence.EventRunCompleted:
			named[r.Event] = r.Payload.Execution
		}
	}
}

// A proxy that policy.allow_private does not name would be asked for everything.
func TestO60_OfflineGoesThroughNoProxyThatIsNotNamed(t *testing.T) {
	for private, ok := range map[string]bool{"10.0.0.0/8": false, "127.0.0.0/8": true} {
		cfg, err := loadText("data: "+t.TempDir()+"\nlisten: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nupstream: {proxy: \"http://127.0.0.1:9\"}\npolicy: {allow_private: ["+private+"]}\n", nil, nil)
		mustDo(t, err)
		e, err := startEdge(t.Context(), cfg, edgeOptions{log: slog.New(slog.DiscardHandler), mode: executionMode{offline: true}})
		if (err == nil) != ok {
			t.Errorf("allow_private: [%s]: %v", private, err)
		}
		if err == nil {
			mustDo(t, e.close(t.Context()))
			continue
		}
		if exit, is := errors.AsType[*exitError](err); !is || exit.code != exitUsage {
			t.Errorf("%v, want a wrong use", err)
		}
	}
}

// What a summary says of a recording has no secret of a URL in it (E23).
func TestO66_TheSummarysURLsAreRedacted(t *testing.T) {
	dir := t.TempDir()
	w, err := recording.Create(dir, recording.Options{Ruleset: rulings.Ruleset})
	mustDo(t, err)
	const canary = "canary-4711"
	entry := w.Add(recording.Exchange{Kind: recording.Other, Method: "GET", URL: "http://127.0.0.1:9/?api_key=" + canary}, recording.Head{Status: 200})
	entry.Done()
	w.LeaveOut("GET", "http://127.0.0.1:9/?token="+canary, "no answer came")
	cfg, err := loadText("data: "+t.TempDir()+"\nlisten: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\n", nil, nil)
	mustDo(t, err)
	for _, mode := range []executionMode{{record: w}, {}} {
		if mode.record == nil {
			mode.replay, err = recording.Open(dir, nil)
			mustDo(t, err)
			defer mode.close()
		}
		e, err := startEdge(t.Context(), cfg, edgeOptions{log: slog.New(slog.DiscardHandler), batch: "r", mode: mode})
		mustDo(t, err)
		mustDo(t, e.close(t.Context()))
		if e.made.fault != nil {
			t.Error(e.made.fault)
		}
		_, err = e.run.Publish(t.Context(), false, e.recordingFacts())
		mustDo(t, err)
		text, err := os.ReadFile(filepath.Join(cfg.data, "runs", "r", "summary.json"))
		mustDo(t, err)
		if !strings.Contains(string(text), "api_key=~") || strings.Contains(string(text), canary) {
			t.Errorf("%s", text)
		}
	}
}
