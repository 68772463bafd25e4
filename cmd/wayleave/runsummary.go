package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
)

// A runSummary is what a run came to, counted from the session's log. The
// session may be older than the run: the counts are of the whole log.
type runSummary struct {
	Session     string `json:"session"`
	Execution   string `json:"execution"`
	Delivered   int    `json:"delivered"`
	Refused     int    `json:"refused"`
	Unavailable int    `json:"unavailable"`
	Cut         int    `json:"cut"`
	Abandoned   int    `json:"abandoned"`
	Observed    int    `json:"observed"` // tunnels passed through unread; never added to the others
	Gaps        int    `json:"gaps"`
	Damaged     int    `json:"damaged"`
}

// String is the line a person reads. What is out of the ordinary is told only
// when there is some of it.
func (s runSummary) String() string {
	parts := []string{fmt.Sprintf("%d delivered", s.Delivered), fmt.Sprintf("%d refused", s.Refused)}
	for _, rare := range []struct {
		n    int
		what string
	}{{s.Unavailable, "unavailable"}, {s.Cut, "cut"}, {s.Abandoned, "abandoned"}, {s.Observed, "observed only"}, {s.Damaged, "places of the log damaged"}} {
		if rare.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", rare.n, rare.what))
		}
	}
	parts = append(parts, fmt.Sprintf("%d gaps", s.Gaps))
	return fmt.Sprintf("wayleave: %s (session %s)", strings.Join(parts, ", "), s.Session)
}

// summarise counts what is in the session's log. A session without a log is one
// that asked for nothing.
func summarise(data, session, execution string) (runSummary, error) {
	index, err := evidence.OpenIndex(data)
	if err != nil {
		return runSummary{}, err
	}
	defer index.Close()
	n, err := index.Summary(session)
	if err != nil && !errors.Is(err, evidence.ErrNotFound) {
		return runSummary{}, err
	}
	return runSummary{session, execution, n.Delivered, n.Refused, n.Unavailable, n.Cut, n.Abandoned, n.Observed, n.Gaps, n.Damaged}, nil
}

// sumUp tells what the session's log holds.
func (c *cli) sumUp(cfg *config, session, execution string, o runOptions) error {
	summary, err := summarise(cfg.data, session, execution)
	if err != nil {
		return err
	}
	text, err := json.Marshal(summary)
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
	_, err = fmt.Fprintln(c.stderr, summary)
	return err
}
