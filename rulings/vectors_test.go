package rulings_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/payment"
)

// allPurposes is every purpose, in the order of the page.
var allPurposes = []string{"ai-input", "ai-train", "ai-index", "search"}

// T107-T109, T8: each whole crossing comes to the right outcome, and nothing is
// asked for that does not have to be.
func TestVectorsCombine(t *testing.T) {
	type vector struct {
		crossing
		ID     string
		Expect map[string]any
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "combine") {
		t.Run(v.ID, func(t *testing.T) {
			x := v.cross(t)
			expect(t, v.Expect, map[string]any{
				"ruling": x.Outcome.String(), "reason": string(x.Reason), "stage": string(x.Stage), "purpose": string(x.Purpose),
				"asked": listOf(x.asked), "gaps": listOf(gapsOf(&x.Ruling)),
			})
			if x.Refused() && (x.Told.String() == "" || x.Detail == "") {
				t.Error("it is refused without a word")
			}
			x.againIsTheSame(t)
			kept := v.crossing
			kept.restored = true
			if diff := cmp.Diff(x.Ruling, kept.cross(t).Ruling, cmp.AllowUnexported(rulings.Words{})); diff != "" {
				t.Errorf("from what is kept of the answer (-first +again):\n%s", diff)
			}
		})
	}
}

// againIsTheSame decides x again (T5).
func (x *crossed) againIsTheSame(t *testing.T) {
	t.Helper()
	if again := rulings.Decide(x.req, x.known, x.policy); !reflect.DeepEqual(again, x.Ruling) {
		t.Errorf("decided twice:\n%+v\n%+v", x.Ruling, again)
	}
}

// statements are what is pooled for each purpose, as vectors have it.
func (x *crossed) statements() map[string]any {
	all := make(map[string]any)
	for _, purpose := range allPurposes {
		all[purpose] = x.Effective.For(rulings.Purpose(purpose)).String()
	}
	return all
}

// T46-T55: lines and fields come to the right preferences, together.
func TestVectorsContentUsageAndContentSignal(t *testing.T) {
	type vector struct {
		ID, Robots, Target string
		Tokens, Fields     []string
		Expect             map[string]any
	}
	for file, field := range map[string]string{"content_usage.json": "Content-Usage", "content_signal.json": "Content-Signal"} {
		for _, v := range vectorsOf[vector](t, file, "") {
			t.Run(v.ID, func(t *testing.T) {
				c := crossing{Page: "https://example.com" + v.Target, Purposes: allPurposes, Tokens: v.Tokens, Robots: v.Robots}
				access := "allow"
				if x := c.cross(t); x.Reason == rulings.RobotsDisallow {
					access = "refuse"
				} else if x.Reason != "" {
					c.Request.All = true // a line refuses, and the field is to be pooled with it
				}
				if len(v.Fields) > 0 {
					c.Response.Fields = map[string][]string{field: v.Fields}
				}
				x := c.cross(t)
				x.againIsTheSame(t)
				delete(v.Expect, "parses") // is for the parser to show
				expect(t, v.Expect, map[string]any{"access": access, "statements": x.statements()})
			})
		}
	}
}

// T71-T93: each document comes to the right end for its purpose.
func TestVectorsRSLTerms(t *testing.T) {
	type vector struct {
		crossing
		ID, RSL, Purpose string
		Expect           map[string]any
	}
	for _, v := range vectorsOf[vector](t, "rsl_terms.json", "") {
		t.Run(v.ID, func(t *testing.T) {
			c := v.crossing
			c.Robots, c.Purposes = "License: https://example.com/l.xml\n", []string{v.Purpose}
			c.Licences = map[string]answer{"https://example.com/l.xml": {200, v.RSL}}
			x := c.cross(t)
			x.againIsTheSame(t)
			if len(x.Licences) != 1 {
				t.Fatalf("%d licences are recorded", len(x.Licences))
			}
			expect(t, v.Expect, licenceOf(x, v.Purpose, v.Expect))
		})
	}
}

// licenceOf is what the licence of x came to, as vectors have it. Of what a
// ruling does not record it repeats what is expected.
func licenceOf(x *crossed, purpose string, expected map[string]any) map[string]any {
	l := &x.Licences[0]
	got := map[string]any{
		"state": "read", "cause": "", "outcome": l.Says.For(rulings.Purpose(purpose)).String(), "reason": string(x.Reason),
		"offer": float64(l.Offer), "duties": listOf(l.Duties), "payment": nil,
		"prohibits": expected["prohibits"], "restricted": expected["restricted"],
	}
	switch {
	case l.RefusedBy == rulings.LicenceUnread:
		got["state"], got["outcome"] = "unread", "refuse"
		_, cause, _ := strings.Cut(x.Told.String(), "(")
		got["cause"], _, _ = strings.Cut(cause, ")")
	case l.RefusedBy != "":
		got["outcome"] = "refuse"
	}
	if p := l.Payment; p != (rulings.Payment{}) {
		got["payment"] = map[string]any{"type": textOrNil(p.Type), "amount": textOrNil(p.Amount), "currency": textOrNil(p.Currency)}
	}
	return got
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// T95-T97: file, field and meta.
func TestVectorsTDM(t *testing.T) {
	type vector struct {
		ID, Target, Purpose, HTML string
		TDMRep                    *string
		TDMRepStatus              int
		Fields                    map[string][]string
		BindsAIInput              bool
		Expect                    map[string]any
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "tdm") {
		t.Run(v.ID, func(t *testing.T) {
			c := crossing{Page: "https://example.com" + v.Target, Purposes: []string{v.Purpose}, TDMRep: v.TDMRep}
			c.Policy.Terms.TDMBindsAIInput = v.BindsAIInput
			c.Response.Fields, c.Response.HTML = v.Fields, v.HTML
			if v.TDMRepStatus != 0 && v.TDMRepStatus != 200 && v.TDMRepStatus != 404 {
				c.TDM = &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermUnread}}
			}
			x := c.cross(t)
			x.againIsTheSame(t)
			reservation := "unset"
			for _, s := range x.Statements {
				switch {
				case s.Preference == rulings.Disallow:
					reservation = "reserved"
				case reservation == "unset":
					reservation = "not_reserved"
				}
			}
			expect(t, v.Expect, map[string]any{"ruling": x.Outcome.String(), "reason": string(x.Reason), "reservation": reservation})
		})
	}
}

// T98: X-Robots-Tag and robots metas.
func TestVectorsXRobots(t *testing.T) {
	type vector struct {
		ID, HTML, ContentType string
		Tokens, XRobotsTag    []string
		Expect                map[string]any
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "xrobots") {
		t.Run(v.ID, func(t *testing.T) {
			c := crossing{Purposes: allPurposes, Tokens: v.Tokens}
			c.Response.Fields = map[string][]string{"x-robots-tag": v.XRobotsTag, "content-type": {v.ContentType}}
			c.Response.HTML = v.HTML
			x := c.cross(t)
			x.againIsTheSame(t)
			expect(t, v.Expect, map[string]any{"statements": x.statements()})
		})
	}
}

// T99: AI-training rules.
func TestVectorsTraining(t *testing.T) {
	type vector struct {
		ID, Robots, Target string
		Tokens             []string
		Expect             map[string]any
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "training") {
		t.Run(v.ID, func(t *testing.T) {
			x := crossing{Page: "https://example.com" + v.Target, Purposes: allPurposes, Tokens: v.Tokens, Robots: v.Robots}.cross(t)
			x.againIsTheSame(t)
			expect(t, v.Expect, map[string]any{"statements": x.statements()})
		})
	}
}

// T105: fields that spend.
func TestVectorsSpending(t *testing.T) {
	type vector struct {
		ID            string
		RequestFields map[string][]string
		MaySpend      bool
		Expect        map[string]any
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "spending") {
		t.Run(v.ID, func(t *testing.T) {
			c := crossing{Request: rulings.Request{User: "agent", Spending: payment.Spending(http.Header(v.RequestFields))}}
			if v.MaySpend {
				c.Policy.Spend = []rulings.SpendFile{{User: "agent", Hosts: []string{"site.test"}}}
			}
			x := c.cross(t)
			expect(t, v.Expect, map[string]any{"ruling": x.Outcome.String(), "reason": string(x.Reason)})
			if x.Refused() && x.asked != nil {
				t.Errorf("%v was asked for", x.asked)
			}
		})
	}
}

// T59-T64: what a Link field names is needed, in order, and what cannot be read
// withholds the page.
func TestVectorsLink(t *testing.T) {
	type vector struct {
		ID, Page string
		Fields   []string
		Expect   struct {
			Licences []string
			Unread   int
		}
	}
	for _, v := range vectorsOf[vector](t, "link.json", "") {
		t.Run(v.ID, func(t *testing.T) {
			c := crossing{Page: v.Page, Found: missing(v.Expect.Licences)}
			c.Response.Fields = map[string][]string{"link": v.Fields}
			x := c.cross(t)
			x.againIsTheSame(t)
			named(t, x, v.Expect.Licences, v.Expect.Unread, rulings.StageHead)
		})
	}
}

// T66-T68: so does the head of a page.
func TestVectorsHTML(t *testing.T) {
	type vector struct {
		ID, Page, HTML, ContentType string
		Expect                      struct {
			Licences       []string
			Inline, Unread int
			Seen           bool
		}
	}
	for _, v := range vectorsOf[vector](t, "tdm_and_others.json", "html") {
		t.Run(v.ID, func(t *testing.T) {
			c := crossing{Page: v.Page, Purposes: []string{"search"}, Found: missing(v.Expect.Licences)}
			c.Response.Fields, c.Response.HTML = map[string][]string{"content-type": {v.ContentType}}, v.HTML
			x := c.cross(t)
			x.againIsTheSame(t)
			if html := x.known.Response.HTML; v.Expect.Seen != (html != nil && html.Unseen == "") {
				t.Errorf("seen is %t: %+v", !v.Expect.Seen, html)
			} else if html != nil && len(html.Inline) != v.Expect.Inline {
				t.Errorf("%d documents stand in the page, want %d", len(html.Inline), v.Expect.Inline)
			}
			if v.Expect.Inline == 0 { // those of the vectors are no licences that could be read
				named(t, x, v.Expect.Licences, v.Expect.Unread, rulings.StageBody)
			}
		})
	}
}

// missing is that none of the licences is there.
func missing(urls []string) map[string]rulings.LicenceTerms {
	found := make(map[string]rulings.LicenceTerms)
	for _, u := range urls {
		found[u] = rulings.LicenceTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}
	}
	return found
}

// named checks that x asked for each of urls or, with unread ones, was withheld
// before it asked for any.
func named(t *testing.T, x *crossed, urls []string, unread int, stage rulings.Stage) {
	t.Helper()
	var asked []string
	for _, what := range x.asked {
		if what != "page" && !strings.HasPrefix(what, "robots") {
			asked = append(asked, what)
		}
	}
	switch {
	case unread > 0 && (x.Reason != rulings.LicenceUnread || x.Outcome != rulings.Withhold || x.Stage != stage || asked != nil):
		t.Errorf("%s %s at %q, asked for %v; %d licences are unread", x.Outcome, x.Reason, x.Stage, asked, unread)
	case unread == 0 && (x.Refused() || cmp.Diff(append([]string{}, urls...), append([]string{}, asked...)) != ""):
		t.Errorf("%s %s; asked for %v, want %v", x.Outcome, x.Reason, asked, urls)
	}
}

// withTokens is the default policy of an edge with these tokens, whatever they are.
func withTokens(tokens []string) *rulings.Policy {
	p := *rulings.DefaultPolicy()
	p.Identity.Tokens = tokens
	return &p
}

// T21-T43, T56, T57: what robots.txt says of a page, and the licences it names.
func TestVectorsRobots(t *testing.T) {
	type vector struct {
		ID, Robots, UserAgent, Target, Base string
		Tokens                              []string
		Expect                              map[string]any
	}
	for _, v := range vectorsOf[vector](t, "robots.json", "access") {
		t.Run(v.ID, func(t *testing.T) {
			req := rulings.Request{Origin: site, Target: v.Target, UserAgent: v.UserAgent}
			r := rulings.Decide(req, read(v.Robots), withTokens(v.Tokens))
			access := "allow"
			if r.Reason == rulings.RobotsDisallow || r.Reason == rulings.PathReadings {
				access = "refuse"
			}
			if access != v.Expect["access"] {
				t.Errorf("%s by %+v, want %s", access, r.Robots, v.Expect["access"])
			}
		})
	}
	for _, v := range vectorsOf[vector](t, "robots.json", "lines") {
		t.Run(v.ID, func(t *testing.T) {
			terms := read(v.Robots)
			terms.Robots.FinalURL = v.Base
			r := rulings.Decide(rulings.Request{Origin: site, Target: "/page", UserAgent: v.UserAgent}, terms, withTokens(v.Tokens))
			if r.Reason == rulings.RobotsDisallow {
				return // there are no other terms then (T43)
			}
			var needed []string
			for _, need := range r.Needs {
				needed = append(needed, need.URL)
			}
			if want, ok := v.Expect["licences"]; ok && cmp.Diff(want, any(listOf(needed))) != "" {
				t.Errorf("%v are needed, want %v", needed, want)
			}
		})
	}
}
