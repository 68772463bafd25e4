package rulings_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// ruledIn decides a request to http://page.test/a under a policy in a mode.
func ruledIn(t *testing.T, f rulings.PolicyFile, mode rulings.Mode, terms rulings.Terms) rulings.Ruling {
	t.Helper()
	f.Mode = string(mode)
	p, faults := rulings.NewPolicy(f)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	origin, err := hostkey.ParseOrigin("http", "page.test")
	if err != nil {
		t.Fatal(err)
	}
	return rulings.Decide(rulings.Request{Method: "GET", Origin: origin, Target: "/a"}, terms, p)
}

// Only the zero mode and strict refuse what other modes carry, and nothing carries
// what every mode refuses (O11). A mode that nobody defined is strict.
func TestO11_WhatEachModeCarries(t *testing.T) {
	carried := []rulings.Reason{rulings.HostDenied, rulings.HostNotAllowed, rulings.HostRuleRefuses, rulings.LicenceRequired, rulings.AllowanceExhausted,
		rulings.AllowanceUnenforceable, rulings.BodyCap, rulings.InjectionScreen, rulings.PIIFound, rulings.Unscreened}
	for _, reason := range rulings.Reasons() {
		for _, mode := range []rulings.Mode{rulings.ModeObserve, rulings.ModePrefer, rulings.ModeStrict, "", "lenient"} {
			lenient := mode == rulings.ModeObserve || mode == rulings.ModePrefer
			want := slices.Contains(carried, reason) && lenient || reason == rulings.PIIFound
			r := rulings.Ruling{Outcome: rulings.Proceed}
			if refused := r.Break(mode, rulings.StageHead, rulings.Breach{Reason: reason}); mode.Carries(reason) != want || refused == want || r.Refused() != refused {
				t.Errorf("%q, %s: carried %v, refused %v", mode, reason, mode.Carries(reason), refused)
			}
		}
	}
}

// The operator's names are told by their place; the record has them (O13).
func TestO13_NamesAreToldByPosition(t *testing.T) {
	const secret = "partner-whose-name-is-secret"
	for _, tt := range []struct {
		hosts rulings.HostsFile
		told  string
	}{
		{rulings.HostsFile{Deny: []string{"*.zz.test", "page.test"}}, "hosts.deny 2"},
		{rulings.HostsFile{Rules: []rulings.HostRuleFile{{Host: secret + ".test", Action: "allow"}, {Host: "*", Action: "refuse"}}}, "hosts.rules 2"},
		{rulings.HostsFile{Allow: []string{secret + ".test"}}, "hosts.allow"},
	} {
		r := ruledIn(t, rulings.PolicyFile{Hosts: tt.hosts}, rulings.ModeStrict, rulings.Terms{})
		if told := r.Told.String(); !strings.Contains(told, tt.told) || strings.Contains(told, secret) || strings.Contains(told, "*") || r.WhoseTerm() != rulings.WhoseOperator {
			t.Errorf("%q is told of %+v", told, tt.hosts)
		}
	}
}

// A page that states no licence, or of which nothing could be read, does not have
// the one that is required (O16).
func TestO16_APageThatStatesNothingHasNoLicence(t *testing.T) {
	site := rulings.ParseSite([]byte("User-agent: *\n"))
	for name, page := range map[string]*rulings.HTMLTerms{
		"a head that states nothing": {}, "a head that was not seen": {Unseen: "the content coding cannot be undone"},
	} {
		known := rulings.Terms{Response: rulings.ResponseOf(200, http.Header{"Content-Type": {"text/html"}})}
		known.Robots.Site = site
		known.Robots.URL = "http://page.test/robots.txt"
		known.Response.HTML = page
		f := rulings.PolicyFile{RequiredLicence: []string{"https://lic.test/l"}}
		if r := ruledIn(t, f, rulings.ModeStrict, known); r.Outcome != rulings.Withhold || r.Reason != rulings.LicenceRequired || len(r.Breaches) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
		if r := ruledIn(t, f, rulings.ModeObserve, known); r.Outcome != rulings.Proceed || len(r.Breaches) != 1 || r.Gaps[len(r.Gaps)-1].Reason != rulings.GapEvidenceMissing {
			t.Errorf("%s, carried: %+v", name, r)
		}
	}
}

// Every licence that governs the page has to be one that is required, for each
// declared purpose, and one that states nothing is not known to be (O16).
func TestO16_EveryOfferIsByARequiredLicence(t *testing.T) {
	const by, nc = "https://std.test/by", "https://std.test/nc"
	offer := func(use, standard string) string {
		return `<permits type="usage">` + use + `</permits><payment type="free"><standard>` + standard + `</standard></payment>`
	}
	two := forAll(offer("ai-input", by), offer("search", nc))
	silent := answer{200, rslOf(`<content url="/"></content>`)}
	for _, tt := range []struct {
		name     string
		requires []string
		first    answer // at licenceURL
		second   *answer
		broken   bool
		unknown  bool
	}{
		{"both offers by it", []string{by}, forAll(offer("ai-input", by), offer("search", by)), nil, false, false},
		{"each offer by one of them", []string{by, nc}, two, nil, false, false},
		{"the document itself", []string{licenceURL}, two, nil, false, false},
		{"another offer for one purpose", []string{by}, two, nil, true, false},
		{"a licence beside it that states nothing", []string{by}, forAll(offer("all", by)), &silent, true, true},
		{"an entry at its URL that states nothing", []string{licenceURL}, silent, nil, true, true},
		{"a licence beside it for other pages", []string{by}, forAll(offer("all", by)), &answer{200, rslOf(entry("/b", freeForAll))}, false, false},
		{"another, and one that states nothing", []string{by}, silent, &two, true, false},
	} {
		for _, purposes := range [][]string{{"ai-input", "search"}, {"search", "ai-input"}} {
			c := crossing{Purposes: purposes, Robots: licenceLines([]string{licenceURL}), Licences: map[string]answer{licenceURL: tt.first}}
			if tt.second != nil {
				c.Robots, c.Licences[secondURL] = licenceLines([]string{licenceURL, secondURL}), *tt.second
			}
			c.Policy.RequiredLicence = tt.requires
			r := c.cross(t).Ruling
			broken, unknown := len(r.Breaches) == 1 && r.Breaches[0].Reason == rulings.LicenceRequired, slices.Contains(gapsOf(&r), rulings.GapEvidenceMissing)
			if r.Outcome != rulings.Proceed || broken != tt.broken || unknown != tt.unknown {
				t.Errorf("%s, %v: %s, breaches %+v, gaps %v", tt.name, purposes, r.Outcome, r.Breaches, r.Gaps)
			}
		}
	}
}

// Terms are asked for exactly where no more than they could refuse (O15): Admits
// says in short what Decide says.
func TestO15_AdmitsSaysWhatDecideSays(t *testing.T) {
	early := []rulings.Reason{rulings.HostDenied, rulings.HostNotAllowed, rulings.HostRuleRefuses, rulings.Offline, rulings.PrivateAddress}
	admitted, refused := 0, 0
	for _, mode := range []string{"observe", "prefer", "strict"} {
		for _, hosts := range []rulings.HostsFile{
			{}, {Deny: []string{"page.test"}}, {Allow: []string{"other.test"}}, {Rules: []rulings.HostRuleFile{{Host: "*", Action: "refuse"}}},
			{Allow: []string{"other.test"}, Rules: []rulings.HostRuleFile{{Host: "page.test", Action: "allow"}}},
		} {
			for _, private := range [][]string{nil, {"page.test"}, {"10.0.0.0/8"}} {
				p, faults := rulings.NewPolicy(rulings.PolicyFile{Mode: mode, Hosts: hosts, AllowPrivate: private})
				if len(faults) > 0 {
					t.Fatal(faults)
				}
				for _, host := range []string{"page.test", "10.1.2.3", "192.0.2.1"} {
					for _, offline := range []bool{true, false} {
						origin, err := hostkey.ParseOrigin("http", host)
						if err != nil {
							t.Fatal(err)
						}
						req := rulings.Request{Method: "GET", Origin: origin, Target: "/a", Offline: offline}
						r := rulings.Decide(req, rulings.Terms{}, p)
						stops := r.Outcome == rulings.Refuse && slices.Contains(early, r.Reason)
						if rulings.Admits(&req, p) == stops {
							t.Errorf("%s %+v %v, %s, offline %v: %s, admitted %v", mode, hosts, private, host, offline, r.Reason, !stops)
						}
						if stops {
							refused++
						} else {
							admitted++
						}
					}
				}
			}
		}
	}
	if admitted == 0 || refused == 0 {
		t.Errorf("%d admitted, %d refused", admitted, refused)
	}
}
