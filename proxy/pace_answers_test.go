package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// overdueSite is a site on a bare socket whose robots.txt is known and whose wait
// is over, so that the next request to it is the one that reserves it.
func overdueSite(t *testing.T, e *testEdge, secure bool, serve func(*visit)) *site {
	t.Helper()
	s := startSite(t, secure, func(v *visit) {
		if v.req.RequestURI == "/warm" {
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			return
		}
		serve(v)
	})
	if resp, _ := e.gets("", s.url+"/warm"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	s.requests.Store(0)
	e.plant(overdue("127.0.0.1"))
	return s
}

// released checks that nobody holds the host and that it has failed once, as
// before.
func (e *testEdge) released(t testing.TB) {
	t.Helper()
	s := e.stateOf("127.0.0.1")
	if s.Reservation.ID != "" || s.Backoff.Failures != 1 || s.Backoff.Until.After(time.Now()) {
		t.Errorf("the state is %+v", s)
	}
	if w := e.opt.Pacing.Dispatcher.Waiting(); len(w) > 0 {
		t.Errorf("somebody waits: %v", w)
	}
}

// Every request of the agent reaches the origin once or not at all, however it
// is answered (P4).
func TestP4_TheEdgeNeverRepeatsARequest(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 503 X\r\nContent-Length: 9\r\n\r\ncut", "", "nonsense\r\n\r\n"} {
		t.Run(answer, func(t *testing.T) {
			e := startEdge(t, edgeSetup{files: hurried()})
			s := startSite(t, false, func(v *visit) { v.say(answer); v.Close() })
			c := e.client("", false)
			for n := range int64(3) {
				if resp, err := c.Get(s.url + "/"); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if got := s.requests.Load(); got != n+1 {
					t.Fatalf("the origin saw %d requests of %d", got, n+1)
				}
			}
		})
	}
}

// An origin's own 429 or 5xx passes as it came; the next request is answered by
// the edge (P23).
func TestP23_AFailurePassesAsItCame(t *testing.T) {
	for _, w := range ways {
		e := startEdge(t, edgeSetup{})
		const body = `{"reason":"not the edge's"}`
		s := answering(t, w.secure, fmt.Sprintf("HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nX-Own: 1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		resp, err := e.by(w).Get(s.url + "/")
		if got := text(t, resp, err); resp.StatusCode != 429 || got != body || resp.Header.Get("Retry-After") != "7" || resp.Header.Get("X-Own") != "1" || reasonOf(resp) != "" {
			t.Errorf("%s: %s %v %q", w.name, resp.Status, resp.Header, got)
		}
		resp, err = e.by(w).Get(s.url + "/")
		if got := text(t, resp, err); resp.StatusCode != 429 || reasonOf(resp) != "backoff" || s.requests.Load() != 1 {
			t.Errorf("%s: then %s %q, and %d requests", w.name, resp.Status, got, s.requests.Load())
		}
	}
}

// What breaks off is no answer: nothing is recorded of it, and a reservation is
// released (P22, P26).
func TestP22_ABrokenAnswerCountsForNothing(t *testing.T) {
	for name, octets := range map[string]string{
		"a body that is cut":              "HTTP/1.1 503 X\r\nContent-Length: 10\r\n\r\nhalf",
		"a long body that is cut":         "HTTP/1.1 503 X\r\nContent-Length: 100000\r\n\r\nhalf",
		"chunks that are cut":             "HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"a good answer that is cut":       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"a page's head that is cut":       "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n<p",
		"a withheld answer that is cut":   "HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 10\r\n\r\nhalf",
		"a head that is cut":              "HTTP/1.1 503 X\r\nContent-",
		"a head that is none":             "HTTP/1.1 503 X\r\nnonsense\r\n\r\n",
		"no octet":                        "",
		"another protocol than was asked": "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, reserved := range []bool{false, true} {
				e := startEdge(t, edgeSetup{})
				serve := func(v *visit) { v.say(octets); v.Close() }
				s := startSite(t, false, serve)
				if reserved {
					s = overdueSite(t, e, false, serve)
				}
				resp, err := e.client("", false).Get(s.url + "/page")
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				e.crossing(s.url + "/page")
				if s.requests.Load() != 1 {
					t.Errorf("%d requests", s.requests.Load())
				}
				if reserved {
					e.released(t)
				} else if got := e.paced(); len(got) > 0 {
					t.Errorf("there is %v", got)
				}
			}
		})
	}
}

// The same where there is nobody to answer.
func TestP22_NoConnectionCountsForNothing(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := overdueSite(t, e, false, nil)
	gone := startSite(t, false, func(v *visit) { v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); v.Close() })
	plain := strings.Replace(gone.url, "http:", "https:", 1) // speaks no TLS
	for _, u := range []string{"http://127.0.0.1:1/", plain + "/"} {
		if resp, body := e.gets("", u); resp.StatusCode < 500 || reasonOf(resp) == "" || reasonOf(resp) == "pacing_store" {
			t.Errorf("%s: %s %s", u, resp.Status, body)
		}
		e.final(u)
		e.released(t)
	}
	_ = s
}

// A probe's answer that breaks off counts as little.
func TestP22_ABrokenAnswerToAProbeCountsForNothing(t *testing.T) {
	for _, path := range []string{"/robots.txt", "/l.xml"} {
		for _, answer := range []string{"HTTP/1.1 503 X\r\nContent-Length: 10\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", ""} {
			e := startEdge(t, edgeSetup{})
			s := startSite(t, false, func(v *visit) {
				switch v.req.RequestURI {
				case path:
					v.say(answer)
					v.Close()
				case "/robots.txt":
					v.say("HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nLicense: /l.xml\n")
				}
			})
			s.own = true
			resp, body := e.gets("", s.url+"/page")
			if reasonOf(resp) != "robots_unreachable" && reasonOf(resp) != "licence_unread" {
				t.Errorf("%s, %q: %s %s", path, answer, resp.Status, body)
			}
			e.final(s.url + "/page")
			if got := e.paced(); len(got) > 0 {
				t.Errorf("%s, %q: there is %v", path, answer, got)
			}
		}
	}
}

// An answer that is refused on its terms was read whole all the same, and so was
// one that has no body: it settles the reservation (P21, P26).
func TestP26_AnAnswerThatIsWithheldSettlesTheReservation(t *testing.T) {
	for _, c := range []struct{ method, octets string }{
		{"GET", "HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 4\r\n\r\npage"},
		{"GET", "HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 0\r\n\r\n"},
		{"GET", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 35\r\n\r\n<meta name=\"robots\" content=\"noai\">"},
		{"GET", "HTTP/1.1 204 OK\r\n" + withheldBy + "\r\n"},
		{"GET", "HTTP/1.1 304 OK\r\n" + withheldBy + "\r\n"},
		{"HEAD", "HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 4\r\n\r\n"},
	} {
		e := startEdge(t, edgeSetup{})
		s := overdueSite(t, e, false, func(v *visit) { v.say(c.octets) })
		resp, err := e.client("", false).Do(request(t, c.method, s.url+"/page", nil))
		if text(t, resp, err); resp.StatusCode != 451 {
			t.Errorf("%s %q: %s", c.method, c.octets, resp.Status)
		}
		e.final(s.url + "/page")
		if st := e.stateOf("127.0.0.1"); !st.Empty() {
			t.Errorf("%s %q: %+v", c.method, c.octets, st)
		}
	}
}

// How the answer of the one that asks a host again settles its reservation (P21,
// P26). A switch to a websocket says nothing of whether the host is well.
func TestP26_TheOwnersAnswerSettlesTheReservation(t *testing.T) {
	for _, c := range []struct {
		name, method, octets string
		status               int
		failures             int
	}{
		{"a page", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage", 200, 0},
		{"an empty page", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0},
		{"a page in chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", 200, 0},
		{"a page that ends with the connection", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npage", 200, 0},
		{"an HTML page", "GET", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x", 200, 0},
		{"a head alone", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", 200, 0},
		{"nothing new", "GET", "HTTP/1.1 304 X\r\n\r\n", 304, 0},
		{"a 404", "GET", "HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\nnone", 404, 0},
		{"a demand for payment", "GET", "HTTP/1.1 402 X\r\nContent-Length: 4\r\n\r\npays", 402, 0},
		{"a failure", "GET", "HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nfail", 503, 2},
		{"a failure in chunks", "GET", "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfail\r\n0\r\n\r\n", 500, 2},
		{"a failure without body", "HEAD", "HTTP/1.1 502 X\r\nContent-Length: 4\r\n\r\n", 502, 2},
		{"a failure behind interim answers", "GET", "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 103 X\r\n\r\nHTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n", 429, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			s := overdueSite(t, e, false, func(v *visit) {
				if v.say(c.octets); strings.Contains(c.octets, "Connection: close") {
					v.Close()
				}
			})
			asked := time.Now()
			resp, err := e.client("", false).Do(request(t, c.method, s.url+"/page", nil))
			if text(t, resp, err); resp.StatusCode != c.status || reasonOf(resp) != "" {
				t.Errorf("%s, reason %s", resp.Status, reasonOf(resp))
			}
			outcome := "reset"
			st := e.stateOf("127.0.0.1")
			if c.failures > 0 {
				outcome = "set"
				if st.Reservation.ID != "" || st.Backoff.Failures != c.failures || st.Backoff.Status != c.status || st.Backoff.Until.Before(asked.Add(20*time.Second)) {
					t.Errorf("the state is %+v", st)
				}
			} else if !st.Empty() {
				t.Errorf("the state is %+v", st)
			}
			if got := e.final(s.url+"/page").list("pacing.backoff", "outcome"); len(got) != 1 || got[0] != outcome {
				t.Errorf("recorded: %v", got)
			}
		})
	}
}

// A websocket that opens releases its reservation and dates the turn: its
// handshake was answered, and its octets are nobody's answer (P10, P21, P26).
func TestP26_AWebsocketReleasesItsReservation(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := overdueSite(t, e, false, func(v *visit) {
		v.say("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		io.Copy(io.Discard, v.Conn)
	})
	c := e.dial()
	if resp := c.send(handshake(s.url+"/page", s.addr)); resp.StatusCode != 101 {
		t.Fatal(resp.Status)
	}
	e.released(t)
	c.Close()
	e.final(s.url+"/page").want(t, map[string]any{"client.protocol": "websocket", "outcome": "delivered"})
}

func TestP10_AWebsocketDatesTheTurn(t *testing.T) {
	e := startEdge(t, edgeSetup{files: atNoon()})
	s := startSite(t, false, func(v *visit) {
		v.say("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		io.Copy(io.Discard, v.Conn)
	})
	s.robots = "User-agent: *\nCrawl-delay: 5\n"
	c := e.dial()
	if resp := c.send(handshake(s.url+"/page", s.addr)); resp.StatusCode != 101 {
		t.Fatal(resp.Status)
	}
	if st := e.stateOf("127.0.0.1"); !st.Turn.Answered.Equal(frozen) {
		t.Errorf("the turns are %+v", st.Turn)
	}
	c.Close()
	e.final(s.url + "/page")
}

// A client that leaves releases what it held, wherever its request was: waiting
// for a turn or a back-off, without a head, without a whole body (P12, P26).
func TestP26_AClientThatLeavesReleasesTheReservation(t *testing.T) {
	for _, body := range []bool{false, true} {
		t.Run(fmt.Sprintf("the body has begun: %v", body), func(t *testing.T) {
			for _, w := range ways {
				e := startEdge(t, edgeSetup{})
				arrived, ended := make(chan struct{}), make(chan struct{})
				s := overdueSite(t, e, w.secure, func(v *visit) {
					if body {
						v.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegin")
					}
					close(arrived)
					io.Copy(io.Discard, v.Conn) // until the edge gives up
					close(ended)
				})
				ctx, leave := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					resp, err := e.by(w).Do(request(t, "GET", s.url+"/page", nil).WithContext(ctx))
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					done <- err
				}()
				<-arrived
				if st := e.stateOf("127.0.0.1"); st.Reservation.ID == "" || st.Reservation.Deadline.Before(time.Now()) {
					t.Errorf("%s: the state is %+v", w.name, st)
				}
				leave()
				if err := <-done; err == nil {
					t.Errorf("%s: the answer ended", w.name)
				}
				<-ended
				e.crossing(s.url+"/page").want(t, map[string]any{"outcome": "abandoned"})
				e.released(t)
			}
		})
	}
}

// A client that leaves while it waits leaves the line at once, and nothing was
// asked on its account (P12).
func TestP12_AClientThatLeavesTheLineAsksForNothing(t *testing.T) {
	for name, c := range map[string]struct {
		robots string
		state  backoff.State
	}{
		"for the end of a back-off": {"User-agent: *\n", failing("page.test", time.Now().Add(time.Hour))},
		"for its turn":              {"User-agent: *\nCrawl-delay: 3000\n", backoff.State{Host: "page.test", SetAt: time.Now(), Turn: backoff.Turns{Answered: backoff.Instant(time.Now())}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", c.robots, nil)
			e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 2 * time.Hour, MaxDelay: 2 * time.Hour}})
			if resp, _ := e.gets("", "http://page.test/warm"); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			e.plant(c.state)
			ctx, leave := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := e.client("", false).Do(request(t, "GET", "http://page.test/page", nil).WithContext(ctx))
				done <- err
			}()
			e.waiting("page.test", 1)
			leave()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			r := e.final("page.test/page")
			r.want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "requested_at": nil, "refusal": nil})
			if r.at("timings.wait") == nil {
				t.Errorf("no wait is recorded: %s", r.raw)
			}
			e.waiting("page.test", 0)
			w.wantAsked(t, "page.test", "/robots.txt", "/warm")
			want := c.state
			if got := e.stateOf("page.test"); !got.Turn.Reserved.Equal(want.Turn.Reserved) || got.Reservation.ID != "" || !got.Backoff.Until.Equal(want.Backoff.Until) {
				t.Errorf("the state is %+v", got)
			}
		})
	}
}

// From the head of a failure until its body's end nothing else goes to the host,
// and then it is known for how long (P22; case B11).
func TestP22_NothingGoesWhileAFailureIsRead(t *testing.T) {
	w := startWeb(t)
	head, end := make(chan struct{}), make(chan struct{})
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/first" {
			return
		}
		rw.WriteHeader(503)
		io.WriteString(rw, "some")
		rw.(http.Flusher).Flush()
		close(head)
		<-end
	})
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 9 * time.Second}})
	c := e.client("", false)
	first, err := c.Get("http://page.test/first")
	must(t, err)
	<-head
	second := make(chan *http.Response, 1)
	go func() {
		resp, err := e.client("", false).Get("http://page.test/second")
		if err != nil {
			t.Error(err)
		}
		second <- resp
	}()
	e.waiting("page.test", 1)
	w.wantAsked(t, "page.test", "/robots.txt", "/first")
	close(end)
	if body := text(t, first, nil); first.StatusCode != 503 || body != "some" {
		t.Errorf("%s %q", first.Status, body)
	}
	resp := <-second
	if body := text(t, resp, nil); resp.StatusCode != 429 || reasonOf(resp) != "backoff" || !strings.Contains(body, "status 503") {
		t.Errorf("%s %s", resp.Status, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/first")
}

// Who finds the line full that waits for a failure to be read is refused at once,
// and told of no status that nobody knows yet (P11, P22).
func TestP11_AFullLineBehindAFailureRefuses(t *testing.T) {
	w := startWeb(t)
	head, end := make(chan struct{}), make(chan struct{})
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/first" {
			return
		}
		rw.WriteHeader(503)
		rw.(http.Flusher).Flush()
		close(head)
		<-end
	})
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 9 * time.Second, MaxWaiters: 1}})
	first, err := e.client("", false).Get("http://page.test/first")
	must(t, err)
	<-head
	answers := e.line("page.test", "http://page.test/second")
	resp, body := e.gets("", "http://page.test/third")
	if resp.StatusCode != 429 || reasonOf(resp) != "backoff" || strings.Contains(body, "status 0") || !strings.Contains(body, "still being read") || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	close(end)
	text(t, first, nil)
	if got := answers(); got[0] != 429 {
		t.Errorf("the one that waited: %v", got)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/first")
}
