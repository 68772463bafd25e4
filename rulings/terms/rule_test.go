package terms

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

const (
	forbids = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><prohibits type="usage">ai-input</prohibits></license></content></rsl>`
	signal  = "User-agent: *\nContent-Signal: ai-input=no\n"
)

// request is a plain GET of http://site.test/page.
func request(t *testing.T) rulings.Request {
	return rulings.Request{Method: http.MethodGet, Origin: origin(t, "http", "site.test"), Target: "/page"}
}

// policyFor returns a policy that declares purposes.
func policyFor(t *testing.T, purposes ...string) *rulings.Policy {
	t.Helper()
	p, faults := rulings.NewPolicy(rulings.PolicyFile{Purposes: purposes})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// What is asked for, in which order, and what comes of it.
func TestT8WhatAStageRefusesIsNotAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name     string
		site     pages
		elsewise pages // of http://licences.test
		purposes []string
		outcome  rulings.Outcome
		reason   rulings.Reason
		asked    []string
	}{
		{
			name: "nothing is stated", site: pages{},
			outcome: rulings.Proceed, asked: []string{"site.test/robots.txt"},
		}, {
			name: "access is refused", site: pages{"/robots.txt": text("License: /l.xml\n" + refusesAll)},
			outcome: rulings.Refuse, reason: rulings.RobotsDisallow, asked: []string{"site.test/robots.txt"},
		}, {
			name: "a statement refuses", site: pages{"/robots.txt": text("License: /l.xml\n" + signal)},
			outcome: rulings.Refuse, reason: "content_signal", asked: []string{"site.test/robots.txt"},
		}, {
			name: "a licence refuses: the other of the stage is read, tdmrep.json is not", purposes: []string{"ai-input", "ai-train"},
			site:    pages{"/robots.txt": text("License: /l.xml\nLicense: /m.xml\n"), "/l.xml": text(forbids), "/m.xml": text(rsl)},
			outcome: rulings.Refuse, reason: "licence_prohibits", asked: []string{"site.test/robots.txt", "site.test/l.xml", "site.test/m.xml"},
		}, {
			name: "all is open", purposes: []string{"ai-input", "ai-train"},
			site:     pages{"/robots.txt": text("License: http://licences.test/l.xml\nLicense: /m.xml\n"), "/m.xml": text(rsl), "/.well-known/tdmrep.json": text("[]")},
			elsewise: pages{"/l.xml": text(rsl)}, outcome: rulings.Proceed,
			asked: []string{"site.test/robots.txt", "licences.test/robots.txt", "licences.test/l.xml", "site.test/m.xml", "site.test/.well-known/tdmrep.json"},
		}, {
			name: "a licence elsewhere that may not be asked for", site: pages{"/robots.txt": text("License: http://licences.test/l.xml\n")},
			elsewise: pages{"/l.xml": text(rsl), "/robots.txt": text(refusesAll)},
			outcome:  rulings.Refuse, reason: "licence_unread", asked: []string{"site.test/robots.txt", "licences.test/robots.txt"},
		}, {
			name: "a reservation refuses", purposes: []string{"ai-train"}, site: pages{"/.well-known/tdmrep.json": text(reservation)},
			outcome: rulings.Refuse, reason: "tdm_reserved", asked: []string{"site.test/robots.txt", "site.test/.well-known/tdmrep.json"},
		}, {
			name: "a reservation is not asked for by who is not bound", site: pages{"/.well-known/tdmrep.json": text(reservation)},
			outcome: rulings.Proceed, asked: []string{"site.test/robots.txt"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.serve("site.test:80", tt.site)
				w.serve("licences.test:80", tt.elsewise)
				b, policy := w.open(t.TempDir()), policyFor(t, tt.purposes...)
				var known rulings.Terms
				got := b.Rule(t.Context(), request(t), &known, policy)
				if got.Outcome != tt.outcome || got.Reason != tt.reason || len(got.Needs) > 0 {
					t.Errorf("%s %q: %s, needs %v", got.Outcome, got.Reason, got.Detail, got.Needs)
				}
				if diff := cmp.Diff(tt.asked, w.askedFor()); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}

				// The same is ruled from what is held, and by whoever looks at what
				// became known.
				held := rulings.Terms{}
				again, missing := b.RuleHeld(request(t), &held, policy)
				if again.Outcome != got.Outcome || again.Reason != got.Reason || len(missing) > 0 {
					t.Errorf("held: %s %q, missing %v", again.Outcome, again.Reason, missing)
				}
				if d := rulings.Decide(request(t), known, policy); d.Outcome != got.Outcome || d.Reason != got.Reason {
					t.Errorf("decided again: %s %q", d.Outcome, d.Reason)
				}
				if n := w.asked(); n != len(tt.asked) {
					t.Errorf("%d requests for what is held", n-len(tt.asked))
				}
			})
		})
	}
}

// RuleHeld asks nobody and says for what it would have to.
func TestRuleHeldNamesWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", pages{"/robots.txt": text("License: http://licences.test/l.xml\nLicense: /m.xml\n"), "/m.xml": text(rsl)})
		w.serve("licences.test:80", pages{"/l.xml": text(rsl)})
		b, policy := w.open(t.TempDir()), policyFor(t, "ai-input", "ai-train")
		page := request(t).Origin
		for _, step := range []struct {
			missing []rulings.Need
			fill    func()
		}{
			{[]rulings.Need{{Kind: rulings.TermRobots}}, func() { b.Robots(t.Context(), page) }},
			{[]rulings.Need{byRobots("http://licences.test/l.xml"), byRobots("http://site.test/m.xml")}, func() { licenceOf(t, b, page, "http://site.test/m.xml") }},
			{[]rulings.Need{byRobots("http://licences.test/l.xml")}, func() { licenceOf(t, b, page, "http://licences.test/l.xml") }},
			{[]rulings.Need{{Kind: rulings.TermTDM}}, func() { b.TDM(t.Context(), page) }},
		} {
			asked := w.asked()
			var known rulings.Terms
			got, missing := b.RuleHeld(request(t), &known, policy)
			if diff := cmp.Diff(step.missing, missing); diff != "" || got.Outcome != rulings.Undecided || !got.Refused() {
				t.Errorf("%s, missing (-want +got):\n%s", got.Outcome, diff)
			}
			if w.asked() != asked {
				t.Error("it asked")
			}
			step.fill()
		}
		if got, missing := b.RuleHeld(request(t), &rulings.Terms{}, policy); got.Outcome != rulings.Proceed || len(missing) > 0 {
			t.Errorf("%s %q, missing %v", got.Outcome, got.Reason, missing)
		}
	})
}

// Who has no terms, may not be asked or is refused without is not asked.
func TestRuleAsksNobodyInVain(t *testing.T) {
	services, faults := rulings.NewPolicy(rulings.PolicyFile{Services: []string{"site.test"}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, tt := range []struct {
		name    string
		change  func(*rulings.Request)
		policy  *rulings.Policy
		outcome rulings.Outcome
		reason  rulings.Reason
	}{
		{"no policy", func(*rulings.Request) {}, nil, rulings.Refuse, rulings.PolicyUnavailable},
		{"a service", func(*rulings.Request) {}, services, rulings.Proceed, ""},
		{"robots.txt itself", func(r *rulings.Request) { r.Target = "/robots.txt" }, rulings.DefaultPolicy(), rulings.Proceed, ""},
		{"tdmrep.json itself", func(r *rulings.Request) { r.Target = "/.well-known/tdmrep.json" }, rulings.DefaultPolicy(), rulings.Proceed, ""},
		{"an address that is not public", func(r *rulings.Request) { r.Origin.Host = "10.0.0.1" }, rulings.DefaultPolicy(), rulings.Refuse, rulings.PrivateAddress},
		{"a field that spends", func(r *rulings.Request) { r.Spending = []string{"x-payment"} }, rulings.DefaultPolicy(), rulings.Refuse, "spend_not_allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			b := w.open(t.TempDir())
			req := request(t)
			tt.change(&req)
			got := b.Rule(t.Context(), req, &rulings.Terms{}, tt.policy)
			held, missing := b.RuleHeld(req, &rulings.Terms{}, tt.policy)
			for _, r := range []rulings.Ruling{got, held} {
				if r.Outcome != tt.outcome || r.Reason != tt.reason {
					t.Errorf("%s %q", r.Outcome, r.Reason)
				}
			}
			if w.asked() != 0 || len(missing) > 0 {
				t.Errorf("%d requests, missing %v", w.asked(), missing)
			}
		})
	}
}

// What a crossing knows already is in force until it ends, whatever changes
// meanwhile (T18); and a page's head is the caller's to read.
func TestRuleLooksUpWhatIsNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		robots := &script{h: maxAge(0, "License: /l.xml\n")}
		w.serve("site.test:80", pages{"/robots.txt": robots, "/l.xml": maxAge(0, rsl), "/m.xml": text(forbids)})
		b, policy := w.open(t.TempDir()), policyFor(t, "ai-input")
		var known rulings.Terms
		if got := b.Rule(t.Context(), request(t), &known, policy); got.Outcome != rulings.Proceed {
			t.Fatalf("%s %q", got.Outcome, got.Reason)
		}
		robots.set(text(refusesAll))
		time.Sleep(time.Hour)
		known.Response = rulings.ResponseOf(200, http.Header{"Link": {
			`</l.xml>; rel="license"; type="application/rsl+xml"`, `</m.xml>; rel="license"; type="application/rsl+xml"`,
		}})
		got := b.Rule(t.Context(), request(t), &known, policy)
		if got.Outcome != rulings.Withhold || got.Reason != "licence_prohibits" {
			t.Errorf("%s %q", got.Outcome, got.Reason)
		}
		if diff := cmp.Diff([]string{"site.test/robots.txt", "site.test/l.xml", "site.test/m.xml"}, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		mechanisms := []rulings.Mechanism{known.Licences[0].Mechanism, known.Licences[1].Mechanism}
		if diff := cmp.Diff([]rulings.Mechanism{rulings.ByRobots, rulings.ByLink}, mechanisms); diff != "" {
			t.Errorf("mechanisms (-want +got):\n%s", diff)
		}

		known = rulings.Terms{Robots: known.Robots, Licences: known.Licences, Response: rulings.ResponseOf(200, http.Header{"Content-Type": {"text/html"}})}
		got = b.Rule(t.Context(), request(t), &known, policy)
		if got.Outcome != rulings.Undecided || len(got.Needs) != 1 || got.Needs[0].Kind != rulings.TermHTML {
			t.Errorf("%s, needs %v", got.Outcome, got.Needs)
		}
	})
}

// A decision that goes on asking for what it has got ends as undecided.
func TestT4WhatIsLookedUpAndStillNeededIsUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rsl))
		var known rulings.Terms
		q := w.open(t.TempDir()).inquiry(request(t), &known, rulings.DefaultPolicy(), false)
		for _, n := range []rulings.Need{{Kind: rulings.TermRobots}, byRobots(licenceURL), {Kind: rulings.TermTDM}} {
			if !q.lookUp(context.Background(), n, 0) || q.lookUp(context.Background(), n, 0) {
				t.Errorf("%s of %s is looked up twice, or never", n.Kind, o)
			}
		}
		if n := w.asked(); n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// A crossing that has left is refused for what could not be looked up.
func TestRuleOfACrossingThatLeftRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := site(t, http.HandlerFunc(silent))
		b := w.open(t.TempDir())
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if got := b.Rule(ctx, request(t), &rulings.Terms{}, rulings.DefaultPolicy()); got.Reason != rulings.RobotsCutShort {
			t.Errorf("%s %q", got.Outcome, got.Reason)
		}
	})
}

// Needs of a later kind wait for those before them.
func TestT8AStageIsLookedUpByItself(t *testing.T) {
	html, tdm := rulings.Need{Kind: rulings.TermHTML}, rulings.Need{Kind: rulings.TermTDM}
	first, second := byRobots("http://a.test/"), byRobots("http://b.test/")
	for _, tt := range []struct{ needs, want []rulings.Need }{
		{nil, nil},
		{[]rulings.Need{html}, nil},
		{[]rulings.Need{tdm, first, html, second}, []rulings.Need{first, second}},
		{[]rulings.Need{tdm, first, {Kind: rulings.TermRobots}}, []rulings.Need{{Kind: rulings.TermRobots}}},
		{[]rulings.Need{html, tdm}, []rulings.Need{tdm}},
	} {
		if diff := cmp.Diff(tt.want, stage(tt.needs)); diff != "" {
			t.Errorf("of %v (-want +got):\n%s", tt.needs, diff)
		}
	}
}
