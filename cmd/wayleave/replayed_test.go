package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wayleave/wayleave/evidence"
)

// checkReplayed checks that runs are what a replay is:
//
//	replayed RUN          it was served what was recorded, and nothing else
//	replayed ONE TWO      and two replays of a recording agree
//	replayed -live ONE TWO    and a replay agrees with the live run that was recorded
//
// Which members may differ is what docs/replay.md says.
func checkReplayed(ts *testscript.TestScript, _ bool, args []string) {
	volatile := listed(ts, "What differs between two replays")
	if args[0] == "-live" {
		args = args[1:]
		volatile = append(volatile, listed(ts, "What a replayed crossing has not")...)
	} else {
		for _, run := range args {
			checkServed(ts, run)
		}
	}
	if len(args) == 1 {
		return
	}
	one, two := stable(ts, args[0], volatile), stable(ts, args[1], volatile)
	if diff := cmp.Diff(one, two); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}

// listed returns the members that the list under a heading of docs/replay.md names.
func listed(ts *testscript.TestScript, heading string) (members []string) {
	text, err := os.ReadFile(docsReplay)
	ts.Check(err)
	_, section, ok := strings.Cut(string(text), "### "+heading+"\n")
	if !ok {
		ts.Fatalf("docs/replay.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n### ")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "* ") {
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				members = append(members, m[1])
			}
		}
	}
	if len(members) == 0 {
		ts.Fatalf("docs/replay.md lists nothing under %q", heading)
	}
	return members
}

// docsReplay is found before a script changes the directory.
var docsReplay = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir + "/../../docs/replay.md"
}()

var quoted = regexp.MustCompile("`([a-z_.]+)`")

// stable returns the records of a run without the members that may differ, each as
// text.
func stable(ts *testscript.TestScript, run string, volatile []string) (records []string) {
	text := ts.ReadFile(run + "/evidence.jsonl")
	for line := range strings.Lines(text) {
		var r map[string]any
		ts.Check(json.Unmarshal([]byte(line), &r))
		strip(r, "", volatile)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetIndent("", " ")
		ts.Check(enc.Encode(r))
		records = append(records, b.String())
	}
	if len(records) < 5 {
		ts.Fatalf("%s has %d records", run, len(records))
	}
	return records
}

// strip removes members by their name, or by that and the name of what they are in,
// and what is empty then.
func strip(value any, in string, names []string) (empty bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if slices.Contains(names, name) || slices.Contains(names, in+"."+name) || strip(member, name, names) {
				delete(v, name)
			}
		}
		return len(v) == 0
	case []any:
		for _, item := range v {
			strip(item, in, names)
		}
	}
	return false
}

// checkServed checks what the summary of a replay says of each exchange (O66), and
// that its crossings have nothing of a network (O65).
func checkServed(ts *testscript.TestScript, run string) {
	var s evidence.RunSummary
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(run+"/summary.json")), &s))
	if s.Execution != executionReplay || !s.Complete || s.AllUsed == nil || !*s.AllUsed || len(s.Exchanges) == 0 {
		ts.Fatalf("%s is no whole replay: %+v", run, s)
	}
	for _, x := range s.Exchanges {
		if x.Served != x.Recorded {
			ts.Fatalf("exchange %d: recorded %s, served %q", x.N, x.Recorded, x.Served)
		}
	}
	served := 0
	for line := range strings.Lines(ts.ReadFile(run + "/evidence.jsonl")) {
		for _, never := range []string{`"requested_at"`, `"address":"127.77`, `"first_byte"`, `"connect":`, `"dns":`, `"tls":`, `"body":`, `"pacing"`, `"execution":"live"`} {
			if strings.Contains(line, never) {
				ts.Fatalf("%s of a replay: %s", never, line)
			}
		}
		if strings.Contains(line, `"served_from":{"recording":"`+s.Recordings+`","n":`) {
			served++
		}
	}
	if served == 0 {
		ts.Fatalf("no crossing of %s was served from %s", run, s.Recordings)
	}
}

func TestReplayListsAreRead(t *testing.T) {
	if got := quoted.FindAllString("* instants: `fetched_at`, `client.address`", -1); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
