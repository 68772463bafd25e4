package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// as returns a client of a tenant.
func (e *testEdge) as(tenant, token string) *http.Client {
	c := e.client(tenant, false)
	tr := c.Transport.(*http.Transport)
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: e.addr, User: url.UserPassword(tenant, token)})
	return c
}

// twoTenants starts an edge that two parties share, and returns a client of each.
func twoTenants(t *testing.T, w *web, s edgeSetup) (e *testEdge, one, two *http.Client) {
	credentials, ask := withCredentials(t)
	s.shared, s.options = true, ask
	e = w.edge(s)
	tokens := map[string]string{}
	for _, tenant := range []string{"tenant-one", "tenant-two"} {
		token, err := credentials.Issue(tenant)
		must(t, err)
		tokens[tenant] = token
	}
	return e, e.as("tenant-one", tokens["tenant-one"]), e.as("tenant-two", tokens["tenant-two"])
}

const (
	pacedWords   = "The site is being paced. Nothing was requested. Ask again in 60 s."
	raw, rawDate = "777", "Mon, 30 Nov 2026 12:12:57 GMT" // 777 s from noon, as a host writes it
)

// What a tenant's requests brought about is told to that tenant in full, and to
// another only as far as the site says it to everybody; the record has all of it
// (P33).
func TestP33_AnotherTenantIsToldWhatTheSiteSaysToEverybody(t *testing.T) {
	own := func(status, seconds int, at string) string {
		return fmt.Sprintf("The site answered with status %d and is left alone. It may be asked in %d s, longer than what is left of the 1 s that a request may wait. Nothing was requested. Ask again after %s.", status, seconds, at)
	}
	for _, c := range []struct {
		name, robots, path           string
		status                       int
		retryAfter                   string // empty: none
		reason                       string
		ownAfter, ownAt, ownDetail   string
		elseAfter, elseAt, elseWords string
	}{
		{"a failure without an end", "User-agent: *\n", "/page", 503, "", "backoff", "10", "2026-11-30T12:00:10Z", own(503, 10, "2026-11-30T12:00:10Z"), "60", "", pacedWords},
		{"seconds", "User-agent: *\n", "/page", 429, raw, "backoff", "777", "2026-11-30T12:12:57Z", own(429, 777, "2026-11-30T12:12:57Z"), "60", "", pacedWords},
		{"a date", "User-agent: *\n", "/page", 503, rawDate, "backoff", "777", "2026-11-30T12:12:57Z", own(503, 777, "2026-11-30T12:12:57Z"), "777", "2026-11-30T12:12:57Z",
			"The site is being paced. Nothing was requested. Ask again after 2026-11-30T12:12:57Z."},
		{"a date that is cut", "User-agent: *\n", "/page", 503, "Mon, 30 Nov 2026 19:12:57 GMT", "backoff", "3600", "2026-11-30T13:00:00Z", own(503, 3600, "2026-11-30T13:00:00Z"), "60", "", pacedWords},
		{"a failing robots.txt", "", "/page", 503, raw, "backoff", "777", "2026-11-30T12:12:57Z", own(503, 777, "2026-11-30T12:12:57Z"), "60", "", pacedWords},
		{"a delay", "User-agent: *\nCrawl-delay: 44.25\n", "/page", 200, "", "crawl_delay", "45", "", "The site is being paced. Nothing was requested. Ask again in 45 s.",
			"45", "", "The site is being paced. Nothing was requested. Ask again in 45 s."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", c.robots, func(rw http.ResponseWriter, _ *http.Request) {
				if c.retryAfter != "" {
					rw.Header().Set("Retry-After", c.retryAfter)
				}
				rw.WriteHeader(c.status)
			})
			e, one, two := twoTenants(t, w, edgeSetup{files: atNoon()})
			get(t, one, "http://page.test/first") // sets the pace
			title := map[string]string{"backoff": failingTitle, "crawl_delay": turnTitle}[c.reason]
			if c.robots == "" { // which was told as unreachable and is kept as that: another origin of the host
				c.path = "/"
			}
			for n, tenant := range []struct {
				client            *http.Client
				after, at, detail string
			}{{one, c.ownAfter, c.ownAt, c.ownDetail}, {two, c.elseAfter, c.elseAt, c.elseWords}} {
				u := fmt.Sprintf("http://page.test%s?%d", c.path, n)
				if c.robots == "" {
					u = fmt.Sprintf("http://page.test:81%s?%d", c.path, n)
				}
				resp, body := get(t, tenant.client, u)
				r := e.final(u)
				if diff := cmp.Diff(problemBody(c.reason, title, 429, tenant.detail, "source", tenant.at, r.label()), body); diff != "" {
					t.Errorf("tenant %d (-want +got):\n%s", n+1, diff)
				}
				if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != tenant.after {
					t.Errorf("tenant %d: %s, Retry-After %s", n+1, resp.Status, resp.Header.Get("Retry-After"))
				}
				if said := fmt.Sprint(r.at("pacing")); c.reason == "backoff" && !strings.Contains(said, fmt.Sprintf("status:%d", c.status)) || r.at("pacing") == nil {
					t.Errorf("tenant %d: the operator reads %s", n+1, said)
				}
			}
		})
	}
}

// An unreachable robots.txt is asked for again when five minutes are over and the
// host may be asked, which another tenant learns only where the site tells it to
// everybody (T17, P33).
func TestT17_P33_AnUnreachableFileIsAskedForWhenItsHostMayBe(t *testing.T) {
	for _, c := range []struct {
		name, retryAfter string
		own, other       string // instants; empty: the end of the five minutes
	}{
		{"shorter than five minutes", "60", "", ""},
		{"longer", "777", "2026-11-30T12:12:57Z", ""},
		{"a date", rawDate, "2026-11-30T12:12:57Z", "2026-11-30T12:12:57Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", "", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", c.retryAfter)
				rw.WriteHeader(503)
			})
			e, one, two := twoTenants(t, w, edgeSetup{files: atNoon()})
			for n, tenant := range []struct {
				client *http.Client
				at     string
			}{{one, c.own}, {one, c.own}, {two, c.other}} {
				u := fmt.Sprintf("http://page.test/%d", n)
				resp, body := get(t, tenant.client, u)
				r := e.final(u)
				if resp.StatusCode != 503 || reasonOf(resp) != "robots_unreachable" {
					t.Fatalf("%d: %s %s", n, resp.Status, body)
				}
				if tenant.at == "" {
					retryIsTold(t, r, body)
					continue
				}
				if !strings.Contains(body, "Ask again after "+tenant.at) || !strings.Contains(body, `"retry_at":"`+tenant.at+`"`) || resp.Header.Get("Retry-After") != "777" {
					t.Errorf("%d: Retry-After %s, %s", n, resp.Header.Get("Retry-After"), body)
				}
				r.want(t, map[string]any{"told.retry_at": strings.Replace(tenant.at, "Z", ".000Z", 1)})
			}
		})
	}
}

// While one tenant's request asks a host again, another is told no more than that
// the host is being paced (P31, P33).
func TestP33_AReservationIsToldToItsTenantOnly(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", nil)
	e, one, two := twoTenants(t, w, edgeSetup{files: atNoon()})
	get(t, one, "http://page.test/warm")
	s := failing("page.test", frozen.Add(-time.Second))
	s.SetAt, s.Backoff.By = frozen, "tenant-one"
	s.Reservation = backoff.Reservation{ID: "another", Deadline: frozen.Add(17 * time.Second), By: "tenant-one"}
	e.plant(s)
	resp, body := get(t, one, "http://page.test/one")
	if resp.Header.Get("Retry-After") != "17" || !strings.Contains(body, "Another request to the site") || !strings.Contains(body, `"retry_at":"2026-11-30T12:00:17Z"`) {
		t.Errorf("its own: %s %v %s", resp.Status, resp.Header, body)
	}
	resp, body = get(t, two, "http://page.test/two")
	if want := problemBody("backoff", failingTitle, 429, pacedWords, "source", "", e.final("page.test/two").label()); body != want || resp.Header.Get("Retry-After") != "60" {
		t.Errorf("another's: %s %v %s", resp.Status, resp.Header, body)
	}
}

// Of a term that requests of both tenants wait for, each is told what it may be
// told, whichever of them was the first to need it (P33).
func TestP33_AProbeThatTenantsShareIsToldToEachAsItsOwn(t *testing.T) {
	for name, u := range map[string]string{"robots.txt": "http://other.test/", "a licence": "http://page.test/"} {
		t.Run(name, func(t *testing.T) {
			w := startWeb(t)
			w.host("page.test", "License: http://other.test/l.xml\n", nil)
			w.host("other.test", "User-agent: *\n", nil)
			e, one, two := twoTenants(t, w, edgeSetup{files: atNoon(), pace: backoff.Config{MaxWait: 400 * time.Millisecond}})
			s := failing("other.test", frozen.Add(-time.Second))
			s.SetAt, s.Backoff.By = frozen, "tenant-one"
			s.Reservation = backoff.Reservation{ID: "another", Deadline: frozen.Add(977 * time.Second), By: "tenant-one"}
			e.plant(s)
			ask := []struct {
				client           *http.Client
				name             string
				after, at, words string
				resp             *http.Response
				err              error
			}{
				{client: one, name: "one", after: "977", at: "2026-11-30T12:16:17Z",
					words: "Another request to the site, which was failing, is under way, and the 0.4 s that a request may wait are over. Nothing was requested. Ask again after 2026-11-30T12:16:17Z."},
				{client: two, name: "two", after: "60", words: pacedWords},
			}
			var both sync.WaitGroup
			for i := range ask {
				both.Go(func() { ask[i].resp, ask[i].err = ask[i].client.Get(u + ask[i].name) })
			}
			both.Wait()
			for _, a := range ask {
				body := text(t, a.resp, a.err)
				want := problemBody("backoff", failingTitle, 429, a.words, "source", a.at, e.final(u+a.name).label())
				if diff := cmp.Diff(want, body); diff != "" || a.resp.Header.Get("Retry-After") != a.after {
					t.Errorf("tenant %s: Retry-After %s (-want +got):\n%s", a.name, a.resp.Header.Get("Retry-After"), diff)
				}
			}
		})
	}
}

// edgeName is what an edge calls itself in Proxy-Status: random, so that any
// figure may stand in it.
var edgeName = regexp.MustCompile(`wayleave-[0-9a-f]{16}`)

// Nothing that a tenant reads tells of another's hosts, of what a host wrote, or
// of figures that another's requests brought about (P30, P33).
func TestP33_NoOctetTellsOfAnotherTenant(t *testing.T) {
	w := startWeb(t)
	busy := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", raw)
		rw.Header().Set("X-Own", canary)
		rw.WriteHeader(503)
		fmt.Fprint(rw, canary)
	}
	w.host("busy.test", "User-agent: *\n", busy)
	w.host("hidden.test", "", busy)
	w.host("slow.test", "User-agent: *\nCrawl-delay: 58.5 # "+canary+"\n", nil)
	w.host("licensed.test", "License: http://busy.test/"+canary+".xml\n", nil)
	e, one, two := twoTenants(t, w, edgeSetup{})
	for _, u := range []string{"http://busy.test/x", "http://hidden.test/x", "http://slow.test/x"} {
		get(t, one, u)
	}
	for _, u := range []string{"http://busy.test/page", "http://hidden.test:82/page", "http://slow.test/page", "http://licensed.test/page"} {
		for _, accept := range []string{"application/json", "text/html", "text/plain", ""} {
			req := request(t, "GET", u, nil)
			if accept != "" {
				req.Header.Set("Accept", accept)
			}
			resp, err := two.Do(req)
			body := text(t, resp, err)
			if resp.StatusCode != 429 {
				t.Errorf("%s: %s %s", u, resp.Status, body)
			}
			resp.Header.Del("Date")
			octets := edgeName.ReplaceAllString(fmt.Sprint(resp.Status, resp.Header, strings.ReplaceAll(body, "rel=", "")), "")
			for _, secret := range []string{canary, "busy.test", "hidden.test", "slow.test", "licensed.test", "127.0.0.1", "503", raw, "776", "775", "58.5", "tenant-one", "robots.txt", "licence", e.data} {
				if strings.Contains(octets, secret) {
					t.Errorf("%s as %q tells of %q: %s", u, accept, secret, octets)
				}
			}
		}
	}
	if n := len(w.seen("busy.test")); n != 2 {
		t.Errorf("busy.test was asked for %v", w.asked("busy.test"))
	}
}

// In single tenancy everything is told to everybody (P33).
func TestP33_OneTenantIsToldEverything(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
	e := w.edge(edgeSetup{files: atNoon()})
	e.gets("one", "http://page.test/first")
	if _, body := e.gets("two", "http://page.test/page"); !strings.Contains(body, "status 503") || !strings.Contains(body, `"retry_at":"2026-11-30T12:00:10Z"`) {
		t.Error(body)
	}
}
