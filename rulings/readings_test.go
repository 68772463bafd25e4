package rulings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// T38: every kind of term that has a path is ruled on all readings of the page's.
func TestT38EveryKindOfTermIsRuledInEveryReading(t *testing.T) {
	kinds := []struct {
		name   string
		c      crossing
		reason rulings.Reason
	}{
		{"access", crossing{Robots: "User-agent: *\nAllow: /\nDisallow: /private/\n"}, rulings.RobotsDisallow},
		{"Content-Usage", crossing{Robots: "User-agent: *\nContent-Usage: /private/ train-ai=n\n"}, rulings.ContentUsage},
		{"Content-Signal", crossing{Robots: "User-agent: *\nContent-Signal: /private/ ai-train=no\n"}, rulings.ContentSignal},
		{"AI-training rules", crossing{Robots: "User-agent: *\nAllowAITraining: /\nDisallowAITraining: /private/\n"}, rulings.AITrainingRule},
		{"tdmrep.json", crossing{TDMRep: text(`[{"location":"/private/","tdm-reservation":1},{"location":"/","tdm-reservation":0}]`)}, rulings.TDMReserved},
		{"a licence", crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{
			licenceURL: {200, rslOf(entry("/", freeForAll), entry("/private/", noTraining))}}}, rulings.LicenceProhibits},
		{"a licence by Link", crossing{Licences: map[string]answer{
			licenceURL: {200, rslOf(entry("/", freeForAll), entry("/private/", noTraining))}}}.answering(byLink(licenceURL), ""), rulings.LicenceProhibits},
		{"a licence in the page", crossing{}.answering(nil, page(scriptTag(rslOf(entry("/", freeForAll), entry("/private/", noTraining))))), rulings.LicenceProhibits},
	}
	for _, target := range []string{"/private/1", "/x/../private/1", "/x/..%2Fprivate/1", "//private/1", "/private;v=1/1", "/x/%2e%2e/private/1", `/x\..\private/1`, "/p%72ivate/1"} {
		for _, kind := range kinds {
			c := kind.c
			c.Page, c.Purposes = "https://site.test"+target, purposesOf("ai-train")
			if x := c.cross(t); x.Reason != kind.reason {
				t.Errorf("%s of %s: %s %s", kind.name, target, x.Outcome, x.Reason)
			}
		}
	}
	for _, target := range []string{"/public/1", "/private", "/x?/private/1", "/x/private/1", "/private%252F1"} {
		for _, kind := range kinds {
			c := kind.c
			c.Page, c.Purposes = "https://site.test"+target, purposesOf("ai-train")
			if x := c.cross(t); x.Refused() {
				t.Errorf("%s of %s: %s %s", kind.name, target, x.Outcome, x.Reason)
			}
		}
	}
}

func text(s string) *string { return &s }

// T39: the price of ruling every reading, as the page states it.
func TestT39APathThatIsAllowedInOneSpellingIsNotInAnother(t *testing.T) {
	terms := read("User-agent: *\nDisallow: /\nAllow: /news/\n")
	if r := rulings.Decide(get("/news/1"), terms, rulings.DefaultPolicy()); r.Outcome != rulings.Proceed {
		t.Errorf("%+v", r)
	}
	if r := rulings.Decide(get("//news/1"), terms, rulings.DefaultPolicy()); r.Reason != rulings.RobotsDisallow {
		t.Errorf("%+v", r)
	}
}

// T40: the work of one document and one page is bounded, at 512,000,000 octets
// exactly, and each kind of document has its own end.
func TestT40TheWorkOfADocumentAndAPageIsBounded(t *testing.T) {
	const patterns, bound = 25_000, 512_000_000
	repeat := func(one, parted string) string {
		return strings.TrimSuffix(strings.Repeat(one+parted, patterns), parted)
	}
	kinds := []struct {
		name   string
		c      crossing
		reason rulings.Reason
		gaps   string
		told   string
	}{
		{"robots.txt", crossing{Robots: "User-agent: *\n" + repeat("Disallow: /b", "\n")}, rulings.PathReadings, "[]", "Ask for a shorter path"},
		{"its signals", crossing{Robots: "User-agent: *\n" + repeat("Content-Signal: /b ai-input=no", "\n")}, rulings.PathReadings, "[]", "Ask for a shorter path"},
		{"a licence", crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(repeat(`<content url="/b"/>`, ""))}}}, rulings.LicenceUnread, "[]", "(budget)"},
		{"tdmrep.json", crossing{Purposes: purposesOf("ai-train"), TDMRep: text("[" + repeat(`{"location":"/b"}`, ",") + "]")}, "", "[tdm_unread]", ""},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			atBound := bound/patterns - len("/b")
			for octets, over := range map[int]bool{atBound: false, atBound + 1: true} {
				c := kind.c
				c.Page = "https://site.test/" + strings.Repeat("a", octets-1)
				x := c.cross(t)
				reason, gaps := rulings.Reason(""), "[]"
				if over {
					reason, gaps = kind.reason, kind.gaps
				}
				if x.Reason != reason || fmt.Sprint(gapsOf(&x.Ruling)) != gaps || over && !strings.Contains(x.Told.String(), kind.told) {
					t.Errorf("a path of %d octets: %q with %v, told %q", octets, x.Reason, x.Gaps, x.Told)
				}
			}
		})
	}
}
