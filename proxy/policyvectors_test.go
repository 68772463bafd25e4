package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/vectors"
)

// A policyVector is a policy, a crossing, and what comes of it in each mode.
type policyVector struct {
	ID, Title string
	Rules     []string
	Policy    string
	Crossing  policyCrossing
	Expect    map[string]policyOutcome
}

type policyCrossing struct {
	URL             string
	User            string
	ResolvesTo      string `json:"resolves_to"`
	Robots, Signal  string
	UsageField      string `json:"usage_field"`
	Licence         string
	LicenceNamedIn  string `json:"licence_named_in"`
	Response        *policyResponse
	Spent, Reserved string
	Receipt, Dial   string
	ContextUsed     *int64 `json:"context_used"`
	Execution       string
	Recorded        *bool
	Broken          []string
	Bytes           string
}

type policyResponse struct {
	Status     int
	Type       string
	Bytes      int
	Length     string
	Text       string
	Coding     string
	CodedBytes int `json:"coded_bytes"`
}

type policyOutcome struct {
	Outcome, Stage, Reason, Whose   string
	Status                          int
	Breach, Gaps, Rules, Categories []string
	Notice                          []string
	Findings, Position              int
	PageRequested                   *bool `json:"page_requested"`
	RobotsAsked                     *bool `json:"robots_asked"`
	Class, Grade                    string
	SpentAfter, Basis               string
	ContextAfter                    *int64 `json:"context_after"`
	BrokenOff, Published, Resolved  *bool
	RequestedAt                     *bool `json:"requested_at"`
}

// elsewhere are the groups of vectors that other tests show: those of files as
// written, and those of what is not the exchange's own.
var elsewhere = []string{"load", "digest", "overlay", "money", "exec"}

// The vectors of policy in the three modes, through a whole edge and over real
// sockets. What the modes record is the same but for the refusal (O11).
func TestO1_O11_O50_PolicyVectors(t *testing.T) {
	ran := 0
	for _, v := range policyVectors(t) {
		group, _, _ := strings.Cut(v.ID, "-")
		if slices.Contains(elsewhere, group) {
			continue
		}
		for mode, want := range v.Expect {
			ran++
			t.Run(v.ID+"/"+mode, func(t *testing.T) {
				t.Parallel()
				v.run(t, mode, want)
			})
		}
	}
	if ran == 0 {
		t.Error("no vector was run")
	}
}

func policyVectors(t *testing.T) []policyVector {
	t.Helper()
	return vectors.Read[policyVector](t, "", "policy.json", nil)
}

func (v *policyVector) run(t *testing.T, mode string, want policyOutcome) {
	t.Logf("%s (%s)", v.Title, strings.Join(v.Rules, ", "))
	w := startWeb(t)
	v.publish(w)
	policy := policyOf(t, plain(v.Policy), mode)
	if policy.AllowPrivate == nil {
		policy.AllowPrivate = []string{"10.255.255.255/32"} // not the loopback of other tests
	}
	e := w.edge(edgeSetup{policy: policy, edge: v.breakTools})
	if used := v.Crossing.ContextUsed; used != nil {
		use := e.contexts.take(e.opt.Evidence, v.session(t, e))
		use.known, use.used = true, *used
	}
	var got seenAnswer
	if strings.HasPrefix(v.Crossing.URL, "tunnel://") {
		got = v.tunnel(e)
	} else {
		got = v.fetch(e)
	}
	want.check(t, w, e, v, got)
}

// The session of the crossing.
const vectorSession = "vector"

func (v *policyVector) session(t *testing.T, e *testEdge) *evidence.Log {
	log, err := e.store.Session(vectorSession)
	must(t, err)
	return log
}

// plain is text with its URLs over http: the origins of the test hide behind a plain proxy.
func plain(text string) string { return strings.ReplaceAll(text, "https://", "http://") }

// publish has the page, its robots.txt and its licence served.
func (v *policyVector) publish(w *web) {
	c := &v.Crossing
	host := strings.ToLower(strings.TrimSuffix(strings.SplitN(strings.SplitN(plain(c.URL), "://", 2)[1], "/", 2)[0], "."))
	robots := "User-agent: *\nAllow: /\n"
	if c.Robots == "disallow" {
		robots = "User-agent: *\nDisallow: /\n"
	}
	if c.Signal != "" {
		robots += "Content-Signal: " + c.Signal + "\n"
	}
	licence := map[string]string{"free": "free.xml", "free_other": "other.xml", "priced": "priced.xml", "missing": "missing.xml"}[c.Licence]
	if licence != "" && c.LicenceNamedIn != "link" {
		robots += "License: http://lic.example/" + licence + "\n"
	}
	serve := func(rw http.ResponseWriter, r *http.Request) {
		if licence != "" && c.LicenceNamedIn == "link" {
			rw.Header().Set("Link", `<http://lic.example/`+licence+`>; rel="license"; type="application/rsl+xml"`)
		}
		if c.UsageField != "" {
			rw.Header().Set("Content-Usage", c.UsageField)
		}
		c.Response.serve(rw)
	}
	if c.Robots == "unreachable" {
		robots = ""
		page := serve
		serve = func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			page(rw, r)
		}
	}
	w.host(host, robots, serve)
	w.host("lic.example", "User-agent: *\nAllow: /\n", func(rw http.ResponseWriter, r *http.Request) {
		payment := map[string]string{
			"/free.xml":   `<payment type="free"><standard>https://std.example/by/4.0</standard></payment>`,
			"/other.xml":  `<payment type="free"/>`,
			"/priced.xml": `<payment type="use"><amount currency="USD">0.015</amount></payment>`,
		}[r.URL.Path]
		if payment == "" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/rsl+xml")
		fmt.Fprintf(rw, `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">ai-input</permits>%s</license></content></rsl>`, payment)
	})
}

// serve answers as the vector says; a nil response is the usual page.
func (p *policyResponse) serve(rw http.ResponseWriter) {
	if p == nil {
		p = &policyResponse{Type: "text/html", Bytes: 1000, Length: "known"}
	}
	body := []byte(p.Text)
	if p.Text == "" {
		body = bytes.Repeat([]byte("harmless\n"), p.Bytes/9+1)[:p.Bytes]
	}
	if p.Coding == "gzip" {
		var coded bytes.Buffer
		z := gzip.NewWriter(&coded)
		z.Write(body)
		z.Close()
		body = coded.Bytes()
		rw.Header().Set("Content-Encoding", "gzip")
	}
	rw.Header().Set("Content-Type", p.Type)
	if p.Length == "known" {
		rw.Header().Set("Content-Length", fmt.Sprint(len(body)))
	}
	if p.Status != 0 {
		rw.WriteHeader(p.Status)
	}
	if p.Length != "known" {
		rw.(http.Flusher).Flush()
	}
	rw.Write(body)
}

// breakTools puts in a screen that panics.
func (v *policyVector) breakTools(e *Edge) {
	for _, name := range v.Crossing.Broken {
		tool := map[string]*screen{"injection": &e.tools.injection, "pii": &e.tools.pii}[name]
		tool.scan = func([]byte) ([]evidence.Match, bool) { panic("the tool is broken") }
	}
}

// seenAnswer is what the agent gets.
type seenAnswer struct {
	status int
	header http.Header
	body   string
	broken bool // it broke off
}

func (v *policyVector) fetch(e *testEdge) seenAnswer {
	req := request(e.t, "GET", plain(v.Crossing.URL), nil)
	resp, err := e.client(vectorSession, false).Do(req)
	must(e.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return seenAnswer{resp.StatusCode, resp.Header, string(body), err != nil}
}

// tunnel opens a tunnel to what the vector names and says its bytes, or TLS.
func (v *policyVector) tunnel(e *testEdge) seenAnswer {
	target := strings.TrimPrefix(v.Crossing.URL, "tunnel://")
	c, err := net.Dial("tcp", e.addr)
	must(e.t, err)
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic dmVjdG9yOng=\r\n\r\n", target, target)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	must(e.t, err)
	got := seenAnswer{status: resp.StatusCode, header: resp.Header}
	if v.Crossing.Bytes != "" {
		io.WriteString(c, v.Crossing.Bytes+"\r\n") // as the end of what is being said
		_, err = io.Copy(io.Discard, c)            // until the edge closes it
		got.broken = err == nil
	}
	return got
}

// check compares what came of a crossing with what was to come of it.
func (want *policyOutcome) check(t *testing.T, w *web, e *testEdge, v *policyVector, got seenAnswer) {
	t.Helper()
	r := e.finalOf(v)
	events := map[string]string{"crossing_mediated": "delivered", "crossing_observed": "delivered", "crossing_refused": "refused"}
	if outcome := events[r.Event]; outcome != want.Outcome {
		t.Fatalf("outcome %q, want %q: %s", outcome, want.Outcome, r.raw)
	}
	if diff := cmp.Diff(want.Breach, nilIfEmpty(r.list("breach", "reason"))); diff != "" {
		t.Errorf("breaches (-want +got):\n%s%s", diff, r.raw)
	}
	gaps := r.gapReasons()
	slices.Sort(gaps)
	if diff := cmp.Diff(want.Gaps, nilIfEmpty(slices.Compact(gaps))); diff != "" {
		t.Errorf("gaps (-want +got):\n%s%s", diff, r.raw)
	}
	var notice []string
	if field := got.header.Get(breachField); field != "" {
		notice = strings.Split(field, ", ")
	}
	if diff := cmp.Diff(want.Notice, notice); diff != "" {
		t.Errorf("%s (-want +got):\n%s", breachField, diff)
	}
	if want.Outcome == "refused" {
		want.checkRefusal(t, r, got)
	}
	want.checkAsked(t, w, v)
	want.checkScreens(t, e)
	if want.Class != "" && r.at("class") != want.Class || want.Grade != "" && r.at("grade") != want.Grade {
		t.Errorf("class %v, grade %v", r.at("class"), r.at("grade"))
	}
	if want.ContextAfter != nil {
		if used := e.contextUsed(vectorSession); used != *want.ContextAfter {
			t.Errorf("context: %d used, want %d", used, *want.ContextAfter)
		}
	}
}

// finalOf is the final record of the vector's crossing.
func (e *testEdge) finalOf(v *policyVector) record {
	if strings.HasPrefix(v.Crossing.URL, "tunnel://") {
		return e.crossing(strings.TrimPrefix(v.Crossing.URL, "tunnel://"))
	}
	return e.final("/" + strings.SplitN(strings.SplitN(v.Crossing.URL, "://", 2)[1], "/", 2)[1])
}

func (want *policyOutcome) checkRefusal(t *testing.T, r record, got seenAnswer) {
	t.Helper()
	stage := map[any]string{"before": "before", "head": "after", "body": "after"}[r.at("refusal.stage")]
	if r.at("refusal.reason") != want.Reason || r.at("refusal.whose") != want.Whose || stage != want.Stage {
		t.Errorf("refused for %v of %v, %s, want %s of %s, %s: %s", r.at("refusal.reason"), r.at("refusal.whose"), stage, want.Reason, want.Whose, want.Stage, r.raw)
	}
	if r.at("told") == nil {
		return // a tunnel whose 200 was out by then (O9)
	}
	if got.status != want.Status || r.at("told.status") != float64(want.Status) {
		t.Errorf("status %d, told %v, want %d", got.status, r.at("told.status"), want.Status)
	}
	if want.Position > 0 && !strings.Contains(got.body, fmt.Sprintf("hosts.rules %d", want.Position)) {
		t.Errorf("the position %d is not told: %s", want.Position, got.body)
	}
}

// checkAsked compares what the origin was asked for.
func (want *policyOutcome) checkAsked(t *testing.T, w *web, v *policyVector) {
	t.Helper()
	page, robots := false, false
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.arrivals {
		if a.host == "lic.example" {
			continue
		}
		page = page || a.target != "/robots.txt"
		robots = robots || a.target == "/robots.txt"
	}
	if want.PageRequested != nil && page != *want.PageRequested {
		t.Errorf("the page was asked for: %v", page)
	}
	if want.RobotsAsked != nil && robots != *want.RobotsAsked {
		t.Errorf("robots.txt was asked for: %v", robots)
	}
}

// checkScreens compares what the screens found, over all records of theirs.
func (want *policyOutcome) checkScreens(t *testing.T, e *testEdge) {
	t.Helper()
	var rules, categories []string
	findings := 0
	for _, p := range e.recordsOf("processor_invoked", "") {
		found := p.list("findings", "rule")
		switch p.at("processor.name") {
		case "injection":
			rules = append(rules, found...)
		case "pii":
			categories = append(categories, found...)
			findings += len(found)
		}
	}
	slices.Sort(rules)
	slices.Sort(categories)
	if diff := cmp.Diff(want.Rules, nilIfEmpty(slices.Compact(rules))); diff != "" {
		t.Errorf("rules of the injection screen (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Categories, nilIfEmpty(slices.Compact(categories))); diff != "" {
		t.Errorf("categories of personal data (-want +got):\n%s", diff)
	}
	if want.Findings > 0 && findings != want.Findings {
		t.Errorf("%d findings, want %d", findings, want.Findings)
	}
}

func nilIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
