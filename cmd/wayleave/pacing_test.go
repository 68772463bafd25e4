package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// gapsMain looks at the instants at which requests reached a site:
//
//	gaps ARRIVED LEAST
//
// ARRIVED is what sites notes for one site. It prints how many requests there
// were, and the shortest time between two in a row, and exits 1 when that is less
// than LEAST. Requests for robots.txt take no turn and are left out (P2).
func gapsMain() {
	if err := checkGaps(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gaps:", err)
		os.Exit(1)
	}
}

func checkGaps(arrived, least string) error {
	must, err := time.ParseDuration(least)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(arrived)
	if err != nil {
		return err
	}
	var at []time.Duration
	for line := range strings.Lines(string(text)) {
		var since time.Duration
		var method, target string
		if _, err := fmt.Sscan(line, (*int64)(&since), &method, &target); err != nil {
			return err
		}
		if target != "/robots.txt" {
			at = append(at, since)
		}
	}
	return apart(os.Stdout, "requests", at, must)
}

// apart prints how many instants there are and the shortest time between two in
// a row, which must not be less than least.
func apart(w io.Writer, what string, at []time.Duration, least time.Duration) error {
	if len(at) < 2 {
		return fmt.Errorf("%d %s have no time between them", len(at), what)
	}
	slices.Sort(at)
	shortest := at[1] - at[0]
	for i := range at[1:] {
		shortest = min(shortest, at[i+1]-at[i])
	}
	fmt.Fprintf(w, "%d %s, at least %v apart\n", len(at), what, shortest.Round(time.Microsecond))
	if shortest < least {
		return fmt.Errorf("two %s are only %v apart, less than %v", what, shortest, least)
	}
	return nil
}

// checkHanded looks at the instants at which the edges handed over the crossings
// of an origin that took a turn, which all their logs have, as gaps does at what
// reached a site: handed ORIGIN LEAST. Nothing is allowed for (P13).
func checkHanded(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: handed ORIGIN LEAST")
	}
	least, err := time.ParseDuration(args[1])
	ts.Check(err)
	logs, err := filepath.Glob(ts.MkAbs("data*/sessions/*/*.jsonl"))
	ts.Check(err)
	var at []time.Duration
	for _, name := range logs {
		for line := range strings.Lines(ts.ReadFile(name)) {
			var record loggedPacing
			ts.Check(json.Unmarshal([]byte(line), &record))
			if record.Payload.Pacing.Delay != nil && record.Event == "crossing_mediated" && strings.HasPrefix(record.Payload.URL, args[0]+"/") {
				at = append(at, record.Payload.RequestedAt.Sub(time.Unix(0, 0)))
			}
		}
	}
	ts.Check(apart(ts.Stdout(), "requests", at, least))
}

// A loggedPacing is what a final record says of the pace (E18), as far as scripts
// look at it.
type loggedPacing struct {
	Event   string
	Payload struct {
		URL         string
		RequestedAt time.Time `json:"requested_at"`
		Pacing      struct {
			Delay *struct {
				DelayMS int `json:"delay_ms"`
				Outcome string
			}
			Backoff []struct {
				Outcome          string
				Failures, Status int
				RetryAfter       bool `json:"retry_after"`
			}
		}
	}
}

// checkPaced checks what the record of the last get says of the pace: paced
// [delay=MILLISECONDS OUTCOME] [backoff=OUTCOME STATUS failures N [retry_after], ...].
// What is left out must not be there.
func checkPaced(ts *testscript.TestScript, _ bool, args []string) {
	_, octets := lastRecord(ts, ts.Getenv("URL"))
	var record loggedPacing
	ts.Check(json.Unmarshal(octets, &record))
	got := map[string]string{"delay": "", "backoff": ""}
	if d := record.Payload.Pacing.Delay; d != nil {
		got["delay"] = fmt.Sprint(d.DelayMS, " ", d.Outcome)
	}
	var list []string
	for _, b := range record.Payload.Pacing.Backoff {
		by := ""
		if b.RetryAfter {
			by = "retry_after"
		}
		list = append(list, inOneLine(b.Outcome, number("", b.Status), number("failures ", b.Failures), by))
	}
	got["backoff"] = strings.Join(list, ", ")
	for _, arg := range args {
		name, want, _ := strings.Cut(arg, "=")
		if is, ok := got[name]; !ok || is != want {
			ts.Fatalf("%s is %q, want %q, in\n%s", name, is, want, octets)
		}
		delete(got, name)
	}
	for name, is := range got {
		if is != "" {
			ts.Fatalf("%s is %q, in\n%s", name, is, octets)
		}
	}
}
