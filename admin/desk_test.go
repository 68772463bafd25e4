package admin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// robotsTxt is the term that the world's crossings were ruled on.
const robotsTxt = "User-agent: *\nDisallow: /private\n<script>alert(1)</script>\n"

// A world is a desk over logs that a real store wrote.
type world struct {
	t      *testing.T
	data   string
	token  string
	store  *evidence.Store
	server *httptest.Server
	log    *syncBuffer // what the desk logged

	delivered, refused, streamed uint64 // crossings of session "agent-1", by number
	final                        uint64 // seq of streamed's final record
}

// A syncBuffer may be written by the server while the test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newWorld starts a desk; change may be nil.
func newWorld(t *testing.T, change func(o *Options)) *world {
	t.Helper()
	w := &world{t: t, data: t.TempDir(), log: new(syncBuffer)}
	var err error
	if w.token, err = LoadToken(filepath.Join(w.data, "admin.token")); err != nil {
		t.Fatal(err)
	}
	if w.store, err = evidence.Open(w.data, evidence.Options{Version: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close(context.Background()) })
	index, err := evidence.OpenIndex(w.data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	w.cross()
	o := w.options(index)
	if change != nil {
		change(&o)
	}
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(handler)
	t.Cleanup(w.server.Close)
	return w
}

// The bounds of a month.
var monthBegins, monthEnds = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func (w *world) options(index *evidence.Index) Options {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "wayleave_test_total", Help: "A test."}))
	return Options{
		Token: w.token, Index: index, Ready: func() error { return nil }, CA: []byte("-----BEGIN CERTIFICATE-----\n"),
		Gatherer: metrics, Via: "wayleave-test", Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Status: func() Status {
			return Status{
				Edge: w.store.EdgeID(), Version: "test", Started: time.Now(), Execution: "session",
				Listen: Listen{"127.0.0.1:3128", "127.0.0.1:3129"}, PolicyDigest: rulings.DefaultPolicy().Digest().String(),
				Evidence: EvidenceStatus{Complete: true}, Stores: []StoreStatus{{Name: "terms", Healthy: true}},
				Allowances: []AllowanceStatus{
					{Name: "team", Period: "month", Currency: "USD", Amount: "250", Spent: "0.02", Reserved: "0", Enforceable: true, Short: true, From: &monthBegins, Until: &monthEnds},
					{Name: "lost", Period: "day", Currency: "EUR", Amount: "1.5", Unknown: "the ledger of allowance lost cannot be read and written"},
				},
			}
		},
		Object: func(d rulings.Digest) ([]byte, error) {
			if d == sha256.Sum256([]byte(robotsTxt)) {
				return []byte(robotsTxt), nil
			}
			return nil, fmt.Errorf("reading %s: %w", w.data, fs.ErrNotExist)
		},
		Explain: func(_ context.Context, r ExplainRequest) (Explanation, error) {
			if strings.Contains(r.URL, "unruly") {
				return Explanation{}, fmt.Errorf("splitting %s", w.data)
			}
			e := wholeExplanation()
			e.Detail, e.Terms[0].URL = r.Headers.Get("User-Agent"), r.URL
			return e, nil
		},
		Hosts: listHosts, Host: tellHostOf, Refresh: tellHostOf,
		Policy: wholePolicy, Simulate: wholeSimulation, CheckPolicy: checkDraft, ReloadPolicy: func() (PolicyCheck, error) { return checkDraft(nil), nil },
		Issue: func(session string) (string, error) { return "token of " + session, nil },
	}
}

// cross has the session "agent-1" make three crossings.
func (w *world) cross() {
	term := rulings.Term{Kind: rulings.TermRobots, URL: "https://a.test/robots.txt", Outcome: rulings.TermRead, Status: 200, Object: sha256.Sum256([]byte(robotsTxt))}
	crossing := func(url string) *evidence.Crossing {
		return &evidence.Crossing{
			Grade: evidence.Mediated, Class: rulings.Source, Outcome: evidence.Delivered, Method: "GET", URL: url, HTTPStatus: 200,
			Client: evidence.Client{Session: "agent-1", Protocol: "h2"}, PolicyDigest: rulings.DefaultPolicy().Digest(), Ruleset: rulings.Ruleset,
			Ruled: true, Terms: []rulings.Term{term},
		}
	}
	w.delivered = w.record("agent-1", evidence.CrossingEnded{Crossing: crossing("https://a.test/")})
	refused := crossing("https://a.test/private?token=canary")
	refused.Outcome, refused.HTTPStatus = evidence.Refused, 0
	refused.Refusal = evidence.Refusal{
		Reason: rulings.RobotsDisallow, Whose: rulings.WhoseSource, Stage: rulings.StageBefore, Detail: "line 2: Disallow: /private",
		Term: rulings.TermRef{Object: term.Object, Line: 2},
	}
	refused.Told = evidence.Told{Status: 403, Reason: rulings.RobotsDisallow, Detail: rulings.Say("Line % refuses.", rulings.Number(2))}
	w.refused = w.record("agent-1", evidence.CrossingEnded{Crossing: refused})
	opened := crossing("https://a.test/stream")
	w.streamed = w.record("agent-1", evidence.CrossingOpened{Crossing: opened})
	ended := crossing("https://a.test/stream")
	ended.Opened = w.streamed
	w.final = w.record("agent-1", evidence.CrossingEnded{Crossing: ended})
}

// record appends r to the log of session and returns its seq.
func (w *world) record(session string, r evidence.Record) uint64 {
	w.t.Helper()
	log, err := w.store.Session(session)
	if err != nil {
		w.t.Fatal(err)
	}
	seq, err := log.Append(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return seq
}

// write makes a log by hand.
func (w *world) write(session, content string) {
	w.t.Helper()
	dir := filepath.Join(w.data, "sessions", session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "000001.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// An answer is a response read whole.
type answer struct {
	*http.Response
	body []byte
}

// ask sends a request with the token; edit may be nil.
func (w *world) ask(method, path, body string, edit func(r *http.Request)) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(req)
	}
	resp, err := w.server.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return read(w.t, resp)
}

func (w *world) get(path string) answer { return w.ask(http.MethodGet, path, "", nil) }

// raw sends a request line and fields as they are: clients clean paths.
func (w *world) raw(head ...string) answer {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(append(head, "Connection: close", "", ""), "\r\n")); err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return read(w.t, resp)
}

func read(t *testing.T, resp *http.Response) answer {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp, body}
}

// into decodes the body.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if a.StatusCode >= 300 {
		t.Fatalf("status %d: %s", a.StatusCode, a.body)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}

// isProblem checks that the answer is a problem with status (A3).
func (a answer) isProblem(t *testing.T, status int) (p problem) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("status %d, want %d: %.300s", a.StatusCode, status, a.body)
		return p
	}
	if kind := a.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("status %d comes as %q: %.300s", status, kind, a.body)
		return p
	}
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != status || p.Title == "" || p.Detail == "" {
		t.Errorf("the problem is %s (%v)", a.body, err)
	}
	return p
}

func TestNewA1RefusesTokensThatAreNone(t *testing.T) {
	index, err := evidence.OpenIndex(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	samples := []string{
		"", " ", "\t", "changeme", "<token>", "your-admin-token", "admin", "REPLACE_WITH_A_RANDOM_TOKEN",
		base64.RawURLEncoding.EncodeToString(make([]byte, 32)),
		base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte("secret!?"), 4)),
		base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff, 0xfe}, 16)),
		strings.Repeat("x", 43), strings.Repeat("0123456789abcdef", 3),
	}
	for _, token := range samples {
		if _, err := New(Options{Token: token, Index: index}); err == nil {
			t.Errorf("token %q is taken", token)
		}
	}
	if _, err := New(Options{Token: "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU"}); err == nil {
		t.Error("a desk without an index starts")
	}
}

func TestDeskA3AnswersOwnFaultsWithoutTheirText(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Object = func(rulings.Digest) ([]byte, error) { return nil, fmt.Errorf("open /secret/path: broken") }
		o.Issue = func(string) (string, error) { panic("open /secret/path: broken") }
		o.Ready = func() error { return fmt.Errorf("/secret/path") }
	})
	answers := map[string]answer{
		"an error": w.get("/v1/terms/" + strings.Repeat("ab", 32)),
		"a panic":  w.ask(http.MethodPost, "/v1/sessions", `{}`, nil),
	}
	for name, a := range answers {
		a.isProblem(t, http.StatusInternalServerError)
		if bytes.Contains(a.body, []byte("secret")) || bytes.Contains(a.body, []byte("broken")) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	ready := w.get("/readyz")
	if ready.isProblem(t, http.StatusServiceUnavailable); bytes.Contains(ready.body, []byte("secret")) {
		t.Errorf("readiness: %s", ready.body)
	}
	if got := w.log.String(); strings.Count(got, "secret") != 3 {
		t.Errorf("the process log does not say what happened: %s", got)
	}
}

func TestDeskA3PathsAndMethods(t *testing.T) {
	w := newWorld(t, nil)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/crossings/", "/v1/nothing", "//v1/status", "/v1//status", "/V1/status", "/v1/crossings/agent-1"} {
		w.raw("GET "+path+" HTTP/1.1", "Host: "+w.server.Listener.Addr().String(), "Authorization: Bearer "+w.token).isProblem(t, http.StatusNotFound)
	}
	a := w.ask(http.MethodDelete, "/v1/sessions", "", nil)
	a.isProblem(t, http.StatusMethodNotAllowed)
	if got := a.Header.Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("Allow is %q", got)
	}
	a = w.ask(http.MethodPost, "/v1/status", "{}", nil)
	a.isProblem(t, http.StatusMethodNotAllowed)
	if got := a.Header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow is %q", got)
	}
	if a := w.ask(http.MethodHead, "/v1/status", "", nil); a.StatusCode != http.StatusOK || len(a.body) > 0 {
		t.Errorf("HEAD gives %d and %q", a.StatusCode, a.body)
	}
}

func TestDeskLogsNoQuery(t *testing.T) {
	w := newWorld(t, nil)
	w.get("/v1/crossings?url=https://a.test/?token=canary")
	w.get("/v1/sessions/canary")
	if got := w.log.String(); strings.Contains(got, "canary") || !strings.Contains(got, "/v1/sessions/{session}") {
		t.Errorf("the process log says %s", got)
	}
}

func TestDeskSpeaksForItselfWithoutParts(t *testing.T) {
	w := newWorld(t, func(o *Options) { *o = Options{Token: o.Token, Index: o.Index} })
	for _, path := range []string{"/v1/status", "/metrics", "/ca.pem", "/v1/terms/" + strings.Repeat("ab", 32)} {
		w.get(path).isProblem(t, http.StatusServiceUnavailable)
	}
	w.ask(http.MethodPost, "/v1/explain", `{"url":"http://a.test/"}`, nil).isProblem(t, http.StatusServiceUnavailable)
	w.ask(http.MethodPost, "/v1/sessions", `{}`, nil).isProblem(t, http.StatusConflict)
	if a := w.get("/readyz"); a.StatusCode != http.StatusOK {
		t.Errorf("readiness is %d", a.StatusCode)
	}
}
