package proxy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// A host that never failed and states no delay costs no lock and no write:
// nothing is kept of it, however it is asked and whatever it answers (P37).
func TestP37_AHealthyHostLeavesNoState(t *testing.T) {
	data := t.TempDir()
	fs := newBrokenFS(filepath.Join(data, "backoff"))
	e := startEdge(t, edgeSetup{data: data, files: backoff.FileOptions{FS: fs}})
	fs.failing(nil)
	requests := 0
	for _, w := range ways {
		s := startSite(t, w.secure, func(v *visit) {
			switch v.req.URL.Path {
			case "/200":
				v.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
			case "/long":
				v.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n")
			case "/html":
				v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x")
			case "/304":
				v.say("HTTP/1.1 304 X\r\n\r\n")
			case "/404":
				v.say("HTTP/1.1 404 X\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n")
			case "/withheld":
				v.say("HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 4\r\n\r\npage")
			default:
				v.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut")
				v.Close()
			}
		})
		for _, path := range []string{"/200", "/long", "/html", "/304", "/404", "/withheld", "/cut"} {
			for _, method := range []string{"GET", "POST"} {
				resp, err := e.by(w).Do(request(t, method, s.url+path, nil))
				if err != nil {
					continue // it was cut
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				requests++
			}
		}
	}
	for _, r := range e.waitCrossings(requests) {
		if r.at("pacing") != nil {
			t.Errorf("recorded: %s", r.raw)
		}
	}
	if n := fs.count("lock", "first lock", "mkdir", "create", "write", "sync", "rename", "remove", "syncdir"); n > 0 {
		t.Errorf("%d calls that lock or write", n)
	}
	if fs.count("read") < requests {
		t.Errorf("%d looks for %d requests", fs.count("read"), requests)
	}
	if _, err := os.Stat(filepath.Join(data, "backoff")); !os.IsNotExist(err) {
		t.Errorf("the directory: %v", err)
	}
}

// A delay of 0 paces nothing: no turn, no record of one, no state (P6).
func TestP6_ADelayOfNothingPacesNothing(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 0\nCrawl-delay: soon\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: -1}})
	for n := range 3 {
		if resp, body := e.gets("", fmt.Sprintf("http://page.test/%d", n)); resp.StatusCode != 200 {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	r := e.final("page.test/2")
	r.want(t, map[string]any{"pacing": nil})
	r.wantAll(t, "declarations.robots.wayleave.crawl_delay", map[string]any{"values": []any{"0"}, "unreadable": []any{"soon"}, "honoured_ms": 0.0})
	if got := e.paced(); len(got) > 0 {
		t.Errorf("the states are %v", got)
	}
}

// What a file states of the delay is in the record token by token, with what is
// kept of it (E17, P5 to P7, T45).
func TestE17_TheRecordHasTheDelaysOfTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		robots string
		want   map[string]any
		kept   any
	}{
		"one value":                 {"User-agent: wayleave\nCrawl-delay: 0.25\n", map[string]any{"values": []any{"0.25"}, "honoured_ms": 250.0}, 250},
		"several, and what is none": {"User-agent: wayleave\nCrawl-delay: .5\nCrawl-delay: 2s\nCrawl-delay: 007\nCrawl-delay: -1\n", map[string]any{"values": []any{".5", "007"}, "unreadable": []any{"2s", "-1"}, "honoured_ms": 7000.0}, 7000},
		"one before any group":      {"Crawl-delay: 3\nUser-agent: wayleave\nCrawl-delay: 1\n", map[string]any{"values": []any{"3", "1"}, "honoured_ms": 3000.0}, 3000},
		"more than is kept":         {"User-agent: wayleave\nCrawl-delay: 3600.5\n", map[string]any{"values": []any{"3600.5"}, "honoured_ms": 60000.0, "capped": true}, 60000},
		"another group's":           {"User-agent: *\nCrawl-delay: 9\nAllow: /\n\nUser-agent: wayleave\nAllow: /\n", nil, nil},
		"none that can be read":     {"User-agent: wayleave\nCrawl-delay: soon\n", map[string]any{"unreadable": []any{"soon"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", c.robots+"Disallow: /closed\n", nil)
			e := w.edge(edgeSetup{files: atNoon()})
			var want any
			if c.want != nil {
				want = c.want
			}
			for path, ruled := range map[string]map[string]any{
				"/closed": {"outcome": "refused", "refusal.reason": "robots_disallow", "pacing": nil}, // and was not paced
				"/page":   {"outcome": "delivered", "pacing.delay.delay_ms": c.kept},
			} {
				e.gets("", "http://page.test"+path)
				r := e.final("page.test" + path)
				r.wantAll(t, "declarations.robots.wayleave.crawl_delay", want)
				r.want(t, ruled)
			}
		})
	}
}

// What pacing did to a crossing is recorded to the last member, and nothing that
// does not apply (E9, E18, P19, P20).
func TestE18_TheRecordHasWhatPacingDid(t *testing.T) {
	const date = "Mon, 30 Nov 2026 12:20:00 GMT" // of an origin whose clock is ahead
	at := func(d time.Duration) time.Time { return frozen.Add(d) }
	for _, c := range []struct {
		name   string
		state  backoff.State
		status int
		fields map[string]string
		want   []any
	}{
		{"a first failure", backoff.State{}, 502, nil, []any{map[string]any{"target": "page.test", "outcome": "set", "failures": 1.0, "status": 502.0, "until": "2026-11-30T12:00:10.000Z"}}},
		{"seconds that the host states", backoff.State{}, 429, map[string]string{"Retry-After": "77"}, []any{map[string]any{
			"target": "page.test", "outcome": "set", "failures": 1.0, "status": 429.0, "until": "2026-11-30T12:01:17.000Z", "retry_after": true}}},
		{"a date that the host states", backoff.State{}, 503, map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:05:00 GMT", "Date": date}, []any{map[string]any{
			"target": "page.test", "outcome": "set", "failures": 1.0, "status": 503.0, "until": "2026-11-30T12:05:00.000Z", "retry_after": true, "date": true}}},
		{"more than an hour", backoff.State{}, 503, map[string]string{"Retry-After": "7200"}, []any{map[string]any{
			"target": "page.test", "outcome": "set", "failures": 1.0, "status": 503.0, "until": "2026-11-30T13:00:00.000Z", "retry_after": true, "capped": true}}},
		{"a Retry-After that does not count", backoff.State{}, 500, map[string]string{"Retry-After": "77"}, []any{map[string]any{
			"target": "page.test", "outcome": "set", "failures": 1.0, "status": 500.0, "until": "2026-11-30T12:00:10.000Z"}}},
		{"one more failure", backoff.State{Backoff: backoff.Backoff{Failures: 3, Status: 503, Until: at(-time.Second)}}, 504, nil, []any{map[string]any{
			"target": "page.test", "outcome": "set", "failures": 4.0, "status": 504.0, "until": "2026-11-30T12:01:20.000Z"}}},
		{"the end of failures", backoff.State{Backoff: backoff.Backoff{Failures: 3, Status: 503, Until: at(-time.Second)}}, 200, nil, []any{map[string]any{
			"target": "page.test", "outcome": "reset"}}},
		{"nothing", backoff.State{}, 404, map[string]string{"Retry-After": "77"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/page" {
					for name, value := range c.fields {
						rw.Header().Set(name, value)
					}
					rw.WriteHeader(c.status)
				}
			})
			e := w.edge(edgeSetup{files: atNoon()})
			e.gets("", "http://page.test/warm")
			if c.state.Backoff.Failures > 0 {
				c.state.Host, c.state.SetAt = "page.test", frozen
				e.plant(c.state)
			}
			if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != c.status {
				t.Fatal(resp.Status, body)
			}
			var want, header any
			if c.want != nil {
				want = map[string]any{"backoff": c.want}
			}
			if sent, ok := c.fields["Date"]; ok { // the others send the time of day
				header = sent
			}
			r := e.final("page.test/page")
			r.wantAll(t, "pacing", want)
			r.want(t, map[string]any{"outcome": "delivered", "timings.wait": nil, "date_header": header})
		})
	}
}

// A wait that was sat out is recorded with its length and the budget, before what
// the answer did; in the record of a probe too (E18).
func TestE18_AWaitIsRecorded(t *testing.T) {
	w := startWeb(t)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 5 * time.Second}})
	for _, c := range []struct {
		url, kind string
	}{{"http://page.test/cold", "robots"}, {"http://page.test/page", ""}} {
		e.plant(failing("page.test", time.Now().Add(2*time.Second))) // at its end to the next whole millisecond
		if resp, body := e.gets("", c.url); resp.StatusCode != 200 {
			t.Fatal(resp.Status, body)
		}
		r := e.final(c.url)
		if c.kind != "" {
			r.want(t, map[string]any{"pacing": nil}) // it had nothing to wait for any more
			r = e.probes(c.kind)[0]
		}
		if got := r.list("pacing.backoff", "outcome"); !slices.Equal(got, []string{"waited", "reset"}) {
			t.Fatalf("recorded: %s", r.raw)
		}
		waited := r.at("pacing.backoff").([]any)[0].(map[string]any)
		var names []string
		for name := range waited {
			names = append(names, name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"budget_ms", "failures", "outcome", "status", "target", "until", "wait_ms"}, names); diff != "" {
			t.Error(diff)
		}
		slept, wait := waited["wait_ms"].(float64), r.at("timings.wait").(float64)
		if slept <= 0 || slept > 2001 || wait < slept || waited["budget_ms"].(float64) != 5000 {
			t.Errorf("%v ms were slept: %s", slept, r.raw)
		}
	}
}

// Of a probe that goes from host to host, the record has what was done to each
// (E18).
func TestE18_AProbesRecordHasEachOfItsHosts(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://other.test/robots.txt", http.StatusFound)
	})
	w.host("other.test", "", func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(503) })
	e := w.edge(edgeSetup{files: atNoon()})
	s := failing("page.test", frozen.Add(-time.Second))
	s.SetAt = frozen
	e.plant(s)
	e.gets("", "http://page.test/page")
	p := e.probes("robots")
	p[0].wantAll(t, "pacing", map[string]any{"backoff": []any{
		map[string]any{"target": "page.test", "outcome": "reset"},
		map[string]any{"target": "other.test", "outcome": "set", "failures": 1.0, "status": 503.0, "until": "2026-11-30T12:00:10.000Z"},
	}})
	if len(p) != 1 || !strings.Contains(p[0].raw, `"final_url":"http://other.test/robots.txt"`) {
		t.Errorf("%v", p)
	}
}

// A turn that lies too far ahead counts as just taken, and the record says so
// (P44; case B19).
func TestP44_ADamagedTurnIsSaidInTheRecord(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 5\n", nil)
	e := w.edge(edgeSetup{files: atNoon()})
	e.gets("", "http://page.test/warm")
	e.plant(backoff.State{Host: "page.test", SetAt: frozen, Turn: backoff.Turns{Reserved: frozen.Add(72 * time.Hour)}})
	resp, body := e.gets("", "http://page.test/page")
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "5" {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	e.final("page.test/page").wantAll(t, "pacing", map[string]any{"delay": map[string]any{"delay_ms": 5000.0, "outcome": "refused", "wait_ms": 5000.0, "budget_ms": 1000.0,
		"next_at": "2026-11-30T12:00:05.000Z", "recovered": "the stored turn was 72h0m0s ahead"}})
	if at := e.stateOf("page.test").Turn; !at.Reserved.IsZero() || !at.Answered.Equal(frozen) {
		t.Errorf("it was healed to %+v", at)
	}
}
