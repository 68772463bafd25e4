package main

import (
	"encoding/json"
	"fmt"
	"os"
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
	if len(at) < 2 {
		return fmt.Errorf("%d requests in %s have no time between them", len(at), arrived)
	}
	shortest := at[1] - at[0]
	for i := range at[1:] {
		shortest = min(shortest, at[i+1]-at[i])
	}
	fmt.Printf("%d requests, at least %v apart\n", len(at), shortest.Round(time.Microsecond))
	if shortest < must {
		return fmt.Errorf("two requests came only %v after one another, less than %v", shortest, must)
	}
	return nil
}

// A loggedPacing is what a final record says of the pace (E18), as far as scripts
// look at it.
type loggedPacing struct {
	Payload struct {
		Pacing struct {
			Delay *struct {
				DelayMS     int `json:"delay_ms"`
				Outcome     string
				Unavailable string
			}
			Backoff []struct {
				Outcome          string
				Failures, Status int
				RetryAfter       bool `json:"retry_after"`
				Unavailable      string
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
