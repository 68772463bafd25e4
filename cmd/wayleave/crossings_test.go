package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ownMembers are those that each crossing has of its own, whatever was asked for
// and whatever came of it.
var ownMembers = []string{"edge", "policy_digest", "client", "timings", "requested_at", "address", "processors", "opened"}

// writeCrossings is the script command crossings DATA FILE: of each crossing in the
// logs of a data directory a line with its event and what its record says, in the
// order of the logs, without what every crossing has of its own. Logs of the same
// traffic are the same to it.
func writeCrossings(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: crossings DATA FILE")
	}
	logs, err := filepath.Glob(ts.MkAbs(args[0]) + "/sessions/*/*.jsonl")
	ts.Check(err)
	slices.Sort(logs)
	var out bytes.Buffer
	for _, name := range logs {
		text, err := os.ReadFile(name)
		ts.Check(err)
		for line := range bytes.Lines(text) {
			var r struct {
				Event   string
				Payload map[string]any
			}
			ts.Check(json.Unmarshal(line, &r))
			if !slices.Contains([]string{"crossing_mediated", "crossing_refused", "crossing_observed"}, r.Event) {
				continue
			}
			for _, own := range ownMembers {
				delete(r.Payload, own)
			}
			forgetWhen(r.Payload["declarations"])
			octets, err := json.Marshal(r.Payload) // in order of the names
			ts.Check(err)
			out.WriteString(r.Event + " " + string(octets) + "\n")
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o644))
}

// forgetWhen removes when terms were asked for.
func forgetWhen(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if strings.HasSuffix(name, "_at") || name == "cache" {
				delete(v, name)
			}
			forgetWhen(value)
		}
	case []any:
		for _, item := range v {
			forgetWhen(item)
		}
	}
}
