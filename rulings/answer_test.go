package rulings_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// T65: what the agent gets as the page, or has a copy of, is ruled; whatever else
// the site answers passes.
func TestT65OnlyAnswersThatCarryThePageAreRuled(t *testing.T) {
	for status, ruled := range map[int]bool{
		101: false, 199: false, 200: true, 201: true, 203: true, 204: true, 206: true, 226: true, 299: true, 300: false, 301: false, 303: false,
		304: true, 307: false, 400: false, 401: false, 402: false, 403: false, 404: false, 429: false, 451: false, 500: false, 503: false, 599: false,
	} {
		for name, line := range map[string]string{"content-usage": "ai-use=n", "content-signal": "ai-input=no", "x-robots-tag": "noai"} {
			c := crossing{}.answering(map[string][]string{name: {line}}, "")
			c.Response.Status = status
			if x := c.cross(t); x.Refused() != ruled {
				t.Errorf("%d with %s: %s", status, name, x.Outcome)
			}
		}
		c := crossing{}.answering(nil, page(`<meta name="robots" content="noai">`))
		c.Response.Status = status
		seen := ruled && status != http.StatusNotModified && status != http.StatusNoContent
		if x := c.cross(t); x.Refused() != seen {
			t.Errorf("%d with a meta: %s", status, x.Outcome)
		}
	}
}

// T65: an answer of which the quick look says that it states nothing states
// nothing.
func TestT65WhatMayStateNothingStatesNothing(t *testing.T) {
	stating := 0
	for status := 100; status < 600; status++ {
		for _, h := range []http.Header{
			nil, {"Content-Type": {"application/json"}}, {"Content-Type": {"Text/HTML; charset=x"}}, {"Content-Type": {"application/xhtml+xml"}},
			{"Content-Type": {"text/html;charset=utf-16"}}, {"Link": {"</x>; rel=license"}}, {"Link": {"</x>; rel=next"}}, {"Content-Usage": {"ai-use=n"}},
			{"Content-Signal": {""}}, {"Tdm-Reservation": {"0"}}, {"Tdm-Policy": {"x"}}, {"X-Robots-Tag": {"noai"}}, {"Server": {"x"}},
		} {
			r := rulings.ResponseOf(status, h)
			states := r.States() || r.ReadsHTML(http.MethodGet)
			if states {
				stating++
			}
			if states && !rulings.MayState(status, h) {
				t.Errorf("%d %v states something", status, h)
			}
		}
	}
	if stating == 0 {
		t.Error("nothing states anything")
	}
}

// T66, T68: a head that cannot be seen is a gap and no refusal, and one that
// nobody has looked at is needed.
func TestT66T68AHeadIsLookedAtOrIsAGap(t *testing.T) {
	c := crossing{Unseen: "a content coding that is not known"}.answering(nil, page(`<meta name="robots" content="noai">`))
	x := c.cross(t)
	x.comesTo(t, "", "", "")
	if diff := cmp.Diff([]rulings.Gap{{Reason: "html_terms_unseen", Detail: c.Unseen}}, x.Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	x.known.Response.HTML = nil
	if r := rulings.Decide(x.req, x.known, x.policy); r.Outcome != rulings.Undecided || len(r.Needs) != 1 || r.Needs[0].Kind != rulings.TermHTML {
		t.Errorf("not looked at: %+v", r)
	}
	for _, contentType := range []string{"text/html; charset=utf-16", "application/xhtml+xml;charset=UTF-16LE"} {
		utf16 := crossing{}.answering(map[string][]string{"content-type": {contentType}}, "x").cross(t)
		utf16.comesTo(t, "", "", "")
		if fmt.Sprint(gapsOf(&utf16.Ruling)) != "[html_terms_unseen]" {
			t.Errorf("%s: %v", contentType, utf16.Gaps)
		}
	}
	head := crossing{Request: rulings.Request{Method: http.MethodHead}}.answering(map[string][]string{"content-type": {"text/html"}}, "").cross(t)
	head.comesTo(t, "", "", "")
	if head.known.Response.HTML != nil {
		t.Error("an answer to HEAD has no page")
	}
}

// T30, T119: a ruling points at the term that decided or, where nothing could be
// asked for, at the one that named it.
func TestT30T119ARulingPointsAtTheTermThatDecided(t *testing.T) {
	const broken = `</l.xml; rel=license; type="application/rsl+xml"`
	found := map[string]rulings.LicenceTerms{licenceURL: {Term: rulings.Term{Outcome: rulings.TermUnread, Object: rulings.Digest{99}}, Unread: rulings.CauseXML}}
	for _, tt := range []struct {
		name string
		c    crossing
		want func(*rulings.Terms) rulings.TermRef
	}{
		{"a statement of a line", crossing{Robots: "User-agent: *\nContent-Usage: ai-use=n\n"},
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Robots.Object, Line: 2} }},
		{"an entry of a licence", crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(entry("/x", noInput), entry("/page", noInput))}}},
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Licences[0].Object, Entry: 2} }},
		{"a licence that cannot be read", crossing{Robots: "License: /l.xml\n", Found: found},
			func(*rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: rulings.Digest{99}} }},
		{"a value of robots.txt that is no URL", crossing{Robots: "License: ftp://x/\n"},
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Robots.Object} }},
		{"a field", crossing{}.answering(map[string][]string{"x-robots-tag": {"noai"}}, ""),
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Response.Term.Object} }},
		{"a member of a Link field", crossing{}.answering(map[string][]string{"link": {broken}}, ""),
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Response.Term.Object} }},
		{"a meta", crossing{}.answering(nil, page(`<meta name="robots" content="noai">`)),
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Response.HTML.Term.Object} }},
		{"a document in the page", crossing{}.answering(nil, page(scriptTag(rslOf(entry("", noInput))))),
			func(k *rulings.Terms) rulings.TermRef {
				return rulings.TermRef{Object: k.Response.HTML.Term.Object, Entry: 1}
			}},
		{"one that cannot be read", crossing{}.answering(nil, page(scriptTag("<rsl>"))),
			func(k *rulings.Terms) rulings.TermRef { return rulings.TermRef{Object: k.Response.HTML.Term.Object} }},
	} {
		x := tt.c.cross(t)
		if want := tt.want(&x.known); !x.Refused() || x.Term != want || want.Object == (rulings.Digest{}) {
			t.Errorf("%s: it points at %+v, want %+v", tt.name, x.Term, want)
		}
	}
}

// T56: what a file names is resolved from where it was found, which for the same
// octets can be several places at once.
func TestT56TheSameFileNamesLicencesOfThePlaceWhereItIs(t *testing.T) {
	terms := read("License: /l.xml\n")
	for range 2 {
		for _, host := range []string{"site.test", "www.site.test"} {
			for _, moved := range []string{"", "https://cdn.test/x/robots.txt"} {
				req, terms := get("/page"), terms
				req.Origin.Host, terms.Robots.FinalURL = host, moved
				want := "https://" + host + "/l.xml"
				if moved != "" {
					want = "https://cdn.test/l.xml"
				}
				if r := rulings.Decide(req, terms, rulings.DefaultPolicy()); len(r.Needs) != 1 || r.Needs[0].URL != want {
					t.Errorf("%s, found at %q: %+v is needed, want %s", host, moved, r.Needs, want)
				}
			}
		}
	}
}
