package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// licensed is a host with licences, of which it gives out those that are asked
// for.
func licensed(w *web, host, robots string, page http.HandlerFunc) {
	w.host(host, robots, func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/page":
			fmt.Fprint(rw, licenceFree)
		case page != nil:
			page(rw, r)
		default:
			fmt.Fprint(rw, "page")
		}
	})
}

// unasked checks what came of the terms up to the one that found no turn, and
// that those behind it, where they are listed, were not asked for.
func unasked(t testing.TB, r record, outcomes ...string) {
	t.Helper()
	got := r.list("declarations.terms", "outcome")
	for len(outcomes) < len(got) {
		outcomes = append(outcomes, "not_asked")
	}
	if diff := cmp.Diff(outcomes, got); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}

const tenth = 100 * time.Millisecond

// turnAt is the state of a host whose last turn was at.
func turnAt(host string, at time.Time) backoff.State {
	return backoff.State{Host: host, SetAt: at, Turn: backoff.Turns{Reserved: at}}
}

// Licences that have no current reading take a turn each before the page: where
// all of that fits, it is waited for (P14, case 1).
func TestP14_LicencesAndPageAreReadEachOnItsTurn(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 0.1\nLicense: /a.xml\nLicense: /b.xml\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 5 * time.Second}, files: atNoon()})
	e.plant(turnAt("page.test", frozen))
	start := time.Now()
	if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 || body != "page" {
		t.Errorf("%s %s", resp.Status, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/a.xml", "/b.xml", "/page")
	spaced(t, start, tenth, append([]arrival{{at: time.Now()}}, w.seen("page.test")[1:]...))
	r := e.crossing("page.test/page")
	r.want(t, map[string]any{"pacing.delay.outcome": "waited", "pacing.delay.licence_first": nil, "pacing.delay.next_at": "2026-11-30T12:00:00.300Z"})
	if diff := cmp.Diff([]string{"read", "read", "read"}, r.list("declarations.terms", "outcome")); diff != "" {
		t.Error(diff)
	}
	for n, p := range e.probes("licence") {
		p.want(t, map[string]any{"pacing.delay.delay_ms": 100, "pacing.delay.outcome": "waited", "pacing.delay.next_at": fmt.Sprintf("2026-11-30T12:00:00.%d00Z", n+1)})
	}
}

// Where licences and page would fit, but not behind the wait there is now,
// nothing is asked for, and the agent is told when all of it fits (P14, case 2).
func TestP14_WhereAllWouldFitLaterNothingIsAskedFor(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 0.1\nLicense: /a.xml\nLicense: /b.xml\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 250 * time.Millisecond}, files: atNoon()})
	e.plant(turnAt("page.test", frozen))
	resp, body := e.gets("", "http://page.test/page")
	r := e.crossing("page.test/page")
	want := fmt.Sprintf(`{"type":"https://github.com/wayleave/wayleave/blob/main/docs/refusals/crawl_delay.md","title":"The site's Crawl-delay leaves no room for this request now",`+
		`"status":429,"detail":"The site asks for 0.1 s between two requests, and terms of this page have to be read first. Its turn is in 1 s, longer than what is left of the 0.25 s that a request may wait. `+
		`Nothing was requested. Ask again after 2026-11-30T12:00:01Z.","reason":"crawl_delay","whose":"source","retry_at":"2026-11-30T12:00:01Z","crossing":%q}`+"\n", r.label())
	if diff := cmp.Diff(want, body); diff != "" || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%s, Retry-After %s (-want +got):\n%s", resp.Status, resp.Header.Get("Retry-After"), diff)
	}
	w.wantAsked(t, "page.test", "/robots.txt")
	r.wantAll(t, "pacing", map[string]any{"delay": map[string]any{
		"delay_ms": 100.0, "outcome": "refused", "wait_ms": 300.0, "budget_ms": 250.0, "next_at": "2026-11-30T12:00:00.100Z", "licence_first": true}})
	r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "crawl_delay", "refusal.whose": "source", "refusal.stage": "before", "requested_at": nil, "gaps": nil})
	unasked(t, r, "read", "cut_short")
	if diff := cmp.Diff([]string{"crawl_delay"}, r.list("declarations.licences", "refused_by")); diff != "" {
		t.Error(diff)
	}
	if s := e.stateOf("page.test"); !s.Turn.Reserved.Equal(frozen) {
		t.Errorf("a turn was taken: %+v", s.Turn)
	}

	e = w.edge(edgeSetup{pace: backoff.Config{MaxWait: 20 * time.Second}}) // the wait has passed
	if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 {
		t.Errorf("then: %s %s", resp.Status, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/robots.txt", "/a.xml", "/b.xml", "/page")
}

// Where licences and page never fit into one crossing, as many licences are read
// as do, and the next crossing needs only what is left (P14, case 3).
func TestP14_WhereAllNeverFitsLicencesAreReadAhead(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 0.1\nLicense: /a.xml\nLicense: /b.xml\nLicense: /c.xml\nLicense: /d.xml\n", nil)
	setup := edgeSetup{data: t.TempDir(), pace: backoff.Config{MaxWait: 150 * time.Millisecond}, files: atNoon()}
	for n, want := range []struct {
		outcomes []string
		asked    []string
		status   int
	}{
		{[]string{"read", "read", "read", "cut_short"}, []string{"/robots.txt", "/a.xml", "/b.xml"}, 429},
		{[]string{"read", "read", "read", "read", "read"}, []string{"/c.xml", "/d.xml"}, 429},
		{[]string{"read", "read", "read", "read", "read"}, []string{"/page"}, 200},
	} {
		e := w.edge(setup)
		if n > 0 { // what was before has passed
			e.plant(turnAt("page.test", frozen.Add(-time.Second)))
		}
		seen := len(w.asked("page.test"))
		resp, body := e.gets("", fmt.Sprintf("http://page.test/page?%d", n))
		if resp.StatusCode != want.status || want.status == 429 && (reasonOf(resp) != "crawl_delay" || resp.Header.Get("Retry-After") != "1") {
			t.Errorf("%d: %s %s", n, resp.Status, body)
		}
		asked := w.asked("page.test")[seen:]
		if want.status == 200 {
			asked = []string{strings.Join(asked, " ")[:5]}
		}
		r := e.crossing(fmt.Sprintf("page.test/page?%d", n))
		if diff := cmp.Diff(want.asked, asked); diff != "" {
			t.Errorf("%d: asked for (-want +got):\n%s", n, diff)
		}
		unasked(t, r, want.outcomes...)
		r.want(t, map[string]any{"pacing.delay.licence_first": nil, "pacing.delay.outcome": map[int]string{200: "clear", 429: "refused"}[want.status]})
		e.down()
	}
}

// The turns that page and later licences need stay theirs: a licence on another
// host that would use them up is not asked for (P15).
func TestP15_TurnsThatAreNeededStayReserved(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 0.3\nLicense: /a.xml\nLicense: http://other.test/b.xml\n", nil)
	licensed(w, "other.test", "User-agent: *\nCrawl-delay: 0.4\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 500 * time.Millisecond}, files: atNoon()})
	e.plant(turnAt("other.test", frozen))
	resp, body := e.gets("", "http://page.test/page")
	if resp.StatusCode != 429 || reasonOf(resp) != "crawl_delay" {
		t.Errorf("%s %s", resp.Status, body)
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/a.xml")
	w.wantAsked(t, "other.test", "/robots.txt")
	r := e.crossing("page.test/page")
	if diff := cmp.Diff([]string{"read", "read", "cut_short"}, r.list("declarations.terms", "outcome")); diff != "" {
		t.Error(diff)
	}
	r.want(t, map[string]any{"pacing": nil}) // the page had no part in it
	probes := e.probes("licence")
	probes[len(probes)-1].wantAll(t, "pacing", map[string]any{"delay": map[string]any{
		"delay_ms": 400.0, "outcome": "refused", "wait_ms": 400.0, "budget_ms": 200.0, "next_at": "2026-11-30T12:00:00.400Z"}})
}

// Licences on another host take that host's turns, and the page its own (P15).
func TestP15_LicencesOnOtherHostsTakeTheirOwnTurns(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 20\nLicense: http://other.test/a.xml\nLicense: http://other.test/b.xml\n", nil)
	licensed(w, "other.test", "User-agent: *\nCrawl-delay: 0.2\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 300 * time.Millisecond}, files: atNoon()})
	start := time.Now()
	if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 {
		t.Errorf("%s %s", resp.Status, body)
	}
	w.wantAsked(t, "other.test", "/robots.txt", "/a.xml", "/b.xml")
	spaced(t, start, 200*time.Millisecond, w.seen("other.test")[1:])
}

// A licence that the answer names needs a turn of its own, but none for the page,
// which was asked for already (P14).
func TestP14_ALicenceThatTheAnswerNamesNeedsOneTurn(t *testing.T) {
	for name, page := range map[string]http.HandlerFunc{
		"by Link": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Link", `</l.xml>; rel=license; type="application/rsl+xml"`)
			fmt.Fprint(rw, "page")
		},
		"in the page": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, `<link rel="license" type="application/rsl+xml" href="/l.xml"><p>page`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			licensed(w, "page.test", "User-agent: *\nCrawl-delay: 0.2\n", page)
			e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 300 * time.Millisecond}, files: atNoon()})
			if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 {
				t.Errorf("%s %s", resp.Status, body)
			}
			w.wantAsked(t, "page.test", "/robots.txt", "/page", "/l.xml")
		})
	}
}

// One that finds no turn withholds the page, and says when there is one.
func TestP14_ALicenceOfTheAnswerThatFindsNoTurnWithholdsThePage(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nCrawl-delay: 30\n", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Link", `</l.xml>; rel=license; type="application/rsl+xml"`)
		fmt.Fprint(rw, canary)
	})
	e := w.edge(edgeSetup{files: atNoon()})
	got := e.fetch(ways[0], "GET", "page.test", "/page")
	got.told(t, "page", 429, "crawl_delay", "source")
	r := e.crossing("page.test/page")
	r.want(t, map[string]any{"outcome": "refused", "refusal.stage": "head", "pacing.delay.outcome": "clear", "retrieved_bytes": len(canary)})
	unasked(t, r, "read", "read", "cut_short")
}

// A page that asks a host again after its wait names a licence there: the request
// for it does not wait for the page, which waits for it (P25, P26).
func TestP26_APageDoesNotKeepItsOwnLicenceFromBeingRead(t *testing.T) {
	for _, length := range []int{10, wholeLimit + 1} {
		w := startWeb(t)
		licensed(w, "page.test", "User-agent: *\n", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Link", `</l.xml>; rel=license; type="application/rsl+xml"`)
			rw.Header().Set("Content-Length", fmt.Sprint(length))
			rw.Write(make([]byte, length))
		})
		e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 300 * time.Millisecond}})
		e.gets("", "http://page.test/warm")
		e.plant(overdue("page.test"))
		if resp, body := e.gets("", "http://page.test/page"); resp.StatusCode != 200 || len(body) != length {
			t.Errorf("%s %.500s", resp.Status, body)
		}
		w.wantAsked(t, "page.test", "/robots.txt", "/warm", "/page", "/l.xml")
		e.crossing("page.test/page")
		if s := e.stateOf("page.test"); !s.Empty() {
			t.Errorf("the state is %+v", s)
		}
	}
}

// The answer of a page counts, read whole, though the request for a licence on its
// host went meanwhile and came to nothing; a wait that the licence imposed stays
// (P21, P26).
func TestP21_P26_APageCountsWhateverBecomesOfItsLicence(t *testing.T) {
	for name, c := range map[string]struct {
		licence http.HandlerFunc
		left    bool // of the back-off
	}{
		"is cut":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		"fails":   {func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }, true},
		"is read": {func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, licenceFree) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/l.xml":
					c.licence(rw, r)
				case "/page":
					rw.Header().Set("Link", `</l.xml>; rel=license; type="application/rsl+xml"`)
					fmt.Fprint(rw, "page")
				}
			})
			e := w.edge(edgeSetup{files: atNoon()})
			e.gets("", "http://page.test/warm")
			s := failing("page.test", frozen.Add(-time.Second))
			s.SetAt = frozen
			e.plant(s)
			e.gets("", "http://page.test/page")
			e.final("page.test/page").want(t, map[string]any{"http_status": 200, "retrieved_bytes": len("page")})
			w.wantAsked(t, "page.test", "/robots.txt", "/warm", "/page", "/l.xml")
			if s := e.stateOf("page.test"); s.Backoff.Failures != 0 || s.Backoff.Until.After(frozen) != c.left || s.Reservation.ID != "" {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// What the crossings that wait for one probe are told and what is recorded of
// them is the same (P24).
func TestP24_CrossingsThatShareAProbeAreToldTheSame(t *testing.T) {
	w := startWeb(t)
	licensed(w, "page.test", "User-agent: *\nLicense: http://other.test/l.xml\n", nil)
	licensed(w, "other.test", "User-agent: *\n", nil)
	e := w.edge(edgeSetup{pace: backoff.Config{MaxWait: 400 * time.Millisecond}})
	e.gets("", "http://other.test/warm")
	s := overdue("other.test")
	s.Reservation = backoff.Reservation{ID: "another", Deadline: backoff.Instant(time.Now().Add(time.Hour))}
	e.plant(s)
	const callers = 5
	done := make(chan string, callers)
	for n := range callers {
		go func() {
			resp, err := e.client("", false).Get(fmt.Sprintf("http://page.test/page?%d", n))
			if err != nil {
				done <- err.Error()
				return
			}
			resp.Body.Close()
			done <- fmt.Sprint(resp.StatusCode, " ", reasonOf(resp))
		}()
	}
	for range callers {
		if got := <-done; got != "429 backoff" {
			t.Error(got)
		}
	}
	for _, r := range e.waitCrossings(callers + 1)[1:] {
		if got := r.list("pacing.backoff", "outcome"); !slices.Equal(got, []string{"waited", "refused"}) || r.list("pacing.backoff", "target")[1] != "other.test" {
			t.Errorf("recorded: %s", r.raw)
		}
	}
	if asked := w.asked("page.test"); !slices.Equal(asked, []string{"/robots.txt"}) {
		t.Errorf("%v", asked)
	}
}
