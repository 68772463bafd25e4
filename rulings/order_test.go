package rulings_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

func TestT1TermsBindEveryMethodAndNoService(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", ""} {
		c := crossing{Robots: "User-agent: *\nDisallow: /\n", Request: rulings.Request{Method: method}}
		c.cross(t).comesTo(t, rulings.RobotsDisallow, rulings.StageBefore, "")
		c.Robots = ""
		c.answering(map[string][]string{"content-usage": {"ai-use=n"}}, "").cross(t).comesTo(t, rulings.ContentUsage, rulings.StageHead, rulings.AIInput)
		c.Policy.Services = []string{"site.test"}
		x := c.answering(map[string][]string{"content-usage": {"ai-use=n"}}, page(`<meta name="robots" content="noai">`)).cross(t)
		x.comesTo(t, "", "", "")
		if diff := cmp.Diff([]string{"page"}, x.asked); diff != "" {
			t.Errorf("asked of a service (-want +got):\n%s", diff)
		}
	}
}

// everything is a site that states its terms in every place there is, each of
// them permitting.
func everything() crossing {
	reserved := `[{"location":"/","tdm-reservation":0}]`
	c := crossing{
		Purposes: purposesOf("ai-train", "ai-input", "ai-index", "search"), TDMRep: &reserved,
		Robots: "User-agent: *\nAllow: /\nContent-Usage: ai-use=y, train-ai=y, search=y\n" +
			"Content-Signal: ai-input=yes, ai-train=yes, search=yes, use=full\nAllowAITraining: /\nLicense: /robots.xml\n",
		Licences: map[string]answer{
			"https://site.test/robots.xml": forAll(freeForAll), "https://site.test/link.xml": forAll(freeForAll),
			"https://site.test/html.xml": forAll(freeForAll),
		},
	}
	fields := byLink("/link.xml")
	fields["content-usage"] = []string{"ai-use=y, train-ai=y, search=y"}
	fields["content-signal"] = []string{"ai-input=yes, ai-train=yes, search=yes"}
	fields["tdm-reservation"], fields["x-robots-tag"] = []string{"0"}, []string{"noindex"}
	return c.answering(fields, page(`<meta name="tdm-reservation" content="0">`, linkTag("/html.xml"), scriptTag(rslOf(entry("", freeForAll)))))
}

// T8, T100: nothing but these is asked for, in this order, and each once.
func TestT8T100StagesAskInOrderAndForNothingElse(t *testing.T) {
	x := everything().cross(t)
	x.comesTo(t, "", "", "")
	want := []string{"robots", "https://site.test/robots.xml", "tdmrep", "page", "https://site.test/link.xml", "https://site.test/html.xml"}
	if diff := cmp.Diff(want, x.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, purpose := range allPurposes[:2] {
		if x.Effective.For(rulings.Purpose(purpose)) != rulings.Allow {
			t.Errorf("%s is %s", purpose, x.Effective.For(rulings.Purpose(purpose)))
		}
	}
	x.againIsTheSame(t)
}

// prohibitions are one for each place in which a site can forbid ai-train, in the
// order in which the places are ruled.
var prohibitions = []struct {
	place  string
	forbid func(*crossing)
	reason rulings.Reason
	stage  rulings.Stage
}{
	{"access", func(c *crossing) { c.Robots += "User-agent: *\nDisallow: /page\n" }, rulings.RobotsDisallow, rulings.StageBefore},
	{"a Content-Usage line", func(c *crossing) { c.Robots += "Content-Usage: train-ai=n\n" }, rulings.ContentUsage, rulings.StageBefore},
	{"a Content-Signal line", func(c *crossing) { c.Robots += "Content-Signal: ai-train=no\n" }, rulings.ContentSignal, rulings.StageBefore},
	{"an AI-training rule", func(c *crossing) { c.Robots += "DisallowAITraining: /page\n" }, rulings.AITrainingRule, rulings.StageBefore},
	{"a licence of robots.txt", func(c *crossing) { c.Licences["https://site.test/robots.xml"] = forAll(noTraining) }, rulings.LicenceProhibits, rulings.StageBefore},
	{"tdmrep.json", func(c *crossing) {
		reserved := `[{"location":"/page","tdm-reservation":1}]`
		c.TDMRep = &reserved
	}, rulings.TDMReserved, rulings.StageBefore},
	{"a Content-Usage field", func(c *crossing) { c.Response.Fields["content-usage"] = []string{"train-ai=n"} }, rulings.ContentUsage, rulings.StageHead},
	{"a Content-Signal field", func(c *crossing) { c.Response.Fields["content-signal"] = []string{"use=reference"} }, rulings.ContentSignal, rulings.StageHead},
	{"a tdm-reservation field", func(c *crossing) { c.Response.Fields["tdm-reservation"] = []string{"1"} }, rulings.TDMReserved, rulings.StageHead},
	{"X-Robots-Tag", func(c *crossing) { c.Response.Fields["x-robots-tag"] = []string{"noai"} }, rulings.NoAI, rulings.StageHead},
	{"X-Robots-Tag against training", func(c *crossing) { c.Response.Fields["x-robots-tag"] = []string{"disallowaitraining"} }, rulings.AITrainingRule, rulings.StageHead},
	{"a licence by Link", func(c *crossing) { c.Licences["https://site.test/link.xml"] = forAll(noTraining) }, rulings.LicenceProhibits, rulings.StageHead},
	{"a robots meta", func(c *crossing) { c.Response.HTML = page(`<meta name="robots" content="noai">`, linkTag("/html.xml")) }, rulings.NoAI, rulings.StageBody},
	{"a tdm-reservation meta", func(c *crossing) { c.Response.HTML = page(`<meta name="tdm-reservation" content="1">`) }, rulings.TDMReserved, rulings.StageBody},
	{"a licence by <link>", func(c *crossing) { c.Licences["https://site.test/html.xml"] = forAll(noTraining) }, rulings.LicenceProhibits, rulings.StageBody},
	{"a licence in the page", func(c *crossing) { c.Response.HTML = page(scriptTag(rslOf(entry("", noTraining)))) }, rulings.LicenceProhibits, rulings.StageBody},
}

// T7: one prohibition among permissions everywhere else refuses, wherever it
// stands; and what refuses in an earlier place is what is told.
func TestT7NoPermissionLiftsAProhibitionStatedElsewhere(t *testing.T) {
	for i, first := range prohibitions {
		t.Run(first.place, func(t *testing.T) {
			purpose := rulings.AITrain
			if first.reason == rulings.RobotsDisallow {
				purpose = "" // concerns every purpose
			}
			one := everything().with(first.forbid).cross(t)
			one.comesTo(t, first.reason, first.stage, purpose)
			if one.Effective.For(rulings.AITrain) != rulings.Disallow && purpose != "" {
				t.Errorf("it comes to %s", one.Effective.For(rulings.AITrain))
			}
			if first.stage == rulings.StageBody {
				return // several of these replace the page
			}
			for _, later := range prohibitions[i+1:] {
				both := everything().with(first.forbid).with(later.forbid).cross(t)
				if both.Stage != first.stage || both.Reason != first.reason && later.stage != first.stage {
					t.Errorf("with %s it is refused for %s at %s", later.place, both.Reason, both.Stage)
				}
			}
		})
	}
}

// T8: behind what refuses nothing is asked for.
func TestT8WhatALaterStageWouldAskForIsNotAskedFor(t *testing.T) {
	all := everything().cross(t).asked
	for _, p := range prohibitions {
		x := everything().with(p.forbid).cross(t)
		if len(x.asked) > len(all) || cmp.Diff(all[:len(x.asked)], x.asked) != "" {
			t.Errorf("%s: %v was asked for", p.place, x.asked)
		}
		asked := len(all)
		switch p.place {
		case "access", "a Content-Usage line", "a Content-Signal line", "an AI-training rule":
			asked = 1
		case "a licence of robots.txt":
			asked = 2
		case "tdmrep.json":
			asked = 3
		case "a licence by Link":
			asked = 5
		case "a licence by <link>":
		default:
			asked = 4 // the page
			if p.stage == rulings.StageBody {
				asked = 5 // and the licence that its head names
			}
		}
		if len(x.asked) != asked {
			t.Errorf("%s: %v was asked for, want %d of it", p.place, x.asked, asked)
		}
	}
}

func TestT9InAStageWhatCannotBeReadComesFirstAndThenThePurposesAsDeclared(t *testing.T) {
	const unreadLink = `</l.xml; rel=license; type="application/rsl+xml"`
	link := byLink(licenceURL)["link"][0]
	priced, noInput, noTraining := forAll(priced), forAll(noInput), forAll(noTraining)
	two := "License: /l.xml\nLicense: /m.xml\n"
	for _, tt := range []struct {
		name    string
		c       crossing
		reason  rulings.Reason
		stage   rulings.Stage
		purpose rulings.Purpose
		asked   int // beside robots.txt
	}{
		{"the second licence, unread, before the first, which prohibits",
			crossing{Robots: two, Licences: map[string]answer{licenceURL: noInput, secondURL: {403, ""}}}, rulings.LicenceUnread, rulings.StageBefore, "", 2},
		{"a value that is no URL before a licence that prohibits",
			crossing{Robots: "License: /l.xml\nLicense: ftp://x/\n", Licences: map[string]answer{licenceURL: noInput}}, rulings.LicenceUnread, rulings.StageBefore, "", 1},
		{"the first declared purpose, though the first licence refuses the second",
			crossing{Robots: two, Purposes: purposesOf("ai-input", "ai-train"), Licences: map[string]answer{licenceURL: noTraining, secondURL: noInput}},
			rulings.LicenceProhibits, rulings.StageBefore, rulings.AIInput, 2},
		{"the same, declared the other way round",
			crossing{Robots: two, Purposes: purposesOf("ai-train", "ai-input"), Licences: map[string]answer{licenceURL: noTraining, secondURL: noInput}},
			rulings.LicenceProhibits, rulings.StageBefore, rulings.AITrain, 2},
		{"for one purpose the first licence in order",
			crossing{Robots: two, Licences: map[string]answer{licenceURL: priced, secondURL: noInput}}, rulings.LicencePayment, rulings.StageBefore, rulings.AIInput, 2},
		{"Content-Usage before Content-Signal, whatever their order in the file",
			crossing{Robots: "User-agent: *\nContent-Signal: ai-input=no\nContent-Usage: ai-use=n\n"}, rulings.ContentUsage, rulings.StageBefore, rulings.AIInput, 0},
		{"the first declared purpose before the first vocabulary",
			crossing{Robots: "User-agent: *\nContent-Signal: ai-input=no\nContent-Usage: train-ai=n\n", Purposes: purposesOf("ai-input", "ai-train")},
			rulings.ContentSignal, rulings.StageBefore, rulings.AIInput, 0},
		{"a statement before the stage's licences are asked for",
			crossing{}.answering(map[string][]string{"x-robots-tag": {"noai"}, "link": {link}}, ""), rulings.NoAI, rulings.StageHead, rulings.AIInput, 1},
		{"a Link member that cannot be read before a statement",
			crossing{}.answering(map[string][]string{"x-robots-tag": {"noai"}, "link": {unreadLink}}, ""), rulings.LicenceUnread, rulings.StageHead, "", 1},
		{"and before the licences that could be asked for",
			crossing{}.answering(map[string][]string{"link": {link, unreadLink}}, ""), rulings.LicenceUnread, rulings.StageHead, "", 1},
		{"a document in the page that cannot be read before a meta",
			crossing{}.answering(nil, page(`<meta name="robots" content="noai">`, scriptTag("<rsl>"))), rulings.LicenceUnread, rulings.StageBody, "", 1},
		{"a <link> to no URL before a meta",
			crossing{}.answering(nil, page(`<meta name="robots" content="noai">`, linkTag("data:x"))), rulings.LicenceUnread, rulings.StageBody, "", 1},
		{"a meta before the licences of the head",
			crossing{}.answering(nil, page(linkTag("/l.xml"), `<meta name="robots" content="noai">`)), rulings.NoAI, rulings.StageBody, rulings.AIInput, 1},
		{"metas in document order: the reservation",
			crossing{Purposes: purposesOf("ai-train"), TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}}.answering(nil,
				page(`<meta name="tdm-reservation" content="1">`, `<meta name="robots" content="noai">`)), rulings.TDMReserved, rulings.StageBody, rulings.AITrain, 2},
		{"metas in document order: noai",
			crossing{Purposes: purposesOf("ai-train"), TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}}.answering(nil,
				page(`<meta name="robots" content="noai">`, `<meta name="tdm-reservation" content="1">`)), rulings.NoAI, rulings.StageBody, rulings.AITrain, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := tt.c.cross(t)
			x.comesTo(t, tt.reason, tt.stage, tt.purpose)
			if len(x.asked) != 1+tt.asked {
				t.Errorf("%v was asked for", x.asked)
			}
			x.againIsTheSame(t)
		})
	}
}

// T9: all that is known to refuse is recorded; the first gives the reason.
func TestT9EveryRefusingTermOfAStageIsRecorded(t *testing.T) {
	c := crossing{
		Robots:   "License: /0.xml\nLicense: /1.xml\nLicense: /2.xml\nLicense: /3.xml\nLicense: /4.xml\nLicense: gopher:x\n",
		Purposes: purposesOf("ai-input", "search"),
		Licences: map[string]answer{
			"https://site.test/0.xml": forAll(freeForAll), "https://site.test/1.xml": forAll(priced), "https://site.test/2.xml": {500, ""},
			"https://site.test/3.xml": {404, ""}, "https://site.test/4.xml": forAll(`<permits type="usage">ai-input</permits>`),
		},
	}
	x := c.cross(t)
	x.comesTo(t, rulings.LicenceUnread, rulings.StageBefore, "")
	var refusals []rulings.Reason
	for _, l := range x.Licences {
		refusals = append(refusals, l.RefusedBy)
	}
	want := []rulings.Reason{"", rulings.LicencePayment, rulings.LicenceUnread, "", rulings.LicenceNotListed, rulings.LicenceUnread}
	if diff := cmp.Diff(want, refusals); diff != "" {
		t.Errorf("refused by (-want +got):\n%s", diff)
	}
	if told := x.Told.String(); told != "Licence 3 of this page could not be read (status), so it cannot be kept." {
		t.Errorf("the agent is told %q", told)
	}
	if x.Effective.For(rulings.AIInput) != rulings.Disallow || x.Effective.For(rulings.Search) != rulings.Disallow {
		t.Errorf("it comes to %v", x.statements())
	}

	lines := crossing{Robots: "User-agent: *\nContent-Usage: ai-use=n, train-ai=n\nContent-Signal: ai-input=no\nDisallowAITraining: /\n"}.cross(t)
	lines.comesTo(t, rulings.ContentUsage, rulings.StageBefore, rulings.AIInput)
	if len(lines.Statements) != 4 {
		t.Errorf("recorded are %+v", lines.Statements)
	}
}

// T10: what an answer said is of that answer.
func TestT10TermsOfAnAnswerAreNotRememberedForTheNextCrossing(t *testing.T) {
	x := crossing{}.answering(map[string][]string{"content-usage": {"ai-use=n"}}, "").cross(t)
	x.comesTo(t, rulings.ContentUsage, rulings.StageHead, rulings.AIInput)
	x.known.Response = nil
	if next := rulings.Decide(x.req, x.known, x.policy); next.Outcome != rulings.Proceed || next.Statements != nil {
		t.Errorf("%+v", next)
	}
}

func TestT11DocumentsInWhichTermsAreStatedAreNotRuled(t *testing.T) {
	const closed = "User-agent: *\nDisallow: /\nContent-Signal: ai-input=no\nLicense: /l.xml?v=2\n\nUser-agent: Other\nDisallow: /\nLicense: https://site.test/other.xml\nLicense: http://site.test/plain.xml\n"
	for _, tt := range []struct {
		page   string
		served bool
	}{
		{"https://site.test/robots.txt", true},
		{"https://site.test/.well-known/tdmrep.json", true},
		{"https://site.test/robots.txt?x", false},
		{"https://site.test//robots.txt", false},
		{"https://site.test/.well-known/tdmrep.json?", false},
		{"https://site.test/l.xml?v=2", true},
		{"https://site.test/l.xml", false},
		{"https://site.test/other.xml", true}, // whoever the line binds
		{"https://site.test/plain.xml", false},
		{"http://site.test/plain.xml", true},
		{"https://site.test:8443/other.xml", false},
		{"https://site.test/page", false},
	} {
		c := crossing{Page: tt.page, Robots: closed}
		c = c.answering(map[string][]string{"content-usage": {"ai-use=n"}}, page(`<meta name="robots" content="noai">`))
		x := c.cross(t)
		if x.Refused() == tt.served {
			t.Errorf("%s: %s %s", tt.page, x.Outcome, x.Reason)
		}
		if tt.served && (len(x.Statements) > 0 || len(x.Licences) > 0) {
			t.Errorf("%s: it is ruled by %+v", tt.page, x.Ruling)
		}
		x.againIsTheSame(t)
	}
	moved := read("User-agent: *\nDisallow: /\nLicense: l.xml\n")
	moved.Robots.FinalURL = "https://www.site.test/"
	if r := rulings.Decide(get("/l.xml"), moved, rulings.DefaultPolicy()); r.Reason != rulings.RobotsDisallow {
		t.Errorf("what the file names where it was found is at another origin: %+v", r)
	}
	other := get("/l.xml")
	other.Origin.Host = "www.site.test"
	if r := rulings.Decide(other, moved, rulings.DefaultPolicy()); r.Outcome != rulings.Proceed {
		t.Errorf("%+v", r)
	}
	spending := get("/robots.txt")
	spending.Spending = []string{"x-payment"}
	exempt := rulings.Terms{Robots: rulings.RobotsTerms{Exempt: true}}
	if r := rulings.Decide(spending, exempt, rulings.DefaultPolicy()); r.Reason != rulings.SpendNotAllowed {
		t.Errorf("the operator's policy holds for them: %+v", r)
	}
}

// T43: where access refuses the file says nothing else of the page.
func TestT43WhereAccessRefusesStatementsAndLicencesDoNotExist(t *testing.T) {
	x := everything().with(func(c *crossing) {
		c.Robots += "Disallow: /page\nContent-Signal: ai-input=no\n"
	}).cross(t)
	x.comesTo(t, rulings.RobotsDisallow, rulings.StageBefore, "")
	if len(x.Statements) > 0 || len(x.Licences) > 0 || x.Effective != (rulings.Preferences{}) || len(x.asked) != 1 {
		t.Errorf("%+v; %v was asked for", x.Ruling, x.asked)
	}
	// An agent's own name closes it as well.
	c := crossing{Robots: "User-agent: *\nContent-Signal: ai-input=no\n\nUser-agent: Bad\nDisallow: /\n", Request: rulings.Request{UserAgent: "Bad/1"}}
	if x := c.cross(t); x.Reason != rulings.RobotsDisallow || len(x.Statements) > 0 {
		t.Errorf("%+v", x.Ruling)
	}
}

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
