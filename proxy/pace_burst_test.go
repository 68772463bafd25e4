package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// However many ask a host, its first 429 stops all that were not sent yet; when
// its time is over one request goes, and the others see its answer first. That
// is 429 again, and still one goes (P22, P27; cases B11, B12).
func TestP27_ABurstStopsAtTheFirstFailureAndOneAsksAgain(t *testing.T) {
	const callers, period = 200, time.Second
	w := startWeb(t)
	var mu sync.Mutex
	var answered time.Time // the last failure was written
	asked := make(chan chan int)
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/warm" {
			return
		}
		mu.Lock()
		if early := time.Until(answered.Add(period)); early > 0 && !answered.IsZero() {
			t.Errorf("%s came %v too early", r.URL.Path, early)
		}
		mu.Unlock()
		how := make(chan int)
		asked <- how
		status := <-how
		if status == 429 {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
		}
		io.WriteString(rw, "answer")
		mu.Lock()
		if answered = time.Now(); status == 200 {
			answered = time.Time{}
		}
		mu.Unlock()
	})
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 5 * time.Minute}})
	e.gets("", "http://page.test/warm")
	c := e.client("", false)
	var ended sync.WaitGroup
	var fine, failed atomic.Int64
	ask := func(n int) {
		defer ended.Done()
		resp, err := c.Get(fmt.Sprintf("http://page.test/%d", n))
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == 200:
			fine.Add(1)
		case resp.StatusCode == 429 && reasonOf(resp) == "":
			failed.Add(1)
		default:
			t.Errorf("%s, reason %s", resp.Status, reasonOf(resp))
		}
	}
	ended.Add(callers)
	go ask(0)
	(<-asked) <- 429
	for failed.Load() == 0 { // the host is known to have failed
		time.Sleep(time.Millisecond)
	}
	for n := 1; n < callers; n++ {
		go ask(n)
	}
	for round := range 2 { // the end of a wait
		one := <-asked
		e.waiting("page.test", callers-2-round)
		select {
		case another := <-asked:
			t.Error("another request went before the answer to the first")
			another <- 200
		default:
		}
		one <- 429
	}
	(<-asked) <- 200
	for range callers - 4 {
		(<-asked) <- 200
	}
	ended.Wait()
	if fine.Load() != callers-3 || failed.Load() != 3 {
		t.Errorf("%d were answered, %d failed", fine.Load(), failed.Load())
	}
	if s := e.stateOf("page.test"); !s.Empty() {
		t.Errorf("the state is %+v", s)
	}
}

// Those that wait for a host behind one that asks it again go when that one got
// nothing: the next of them reserves it (P26).
func TestP26_TheNextGoesWhenTheOwnerGetsNothing(t *testing.T) {
	e := startEdge(t, edgeSetup{pace: backoff.Config{MaxWait: 20 * time.Second}})
	end := make(chan struct{})
	s := overdueSite(t, e, false, func(v *visit) {
		if v.n == 1 {
			<-end
			v.Close()
			return
		}
		if st := e.stateOf("127.0.0.1"); v.n == 2 && st.Reservation.ID == "" {
			t.Error("the second asks without having reserved the host")
		}
		v.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
	})
	first := make(chan *http.Response, 1)
	go func() {
		resp, err := e.client("", false).Get(s.url + "/first")
		if err != nil {
			t.Error(err)
		}
		first <- resp
	}()
	for s.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	answers := e.line("127.0.0.1", s.url+"/second", s.url+"/third")
	close(end)
	for _, status := range answers() {
		if status != 200 {
			t.Errorf("one that waited was answered %d", status)
		}
	}
	if resp := <-first; resp.StatusCode != 502 {
		t.Errorf("the first: %s", resp.Status)
	}
	if st := e.stateOf("127.0.0.1"); !st.Empty() || s.requests.Load() != 3 {
		t.Errorf("%d requests, and the state is %+v", s.requests.Load(), st)
	}
}

// Who asks a host again is given up when its reservation ends, so that the next
// may: the head timeout is cut to that, for pages and probes (P25).
func TestP25_TheHeadTimeoutIsCutToTheReservation(t *testing.T) {
	const patience = 3 * time.Second // the store's writes take some of it
	silent := func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" || r.URL.Path == "/robots.txt" && strings.HasPrefix(r.URL.Host, "slow.test") {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(rw, "page")
	}
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", silent)
	w.host("slow.test", "", silent)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 20 * time.Second, HeadTimeout: patience}})
	e.gets("", "http://page.test/warm")
	for _, c := range []struct{ url, host, reason string }{
		{"http://page.test/slow", "page.test", "http_response_timeout"},
		{"http://slow.test/page", "slow.test", "robots_unreachable"},
	} {
		e.plant(overdue(c.host))
		start := time.Now()
		resp, body := e.gets("", c.url)
		if reasonOf(resp) != c.reason {
			t.Errorf("%s: %s %s", c.url, resp.Status, body)
		}
		if d := time.Since(start); d < patience {
			t.Errorf("%s: given up after %v", c.url, d)
		}
		e.final(c.url)
		if s := e.stateOf(c.host); s.Reservation.ID != "" || s.Backoff.Failures != 1 {
			t.Errorf("%s: the state is %+v", c.url, s)
		}
	}
	if resp, body := e.gets("", "http://page.test/next"); resp.StatusCode != 200 {
		t.Errorf("then: %s %s", resp.Status, body)
	}
}

// A body may come as slowly as it likes: its reservation ends meanwhile, and the
// next asks (P26, example o).
func TestP26_AReservationEndsWhileALongAnswerIsRead(t *testing.T) {
	const patience = 3 * time.Second // the store's writes take some of it
	w := startWeb(t)
	head, end := make(chan struct{}), make(chan struct{})
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/long" {
			return
		}
		io.WriteString(rw, "begin")
		rw.(http.Flusher).Flush()
		close(head)
		<-end
	})
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 20 * time.Second, HeadTimeout: patience}})
	e.gets("", "http://page.test/warm")
	e.plant(overdue("page.test"))
	long, err := e.client("", false).Get("http://page.test/long")
	must(t, err)
	<-head
	if resp, body := e.gets("", "http://page.test/next"); resp.StatusCode != 200 {
		t.Errorf("%s %s", resp.Status, body)
	}
	r := e.crossing("page.test/next")
	if got := strings.Join(r.list("pacing.backoff", "outcome"), " "); got != "waited reset" {
		t.Errorf("recorded: %s", r.raw)
	}
	close(end)
	if body := text(t, long, nil); body != "begin" {
		t.Errorf("%q", body)
	}
	if s := e.stateOf("page.test"); !s.Empty() {
		t.Errorf("the state is %+v", s)
	}
}

// Another process that reserved the host and died is waited for until its
// reservation ends; where that does not come in time, the agent is told when it
// does (P25, P31; example o).
func TestP31_ADeadProcessesReservationIsWaitedFor(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 700 * time.Millisecond}})
	e.gets("", "http://page.test/warm")
	s := overdue("page.test")
	s.Reservation = backoff.Reservation{ID: "dead", Deadline: backoff.Instant(time.Now().Add(400 * time.Millisecond))}
	e.plant(s)
	if resp, body := e.gets("", "http://page.test/a"); resp.StatusCode != 200 {
		t.Errorf("%s %s", resp.Status, body)
	}
	if at := w.seen("page.test")[2].at; at.Before(s.Reservation.Deadline) {
		t.Errorf("it came at %v, before %v", at, s.Reservation.Deadline)
	}
	s.Reservation.Deadline = backoff.Instant(time.Now().Add(30 * time.Second))
	e.plant(s)
	start := time.Now()
	resp, body := e.gets("", "http://page.test/b")
	if resp.StatusCode != 429 || reasonOf(resp) != "backoff" || strings.Contains(body, "status 503") || !strings.Contains(body, "under way") {
		t.Errorf("%s %s", resp.Status, body)
	}
	if d := time.Since(start); d < 700*time.Millisecond {
		t.Errorf("refused after %v", d)
	}
	r := e.crossing("page.test/b")
	r.want(t, map[string]any{"requested_at": nil, "refusal.reason": "backoff"})
	if got := strings.Join(r.list("pacing.backoff", "outcome"), " "); got != "waited refused" || r.at("timings.wait") == nil {
		t.Errorf("recorded: %s", r.raw)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/warm", "/a")
}
