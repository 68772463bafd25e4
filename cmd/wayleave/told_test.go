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
// [retry]. With retry it says when to ask again, without it does not. Nothing of
// it may be of the source's choosing: scripts write canary into all that is.
func checkTold(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: told STATUS REASON WHOSE [retry]")
	}
	received := ts.ReadFile("stdout")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(inHTTP11(received))), nil)
	if err != nil {
		ts.Fatalf("no answer in %q: %v", received, err)
	}
	defer resp.Body.Close()
	var p toldProblem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		ts.Fatalf("no problem in %q: %v", received, err)
	}
	same := func(what, got, want string) {
		if got != want {
			ts.Fatalf("%s is %q, want %q, in\n%s", what, got, want, received)
		}
	}
	reason := rulings.Reason(args[1])
	same("the status", strconv.Itoa(resp.StatusCode), args[0])
	same("status", strconv.Itoa(p.Status), args[0])
	same("reason", p.Reason, args[1])
	same("whose", p.Whose, args[2])
	same("title", p.Title, reason.Facts().Title)
	same("type", p.Type, proxy.RefusalDocs+args[1]+".md")
	same("Content-Type", resp.Header.Get("Content-Type"), "application/problem+json")
	_, status, _ := strings.Cut(resp.Header.Get("Proxy-Status"), "; ")
	same("Proxy-Status", status, "error="+reason.Facts().ProxyError+"; details="+strconv.Quote(args[1]))
	retry := strconv.FormatBool(len(args) > 3)
	same("Retry-After is there:", strconv.FormatBool(resp.Header.Get("Retry-After") != ""), retry)
	same("retry_at is there:", strconv.FormatBool(!p.RetryAt.IsZero()), retry)
	if strings.Contains(strings.ToLower(received), "canary") {
		ts.Fatalf("the client was told what the source chose:\n%s", received)
	}
	text, err := json.Marshal(p)
	ts.Check(err)
	ts.Setenv("TOLD", string(text))
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
