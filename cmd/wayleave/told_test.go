package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
)

// getWith is the script command get [-H FIELD]... URL: the client asks for URL
// and what it received, head and body, is the standard output. URL is kept for
// told and logged.
func getWith(client ...string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) == 0 {
			ts.Fatalf("usage: get [-H FIELD]... URL")
		}
		err := ts.Exec(client[0], append(client[1:len(client):len(client)], args...)...)
		if neg != (err != nil) {
			ts.Fatalf("%s: %v", client[0], err)
		}
		ts.Setenv("URL", args[len(args)-1])
		ts.Setenv("TOLD", "")
	}
}

// A toldProblem is a refusal as the client read it (RFC 9457).
type toldProblem struct {
	Type, Title, Detail, Reason, Whose, Crossing string
	Status                                       int
	RetryAt                                      time.Time `json:"retry_at"`
}

// checkTold checks the refusal that the last get received: told STATUS REASON WHOSE
// [SECONDS]. With SECONDS it says to ask again when they are over, without it does
// not. Nothing of it may be of the source's choosing: scripts write canary into all
// that is.
func checkTold(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: told STATUS REASON WHOSE [SECONDS]")
	}
	received := ts.ReadFile("stdout")
	head, p := readTold(ts, received)
	facts := rulings.Reason(args[1]).Facts()
	_, proxyStatus, _ := strings.Cut(head.Get("Proxy-Status"), "; ")
	for _, c := range []struct{ what, got, want string }{
		{"status", strconv.Itoa(p.Status), args[0]},
		{"reason", p.Reason, args[1]},
		{"whose", p.Whose, args[2]},
		{"title", p.Title, facts.Title},
		{"type", p.Type, proxy.RefusalDocs + args[1] + ".md"},
		{"Content-Type", head.Get("Content-Type"), "application/problem+json"},
		{"Proxy-Status", proxyStatus, "error=" + facts.ProxyError + "; details=" + strconv.Quote(args[1])},
	} {
		if c.got != c.want {
			ts.Fatalf("%s is %q, want %q, in\n%s", c.what, c.got, c.want, received)
		}
	}
	if !asksAgainIn(head.Get("Retry-After"), p.RetryAt, args[3:]) {
		ts.Fatalf("want to ask again after %v seconds, have\n%s", args[3:], received)
	}
	if strings.Contains(strings.ToLower(received), "canary") {
		ts.Fatalf("the client was told what the source chose:\n%s", received)
	}
	text, err := json.Marshal(p)
	ts.Check(err)
	ts.Setenv("TOLD", string(text))
}

// readTold reads what a client printed of a refusal.
func readTold(ts *testscript.TestScript, received string) (http.Header, toldProblem) {
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(inHTTP11(received))), nil)
	if err != nil {
		ts.Fatalf("no answer in %q: %v", received, err)
	}
	defer resp.Body.Close()
	var p toldProblem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || p.Status != resp.StatusCode {
		ts.Fatalf("no problem of the answer's status in %q: %v", received, err)
	}
	return resp.Header, p
}

// asksAgainIn reports whether Retry-After and retry_at say seconds, of which some
// may be over already; or nothing, where no seconds are given.
func asksAgainIn(retryAfter string, retryAt time.Time, seconds []string) bool {
	if len(seconds) == 0 {
		return retryAfter == "" && retryAt.IsZero()
	}
	want, err := strconv.Atoi(seconds[0])
	got, err2 := strconv.Atoi(retryAfter)
	return err == nil && err2 == nil && got <= want && got > want-int(patience.Seconds()) && !retryAt.IsZero()
}

// inHTTP11 is what a client prints of an answer, as HTTP/1.1 without framing.
func inHTTP11(received string) string {
	line, rest, _ := strings.Cut(received, "\n")
	version, status, _ := strings.Cut(strings.TrimSpace(line), " ")
	if strings.HasPrefix(version, "HTTP/2") {
		status += " " // curl leaves no reason phrase to it
	}
	return "HTTP/1.1 " + status + "\r\n" + rest
}

// checkAsked checks the requests that a site had so far, exactly and in order: asked
// NAME TARGET...
func checkAsked(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: asked NAME [TARGET...]")
	}
	want := ""
	for _, target := range args[1:] {
		want += "GET " + target + "\n"
	}
	if got := ts.ReadFile(path.Join("web/asked", args[0])); got != want {
		ts.Fatalf("%s was asked for\n%swant\n%s", args[0], got, want)
	}
}

// expandFiles replaces $NAME in files by the script's variables: expand FILE...
func expandFiles(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}
