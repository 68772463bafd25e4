package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary stand for wayleave itself and for the small
// programs the scripts need: a site, a client, and a process that ends itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"wayleave": main,
		"site":     siteMain,
		"sites":    sitesMain,
		"fetch":    fetchMain,
		"gaps":     gapsMain,
		"die":      dieMain,
	})
}

// TestScripts runs the real binary the way a shell would. Each script says in
// its first lines which rules it shows.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, scriptParams("testdata/script"))
}

// scriptParams are how the scripts of a folder are run.
func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Nothing of the machine's own set-up reaches an edge under test.
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HTTPS_PROXY", "http://127.0.0.1:9") // must never be used (N17)
			env.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
			env.Defer(func() { recomputeAll(env) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":     awaitFile,
			"code":      exitsWith,
			"signal":    signalBackground,
			"ready":     setReady,
			"source":    sourceFile,
			"get":       getWith("fetch", "-i"),
			"told":      checkTold,
			"logged":    checkLogged,
			"paced":     checkPaced,
			"handed":    checkHanded,
			"asked":     checkAsked,
			"crossings": writeCrossings,
			"expand":    expandFiles,
			"limit":     limitDescriptors,
			"explains":  checkExplains,
		},
	}
}

// patience bounds every wait of a script; it is only ever reached by a failure.
const patience = 30 * time.Second

// awaitFile waits until a file is there: await FILE [TEXT], with TEXT in it.
func awaitFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: await FILE [TEXT]")
	}
	text := strings.Join(args[1:], " ")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if got, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(got), text) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s with %q did not appear", args[0], text)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// exitsWith runs a command that must exit with a code: code N COMMAND...
func exitsWith(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

var signalNames = map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}

// signalBackground sends a signal to the background commands of a name: signal
// TERM wayleave.
func signalBackground(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 || signalNames[args[0]] == nil {
		ts.Fatalf("usage: signal TERM|INT|HUP|KILL COMMAND")
	}
	sent := false
	for _, cmd := range ts.BackgroundCmds() {
		if filepath.Base(cmd.Path) == args[1] {
			ts.Check(cmd.Process.Signal(signalNames[args[0]]))
			sent = true
		}
	}
	if !sent {
		ts.Fatalf("no %s runs in the background", args[1])
	}
}

// setReady waits for a ready file and sets PROXY, ADMIN, CA and TOKEN from it.
func setReady(ts *testscript.TestScript, neg bool, args []string) {
	awaitFile(ts, neg, args)
	var r ready
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	ts.Setenv("PROXY", r.Proxy)
	ts.Setenv("ADMIN", r.Admin)
	ts.Setenv("CA", r.CA)
	ts.Setenv("TOKEN", r.Token)
}

// sourceFile waits for a file of NAME=VALUE lines and sets them.
func sourceFile(ts *testscript.TestScript, neg bool, args []string) {
	awaitFile(ts, neg, args)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		ts.Setenv(name, strings.Trim(value, "'"))
	}
}
