package proxy

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/evidence"
)

func newReader(octets string) *bufio.Reader { return bufio.NewReader(strings.NewReader(octets)) }

// One file allows one purpose and forbids another: what is declared decides, and
// the reason names the first refused purpose in the declared order.
func TestT2_OnlyDeclaredPurposesAreRuledAndTheFirstRefusedIsNamed(t *testing.T) {
	const both = "User-agent: *\nContent-Signal: ai-input=no, ai-train=no, search=yes\n"
	for _, c := range []struct {
		name, robots string
		purposes     []string
		names        string // in the refusal; empty when the page is delivered
	}{
		{"the forbidden one is not declared", "User-agent: *\nContent-Signal: ai-input=yes, ai-train=no\n", []string{"ai-input"}, ""},
		{"the forbidden one is declared second", "User-agent: *\nContent-Signal: ai-input=yes, ai-train=no\n", []string{"ai-input", "ai-train"}, "ai-train"},
		{"both are forbidden", both, []string{"ai-input", "ai-train"}, "ai-input"},
		{"both are forbidden, declared the other way round", both, []string{"ai-train", "ai-input"}, "ai-train"},
		{"search is neither", both, []string{"search"}, ""},
		{"nothing is declared, which is ai-input", both, nil, "ai-input"},
		{"nothing is stated", "User-agent: *\nAllow: /\n", []string{"ai-input", "ai-train", "ai-index", "search"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, declaring(c.purposes...))
			for _, w := range ways {
				p := startPublisher(t, w, map[string]string{"/robots.txt": c.robots}, nil)
				got := e.fetch(w, "GET", p.addr, "/page")
				if c.names == "" {
					if got.status != 200 || got.body != "page" {
						t.Errorf("%s: %d %s", w.name, got.status, got.body)
					}
					continue
				}
				if got.status != 451 || got.reason != "content_signal" || !strings.Contains(got.body, "purpose "+c.names+" ") || p.count("/page") != 0 {
					t.Errorf("%s: %d %s", w.name, got.status, got.body)
				}
				e.crossing(p.URL).want(t, map[string]any{"declarations.effective." + c.names: "disallow", "refusal.term.line": 2})
			}
		})
	}
}

// A method that does not read is ruled as one that does.
func TestT1_EveryMethodIsRuled(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	p := startPublisher(t, ways[0], map[string]string{"/robots.txt": "User-agent: *\nContent-Usage: ai-use=n\n"}, nil)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"} {
		if got := e.fetch(ways[0], method, p.addr, "/page", "Content-Length", "0"); got.status != 451 || got.reason != "content_usage" {
			t.Errorf("%s: %d %s", method, got.status, got.octets)
		}
	}
	if asked := p.asked(); !slices.Equal(asked, []string{"/robots.txt"}) {
		t.Errorf("the origin saw %v", asked)
	}
}

// A declared service has no terms: nothing is asked for on their account, and
// what its answers say in fields of terms passes as it came.
func TestT1_AServiceIsNotRuled(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
	says := http.Header{"Content-Usage": {"ai-use=n"}, "Content-Signal": {"ai-input=no"}, "X-Robots-Tag": {"noai"}, "Tdm-Reservation": {"1"},
		"Link": {`</terms.xml>; rel=license; type="application/rsl+xml"`}}
	const html = `<html><head><meta name="robots" content="noai"><link rel="license" type="application/rsl+xml" href="/terms.xml"></head>`
	for _, w := range ways {
		p := startPublisher(t, w, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /\n"}, func(rw http.ResponseWriter, _ *http.Request) {
			maps.Copy(rw.Header(), says)
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, html)
		})
		resp, err := e.by(w).Get(p.URL + "/page")
		if body := text(t, resp, err); body != html || resp.StatusCode != 200 {
			t.Errorf("%s: %s %q", w.name, resp.Status, body)
		}
		for name, value := range says {
			if diff := cmp.Diff(value, resp.Header[name]); diff != "" {
				t.Errorf("%s: %s: %s", w.name, name, diff)
			}
		}
		if asked := p.asked(); !slices.Equal(asked, []string{"/page"}) {
			t.Errorf("%s: the service saw %v", w.name, asked)
		}
		e.crossing(p.URL).want(t, map[string]any{"class": "service", "outcome": "delivered", "declarations": nil, "purposes": nil})
	}
}

// Each stage that refuses ends the work: what stands behind it is not asked for,
// the page least of all. One record tells of it.
func TestT8_T110_WhatARefusalStandsBeforeIsNotAskedFor(t *testing.T) {
	const names = "License: /one.xml\nLicense: /two.xml\n"
	for _, c := range []struct {
		name          string
		documents     map[string]string
		purposes      []string
		status        int
		reason, asked string
		term          string // kind of the term that decided
		notAsked      string // what the record lists as not asked for
	}{
		{"access is refused", map[string]string{"/robots.txt": "User-agent: *\nDisallow: /\n" + names}, nil, 403, "robots_disallow", "/robots.txt", "robots", ""},
		{"a Content-Signal line refuses", map[string]string{"/robots.txt": "User-agent: *\nContent-Signal: ai-input=no\n" + names}, nil,
			451, "content_signal", "/robots.txt", "robots", "/one.xml /two.xml"},
		{"a Content-Usage line refuses", map[string]string{"/robots.txt": "User-agent: *\nContent-Usage: ai-use=n\n" + names}, nil,
			451, "content_usage", "/robots.txt", "robots", "/one.xml /two.xml"},
		{"an AI-training rule refuses", map[string]string{"/robots.txt": "User-agent: *\nDisallowAITraining: /\n" + names}, []string{"ai-train"},
			451, "ai_training_rule", "/robots.txt", "robots", "/one.xml /two.xml /.well-known/tdmrep.json"},
		{"the first licence is unread", map[string]string{"/robots.txt": names, "/one.xml": "<html>", "/two.xml": licenceFree}, nil,
			451, "licence_unread", "/robots.txt /one.xml /two.xml", "licence", ""},
		{"the second licence wants money", map[string]string{"/robots.txt": names, "/one.xml": licenceFree, "/two.xml": licencePriced}, nil,
			402, "licence_payment", "/robots.txt /one.xml /two.xml", "licence", ""},
		{"a licence refuses before tdmrep.json is asked for", map[string]string{"/robots.txt": "License: /one.xml\n", "/one.xml": licenceForbids}, []string{"ai-train"},
			451, "licence_prohibits", "/robots.txt /one.xml", "licence", "/.well-known/tdmrep.json"},
		{"tdmrep.json reserves", map[string]string{"/robots.txt": "License: /one.xml\n", "/one.xml": licenceFree,
			"/.well-known/tdmrep.json": `[{"location": "/", "tdm-reservation": 1}]`}, []string{"ai-train"},
			451, "tdm_reserved", "/robots.txt /one.xml /.well-known/tdmrep.json", "tdmrep", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, declaring(c.purposes...))
			for _, w := range ways {
				p := startPublisher(t, w, c.documents, nil)
				got := e.fetch(w, "GET", p.addr, "/page")
				if got.status != c.status || got.reason != c.reason {
					t.Errorf("%s: %d %s", w.name, got.status, got.body)
				}
				if diff := cmp.Diff(strings.Fields(c.asked), p.asked()); diff != "" {
					t.Errorf("%s: asked for (-want +got):\n%s", w.name, diff)
				}
				r := e.crossing(p.URL)
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": c.reason, "refusal.stage": "before", "requested_at": nil, "http_status": nil,
					"told.status": c.status, "delivered": nil, "opened": nil, "bytes": nil, "retrieved_hash": nil})
				kinds, objects := r.list("declarations.terms", "kind"), r.list("declarations.terms", "object")
				object, _ := r.at("refusal.term.object").(string)
				if i := slices.Index(objects, object); object == "" || i < 0 || kinds[i] != c.term {
					t.Errorf("%s: of the terms %v with objects %v, %q decided", w.name, kinds, objects, object)
				}
				var notAsked []string
				for i, outcome := range r.list("declarations.terms", "outcome") {
					if outcome == "not_asked" {
						notAsked = append(notAsked, strings.TrimPrefix(r.list("declarations.terms", "url")[i], p.URL))
					}
				}
				if diff := cmp.Diff(c.notAsked, strings.Join(notAsked, " ")); diff != "" {
					t.Errorf("%s: not asked for (-want +got):\n%s", w.name, diff)
				}
				if opened, final := e.logged(p.URL + "/page"); len(opened) != 0 || len(final) != 1 {
					t.Errorf("%s: %d and %d records", w.name, len(opened), len(final))
				}
			}
		})
	}
}

// Where nothing is forbidden, everything is asked for in the order of T8, once:
// what stands before the page, the page, and what its answer names.
func TestT8_TermsAreAskedForInOrderAndOnce(t *testing.T) {
	e := startEdge(t, declaring("ai-train"))
	for _, w := range ways {
		p := startPublisher(t, w, map[string]string{"/robots.txt": "License: /robots.xml\n", "/robots.xml": licenceFree, "/link.xml": licenceFree, "/html.xml": licenceFree,
			"/.well-known/tdmrep.json": "[]"}, func(rw http.ResponseWriter, _ *http.Request) {
			// The one that robots.txt names is ruled where it was first named (T68).
			rw.Header().Add("Link", `</link.xml>; rel=license; type="application/rsl+xml", </robots.xml>; rel=license; type="application/rsl+xml"`)
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, `<link rel="license" type="application/rsl+xml" href="/html.xml"><link rel="license" type="application/rsl+xml" href="/link.xml"><p>page`)
		})
		for range 2 { // the second time all but the page is known
			if got := e.fetch(w, "GET", p.addr, "/page"); got.status != 200 || !strings.HasSuffix(got.body, "<p>page") {
				t.Errorf("%s: %d %q", w.name, got.status, got.body)
			}
		}
		want := []string{"/robots.txt", "/robots.xml", "/.well-known/tdmrep.json", "/page", "/link.xml", "/html.xml", "/page"}
		if diff := cmp.Diff(want, p.asked()); diff != "" {
			t.Errorf("%s: asked for (-want +got):\n%s", w.name, diff)
		}
	}
}

// However many ask for the first page of a site at once, its terms are asked for
// once.
func TestT12_ConcurrentCrossingsShareOneProbe(t *testing.T) {
	const crossings = 50
	e := startEdge(t, declaring("ai-train"))
	for _, w := range []way{ways[0], ways[2], ways[3]} {
		p := startPublisher(t, w, map[string]string{"/robots.txt": "License: /terms.xml\n", "/terms.xml": licenceFree, "/.well-known/tdmrep.json": "[]"}, nil)
		c := e.by(w)
		var wg sync.WaitGroup
		for range crossings {
			wg.Go(func() {
				resp, err := c.Get(p.URL + "/page")
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Errorf("%s: %s", w.name, resp.Status)
				}
			})
		}
		wg.Wait()
		for target, want := range map[string]int{"/robots.txt": 1, "/terms.xml": 1, "/.well-known/tdmrep.json": 1, "/page": crossings} {
			if n := p.count(target); n != want {
				t.Errorf("%s: %s was asked for %d times, want %d", w.name, target, n, want)
			}
		}
		if n := len(e.recordsOf(evidence.EventTermsProbed, p.URL)); n != 3 {
			t.Errorf("%s: %d records of probes", w.name, n)
		}
	}
}

// What the edge asks for itself carries its own name and nothing of the agent,
// whether it is asked for before the page or on account of it.
func TestT12_ProbesCarryNothingOfTheAgent(t *testing.T) {
	s := declaring("ai-train")
	s.policy.Identity.ProductToken = []string{"first", "second"}
	e := startEdge(t, s)
	for _, w := range ways {
		p := startPublisher(t, w, map[string]string{"/robots.txt": "License: /robots.xml\n", "/robots.xml": licenceFree, "/link.xml": licenceFree, "/html.xml": licenceFree,
			"/.well-known/tdmrep.json": "[]"}, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Add("Link", `</link.xml>; rel=license; type="application/rsl+xml"`)
			rw.Header().Set("Set-Cookie", "of=source")
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, `<link rel="license" type="application/rsl+xml" href="/html.xml"><p>page`)
		})
		got := e.fetch(w, "GET", p.addr, "/page", "Cookie", "a=agents", "Authorization", "Basic YWdlbnRzOmFnZW50cw==", "Referer", "https://agents.example/",
			"User-Agent", "agents/1", "Signature-Agent", `"https://agents.example"`, "X-Own", "agents", "Accept-Language", "de", "From", "agents@agents.example",
			"If-None-Match", `"agents"`, "Range", "bytes=0-9")
		if got.status != 200 {
			t.Fatalf("%s: %d %s", w.name, got.status, got.body)
		}
		want := http.Header{"User-Agent": {"first/test"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}}
		for _, target := range []string{"/robots.txt", "/robots.xml", "/.well-known/tdmrep.json", "/link.xml", "/html.xml"} {
			if diff := cmp.Diff(want, p.visit(t, target).Header); diff != "" {
				t.Errorf("%s: fields of the request for %s (-want +got):\n%s", w.name, target, diff)
			}
		}
		for _, probe := range e.recordsOf(evidence.EventTermsProbed, p.URL) {
			probe.want(t, map[string]any{"signed": false}) // T106
		}
		if page := p.visit(t, "/page").Header; page.Get("Cookie") != "a=agents" || page.Get("X-Own") != "agents" {
			t.Errorf("%s: the page was asked for with %v", w.name, page)
		}
	}
}

// The documents in which a site states its terms are not ruled by them.
func TestT11_DocumentsOfTermsAreNotRuled(t *testing.T) {
	s := declaring("ai-input", "ai-train")
	s.policy.Spend = spendAnywhere()
	e := startEdge(t, s)
	robots := "User-agent: *\nDisallow: /\nContent-Signal: ai-input=no\nLicense: /terms.xml\n"
	for _, w := range ways {
		for _, c := range []struct{ target, asked string }{
			{"/robots.txt", "/robots.txt"},
			{"/.well-known/tdmrep.json", "/.well-known/tdmrep.json"},
			{"/terms.xml", "/robots.txt /terms.xml"},
		} {
			for _, fields := range [][]string{nil, {"X-Payment", "money"}} {
				p := startPublisher(t, w, map[string]string{"/robots.txt": robots, "/terms.xml": licenceForbids, "/.well-known/tdmrep.json": "[]"}, nil)
				if got := e.fetch(w, "GET", p.addr, c.target, fields...); got.status != 200 || got.reason != "" {
					t.Errorf("%s: %s %v: %d %s", w.name, c.target, fields, got.status, got.body)
				}
				if diff := cmp.Diff(strings.Fields(c.asked), p.asked()); diff != "" {
					t.Errorf("%s: %s %v: asked for (-want +got):\n%s", w.name, c.target, fields, diff)
				}
			}
		}
	}
}
