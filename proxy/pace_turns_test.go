package proxy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// line starts callers for a host one after another, each when the one before it
// waits or has its answer, and returns what ends them all.
func (e *testEdge) line(host string, urls ...string) (answers func() []int) {
	e.t.Helper()
	var group sync.WaitGroup
	var answered atomic.Int64
	got := make([]int, len(urls))
	for i, u := range urls {
		group.Go(func() {
			defer answered.Add(1)
			resp, err := e.client("", false).Get(u)
			if err != nil {
				e.t.Error(err)
				return
			}
			resp.Body.Close()
			got[i] = resp.StatusCode
		})
		e.joined(host, i+1, &answered)
	}
	return func() []int { group.Wait(); return got }
}

// Requests go in order of arrival, each on its turn, and each says how long it
// waited for that (P8, P9, P11).
func TestP11_RequestsGoInOrderOfArrival(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 0.2\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: time.Minute}, files: atNoon()})
	start := time.Now()
	e.gets("", "http://page.test/0")
	answers := e.line("page.test", "http://page.test/1", "http://page.test/2", "http://page.test/3", "http://page.test/4")
	if got := answers(); !slices.Equal(got, []int{200, 200, 200, 200}) {
		t.Errorf("they were answered %v", got)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/0", "/1", "/2", "/3", "/4")
	spaced(t, start, 200*time.Millisecond, w.seen("page.test")[1:])
	e.crossing("page.test/0").wantAll(t, "pacing", map[string]any{"delay": map[string]any{
		"delay_ms": 200.0, "outcome": "clear", "wait_ms": 0.0, "budget_ms": 60000.0, "next_at": "2026-11-30T12:00:00.000Z"}})
	for n := 1; n <= 4; n++ {
		r := e.crossing(fmt.Sprintf("page.test/%d", n))
		r.want(t, map[string]any{"pacing.delay.delay_ms": 200, "pacing.delay.outcome": "waited", "pacing.delay.budget_ms": 60000, "pacing.backoff": nil})
		turn, _ := r.at("pacing.delay.wait_ms").(float64) // a turn later where one before it was missed
		if wait, _ := r.at("timings.wait").(float64); turn < 200 || wait < turn {
			t.Errorf("%d waited %v ms: %s", n, wait, r.raw)
		}
	}
}

// A turn whose request was given up is the next one's, and the one left over is
// given back (P12).
func TestP12_ATurnThatNobodyTakesIsTheNextOnes(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 3\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: time.Minute}, files: atNoon()})
	e.gets("", "http://page.test/0")
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := e.client("", false).Do(request(t, "GET", "http://page.test/gone", nil).WithContext(ctx))
		gone <- err
	}()
	e.waiting("page.test", 1)
	next := make(chan int, 1)
	go func() {
		resp, err := e.client("", false).Get("http://page.test/next")
		if err != nil {
			t.Error(err)
			next <- 0
			return
		}
		resp.Body.Close()
		next <- resp.StatusCode
	}()
	e.waiting("page.test", 2)
	if at := e.stateOf("page.test").Turn.Reserved; !at.Equal(frozen.Add(6 * time.Second)) {
		t.Errorf("the last turn is at %v", at)
	}
	leave()
	if <-gone == nil || <-next != 200 {
		t.Error("the one that stayed was not answered")
	}
	e.crossing("page.test/next").want(t, map[string]any{"pacing.delay.wait_ms": 6000})
	if at := e.stateOf("page.test").Turn.Reserved; !at.Equal(frozen.Add(3 * time.Second)) {
		t.Errorf("the last turn was at %v", at)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/0", "/next")
}

// A turn that does not fit is refused, and nothing is sent or written (P9).
func TestP9_ATurnThatDoesNotFitWritesNothing(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 30\n", nil)
	e := w.edge(edgeSetup{files: atNoon()})
	e.gets("", "http://page.test/0")
	before := e.stateOf("page.test")
	for range 3 {
		if resp, body := e.gets("", "http://page.test/next"); resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" || resp.Header.Get("Retry-After") != "30" {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	if got := e.stateOf("page.test"); !got.Equal(before) {
		t.Errorf("the state is %+v", got)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/0")
}

// A line is only so long: who finds it full is refused at once (P11).
func TestP11_AFullLineRefuses(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 3\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: time.Minute, MaxWaiters: 2}, files: atNoon()})
	e.gets("", "http://page.test/0")
	answers := e.line("page.test", "http://page.test/1", "http://page.test/2")
	if resp, body := e.gets("", "http://page.test/3"); resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" {
		t.Errorf("%s %s", resp.Status, body)
	}
	e.crossing("page.test/3").want(t, map[string]any{"outcome": "refused", "pacing.delay.outcome": "refused", "requested_at": nil, "timings.wait": nil})
	if got := answers(); !slices.Equal(got, []int{200, 200}) {
		t.Errorf("they were answered %v", got)
	}
}

// The delay counts from the head of the answer, and from a failure to answer
// (P8, P10).
func TestP10_TheNextTurnCountsFromTheAnswer(t *testing.T) {
	const gap, slow = 100 * time.Millisecond, 250 * time.Millisecond
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", ""} {
		e := startEdge(t, edgeSetup{pace: backoff.Config{MaxWait: 5 * time.Second}})
		var mu sync.Mutex
		var came, ended []time.Time
		s := startSite(t, false, func(v *visit) {
			mu.Lock()
			came = append(came, time.Now())
			mu.Unlock()
			time.Sleep(slow)
			mu.Lock()
			ended = append(ended, time.Now())
			mu.Unlock()
			v.say(answer)
			v.Close()
		})
		s.robots = "User-agent: *\nCrawl-delay: 0.1\n"
		for range 3 {
			e.gets("", s.url+"/")
		}
		mu.Lock()
		for i := 1; i < 3; i++ {
			if d := came[i].Sub(ended[i-1]); d < gap {
				t.Errorf("%q: a request came %v after the answer to the one before", answer, d)
			}
		}
		mu.Unlock()
	}
}

// Two edges over one directory, and one that comes after them, keep one pace
// (P11, P34).
func TestP11_EdgesThatShareADirectoryKeepOnePace(t *testing.T) {
	const gap = 150 * time.Millisecond
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 0.15\n", nil)
	setup := edgeSetup{data: t.TempDir(), pace: backoff.Config{MaxWait: 5 * time.Second}}
	one, two := w.edge(setup), w.edge(setup)
	ask := func(e *testEdge, n int) {
		if resp, body := e.gets("", fmt.Sprintf("http://page.test/%d", n)); resp.StatusCode != 200 {
			t.Errorf("%d: %s %s", n, resp.Status, body)
		}
	}
	for n := range 4 {
		ask([]*testEdge{one, two}[n%2], n)
	}
	one.down()
	two.down()
	ask(w.edge(setup), 4)
	var pages []arrival
	for _, a := range w.seen("page.test") {
		if a.target != "/robots.txt" {
			pages = append(pages, a)
		}
	}
	for i := 1; i < len(pages); i++ {
		if d := pages[i].at.Sub(pages[i-1].at); d < gap {
			t.Errorf("%s came %v after %s", pages[i].target, d, pages[i-1].target)
		}
	}
	if len(pages) != 5 {
		t.Errorf("%d pages were asked for", len(pages))
	}
}

// The later permitted send wins: what a back-off has used of the budget is not
// there for the turn behind it (P24, P28).
func TestP28_BackOffAndTurnShareTheBudget(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 50\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 3300 * time.Millisecond}})
	e.gets("", "http://page.test/0")
	s := failing("page.test", time.Now().Add(3*time.Second))
	s.Turn.Answered = backoff.Instant(time.Now())
	e.plant(s)
	resp, body := e.gets("", "http://page.test/page")
	if resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" {
		t.Errorf("%s %s", resp.Status, body)
	}
	r := e.crossing("page.test/page")
	r.want(t, map[string]any{"pacing.delay.outcome": "refused"})
	within(t, 3300, r.at("pacing.delay.budget_ms"), r.at("pacing.backoff"))
	if got := r.list("pacing.backoff", "outcome"); !slices.Equal(got, []string{"waited"}) || r.at("timings.wait") == nil {
		t.Errorf("back-off: %v: %s", got, r.raw)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/0")
}

// What probes have slept is not there for the page either (P28).
func TestP28_ProbesAndPageShareTheBudget(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\nCrawl-delay: 30\nLicense: http://other.test/l.xml\n", nil)
	w.host("other.test", "User-agent: *\n", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, licenceFree) })
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 3 * time.Second}})
	e.gets("", "http://other.test/warm")
	e.plant(failing("other.test", time.Now().Add(2800*time.Millisecond)))
	e.plant(backoff.State{Host: "page.test", SetAt: time.Now(), Turn: backoff.Turns{Answered: backoff.Instant(time.Now())}})
	resp, body := e.gets("", "http://page.test/page")
	if resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" {
		t.Errorf("%s %s", resp.Status, body)
	}
	r := e.crossing("page.test/page")
	probes := e.probes("licence")
	if len(probes) != 1 {
		t.Fatalf("the probes: %v", probes)
	}
	within(t, 3000, r.at("pacing.delay.budget_ms"), probes[0].at("pacing.backoff"))
	if probes[0].at("timings.wait") == nil || !slices.Equal(probes[0].list("pacing.backoff", "outcome"), []string{"waited", "reset"}) {
		t.Errorf("the probe: %v", probes)
	}
	w.wantAsked(t, "page.test", "/robots.txt")
	if asked := w.asked("other.test"); !slices.Contains(asked, "/l.xml") {
		t.Errorf("%v", asked)
	}
}

// within checks that what was slept for back-off and what was left behind it come
// to the budget.
func within(t *testing.T, budget float64, left, slept any) {
	t.Helper()
	var waited float64
	if list, _ := slept.([]any); len(list) > 0 {
		first, _ := list[0].(map[string]any)
		waited, _ = first["wait_ms"].(float64)
	}
	if rest, ok := left.(float64); !ok || waited == 0 || rest+waited > budget {
		t.Errorf("of %v ms %v were slept, and %v left", budget, waited, left)
	}
}

// A probe says when its request went, behind its wait.
func TestP24_AProbesRequestIsDatedBehindItsWait(t *testing.T) {
	w := startWeb(t)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 5 * time.Second}})
	until := backoff.Instant(time.Now().Add(2 * time.Second))
	e.plant(failing("page.test", until))
	if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, body)
	}
	p := e.probes("robots")[0]
	at, err := time.Parse(time.RFC3339, p.at("requested_at").(string))
	must(t, err)
	if at.Before(until) {
		t.Errorf("it went at %v, before %v: %s", at, until, p.raw)
	}
	if first := w.seen("page.test")[0].at; first.Before(until) {
		t.Errorf("it came at %v, before %v", first, until)
	}
	if p.at("timings.wait") == nil {
		t.Errorf("no wait is recorded: %s", p.raw)
	}
}
