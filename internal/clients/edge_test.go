//go:build clients

package clients

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An edge is a running `wayleave serve`.
type edge struct {
	config string // its configuration file
	data   string // its data directory
	proxy  string // host:port
	caFile string
}

// tunnelHost is the host that configuration passes through unread. The origins
// that are read have other names for the same machine.
const tunnelHost = "127.0.0.2"

// configure writes a configuration with which the origins of a test can be
// reached: on loopback, on any port, with certificates of a.
func configure(t *testing.T, a authority, auth string) string {
	t.Helper()
	settings := map[string]any{
		"listen":        "127.0.0.1:0",
		"auth":          auth,
		"admin":         map[string]any{"listen": "127.0.0.1:0"},
		"connect_ports": []string{"1024-65535"},
		"upstream":      map[string]any{"ca_file": a.file},
		"policy": map[string]any{
			"allow_private": []string{"127.0.0.0/8"},
			"services":      []string{tunnelHost},
			"tunnels":       []string{tunnelHost},
		},
	}
	text, err := json.MarshalIndent(settings, "", "  ") // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "wayleave.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startEdge runs an edge that anybody may use for the length of a test.
func startEdge(t *testing.T, a authority) *edge {
	t.Helper()
	return startEdgeWith(t, a, "open")
}

// startEdgeWith is startEdge with the value of auth. The edge must stop cleanly:
// with 0, which says that no evidence is owed.
func startEdgeWith(t *testing.T, a authority, auth string) *edge {
	t.Helper()
	e := &edge{config: configure(t, a, auth), data: filepath.Join(t.TempDir(), "data")}
	readyFile := filepath.Join(t.TempDir(), "ready.json")
	log := &transcript{}
	// Its context is not the test's, which ends before the test's Cleanups.
	cmd := commandWithin(context.Background(), t, nil, built.wayleave, "serve", "--config", e.config, "--data", e.data, "--ready-file", readyFile)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the edge ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the edge's log:\n%s", log)
		}
	})
	e.await(t, readyFile, ended, log)
	return e
}

// await reads the ready file once it is there.
func (e *edge) await(t *testing.T, file string, ended chan error, log *transcript) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the edge ended before it was ready: %v\n%s", err, log)
		default:
		}
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var ready struct{ Proxy, CA string }
		if err == nil {
			err = json.Unmarshal(raw, &ready)
		}
		if err != nil {
			t.Fatal(err)
		}
		e.proxy, e.caFile = ready.Proxy, ready.CA
		return
	}
	t.Fatalf("the edge did not get ready\n%s", log)
}

// env returns what `wayleave env` prints for a session.
func (e *edge) env(t *testing.T, session string) map[string]string {
	t.Helper()
	cmd := command(t, nil, built.wayleave, "env", "--format", "json", "--config", e.config, "--data", e.data, "--session", session)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("wayleave env: %v", err)
	}
	env := map[string]string{}
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	return env
}

// bundle is the trust store that env names.
func (e *edge) bundle() string { return filepath.Join(filepath.Dir(e.caFile), "bundle.pem") }

// crossings counts the crossings that a session's log has on disk.
func (e *edge) crossings(t *testing.T, session string) int {
	t.Helper()
	return len(e.records(t, session, "crossing_"))
}

// records returns the records of a session whose kind begins so.
func (e *edge) records(t *testing.T, session, kind string) []string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(e.data, "sessions", session, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range segments {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, `"`+kind) {
				out = append(out, line)
			}
		}
	}
	return out
}

// awaitRecord waits for a record that nothing the client sees waits for: that of
// a tunnel is written when both its ends are closed.
func (e *edge) awaitRecord(t *testing.T, session, kind string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(e.records(t, session, kind)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log of %s has no %s", session, kind)
		}
	}
}

// pairs returns variables as a process gets them. With names, only those whose
// names are given.
func pairs(env map[string]string, names ...string) []string {
	var out []string
	for name, value := range env {
		if len(names) == 0 || slices.Contains(names, name) {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// sessionName makes a session id of a test's name.
func sessionName(t *testing.T) string {
	t.Helper()
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.TrimPrefix(t.Name(), "Test"))
	if len(clean) > 60 {
		clean = clean[len(clean)-60:]
	}
	return strings.Trim(clean, "-")
}
