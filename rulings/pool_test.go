package rulings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

func TestT2ACrossingGoesOnOnlyIfNoDeclaredPurposeIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name     string
		robots   string
		purposes []string
		refused  rulings.Purpose
	}{
		{"none is refused", "Content-Signal: ai-train=no", purposesOf("ai-input", "search"), ""},
		{"the second is", "Content-Signal: ai-train=no", purposesOf("ai-input", "ai-train"), "ai-train"},
		{"the first is", "Content-Signal: ai-train=no", purposesOf("ai-train", "ai-input"), "ai-train"},
		{"both are: the first declared is named", "Content-Signal: ai-train=no, search=no", purposesOf("search", "ai-train"), "search"},
		{"both are, declared the other way round", "Content-Signal: ai-train=no, search=no", purposesOf("ai-train", "search"), "ai-train"},
		{"what is declared is ai-input where nothing is", "Content-Signal: ai-input=no", nil, "ai-input"},
		{"and that alone", "Content-Signal: ai-train=no, search=no, use=immediate", nil, ""},
		{"all four", "Content-Signal: search=no", allPurposes, "search"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := crossing{Robots: "User-agent: *\n" + tt.robots + "\n", Purposes: tt.purposes, TDM: &rulings.TDMTerms{}}
			stage, reason := rulings.StageBefore, rulings.ContentSignal
			if tt.refused == "" {
				stage, reason = "", ""
			}
			c.cross(t).comesTo(t, reason, stage, tt.refused)
		})
	}
}

// T2: what a caller asks about in place of the policy is ruled, and a purpose
// that no term can speak about is never taken for one that none forbids.
func TestT2PurposesOfARequestReplaceThePolicys(t *testing.T) {
	terms := read("User-agent: *\nContent-Signal: ai-input=no\n")
	req := get("/")
	req.Purposes = []rulings.Purpose{rulings.Search}
	if r := rulings.Decide(req, terms, rulings.DefaultPolicy()); r.Outcome != rulings.Proceed {
		t.Errorf("%+v", r)
	}
	req.Purposes = []rulings.Purpose{rulings.Search, "ai-fun"}
	if r := rulings.Decide(req, terms, rulings.DefaultPolicy()); r.Reason != rulings.UndecidedReason || !r.Refused() {
		t.Errorf("a purpose that is none: %+v", r)
	}
}

// T3: nothing said is unknown, which neither refuses nor is an allowance.
func TestT3UnknownNeverRefusesAndIsNoAllowance(t *testing.T) {
	for name, c := range map[string]crossing{
		"nothing anywhere":          {},
		"no robots.txt":             {RobotsStatus: 404},
		"an Allow (T108)":           {Robots: "User-agent: *\nAllow: /\n"},
		"words that say nothing":    {Robots: "User-agent: *\nContent-Usage: ai-use=maybe, bots=y\nContent-Signal: ai-input=perhaps\n"},
		"a licence of other pages":  {Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(entry("/other", noInput))}}},
		"an entry without licences": {Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(`<content url="/"/>`)}}},
		"a licence that is missing": {Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {404, ""}}},
		"a reservation of nothing":  crossing{}.answering(map[string][]string{"tdm-reservation": {"0"}}, ""),
		"search rules":              crossing{}.answering(map[string][]string{"x-robots-tag": {"noindex, nosnippet"}}, page(`<meta name="robots" content="noarchive">`)),
	} {
		c.Purposes, c.TDM = allPurposes, &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}
		x := c.cross(t)
		x.comesTo(t, "", "", "")
		if x.Effective != (rulings.Preferences{}) {
			t.Errorf("%s comes to %v", name, x.statements())
		}
	}
}

// T6: where the page says that there is a doubt, it is read against us.
func TestT46OtherNamesOfContentUsageAreRecordedAndRuleNothing(t *testing.T) {
	many := "bots=n, all=n, TDM=n"
	for i := range 40 {
		many += fmt.Sprintf(", x%d=n", i)
	}
	for _, tt := range []struct {
		name, robots, field string
		want                []string // line and name
	}{
		{"of a field", "", "bots=n, ai-use=y, tdm", []string{"0 ai-use allow", "0 bots unknown", "0 tdm unknown"}},
		{"of a line", "User-agent: *\nContent-Usage: genai=n, train-ai=y\n", "", []string{"2 train-ai allow", "2 genai unknown"}},
		{"of a line before any group", "Content-Usage: ai=n\n", "", []string{"1 ai unknown"}},
		{"of the lines that select, in every reading",
			"User-agent: *\nContent-Usage: c=n\nContent-Usage: /a/ b=n\nContent-Usage: // d=n\nContent-Usage: /a* e=n\nContent-Usage: /a g=n\nAllow: /\nUser-agent: other\nContent-Usage: /a/p f=n\n", "",
			[]string{"3 b unknown", "4 d unknown", "5 e unknown"}},
		{"and none of a value that does not parse", "User-agent: *\nContent-Usage: bots=N O\n", "TDM=n", nil},
		{"sixteen at most", "User-agent: *\nContent-Usage: " + strings.ToLower(many) + "\nContent-Usage: y=n\n", "", []string{
			"2 bots unknown", "2 all unknown", "2 tdm unknown", "2 x0 unknown", "2 x1 unknown", "2 x2 unknown", "2 x3 unknown", "2 x4 unknown",
			"2 x5 unknown", "2 x6 unknown", "2 x7 unknown", "2 x8 unknown", "2 x9 unknown", "2 x10 unknown", "2 x11 unknown", "2 x12 unknown"}},
	} {
		c := crossing{Robots: tt.robots, Purposes: allPurposes, Page: "https://site.test//a/p", TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}}
		if tt.field != "" {
			c = c.answering(map[string][]string{"content-usage": {tt.field}}, "")
		}
		x := c.cross(t)
		x.comesTo(t, "", "", "")
		var got []string
		for _, s := range x.Statements {
			got = append(got, fmt.Sprintf("%d %s %s", s.Line, s.Category, s.Preference))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		x.againIsTheSame(t)
	}
}

func TestT6ADoubtForbidsAndGrantsNothing(t *testing.T) {
	file := func(location string, reservation int) *string {
		s := fmt.Sprintf(`[{"location":%q,"tdm-reservation":%d},{"location":"/","tdm-reservation":0}]`, location, reservation)
		return &s
	}
	licence := func(body string) crossing {
		return crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(entry("/", body))}}}
	}
	for _, tt := range []struct {
		name    string
		c       crossing
		refused bool
	}{
		{"a Disallow without its slash", crossing{Robots: "User-agent: *\nDisallow: page\n"}, true},
		{"an Allow without its slash", crossing{Robots: "User-agent: *\nDisallow: /\nAllow: page\n"}, true},
		{"a misspelled Disallow", crossing{Robots: "User-agent: *\nDissallow: /\n"}, true},
		{"a misspelled Allow", crossing{Robots: "User-agent: *\nDisallow: /\nAlow: /page\n"}, true},
		{"old words in prohibits", licence(`<prohibits type="usage">AI-INPUT,search</prohibits>`), true},
		{"old words in permits", licence(`<permits type="usage">ai-input,search</permits>`), true},
		{"a price that is not known", licence(`<payment type="Free"/>`), true},
		{"a reservation without its slash", crossing{Purposes: purposesOf("ai-train"), TDMRep: file("page", 1)}, true},
		{"a doubt of which the page says nothing", crossing{Robots: "User-agent: *\nContent-Signal: ai-input=nope\nNoindex: /\n"}, false},
	} {
		if x := tt.c.cross(t); x.Refused() != tt.refused {
			t.Errorf("%s: %s %s", tt.name, x.Outcome, x.Reason)
		}
	}
}

// T107: every two carriers that speak of a purpose together.
func TestT107WhatForbidsHoldsAndWhatAllowsHoldsOverNothing(t *testing.T) {
	carriers := []struct {
		name string
		say  map[rulings.Preference]func(*crossing)
	}{
		{"a Content-Usage line", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Robots += "Content-Usage: train-ai=y\n" },
			rulings.Disallow: func(c *crossing) { c.Robots += "Content-Usage: train-ai=n\n" },
		}},
		{"a Content-Signal line", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Robots += "Content-Signal: ai-train=yes\n" },
			rulings.Disallow: func(c *crossing) { c.Robots += "Content-Signal: use=reference\n" },
		}},
		{"an AI-training rule", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Robots += "AllowAITraining: /\n" },
			rulings.Disallow: func(c *crossing) { c.Robots += "DisallowAITraining: /\n" },
		}},
		{"a licence", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Robots += "License: /l.xml\n"; c.Licences[licenceURL] = forAll(freeForAll) },
			rulings.Disallow: func(c *crossing) { c.Robots += "License: /l.xml\n"; c.Licences[licenceURL] = forAll(noTraining) },
		}},
		{"tdmrep.json", map[rulings.Preference]func(*crossing){
			rulings.Unknown:  func(c *crossing) { s := `[{"location":"/","tdm-reservation":0}]`; c.TDMRep = &s },
			rulings.Disallow: func(c *crossing) { s := `[{"location":"/","tdm-reservation":1}]`; c.TDMRep = &s },
		}},
		{"a Content-Usage field", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Response.Fields["content-usage"] = []string{"train-ai=y"} },
			rulings.Disallow: func(c *crossing) { c.Response.Fields["content-usage"] = []string{"train-ai=n"} },
		}},
		{"X-Robots-Tag", map[rulings.Preference]func(*crossing){
			rulings.Unknown:  func(c *crossing) { c.Response.Fields["x-robots-tag"] = []string{"all"} },
			rulings.Disallow: func(c *crossing) { c.Response.Fields["x-robots-tag"] = []string{"noai"} },
		}},
		{"a document in the page", map[rulings.Preference]func(*crossing){
			rulings.Allow:    func(c *crossing) { c.Response.HTML = page(scriptTag(rslOf(entry("", freeForAll)))) },
			rulings.Disallow: func(c *crossing) { c.Response.HTML = page(scriptTag(rslOf(entry("", noTraining)))) },
		}},
	}
	for i, one := range carriers {
		for _, other := range carriers[i+1:] {
			for says, saysOne := range one.say {
				for saysToo, saysOther := range other.say {
					c := crossing{Robots: "User-agent: *\n", Purposes: purposesOf("ai-train"), Licences: map[string]answer{}}
					c.Response.Fields, c.Request.All = map[string][]string{}, true
					x := c.with(saysOne).with(saysOther).cross(t)
					if want := max(says, saysToo); x.Effective.For(rulings.AITrain) != want || x.Refused() != (want == rulings.Disallow) {
						t.Errorf("%s says %s and %s %s: %s, %s", one.name, says, other.name, saysToo, x.Effective.For(rulings.AITrain), x.Outcome)
					}
				}
			}
		}
	}
}

// T107's table, one row a vocabulary: what each word says of the four purposes.
func TestT107WhichWordsSpeakForWhichPurpose(t *testing.T) {
	const n, y, o = rulings.Disallow, rulings.Allow, rulings.Unknown
	reserve := `[{"location":"/","tdm-reservation":1}]`
	licence := func(usage string) crossing {
		return crossing{Licences: map[string]answer{licenceURL: forAll(`<prohibits type="usage">` + usage + `</prohibits>`)}}.answering(byLink("/l.xml"), "")
	}
	for _, tt := range []struct {
		word string
		c    crossing
		want rulings.Preferences // ai-input, ai-train, ai-index, search
	}{
		{"ai-use=n", crossing{Robots: "Content-Usage: ai-use=n\n"}, rulings.Preferences{n, o, n, o}},
		{"ai-use=y", crossing{Robots: "Content-Usage: ai-use=y\n"}, rulings.Preferences{y, o, o, o}},
		{"train-ai=n", crossing{Robots: "Content-Usage: train-ai=n\n"}, rulings.Preferences{o, n, o, o}},
		{"train-ai=y, search=y", crossing{Robots: "Content-Usage: train-ai=y, search=y\n"}, rulings.Preferences{o, y, o, y}},
		{"ai-input=no", crossing{Robots: "Content-Signal: ai-input=no\n"}, rulings.Preferences{n, o, n, o}},
		{"ai-input=yes", crossing{Robots: "Content-Signal: ai-input=yes\n"}, rulings.Preferences{y, o, o, o}},
		{"ai-train=no, search=no", crossing{Robots: "Content-Signal: ai-train=no, search=no\n"}, rulings.Preferences{o, n, o, n}},
		{"use=immediate", crossing{Robots: "Content-Signal: use=immediate\n"}, rulings.Preferences{o, n, n, o}},
		{"use=reference", crossing{Robots: "Content-Signal: use=reference\n"}, rulings.Preferences{o, n, o, o}},
		{"use=full", crossing{Robots: "Content-Signal: use=full\n"}, rulings.Preferences{}},
		{"disallowaitraining", crossing{Robots: "DisallowAITraining: /\n"}, rulings.Preferences{o, n, o, o}},
		{"allowaitraining", crossing{Robots: "AllowAITraining: /\n"}, rulings.Preferences{o, y, o, o}},
		{"RSL ai-input", licence("ai-input"), rulings.Preferences{n, y, y, y}},
		{"RSL ai-train", licence("ai-train"), rulings.Preferences{y, n, y, y}},
		{"RSL ai-index", licence("ai-index"), rulings.Preferences{y, y, n, y}},
		{"RSL ai-all", licence("ai-all"), rulings.Preferences{n, n, n, y}},
		{"RSL search", licence("search"), rulings.Preferences{y, y, y, n}},
		{"RSL all", licence("all"), rulings.Preferences{n, n, n, n}},
		{"a reservation", crossing{TDMRep: &reserve}, rulings.Preferences{o, n, n, o}},
		{"a reservation that binds ai-input (T97)", crossing{TDMRep: &reserve, Policy: rulings.PolicyFile{Terms: rulings.OperatorFile{TDMBindsAIInput: true}}}, rulings.Preferences{n, n, n, o}},
		{"noai", crossing{}.answering(map[string][]string{"x-robots-tag": {"noai"}}, ""), rulings.Preferences{n, n, n, o}},
		{"noimageai of an image", crossing{}.answering(map[string][]string{"x-robots-tag": {"noimageai"}, "content-type": {"Image/PNG"}}, ""), rulings.Preferences{n, n, n, o}},
		{"noimageai of a page", crossing{}.answering(map[string][]string{"x-robots-tag": {"noimageai"}, "content-type": {"text/html"}}, ""), rulings.Preferences{}},
		{"disallowaitraining of a tag", crossing{}.answering(map[string][]string{"x-robots-tag": {"disallowaitraining"}}, ""), rulings.Preferences{o, n, o, o}},
	} {
		c := tt.c
		c.Purposes, c.Request.All = allPurposes, true
		if x := c.cross(t); x.Effective != tt.want {
			t.Errorf("%s: %v, want %v", tt.word, x.statements(), tt.want)
		}
	}
}

// T108: an Allow permits the fetching, and search=y nothing but search.
func TestT108AllowAndSearchPermitNothingElse(t *testing.T) {
	for _, tt := range []struct {
		robots string
		reason rulings.Reason
	}{
		{"User-agent: *\nAllow: /page\nContent-Signal: ai-input=no\n", rulings.ContentSignal},
		{"User-agent: *\nAllow: /page\nContent-Usage: ai-use=n, search=y\n", rulings.ContentUsage},
		{"User-agent: *\nContent-Usage: search=y\nContent-Signal: search=yes, ai-input=no\n", rulings.ContentSignal},
	} {
		crossing{Robots: tt.robots}.cross(t).comesTo(t, tt.reason, rulings.StageBefore, rulings.AIInput)
	}
}

func TestT109SignalsAndLicencesAreInForceTogether(t *testing.T) {
	for _, tt := range []struct {
		name, signal string
		licence      answer
		reason       rulings.Reason
	}{
		{"a free licence does not lift a signal", "ai-input=no", forAll(freeForAll), rulings.ContentSignal},
		{"a signal does not lift a price", "ai-input=yes", forAll(priced), rulings.LicencePayment},
		{"nor a licence that lists other uses", "ai-input=yes", forAll(`<permits type="usage">search</permits>`), rulings.LicenceNotListed},
		{"nor one that cannot be read", "ai-input=yes", answer{500, ""}, rulings.LicenceUnread},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := crossing{Robots: "User-agent: *\nContent-Signal: " + tt.signal + "\nLicense: /l.xml\n", Licences: map[string]answer{licenceURL: tt.licence}}
			if x := c.cross(t); x.Reason != tt.reason || x.Stage != rulings.StageBefore {
				t.Errorf("%+v", x.Ruling)
			}
		})
	}
}

// T96, T97: tdmrep.json is asked for where it can bind, and never refuses by not
// being there.
func TestT96T97ReservationsBindWhatTheyBind(t *testing.T) {
	reserved := `[{"location":"/page","tdm-reservation":1}]`
	for _, tt := range []struct {
		name     string
		purposes []string
		binds    bool
		asked    bool
		refused  rulings.Purpose
	}{
		{"ai-input alone", purposesOf("ai-input"), false, false, ""},
		{"search", purposesOf("search", "ai-input"), false, false, ""},
		{"ai-train", purposesOf("ai-input", "ai-train"), false, true, "ai-train"},
		{"ai-index", purposesOf("ai-index"), false, true, "ai-index"},
		{"ai-input, where the operator says that it binds", purposesOf("ai-input"), true, true, "ai-input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := crossing{Purposes: tt.purposes, TDMRep: &reserved}
			c.Policy.Terms.TDMBindsAIInput = tt.binds
			x := c.cross(t)
			if asked := strings.Contains(strings.Join(x.asked, " "), "tdmrep"); asked != tt.asked || x.Purpose != tt.refused || x.Refused() != (tt.refused != "") {
				t.Errorf("%s for %s; asked for %v", x.Outcome, x.Purpose, x.asked)
			}
			field := crossing{Purposes: tt.purposes, TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}}
			field.Policy.Terms.TDMBindsAIInput = tt.binds
			y := field.answering(map[string][]string{"tdm-reservation": {"1"}}, "").cross(t)
			if y.Purpose != tt.refused || len(y.Statements) != 1 || y.Statements[0].Preference != rulings.Disallow {
				t.Errorf("by a field: %s for %s, recorded %+v", y.Outcome, y.Purpose, y.Statements)
			}
		})
	}
	for outcome, gaps := range map[rulings.TermOutcome]string{
		rulings.TermMissing: "[]", rulings.TermUnread: "[tdm_unread]", rulings.TermCutShort: "[tdm_unread]", "": "[tdm_unread]",
	} {
		c := crossing{Purposes: purposesOf("ai-train"), TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: outcome, Cause: "status 500"}}}
		x := c.cross(t)
		if x.Refused() || fmt.Sprint(gapsOf(&x.Ruling)) != gaps {
			t.Errorf("%q: %s with %v", outcome, x.Outcome, x.Gaps)
		}
	}
}

// E17: what is pooled is pooled for the declared purposes.
func TestT2WhatATermSaysOfOtherPurposesIsNotPooled(t *testing.T) {
	x := crossing{Robots: "User-agent: *\nContent-Signal: ai-input=yes, search=no, ai-train=yes\nLicense: /l.xml\n", Licences: map[string]answer{licenceURL: forAll(freeForAll)}}.cross(t)
	if diff := cmp.Diff(rulings.Preferences{rulings.Allow}, x.Effective); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
