package proxy

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
)

// However the agent spells a host, and whichever scheme and port it asks, the
// host has one delay (P1; cases B14, B16).
func TestP1_SpellingsOfAHostShareOnePace(t *testing.T) {
	const gap = 100 * time.Millisecond
	for name, c := range map[string]struct {
		host  string
		urls  []string
		hosts []string // as the origin reads them
	}{
		"case, dot and port": {"example.test", []string{"http://example.test/a", "http://EXAMPLE.test/b", "http://example.test./c", "http://Example.Test:80/d", "http://example.test:8080/e"},
			[]string{"example.test", "example.test:8080"}},
		"U-label and A-label": {"xn--bcher-kva.test", []string{"http://b\u00fccher.test/a", "http://xn--bcher-kva.test/b", "http://B\u00dcCHER.test/c"}, []string{"xn--bcher-kva.test"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			for _, h := range c.hosts {
				w.host(h, "User-agent: *\nCrawl-delay: 0.1\n", nil)
			}
			e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 10 * time.Second}})
			start := time.Now()
			for _, u := range c.urls {
				got, body := e.fetchAsWritten(u)
				if got != 200 {
					t.Errorf("%s: %d %s", u, got, body)
				}
			}
			var pages []arrival
			robots := 0
			for _, h := range c.hosts {
				for _, a := range w.seen(h) {
					if a.target == "/robots.txt" {
						robots++
						continue
					}
					pages = append(pages, a)
				}
			}
			slices.SortFunc(pages, func(a, b arrival) int { return a.at.Compare(b.at) })
			for i := 1; i < len(pages); i++ { // each was sent after the answer to the one before
				if d := pages[i].at.Sub(pages[i-1].at); d < gap {
					t.Errorf("%s came %v after %s", pages[i].target, d, pages[i-1].target)
				}
			}
			spaced(t, start, gap, pages)
			if robots != len(c.hosts) || len(pages) != len(c.urls) {
				t.Errorf("%d robots.txt and %d pages were asked for", robots, len(pages))
			}
			if got := e.paced(); !slices.Equal(got, []string{c.host + ".json", c.host + ".lock"}) {
				t.Errorf("the states are %v", got)
			}
		})
	}
}

// fetchAsWritten asks for a URL in the octets given.
func (e *testEdge) fetchAsWritten(u string) (int, string) {
	e.t.Helper()
	c := e.dial()
	c.WriteString("GET " + u + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	octets, err := io.ReadAll(c)
	must(e.t, err)
	got := parseReceived(e.t, "GET", string(octets))
	return got.status, got.body
}

// A host written with an escape is turned away before anything is asked, and so
// has no second allowance (P1; case B15).
func TestP1_AnEscapedHostIsTurnedAway(t *testing.T) {
	w := startWeb(t)
	e := w.edge(edgeSetup{})
	for _, line := range []string{"GET http://exampl%65.test/a HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT exampl%65.test:80 HTTP/1.1\r\nHost: x\r\n\r\n"} {
		if resp := e.dial().send(line); resp.StatusCode != 400 {
			t.Errorf("%q: %s", line, resp.Status)
		}
	}
	if n := len(w.seen("example.test")) + len(w.seen("exampl%65.test")); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Addresses in any spelling are one host, over http and https; localhost is
// another.
func TestP1_SpellingsOfAnAddressShareOneBackOff(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	failed := answering(t, false, "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
	other := answering(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	_, port, err := net.SplitHostPort(failed.addr)
	must(t, err)
	if resp, _ := e.gets("", failed.url+"/"); resp.StatusCode != 503 {
		t.Fatal(resp.Status)
	}
	for _, host := range []string{"127.0.0.1", "127.1", "0x7f.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]"} {
		status, body := e.fetchAsWritten("http://" + host + ":" + port + "/")
		if status != 429 || !strings.Contains(body, `"reason":"backoff"`) {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	if resp, body := e.gets("", other.url+"/"); resp.StatusCode != 429 {
		t.Errorf("over https, on another port: %s %s", resp.Status, body)
	}
	if status, body := e.fetchAsWritten("http://localhost:" + port + "/"); status != 503 || strings.Contains(body, "reason") {
		t.Errorf("localhost: %d %s", status, body)
	}
	if got := e.paced(); !slices.Equal(got, []string{"127.0.0.1.json", "127.0.0.1.lock", "localhost.json", "localhost.lock"}) {
		t.Errorf("the states are %v", got)
	}
	if n := failed.requests.Load(); n != 2 || other.requests.Load() != 0 {
		t.Errorf("%d and %d requests were sent", n, other.requests.Load())
	}
}

// Hosts that differ in their last octets have two states, however long they are.
func TestP1_LongHostsThatDifferLateHaveTwoStates(t *testing.T) {
	w := startWeb(t)
	label := strings.Repeat("a", 60) + "."
	one, two := strings.Repeat(label, 4)+"one.test", strings.Repeat(label, 4)+"two.test"
	fail := func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }
	w.host(one, "User-agent: *\n", fail)
	w.host(two, "User-agent: *\n", fail)
	e := w.edge(edgeSetup{})
	for _, h := range []string{one, two} {
		if resp, _ := e.gets("", "http://"+h+"/"); resp.StatusCode != 503 || resp.Header.Get("Proxy-Status") != "" {
			t.Errorf("%s: %s", h, resp.Status)
		}
	}
	if got := e.paced(); len(got) != 4 {
		t.Errorf("the states are %v", got)
	}
}

// A 503 with Retry-After paces the host that gave it, whatever it was asked for.
// Where that was behind a redirect, it is the target that is paced (P2, P24).
func TestP2_EachRequestToASourceSetsItsHostsBackOff(t *testing.T) {
	busy := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(503)
	}
	to := func(target string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, target, http.StatusFound) }
	}
	for _, c := range []struct {
		name      string
		serve     func(w *web)
		paced     string
		untouched string // the host that led there, if any
		status    int    // of the first crossing
		reason    string
	}{
		{"a page", func(w *web) { w.host("page.test", "User-agent: *\n", busy) }, "page.test", "", 503, ""},
		{"robots.txt", func(w *web) { w.host("page.test", "", busy) }, "page.test", "", 503, "robots_unreachable"},
		{"a licence", func(w *web) { w.host("page.test", "License: /l.xml\n", busy) }, "page.test", "", 451, "licence_unread"},
		{"a licence on another host", func(w *web) {
			w.host("page.test", "License: http://other.test/l.xml\n", nil)
			w.host("other.test", "User-agent: *\n", busy)
		}, "other.test", "page.test", 451, "licence_unread"},
		{"the robots.txt of a licence's host", func(w *web) {
			w.host("page.test", "License: http://other.test/l.xml\n", nil)
			w.host("other.test", "", busy)
		}, "other.test", "page.test", 451, "licence_unread"},
		{"the target of robots.txt", func(w *web) {
			w.host("page.test", "", to("http://other.test/r.txt"))
			w.host("other.test", "User-agent: *\n", busy)
		}, "other.test", "page.test", 503, "robots_unreachable"},
		{"the target of a licence", func(w *web) {
			w.host("page.test", "License: /l.xml\n", to("http://other.test/l.xml"))
			w.host("other.test", "User-agent: *\n", busy)
		}, "other.test", "page.test", 451, "licence_unread"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			c.serve(w)
			e := w.edge(edgeSetup{})
			resp, body := e.gets("", "http://page.test/page")
			if resp.StatusCode != c.status || reasonOf(resp) != c.reason {
				t.Errorf("%s %s", resp.Status, body)
			}
			e.final("page.test/page") // its probes are recorded by then
			s := e.stateOf(c.paced)
			if left := time.Until(s.Backoff.Until); s.Backoff.Failures != 1 || s.Backoff.Status != 503 || !s.Backoff.RetryAfter || left < 500*time.Second {
				t.Errorf("%s: %+v", c.paced, s)
			}
			if c.untouched != "" && !e.stateOf(c.untouched).Empty() {
				t.Errorf("%s: %+v", c.untouched, e.stateOf(c.untouched))
			}
			n := len(w.seen(c.paced))
			resp, body = e.gets("", "http://"+c.paced+"/next")
			if reasonOf(resp) == "" || len(w.seen(c.paced)) != n {
				t.Errorf("then: %s %s, and %v", resp.Status, body, w.asked(c.paced))
			}
		})
	}
}

// A probe does not go on to a host that is to be left alone: the target of the
// redirect is not asked, and the agent is told why (P2, P24, T17).
func TestP2_ARedirectToAPacedHostIsNotFollowed(t *testing.T) {
	for _, c := range []struct{ name, robots string }{
		{"of robots.txt", ""}, {"of a licence", "License: /l.xml\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", c.robots, func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, "http://other.test/x", http.StatusFound)
			})
			w.host("other.test", "User-agent: *\n", nil)
			e := w.edge(edgeSetup{})
			e.plant(failing("other.test", time.Now().Add(600*time.Second)))
			resp, body := e.gets("", "http://page.test/page")
			if resp.StatusCode != 429 || reasonOf(resp) != "backoff" || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, `"retry_at"`) {
				t.Errorf("%s %s", resp.Status, body)
			}
			for _, a := range w.asked("other.test") {
				if a != "/robots.txt" {
					t.Errorf("%s was asked for", a)
				}
			}
			if slices.Contains(w.asked("page.test"), "/page") {
				t.Error("the page was asked for")
			}
		})
	}
}

// A service is asked at the agent's own rate and leaves no state, and neither
// does a licence that lies on one (P3).
func TestP3_ServicesAreNotPaced(t *testing.T) {
	w := startWeb(t)
	w.host("service.test", "User-agent: *\nCrawl-delay: 50\n", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(503)
	})
	w.host("page.test", "License: http://service.test/l.xml\n", nil)
	e := w.edge(edgeSetup{policy: withService("service.test")})
	e.plant(failing("service.test", time.Now().Add(time.Hour)))
	before := e.paced()
	for range 3 {
		resp, _ := e.gets("", "http://service.test/page")
		if resp.StatusCode != 503 || reasonOf(resp) != "" {
			t.Errorf("%s, reason %s", resp.Status, reasonOf(resp))
		}
	}
	e.final("service.test/page").want(t, map[string]any{"class": "service", "pacing": nil})
	if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 451 || reasonOf(resp) != "licence_unread" {
		t.Errorf("a licence there: %s %s", resp.Status, body)
	}
	w.wantAsked(t, "service.test", "/page", "/page", "/page", "/l.xml")
	if got := e.paced(); !slices.Equal(got, before) {
		t.Errorf("the states are %v", got)
	}
}

// A service that policy wants paced is left alone after it failed, and has no
// Crawl-delay: its robots.txt is not read (P3, O8).
func TestP3_O8_AServiceIsPacedWherePolicySaysSo(t *testing.T) {
	w := startWeb(t)
	w.host("service.test", "User-agent: *\nCrawl-delay: 50\n", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(503)
	})
	policy := withService("service.test")
	policy.ServiceTerms = []rulings.ServiceFile{{Pace: true}}
	e := w.edge(edgeSetup{policy: policy})
	for _, want := range []struct {
		status int
		reason rulings.Reason
	}{{503, ""}, {429, rulings.Backoff}} {
		if resp, body := e.gets("", "http://service.test/page"); resp.StatusCode != want.status || reasonOf(resp) != string(want.reason) {
			t.Errorf("%s, want %d %s: %s", resp.Status, want.status, want.reason, body)
		}
	}
	e.final("service.test/page").want(t, map[string]any{"class": "service", "refusal.reason": "backoff"})
	w.wantAsked(t, "service.test", "/page")
}

// So is a licence that lies on one, which has no Crawl-delay either where its
// robots.txt was read before it became a service (P2, P3, O8).
func TestP3_O8_ALicenceOnAPacedServiceIsPaced(t *testing.T) {
	w := startWeb(t)
	w.host("service.test", "User-agent: *\nCrawl-delay: 50\n", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/warm" {
			return
		}
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(503)
	})
	w.host("one.test", "License: http://service.test/1.xml\n", nil)
	w.host("two.test", "License: http://service.test/2.xml\n", nil)
	policy := withService("service.test")
	policy.ServiceTerms = []rulings.ServiceFile{{Pace: true}}
	data := t.TempDir()
	e := w.edge(edgeSetup{data: data})
	e.gets("", "http://service.test/warm") // takes the turn of a source
	e.down()
	e = w.edge(edgeSetup{data: data, policy: policy})
	for _, want := range []struct {
		url    string
		status int
		reason string
	}{{"http://one.test/page", 451, "licence_unread"}, {"http://two.test/page", 429, "backoff"}, {"http://service.test/page", 429, "backoff"}} {
		if resp, body := e.gets("", want.url); resp.StatusCode != want.status || reasonOf(resp) != want.reason {
			t.Errorf("%s: %s %s", want.url, resp.Status, body)
		}
	}
	w.wantAsked(t, "service.test", "/robots.txt", "/warm", "/1.xml")
	if s := e.stateOf("service.test"); s.Backoff.Failures != 1 || s.Backoff.Status != 503 {
		t.Errorf("the state is %+v", s)
	}
}

// robots.txt takes no turn, so that the first page goes at once; where the host
// has a turn already, its answer dates it (P2).
func TestP2_RobotsTxtTakesNoTurnAndDatesTheNext(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 5\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: -1}, files: atNoon()})
	if resp, body := e.gets("", "http://page.test/robots.txt"); resp.StatusCode != 200 || !strings.Contains(body, "Crawl-delay") {
		t.Fatalf("%s %s", resp.Status, body)
	}
	if got := e.paced(); len(got) > 0 {
		t.Errorf("of a host without turns there is %v", got)
	}
	if resp, body := e.gets("", "http://page.test/a"); resp.StatusCode != 200 { // with its probe, and nothing to wait with
		t.Fatalf("the first page: %s %s", resp.Status, body)
	}
	if s := e.stateOf("page.test"); !s.Turn.Reserved.Equal(frozen) || !s.Turn.Answered.Equal(frozen) {
		t.Errorf("behind the page: %+v", s.Turn)
	}
	e.plant(backoff.State{Host: "page.test", SetAt: frozen, Turn: backoff.Turns{Reserved: frozen.Add(-4 * time.Second)}})
	e.gets("", "http://page.test/robots.txt")
	if s := e.stateOf("page.test"); !s.Turn.Answered.Equal(frozen) || !s.Turn.Reserved.Equal(frozen.Add(-4*time.Second)) {
		t.Errorf("behind robots.txt: %+v", s.Turn)
	}
	resp, body := e.gets("", "http://page.test/b")
	if resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" || resp.Header.Get("Retry-After") != "5" {
		t.Errorf("the next page: %s %s %s", resp.Status, resp.Header, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/robots.txt", "/a", "/robots.txt")
}

// tdmrep.json is ruled by no terms, and takes its turn like a page where the
// delay is known (P2, T11).
func TestP2_TdmrepTakesATurn(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 5\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: -1}, files: atNoon()})
	e.gets("", "http://page.test/a")
	resp, body := e.gets("", "http://page.test/.well-known/tdmrep.json")
	if resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" {
		t.Errorf("%s %s", resp.Status, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/a")
}

// A CONNECT that is read is paced like any other way to the host.
func TestP2_EachWayToAHostObservesItsBackOff(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	e.plant(failing("127.0.0.1", time.Now().Add(time.Hour)))
	for _, w := range ways {
		s := answering(t, w.secure, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		for _, method := range []string{"GET", "POST"} {
			resp, err := e.by(w).Do(request(t, method, s.url+"/", nil))
			if body := text(t, resp, err); resp.StatusCode != 429 || reasonOf(resp) != "backoff" {
				t.Errorf("%s, %s: %s %s", w.name, method, resp.Status, body)
			}
		}
		if n := s.requests.Load(); n > 0 {
			t.Errorf("%s: %d requests were sent", w.name, n)
		}
	}
	c := e.dial()
	s := answering(t, false, "HTTP/1.1 101 X\r\n\r\n")
	if resp, body := c.ask(handshake(s.url+"/", s.addr)); resp.StatusCode != 429 || s.requests.Load() > 0 {
		t.Errorf("a websocket: %s %s", resp.Status, body)
	}
}
