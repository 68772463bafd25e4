//go:build clients

package clients

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A client is a program that gets one URL: the body goes to its standard output
// as it arrives, the answer's status line and fields to its standard error.
type client struct {
	name  string
	proto string   // what it speaks with the edge over TLS
	argv  []string // the URL is put behind

	// exitRefused is how it exits when the answer has a status of 400 or more.
	exitRefused int
	// sends says whether it sends credentials, by which a crossing gets into its
	// session. Java sends none unless its program does.
	sends bool
	// underRun has it started by `wayleave run`, with an edge of its own, rather
	// than with what `wayleave env` prints for a running one.
	underRun bool
}

// httpClients are the clients that fetch a URL.
func httpClients(t *testing.T) []client {
	t.Helper()
	curl, interpreter := program(t, "curl", "curl"), python(t)
	script := func(name string) string { return filepath.Join("testdata", name) }
	return []client{
		{name: "curl over HTTP/1.1", proto: "HTTP/1.1", sends: true, argv: curlArgs(curl, "--http1.1")},
		{name: "curl over HTTP/2", proto: "HTTP/2", sends: true, argv: curlArgs(curl, "--http2")},
		{name: "Python's urllib", proto: "HTTP/1.1", sends: true, argv: []string{interpreter, script("client.py"), "urllib"}},
		{name: "Python's http.client", proto: "HTTP/1.1", sends: true, argv: []string{interpreter, script("client.py"), "http.client"}},
		{name: "Node's fetch", proto: "HTTP/1.1", sends: true, underRun: true, argv: []string{node(t), script("client.mjs")}},
		{name: "Go", proto: "HTTP/2", sends: true, argv: []string{built.goClient, "set"}},
		{name: "Java's HttpClient", proto: "HTTP/2", argv: java(t)},
		{name: "wget", proto: "HTTP/1.1", sends: true, exitRefused: 8, argv: []string{
			// wget alone has no variable for its trust.
			program(t, "wget", "wget"), "--quiet", "--server-response", "--content-on-error", "--tries=1", "--output-document=-",
		}},
	}
}

func curlArgs(curl, version string) []string {
	return []string{curl, version, "--silent", "--show-error", "--no-buffer", "--suppress-connect-headers", "--dump-header", "/dev/stderr"}
}

// An answer is what a client printed.
type answer struct {
	proto  string
	status string
	header http.Header
	body   []byte
}

// get has the client fetch url in a session. Each whole line of the body is
// handed to line when it is printed; nil hands over nothing.
func (c client) get(t *testing.T, e *edge, session, url string, line func(string)) answer {
	t.Helper()
	argv := append(append([]string{}, c.argv...), url)
	var env []string
	if c.underRun {
		run := []string{built.wayleave, "run", "--config", e.config, "--data", filepath.Join(t.TempDir(), "data"), "--session", session, "--"}
		argv = append(run, argv...)
	} else {
		env = pairs(e.env(t, session))
		if c.name == "wget" {
			argv = append(argv, "--ca-certificate="+e.bundle())
		}
	}
	out, log := &transcript{line: line}, &transcript{}
	cmd := command(t, env, argv...)
	cmd.Stdout, cmd.Stderr = out, log
	err := cmd.Run()
	got := parseAnswer(log.String(), out.bytes())
	if code := exitCode(err); code != 0 && !(got.status >= "400" && code == c.exitRefused) {
		t.Fatalf("%s: %v (killed means that it hung), having printed %d bytes and\n%s", strings.Join(argv, " "), err, len(got.body), log)
	}
	return got
}

// exitCode is the code a command exited with; -1 when it did not get that far.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// parseAnswer reads the last answer in what a client printed on standard error.
// It may have printed other lines as well.
func parseAnswer(log string, body []byte) answer {
	a := answer{header: http.Header{}, body: body}
	for l := range strings.Lines(log) {
		l = strings.TrimSpace(l)
		if proto, rest, ok := strings.Cut(l, " "); ok && strings.HasPrefix(proto, "HTTP/") {
			status, _, _ := strings.Cut(rest, " ")
			a.proto, a.status, a.header = strings.TrimSuffix(proto, ".0"), status, http.Header{}
		} else if name, value, ok := strings.Cut(l, ":"); ok && !strings.Contains(name, " ") {
			a.header.Add(name, strings.TrimSpace(value))
		}
	}
	return a
}

// expect fails the test unless the answer has this status and version.
func (a answer) expect(t *testing.T, status, proto string) {
	t.Helper()
	if got, want := fmt.Sprint(a.proto, " ", a.status), fmt.Sprint(proto, " ", status); got != want {
		t.Errorf("the client had %s, want %s; fields %v", got, want, a.header)
	}
}

// A transcript is what a program prints, kept whole, with each line handed over
// as it comes.
type transcript struct {
	line func(string) // called by the one goroutine that writes; may be nil

	mu   sync.Mutex
	text bytes.Buffer
	open []byte // the line that has no end yet
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.text.Write(p)
	w.mu.Unlock()
	if w.line == nil {
		return len(p), nil
	}
	w.open = append(w.open, p...)
	for {
		l, rest, ended := bytes.Cut(w.open, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		w.line(string(l))
		w.open = rest
	}
}

func (w *transcript) String() string { return string(w.bytes()) }

func (w *transcript) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.text.Bytes())
}
