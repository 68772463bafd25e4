package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// problemBody is the whole body of a refusal, as an agent reads it.
func problemBody(reason, title string, status int, detail, whose, retryAt, crossing string) string {
	if retryAt != "" {
		retryAt = fmt.Sprintf(`"retry_at":%q,`, retryAt)
	}
	return fmt.Sprintf(`{"type":"https://github.com/wayleave/wayleave/blob/main/docs/refusals/%s.md","title":%q,"status":%d,"detail":%q,"reason":%[1]q,"whose":%[5]q,%scrossing":%[7]q}`+"\n",
		reason, title, status, detail, whose, retryAt+`"`, crossing)
}

const (
	failingTitle = "The site has asked for a pause or is failing"
	turnTitle    = "The site's Crawl-delay leaves no room for this request now"
)

// What a request that was not sent is told, to the octet: the reason, whose it
// is, how long the host is to be left alone, when to ask again, and that nothing
// was asked for (P28 to P31; case B13).
func TestP30_TheAgentIsToldWhenToAskAgain(t *testing.T) {
	at := func(d time.Duration) time.Time { return frozen.Add(d) }
	for _, c := range []struct {
		name, robots string
		pace         backoff.Config
		state        backoff.State
		reason       string
		after        string
		detail       string
		retryAt      string
	}{
		{"600 s of back-off are left", "User-agent: *\n", backoff.Config{MaxWait: 20 * time.Second},
			backoff.State{Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: at(600 * time.Second)}}, "backoff", "600",
			"The site answered with status 503 and is left alone. It may be asked in 600 s, longer than what is left of the 20 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:10:00Z.",
			"2026-11-30T12:10:00Z"},
		{"parts of a second are rounded up", "User-agent: *\n", backoff.Config{MaxWait: 20 * time.Second},
			backoff.State{Backoff: backoff.Backoff{Failures: 3, Status: 429, Until: at(600*time.Second + time.Millisecond), RetryAfter: true}}, "backoff", "601",
			"The site answered with status 429 and is left alone. It may be asked in 601 s, longer than what is left of the 20 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:10:01Z.",
			"2026-11-30T12:10:01Z"},
		{"less than a second is one", "User-agent: *\n", backoff.Config{MaxWait: -1},
			backoff.State{Backoff: backoff.Backoff{Failures: 1, Status: 500, Until: at(time.Millisecond)}}, "backoff", "1",
			"The site answered with status 500 and is left alone. It may be asked in 1 s, longer than what is left of the 0 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:00:01Z.",
			"2026-11-30T12:00:01Z"},
		{"a delay", "User-agent: *\nCrawl-delay: 45\n", backoff.Config{MaxWait: 20 * time.Second},
			backoff.State{Turn: backoff.Turns{Reserved: at(-5 * time.Second)}}, "crawl_delay", "40",
			"The site asks for 45 s between two requests. Its next turn is in 40 s, longer than what is left of the 20 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:00:40Z.",
			"2026-11-30T12:00:40Z"},
		{"a delay that is kept in part", "User-agent: *\nCrawl-delay: 86400\n", backoff.Config{MaxWait: 20 * time.Second},
			backoff.State{Turn: backoff.Turns{Reserved: at(-5 * time.Second)}}, "crawl_delay", "55",
			"The site asks for 60 s between two requests. Its next turn is in 55 s, longer than what is left of the 20 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:00:55Z.",
			"2026-11-30T12:00:55Z"},
		{"another request to the host is under way", "User-agent: *\n", backoff.Config{MaxWait: time.Second},
			backoff.State{Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: at(-time.Second)}, Reservation: backoff.Reservation{ID: "another", Deadline: at(12300 * time.Millisecond)}}, "backoff", "13",
			"Another request to the site, which was failing, is under way, and the 1 s that a request may wait are over. Nothing was requested. Ask again after 2026-11-30T12:00:13Z.",
			"2026-11-30T12:00:13Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range []way{ways[0], ways[3]} {
				e := startEdge(t, edgeSetup{pace: c.pace, files: atNoon()})
				o := startOrigin(t, c.robots, !way.secure, func(http.ResponseWriter, *http.Request) {})
				if resp, err := e.by(way).Get(o.URL + "/warm"); err != nil || resp.StatusCode != 200 {
					t.Fatal(resp, err)
				}
				c.state.Host, c.state.SetAt = "127.0.0.1", frozen
				e.plant(c.state)
				seen := o.requests.Load()
				resp, err := e.by(way).Get(o.URL + "/page")
				body := text(t, resp, err)
				r := e.final(o.URL + "/page")
				title := map[string]string{"backoff": failingTitle, "crawl_delay": turnTitle}[c.reason]
				if diff := cmp.Diff(problemBody(c.reason, title, 429, c.detail, "source", c.retryAt, r.label()), body); diff != "" {
					t.Errorf("%s: (-want +got):\n%s", way.name, diff)
				}
				if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != c.after || reasonOf(resp) != c.reason || resp.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: %s %v", way.name, resp.Status, resp.Header)
				}
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": c.reason, "refusal.whose": "source", "refusal.stage": "before", "requested_at": nil, "http_status": nil, "gaps": nil})
				r.wantAll(t, "told", map[string]any{"status": 429.0, "reason": c.reason, "detail": c.detail, "retry_at": strings.Replace(c.retryAt, "Z", ".000Z", 1)})
				if n := o.requests.Load(); n != seen {
					t.Errorf("%s: %d requests were sent", way.name, n-seen)
				}
			}
		})
	}
}

// A term that may not be asked for on account of its host's back-off leaves
// nothing to rule on; the agent is told pacing's reason, because only that says
// when to ask again. Nothing of it is kept (P24, T17, T69).
func TestP24_ATermThatMayNotBeAskedForTellsPacingsReason(t *testing.T) {
	for _, c := range []struct{ name, robots, paced, cause string }{
		{"robots.txt", "", "page.test", "robots.txt of http://page.test was not asked for: the back-off of the host does not fit the budget (backoff)"},
		{"a licence", "License: http://other.test/l.xml\n", "other.test", "licence 1 (http://other.test/l.xml) was not asked for: the back-off of the host does not fit the budget (backoff)"},
		{"the robots.txt of a licence's host", "License: http://cold.test/l.xml\n", "cold.test",
			"licence 1 (http://cold.test/l.xml) was not asked for: the robots.txt of its origin was not asked for: the back-off of the host does not fit the budget (backoff)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", c.robots, nil)
			for _, h := range []string{"other.test", "cold.test"} {
				licensed(w, h, "User-agent: *\n", nil)
			}
			e := w.edge(edgeSetup{files: atNoon(), pace: backoff.Config{MaxWait: 20 * time.Second}})
			e.gets("", "http://other.test/warm")
			s := failing(c.paced, frozen.Add(90*time.Second))
			s.SetAt = frozen
			e.plant(s)
			resp, body := e.gets("", "http://page.test/page")
			r := e.final("page.test/page")
			const detail = "The site answered with status 503 and is left alone. It may be asked in 90 s, longer than what is left of the 20 s that a request may wait. Nothing was requested. Ask again after 2026-11-30T12:01:30Z."
			if diff := cmp.Diff(problemBody("backoff", failingTitle, 429, detail, "source", "2026-11-30T12:01:30Z", r.label()), body); diff != "" || resp.Header.Get("Retry-After") != "90" {
				t.Errorf("%s %v (-want +got):\n%s", resp.Status, resp.Header, diff)
			}
			r.want(t, map[string]any{"refusal.reason": "backoff", "refusal.whose": "source", "refusal.detail": c.cause, "requested_at": nil})
			r.wantAll(t, "pacing", map[string]any{"backoff": []any{map[string]any{"target": c.paced, "outcome": "refused", "failures": 1.0, "status": 503.0, "until": "2026-11-30T12:01:30.000Z",
				"wait_ms": 90000.0, "budget_ms": 20000.0}}})
			terms := r.list("declarations.terms", "outcome")
			if terms[len(terms)-1] != "cut_short" {
				t.Errorf("the terms are %v", terms)
			}
			var last record
			for _, p := range append(e.probes("robots"), e.probes("licence")...) {
				if p.at("cut_short") != nil {
					last = p
				}
			}
			last.want(t, map[string]any{"http_status": nil, "requested_at": nil, "cache_until": nil, "timings": nil})
			last.wantAll(t, "pacing", r.at("pacing"))
			if len(w.asked(c.paced)) > 2 {
				t.Errorf("%s was asked for %v", c.paced, w.asked(c.paced))
			}

			e.plant(backoff.State{Host: c.paced, SetAt: frozen, Turn: backoff.Turns{Answered: frozen}}) // it is over
			if resp, body := e.gets("", "http://page.test/next"); resp.StatusCode != 200 {
				t.Errorf("then: %s %s", resp.Status, body)
			}
		})
	}
}

// A copy that is held rules while its host is to be left alone; the page itself
// is refused for that (T16, P24).
func TestT16_AHeldCopyRulesWhileItsHostIsLeftAlone(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			rw.Header().Set("Cache-Control", "max-age=0")
			fmt.Fprint(rw, "User-agent: *\nDisallow: /private\n")
		}
	})
	e := w.edge(edgeSetup{})
	e.gets("", "http://page.test/warm")
	e.plant(failing("page.test", time.Now().Add(time.Hour)))
	for target, reason := range map[string]string{"/private": "robots_disallow", "/page": "backoff"} {
		resp, body := e.gets("", "http://page.test"+target)
		if reasonOf(resp) != reason {
			t.Errorf("%s: %s %s", target, resp.Status, body)
		}
		e.final("page.test"+target).want(t, map[string]any{"refusal.reason": reason})
	}
	w.wantAsked(t, "page.test", "/robots.txt", "/warm")
}
