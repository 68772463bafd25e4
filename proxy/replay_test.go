package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
)

// A tape is a recording in the making, and what becomes of it.
type tape struct {
	t   *testing.T
	dir string
	w   *recording.Writer
}

func newTape(t *testing.T) *tape {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	w, err := recording.Create(dir, recording.Options{Ruleset: rulings.Ruleset})
	must(t, err)
	return &tape{t, dir, w}
}

// edge starts an edge that records.
func (p *tape) edge(policy rulings.PolicyFile) *testEdge {
	return startEdge(p.t, edgeSetup{policy: policy, upstream: func(o *UpstreamOptions) { o.Record = p.w }})
}

// end stops the edge and returns what was recorded.
func (p *tape) end(e *testEdge) recording.Summary {
	p.t.Helper()
	e.down()
	s, err := p.w.Close()
	must(p.t, err)
	return s
}

// replay starts an edge that replays what was recorded.
func (p *tape) replay(policy rulings.PolicyFile) (*testEdge, *recording.Recording) {
	p.t.Helper()
	rec, err := recording.Open(p.dir, nil)
	must(p.t, err)
	p.t.Cleanup(func() { rec.Close() })
	e := startEdge(p.t, edgeSetup{policy: policy, options: func(o *Options) { o.Pacing = nil }, upstream: func(o *UpstreamOptions) { o.Replay = rec }})
	return e, rec
}

// anAnswer is what an agent gets of an exchange, as far as both runs tell it.
type anAnswer struct {
	Status int
	Header http.Header
	Body   string
	Err    string
}

func answerTo(t *testing.T, c *http.Client, r *http.Request) (a anAnswer) {
	t.Helper()
	resp, err := c.Do(r)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Err = err.Error()
	}
	a.Status, a.Header, a.Body = resp.StatusCode, resp.Header, string(body)
	told := reasonOf(resp)
	for _, own := range []string{"Via", "Proxy-Status", "Set-Cookie", "Connection"} {
		a.Header.Del(own)
	}
	if told != "" {
		a.Body, _, _ = strings.Cut(a.Body, `,"crossing"`)
		a.Header.Del("Content-Length")
		a.Header.Del("Date")
	}
	return a
}

// variety is an origin whose answers have every form that a recording has to keep.
func variety(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Path", r.URL.Path)
	w.Header()["X-Many"] = []string{"b", "a"}
	switch r.URL.Path {
	case "/echo":
		_, _ = io.Copy(w, r.Body)
	case "/short":
		io.WriteString(w, "short")
	case "/empty":
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/unchanged":
		w.Header().Set("Etag", `"1"`)
		w.WriteHeader(http.StatusNotModified)
	case "/long":
		w.Header().Set("Content-Length", "300000")
		w.Write(bytes.Repeat([]byte("long"), 75000))
	case "/unannounced":
		for range 30 {
			w.Write(bytes.Repeat([]byte("piece"), 1000))
			w.(http.Flusher).Flush()
		}
	case "/coded":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "plain text")
		z.Close()
	case "/withheld":
		w.Header().Set("Content-Usage", "ai-use=n")
		io.WriteString(w, "secret of the site")
	case "/cookie":
		w.Header().Set("Set-Cookie", "sid=canary-4711")
		w.Header().Set("Www-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	default:
		w.WriteHeader(http.StatusTeapot)
	}
}

// The requests of a run over an origin, in order.
var course = []struct{ method, target, body string }{
	{"GET", "/short", ""}, {"GET", "/short", ""}, {"HEAD", "/short", ""}, {"GET", "/empty", ""}, {"GET", "/none", ""}, {"GET", "/unchanged", ""},
	{"GET", "/long", ""}, {"GET", "/unannounced", ""}, {"GET", "/coded", ""}, {"GET", "/withheld", ""}, {"GET", "/cookie", ""}, {"GET", "/100%25/%e9%2f", ""},
	{"GET", "//a//b?x=%zz", ""}, {"POST", "/echo", "one"}, {"POST", "/echo", "two"}, {"POST", "/echo", ""}, {"POST", "/echo", strings.Repeat("much", 100_000)},
	{"GET", "/refused", ""}, {"GET", "/robots.txt", ""},
}

func runCourse(t *testing.T, c *http.Client, origin string, w way) (answers []anAnswer) {
	t.Helper()
	for _, step := range course {
		r := request(t, step.method, origin+"/", nil)
		if step.body != "" {
			r = request(t, step.method, origin+"/", strings.NewReader(step.body))
		}
		if r.URL.Path = step.target; !w.http2 { // whose client changes targets
			r.URL.Opaque = "//" + r.URL.Host + step.target // no octet of it is changed
		}
		answers = append(answers, answerTo(t, c, r))
	}
	return answers
}

// What a replay answers and records is what the run that was recorded did, and its
// origin is never asked again.
func TestO62_O64_O65_AReplayAnswersAsTheRunDid(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			o := startOrigin(t, "User-agent: *\nDisallow: /refused\n", !w.secure, variety)
			p := newTape(t)
			live := p.edge(rulings.PolicyFile{})
			want := runCourse(t, live.by(w), o.URL, w)
			s := p.end(live)
			if len(s.LeftOut) > 0 || len(s.Exchanges) != len(course)-1+1 { // one was refused before it was sent, and robots.txt was asked for
				t.Errorf("%d exchanges, left out: %v", len(s.Exchanges), s.LeftOut)
			}
			connections := inPlaceOf(t, o)
			e, rec := p.replay(rulings.PolicyFile{})
			got := runCourse(t, e.by(w), o.URL, w)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-live +replay):\n%s", diff)
			}
			e.down()
			if n := connections(); n != 0 {
				t.Errorf("the replay made %d connections", n)
			}
			for _, u := range rec.Uses() {
				if !u.Taken || u.Served != u.BodySHA256 {
					t.Errorf("%s %s: taken %v, recorded %s, served %s", u.Method, u.URL, u.Taken, u.BodySHA256, u.Served)
				}
			}
			compareCrossings(t, live.crossings(), e.crossings(), rec.Digest())
			if missed := e.opt.Upstream.Missed(); len(missed) > 0 {
				t.Errorf("missed %v", missed)
			}
		})
	}
}

// inPlaceOf closes an origin and returns how often its address is dialled from then
// on, having given that up.
func inPlaceOf(t *testing.T, o *origin) (dialled func() int64) {
	t.Helper()
	o.Close()
	l, err := net.Listen("tcp", o.Listener.Addr().String())
	must(t, err)
	var n atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	end := func() int64 {
		l.Close()
		<-done
		return n.Load()
	}
	t.Cleanup(func() { end() })
	return end
}

// ofANetwork are the members that a replayed crossing has not (O65), and those that
// differ between any two runs.
var ofANetwork = []string{"address", "requested_at", "http_version", "date_header", "pacing", "timings", "edge", "opened", "bytes", "fetched_at", "expires_at", "client"}

func compareCrossings(t *testing.T, live, replay []record, digest string) {
	t.Helper()
	served := map[any]bool{}
	for _, r := range replay {
		for _, never := range []string{"address", "requested_at", "http_version", "date_header", "identity.user_agent", "bytes.up", "pacing",
			"timings.dns", "timings.connect", "timings.tls", "timings.first_byte", "timings.body"} {
			if r.at(never) != nil {
				t.Errorf("a replayed crossing has %s: %s", never, r.raw)
			}
		}
		if r.at("served_from") == nil {
			continue
		}
		if r.at("served_from.recording") != digest || served[r.at("served_from.n")] {
			t.Errorf("served from %v", r.at("served_from"))
		}
		served[r.at("served_from.n")] = true
	}
	if len(served) != len(course)-1 {
		t.Errorf("%d crossings were served", len(served))
	}
	strip := func(all []record) (out []map[string]any) {
		for _, r := range all {
			stripped(r.Payload)
			out = append(out, r.Payload)
		}
		return out
	}
	if diff := cmp.Diff(strip(live), strip(replay)); diff != "" {
		t.Errorf("records (-live +replay):\n%s", diff)
	}
}

// stripped takes off what is of a network or of a moment.
func stripped(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if slices.Contains(ofANetwork, name) || name == "served_from" || name == "user_agent" {
				delete(v, name)
				continue
			}
			stripped(member)
		}
	case []any:
		for _, item := range v {
			stripped(item)
		}
	}
}

// Requests that a recording lacks are refused in each mode, and not sent (O67): the
// names of their hosts are not even resolved.
func TestO67_NothingIsSentForWhatWasNotRecorded(t *testing.T) {
	var requests atomic.Int64
	o := startOrigin(t, "", true, func(w http.ResponseWriter, r *http.Request) { requests.Add(1) })
	p := newTape(t)
	live := p.edge(rulings.PolicyFile{})
	get(t, live.client("s", false), o.URL+"/page")
	p.end(live)
	for _, mode := range policyModes {
		t.Run(string(mode), func(t *testing.T) {
			p.t = t
			sent, probed := requests.Load(), o.probes.Load()
			e, _ := p.replay(rulings.PolicyFile{Mode: mode, AllowPrivate: []string{"127.0.0.0/8"}, Services: []string{"tunnel.test", "127.0.0.1"}, Tunnels: []string{"tunnel.test"}})
			for range 2 {
				resp, body := e.gets("s", o.URL+"/other")
				if resp.StatusCode != 403 || reasonOf(resp) != "not_recorded" || !strings.Contains(body, `"whose":"operator"`) {
					t.Errorf("%s %s", resp.Status, body)
				}
			}
			if resp, _ := e.gets("s", "http://unrecorded.test/"); reasonOf(resp) != "not_recorded" { // its robots.txt is what is missing
				t.Errorf("%s %s", resp.Status, reasonOf(resp))
			}
			if _, _, resp := e.dialTunnel("tunnel.test:" + portOf(o.Listener.Addr().String())); reasonOf(resp) != "not_recorded" {
				t.Errorf("a tunnel: %s", resp.Status)
			}
			for _, r := range e.waitCrossings(4) {
				r.want(t, map[string]any{"refusal.reason": "not_recorded", "refusal.whose": "operator", "refusal.stage": "before", "requested_at": nil, "served_from": nil, "told.status": 403})
				if !slices.Contains(r.gapReasons(), "dependency_unavailable") {
					t.Errorf("no gap: %s", r.raw)
				}
			}
			if requests.Load() != sent || o.probes.Load() != probed || wasAsked("unrecorded.test.") {
				t.Error("something was sent or resolved")
			}
			host := "127.0.0.1"
			left := recording.ErrNotRecorded.Error()
			if diff := cmp.Diff([]Missed{{"GET", host, left, 2}, {"GET", "unrecorded.test", left, 1}, {"CONNECT", "tunnel.test", left, 1}}, e.opt.Upstream.Missed()); diff != "" {
				t.Errorf("missed (-want +got):\n%s", diff)
			}
			if _, err := e.opt.Upstream.dialer.dial(t.Context(), nil, "tcp", o.Listener.Addr().String()); err == nil {
				t.Error("a replay dialled")
			}
		})
	}
}

// An upload that is not framed cannot be compared with what was recorded.
func TestN19AnUploadOfAReplayThatIsNotFramedIsTheClientsFault(t *testing.T) {
	o := startOrigin(t, "", true, func(http.ResponseWriter, *http.Request) {})
	p := newTape(t)
	live := p.edge(rulings.PolicyFile{})
	get(t, live.client("", false), o.URL+"/")
	p.end(live)
	e, _ := p.replay(rulings.PolicyFile{AllowPrivate: []string{"127.0.0.0/8"}})
	resp := e.dial().send("POST " + o.URL + "/up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
	if resp.StatusCode != 400 || reasonOf(resp) != "request_invalid" {
		t.Errorf("%s %s", resp.Status, reasonOf(resp))
	}
	e.crossing("/up").want(t, map[string]any{"outcome": "refused", "refusal.reason": "request_invalid", "failure": nil, "gaps": nil, "requested_at": nil})
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// A redirect to what was not recorded is the recording's lack, not the site's doing.
func TestO67_ARedirectOfTermsThatWasNotRecordedIsNoTermOfTheSite(t *testing.T) {
	p := newTape(t)
	x := recording.Exchange{Kind: recording.Robots, Method: "GET", URL: "http://site.test/robots.txt"}
	p.w.Add(x, recording.Head{Status: 302, Fields: []recording.Field{{Name: "Location", Value: "http://other.test/elsewhere"}}}).Done()
	_, err := p.w.Close()
	must(t, err)
	e, _ := p.replay(rulings.PolicyFile{})
	if resp, body := e.gets("s", "http://site.test/a"); reasonOf(resp) != "not_recorded" {
		t.Errorf("%s %s", resp.Status, body)
	}
	if r := e.probes("robots")[0]; r.at("requested_at") != nil || r.at("timings") != nil {
		t.Errorf("the probe of a replay was requested: %s", r.raw)
	}
	if m := e.opt.Upstream.Missed(); len(m) != 1 || m[0].Host != "other.test" {
		t.Errorf("missed %v", m)
	}
}

// A recording that changes while it is replayed never passes for what it was.
func TestO67_ARecordingThatChangesIsNotServedWhole(t *testing.T) {
	o := startOrigin(t, "", true, variety)
	p := newTape(t)
	live := p.edge(withService("127.0.0.1"))
	get(t, live.client("s", false), o.URL+"/short")
	get(t, live.client("s", false), o.URL+"/long")
	p.end(live)
	e, rec := p.replay(withService("127.0.0.1"))
	for _, x := range rec.Exchanges() {
		f, err := os.OpenFile(filepath.Join(p.dir, x.Body), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("X")
		must(t, err)
		must(t, f.Close())
	}
	for n, path := range []string{"/short", "/long"} {
		resp, err := e.client("s", false).Get(o.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s came whole", path)
		}
		complete := []any{nil, false}[n] // of the short one not even the head went out
		e.waitCrossings(n + 1)[n].want(t, map[string]any{"outcome": "cut", "retrieved_hash": nil, "delivered.complete": complete})
	}
	if m := e.opt.Upstream.Missed(); len(m) != 1 || m[0].Count != 2 || m[0].Why != recording.ErrChanged.Error() {
		t.Errorf("missed %v", m)
	}
	if resp, _ := e.gets("s", o.URL+"/short"); reasonOf(resp) != "not_recorded" {
		t.Errorf("%s", resp.Status)
	}
}

// The vectors of execution, in the three modes.
func TestVectorsO60_O67_Execution(t *testing.T) {
	ran := 0
	for _, v := range policyVectors(t) {
		if !strings.HasPrefix(v.ID, "exec-") {
			continue
		}
		for mode, want := range v.Expect {
			ran++
			t.Run(v.ID+"/"+mode, func(t *testing.T) { v.execute(t, mode, want) })
		}
	}
	if ran == 0 {
		t.Error("no vector was run")
	}
}

func (given policyVector) execute(t *testing.T, mode string, want policyOutcome) {
	v := &given
	t.Logf("%s (%s)", v.Title, strings.Join(v.Rules, ", "))
	policy := policyOf(t, v.Policy, mode)
	w := startWeb(t)
	host, _, _ := strings.Cut(strings.SplitN(v.Crossing.URL, "://", 2)[1], "/")
	var e *testEdge
	if v.Crossing.Execution == "offline" {
		// What resolves_to names is stood in for by loopback.
		v.Crossing.URL = strings.Replace(plain(v.Crossing.URL), host, host+":"+portOf(w.Listener.Addr().String()), 1)
		policy.AllowPrivate = append([]string{"10.0.0.0/8"}, policy.AllowPrivate...)
		e = startEdge(t, edgeSetup{policy: policy, upstream: func(o *UpstreamOptions) { o.Offline = true }})
	} else {
		p := newTape(t)
		if v.Crossing.Recorded != nil && *v.Crossing.Recorded {
			for target, text := range map[string]string{"/robots.txt": "", "/a": "the page"} {
				entry := p.w.Add(recording.Exchange{Kind: recording.Page, Method: "GET", URL: "http://" + host + target}, recording.Head{Status: 200})
				io.WriteString(entry, text)
				entry.Done()
			}
		} else { // the terms are there, and the page is not
			p.w.Add(recording.Exchange{Kind: recording.Robots, Method: "GET", URL: "http://" + host + "/robots.txt"}, recording.Head{Status: 404}).Done()
		}
		_, err := p.w.Close()
		must(t, err)
		e, _ = p.replay(policy)
	}
	before := questionsFor(host)
	got := v.fetch(e)
	want.check(t, w, e, v, got)
	resolved := questionsFor(host) > before
	if want.Resolved != nil && resolved != *want.Resolved || v.Crossing.Execution == "replay" && resolved {
		t.Errorf("resolved: %v", resolved)
	}
	if r := e.finalOf(v); want.RequestedAt != nil && (r.at("requested_at") != nil) != *want.RequestedAt {
		t.Errorf("requested_at: %v", r.at("requested_at"))
	}
	if published := len(e.opt.Upstream.Missed()) == 0; want.Published != nil && published != *want.Published {
		t.Errorf("published: %v", published)
	}
}

// questionsFor returns how often the resolver was asked for host.
func questionsFor(host string) (n int) {
	asked.Lock()
	defer asked.Unlock()
	for _, name := range asked.names {
		if name == host+"." {
			n++
		}
	}
	return n
}

// A replay costs nothing: a service that the live run paid for is served although no
// ledger is there to be asked (O60).
func TestO60_AReplayTouchesNoLedger(t *testing.T) {
	o := startOrigin(t, "", true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "paid for") })
	p := newTape(t)
	live := p.edge(withService("127.0.0.1"))
	get(t, live.client("s", false), o.URL+"/a")
	p.end(live)
	policy := withService("127.0.0.1")
	policy.Mode = "strict"
	policy.ServiceTerms = []rulings.ServiceFile{{Price: rulings.PriceFile{Amount: "2", Currency: "USD"}}}
	policy.Allowances = []rulings.AllowanceFile{{Name: "a", User: "*", Period: "day", Amount: "1", Currency: "USD"}}
	e, _ := p.replay(policy)
	if resp, body := e.gets("s", o.URL+"/a"); resp.StatusCode != 200 || body != "paid for" {
		t.Errorf("%s %s", resp.Status, body)
	}
	e.waitCrossings(1)[0].want(t, map[string]any{"outcome": "delivered", "allowance": nil, "served_from.n": 1})
}
