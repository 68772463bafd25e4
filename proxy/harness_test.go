package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/certs"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A testEdge is a whole edge on loopback: real log, real book, real CA.
type testEdge struct {
	*Edge
	t     *testing.T
	addr  string
	data  string
	store *evidence.Store
	book  *terms.Book
	roots *x509.CertPool // what a client of the edge trusts
	down  func()         // stops it; safe to call twice
}

// edgeSetup is what a test may change of an edge before it is made.
type edgeSetup struct {
	policy   rulings.PolicyFile
	noPolicy bool
	data     string // empty for a directory of its own
	options  func(*Options)
	upstream func(*UpstreamOptions)
	evidence func(*evidence.Options)
	edge     func(*Edge)                     // before it serves
	listen   func(net.Listener) net.Listener // what it serves on; nil for the listener itself
	pace     backoff.Config                  // the zero one waits for a second at most
	files    backoff.FileOptions             // the clock and the files of what is paced
	shared   bool                            // sessions belong to different parties
}

// loopbackPolicy is the policy of most tests: origins live on loopback.
func loopbackPolicy() rulings.PolicyFile {
	return rulings.PolicyFile{AllowPrivate: []string{"127.0.0.0/8", "::1/128", "localhost"}}
}

// withService is the policy of most tests with hosts that are services.
func withService(hosts ...string) rulings.PolicyFile {
	p := loopbackPolicy()
	p.Services = hosts
	return p
}

// loopbackPolicyOf returns the effective policy of most tests.
func loopbackPolicyOf(t testing.TB) func() *rulings.Policy {
	p, faults := rulings.NewPolicy(loopbackPolicy())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return func() *rulings.Policy { return p }
}

// soon makes the edge lose patience with silent clients soon, and not with clients that
// a busy machine keeps waiting.
func soon(e *Edge) {
	e.silence = 300 * time.Millisecond
	e.outer.ReadHeaderTimeout, e.inner.ReadHeaderTimeout = e.silence, e.silence
}

// policyAllowing is a policy that lets through just these private hosts and prefixes.
func policyAllowing(private ...string) rulings.PolicyFile {
	return rulings.PolicyFile{AllowPrivate: append([]string{}, private...)}
}

func startEdge(t *testing.T, s edgeSetup) *testEdge {
	t.Helper()
	data := s.data
	if data == "" {
		data = t.TempDir()
	}
	if s.policy.AllowPrivate == nil {
		s.policy.AllowPrivate = loopbackPolicy().AllowPrivate
	}
	policy, faults := rulings.NewPolicy(s.policy)
	if len(faults) > 0 {
		t.Fatalf("policy: %v", faults)
	}
	current := func() *rulings.Policy { return policy }
	if s.noPolicy {
		current = func() *rulings.Policy { return nil }
	}
	id := evidence.NewEdgeID(time.Now())
	eo := evidence.Options{EdgeID: id, Version: "test"}
	if s.evidence != nil {
		s.evidence(&eo)
	}
	store, err := evidence.Open(data, eo)
	must(t, err)
	uo := UpstreamOptions{Policy: current, CAFile: originCAFile(t)}
	if s.upstream != nil {
		s.upstream(&uo)
	}
	up, err := NewUpstream(uo)
	must(t, err)
	pacing := s.pacing(data)
	book, err := terms.Open(filepath.Join(data, "terms"), terms.Options{Client: up, Record: RecordProbe, Pacer: pacing,
		UserAgent: func() string { return UserAgent(policy, "test") }, Tokens: func() []string { return policy.Identity.Tokens }})
	must(t, err)
	authority, err := certs.Open(filepath.Join(data, "ca"), certs.Options{})
	must(t, err)
	o := Options{ID: id, Version: "test", Evidence: store, Upstream: up, Terms: book, Certs: authority, Policy: current,
		ConnectPorts: allPorts(), Pacing: pacing}
	if s.options != nil {
		s.options(&o)
	}
	e, err := New(o)
	must(t, err)
	e.screenTime = func(int) time.Duration { return time.Minute } // as much as a busy machine takes
	if s.edge != nil {
		s.edge(e)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if s.listen != nil {
		l = s.listen(l)
	}
	served := make(chan error, 1)
	go func() { served <- e.Serve(l) }()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	te := &testEdge{Edge: e, t: t, addr: l.Addr().String(), data: data, store: store, book: book, roots: roots}
	var stopped atomic.Bool
	te.down = func() {
		if !stopped.CompareAndSwap(false, true) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		e.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := book.Close(context.Background()); err != nil {
			t.Errorf("closing the book: %v", err)
		}
		if err := store.Close(context.Background()); err != nil {
			t.Errorf("closing the evidence: %v", err)
		}
		up.Close()
	}
	t.Cleanup(te.down)
	return te
}

// pacing is the pace of an edge that keeps it below data.
func (s *edgeSetup) pacing(data string) *Pacing {
	if s.pace == (backoff.Config{}) {
		s.pace.MaxWait = time.Second
	}
	s.files.Config = s.pace
	store := backoff.NewFileStore(filepath.Join(data, "backoff"), s.files)
	return &Pacing{Dispatcher: backoff.NewDispatcher(store, s.pace), Store: store, Rules: s.pace.Rules(), Shared: s.shared}
}

// hurried is for tests whose origins fail and are asked again at once: by the
// clock of what is paced, an hour passes between two looks at it.
func hurried() backoff.FileOptions {
	var hours atomic.Int64
	return backoff.FileOptions{Now: func() time.Time { return time.Now().Add(time.Duration(hours.Add(1)) * time.Hour) }}
}

func allPorts() *PortSet {
	s, err := ParsePorts([]string{"1-65535"})
	if err != nil {
		panic(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client returns an HTTP client that goes through the edge as session, which
// may be empty, over HTTP/2 or HTTP/1.1. It reuses connections and follows no
// redirect.
func (e *testEdge) client(session string, http2 bool) *http.Client {
	proxy := &url.URL{Scheme: "http", Host: e.addr}
	if session != "" {
		proxy.User = url.UserPassword(session, "x")
	}
	tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: e.roots},
		DisableCompression: true, ForceAttemptHTTP2: http2, ExpectContinueTimeout: 10 * time.Second}
	e.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// records reads every record the edge has written, over all sessions, as
// another process would: from the files.
func (e *testEdge) records() []record {
	e.t.Helper()
	files, err := filepath.Glob(filepath.Join(e.data, "sessions", "*", "*.jsonl"))
	must(e.t, err)
	var out []record
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(e.t, err)
		for line := range bytes.Lines(data) {
			if !bytes.HasSuffix(line, []byte("\n")) { // it is being written
				break
			}
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				e.t.Fatalf("%s: %v: %s", name, err, line)
			}
			r.session = filepath.Base(filepath.Dir(name))
			r.raw = string(line)
			out = append(out, r)
		}
	}
	return out
}

// crossings are the final records of crossings.
func (e *testEdge) crossings() []record {
	var out []record
	for _, r := range e.records() {
		switch r.Event {
		case evidence.EventCrossingMediated, evidence.EventCrossingRefused, evidence.EventCrossingObserved:
			out = append(out, r)
		}
	}
	return out
}

// waitCrossings waits until n crossings have ended: some end after their client
// has its answer.
func (e *testEdge) waitCrossings(n int) []record {
	e.t.Helper()
	for range 6000 {
		if got := e.crossings(); len(got) >= n {
			return got
		}
		time.Sleep(5 * time.Millisecond)
	}
	e.t.Fatalf("%d crossings did not come; there are %d", n, len(e.crossings()))
	return nil
}

// A record is one line of a log.
type record struct {
	Seq     uint64         `json:"seq"`
	Event   string         `json:"event"`
	Payload map[string]any `json:"payload"`

	session, raw string
}

// at returns the member of the payload that path names, such as "refusal.reason".
func (r record) at(path string) any {
	var v any = r.Payload
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// wantAt checks members of a record.
func (r record) want(t testing.TB, members map[string]any) {
	t.Helper()
	for path, want := range members {
		got := r.at(path)
		if n, ok := got.(float64); ok && n == float64(int64(n)) {
			got = int64(n)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s = %v, want %v", r.Event, path, got, want)
		}
	}
	if t.Failed() {
		t.Log(r.raw)
	}
}

// dialTunnel opens a CONNECT tunnel to target and returns it with the answer.
func (e *testEdge) dialTunnel(target string, fields ...string) (net.Conn, *bufio.Reader, *http.Response) {
	e.t.Helper()
	c, err := net.Dial("tcp", e.addr)
	must(e.t, err)
	e.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, target, strings.Join(append(fields, ""), "\r\n"))
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	must(e.t, err)
	return c, br, resp
}

// tlsTunnel opens a tunnel and completes the handshake in it under name.
func (e *testEdge) tlsTunnel(target, name string) *tls.Conn {
	e.t.Helper()
	c, _, resp := e.dialTunnel(target)
	if resp.StatusCode != http.StatusOK {
		e.t.Fatalf("CONNECT %s: %s", target, resp.Status)
	}
	tc := tls.Client(c, &tls.Config{RootCAs: e.roots, ServerName: name, NextProtos: []string{"http/1.1"}})
	must(e.t, tc.Handshake())
	return tc
}

// get fetches url and returns the answer with its whole body.
func get(t testing.TB, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Get(url)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(body)
}
