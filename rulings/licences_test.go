package rulings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// many are count licences of the site: their URLs, and that each is free.
func many(count int) (urls []string, licences map[string]answer) {
	licences = make(map[string]answer)
	for i := range count {
		urls = append(urls, fmt.Sprintf("https://site.test/%d.xml", i))
		licences[urls[i]] = forAll(freeForAll)
	}
	return urls, licences
}

func licenceLines(urls []string) string {
	var b strings.Builder
	for _, u := range urls {
		b.WriteString("License: " + u + "\n")
	}
	return b.String()
}

// T58: eight documents are read, from whichever place; a ninth is unread.
func TestT58EightLicencesBindAndANinthIsUnread(t *testing.T) {
	for _, tt := range []struct {
		name                string
		robots, link, html  int // licences named there, each of its own
		refused             rulings.Stage
		askedBeforeAndAfter int
	}{
		{"eight in robots.txt", 8, 0, 0, "", 8},
		{"nine in robots.txt", 9, 0, 0, rulings.StageBefore, 8},
		{"a hundred", 100, 0, 0, rulings.StageBefore, 8},
		{"eight of three places", 3, 3, 2, "", 8},
		{"the ninth in a Link", 8, 1, 0, rulings.StageHead, 8},
		{"the ninth in the page", 4, 4, 1, rulings.StageBody, 8},
		{"nine in the page", 0, 0, 9, rulings.StageBody, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			urls, licences := many(tt.robots + tt.link + tt.html)
			var tags []string
			for _, u := range urls[tt.robots+tt.link:] {
				tags = append(tags, linkTag(u))
			}
			c := crossing{Robots: licenceLines(urls[:tt.robots]), Licences: licences}
			c = c.answering(byLink(urls[tt.robots:tt.robots+tt.link]...), page(tags...))
			x := c.cross(t)
			reason := rulings.LicenceUnread
			if tt.refused == "" {
				reason = ""
			}
			x.comesTo(t, reason, tt.refused, "")
			asked := 0
			for _, what := range x.asked {
				if strings.HasSuffix(what, ".xml") {
					asked++
				}
			}
			if asked != tt.askedBeforeAndAfter {
				t.Errorf("%d licences were asked for", asked)
			}
			if reason != "" && !strings.Contains(x.Told.String(), "Licence 9 of this page could not be read (too_many)") {
				t.Errorf("the agent is told %q", x.Told)
			}
			x.againIsTheSame(t)
		})
	}
}

// T58, T94: each document is ruled alone and binds, wherever it is named.
func TestT58T94TheStrictestOfSeveralDocumentsHolds(t *testing.T) {
	for i := range 8 {
		urls, licences := many(8)
		licences[urls[i]] = forAll(priced)
		x := crossing{Robots: licenceLines(urls), Licences: licences}.cross(t)
		x.comesTo(t, rulings.LicencePayment, rulings.StageBefore, rulings.AIInput)
		if want := fmt.Sprintf("Licence %d of this page", i+1); !strings.HasPrefix(x.Told.String(), want) {
			t.Errorf("the agent is told %q, not of %q", x.Told, want)
		}
	}
	// A licence of one document is no offer of another (T86): each closes its own
	// list.
	two := map[string]answer{licenceURL: forAll(`<permits type="usage">ai-input</permits>`), secondURL: forAll(`<permits type="usage">search</permits>`)}
	crossing{Robots: licenceLines([]string{licenceURL, secondURL}), Licences: two}.cross(t).
		comesTo(t, rulings.LicenceNotListed, rulings.StageBefore, rulings.AIInput)
}

// T9, T57, T116, T119: licences are numbered in the order in which a stage names
// them, whether they are asked for, stand in the page or are nothing that can be
// asked for.
func TestT9T57T116LicencesAreNumberedInTheOrderNamed(t *testing.T) {
	free, refusing := map[string]answer{licenceURL: forAll(freeForAll)}, map[string]answer{licenceURL: forAll(priced)}
	forbidden := rslOf(entry("", noInput))
	for _, tt := range []struct {
		name       string
		c          crossing
		reason     rulings.Reason
		told       string
		mechanisms string
	}{
		{"a script before a link", crossing{Licences: refusing}.answering(nil, page(scriptTag(forbidden), linkTag("/l.xml"))), rulings.LicenceProhibits, "Licence 1 ", "[inline html]"},
		{"a link before a script", crossing{Licences: refusing}.answering(nil, page(linkTag("/l.xml"), scriptTag(forbidden))), rulings.LicencePayment, "Licence 1 ", "[html inline]"},
		{"a script between links", crossing{Licences: free}.answering(nil, page(linkTag("/l.xml"), scriptTag(forbidden), linkTag("l.xml"))), rulings.LicenceProhibits, "Licence 2 ", "[html inline]"},
		{"a link in front that an earlier stage named", crossing{Robots: "License: /l.xml\n", Licences: free}.answering(nil, page(linkTag("/l.xml"), scriptTag(forbidden))), rulings.LicenceProhibits, "Licence 2 ", "[robots inline]"},
		{"what cannot be asked for in front", crossing{Robots: "License: ftp://x.test/l.xml\nLicense: l.xml\n", Licences: refusing}, rulings.LicenceUnread, "Licence 1 ", "[robots robots]"},
		{"behind", crossing{Robots: "License: l.xml\nLicense: ftp://x.test/l.xml\n", Licences: refusing}, rulings.LicenceUnread, "Licence 2 ", "[robots robots]"},
		{"behind one that is not asked for yet", crossing{Robots: "License: l.xml\nLicense: ftp://x.test/l.xml\n",
			Found: map[string]rulings.LicenceTerms{licenceURL: {Term: rulings.Term{Outcome: rulings.TermCutShort}, Barred: rulings.CrawlDelay}}}, rulings.CrawlDelay, "", "[robots robots]"},
	} {
		x := tt.c.cross(t)
		var mechanisms []rulings.Mechanism
		for _, l := range x.Licences {
			mechanisms = append(mechanisms, l.Mechanism)
		}
		if x.Reason != tt.reason || !strings.HasPrefix(x.Told.String(), tt.told) || fmt.Sprint(mechanisms) != tt.mechanisms {
			t.Errorf("%s: %s, told %q; recorded are %v", tt.name, x.Reason, x.Told, mechanisms)
		}
		x.againIsTheSame(t)
	}
}

// T68: a document that several places name is read once and ruled where it was
// first named.
func TestT68ADocumentIsReadOnceHoweverOftenItIsNamed(t *testing.T) {
	c := crossing{Robots: "License: /l.xml\nLicense: https://site.test/l.xml\n", Licences: map[string]answer{licenceURL: forAll(freeForAll)}}
	x := c.answering(byLink("l.xml", licenceURL, "l.xml#part"), page(linkTag("/l.xml"), linkTag("l.xml"), linkTag("l.xml#"), linkTag("l.xml#other"))).cross(t)
	x.comesTo(t, "", "", "")
	if diff := cmp.Diff([]string{"robots", licenceURL, "page"}, x.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(x.Licences) != 1 || x.Licences[0].Mechanism != rulings.ByRobots {
		t.Errorf("recorded are %+v", x.Licences)
	}
}

// T69, T70: what was found of a licence, and what comes of it.
func TestT69T70WhatWasFoundOfALicenceDecides(t *testing.T) {
	until := time.Date(2030, 1, 1, 0, 5, 0, 0, time.UTC)
	good, _ := rulings.ParseLicence([]byte(forAll(freeForAll).Body))
	found := func(outcome rulings.TermOutcome, set func(*rulings.LicenceTerms)) rulings.LicenceTerms {
		l := rulings.LicenceTerms{Term: rulings.Term{Outcome: outcome, ExpiresAt: until}}
		set(&l)
		return l
	}
	nothing := func(*rulings.LicenceTerms) {}
	for _, tt := range []struct {
		name    string
		found   rulings.LicenceTerms
		reason  rulings.Reason
		retryAt time.Time
		gaps    string
	}{
		{"read", found(rulings.TermRead, func(l *rulings.LicenceTerms) { l.Licence = good }), "", time.Time{}, "[]"},
		{"read, over http", found(rulings.TermRead, func(l *rulings.LicenceTerms) { l.Licence, l.OverHTTP = good, true }), "", time.Time{}, "[licence_over_http]"},
		{"missing", found(rulings.TermMissing, nothing), "", time.Time{}, "[licence_missing]"},
		{"unread", found(rulings.TermUnread, func(l *rulings.LicenceTerms) { l.Unread = rulings.CauseTransport }), rulings.LicenceUnread, until, "[]"},
		{"unread, whatever is with it", found(rulings.TermUnread, func(l *rulings.LicenceTerms) { l.Licence = good }), rulings.LicenceUnread, until, "[]"},
		{"cut short", found(rulings.TermCutShort, func(l *rulings.LicenceTerms) { l.Licence = good }), rulings.LicenceCutShort, time.Time{}, "[]"},
		{"kept from asking, for a reason of its own", found(rulings.TermCutShort, func(l *rulings.LicenceTerms) { l.Barred = rulings.PrivateAddress }), rulings.PrivateAddress, time.Time{}, "[]"},
		{"read, without a document", found(rulings.TermRead, nothing), rulings.LicenceUnread, until, "[]"},
		{"nothing at all", rulings.LicenceTerms{}, rulings.LicenceUnread, time.Time{}, "[]"},
		{"an outcome that nobody knows", found("fine", func(l *rulings.LicenceTerms) { l.Licence = good }), rulings.LicenceUnread, until, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := crossing{Robots: "License: /l.xml\n", Found: map[string]rulings.LicenceTerms{licenceURL: tt.found}}.cross(t)
			if x.Reason != tt.reason || !x.RetryAt.Equal(tt.retryAt) || fmt.Sprint(gapsOf(&x.Ruling)) != tt.gaps {
				t.Errorf("%+v", x.Ruling)
			}
			if len(x.Licences) != 1 || x.Licences[0].RefusedBy != tt.reason {
				t.Errorf("recorded are %+v", x.Licences)
			}
		})
	}
}

// E17: where purposes differ, the record has what the licence came to for the one
// that it refuses.
func TestE17T90TheRecordOfALicenceIsOfThePurposeThatItRefuses(t *testing.T) {
	const training = `<permits type="usage">ai-train</permits><payment type="training"><amount currency="EUR">5</amount></payment>`
	const reading = `<permits type="usage">ai-input</permits><payment type="attribution"/>`
	c := crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: forAll(reading, training)}, TDM: &rulings.TDMTerms{}}
	c.Purposes = purposesOf("ai-input")
	want := rulings.LicenceRuling{URL: licenceURL, Mechanism: rulings.ByRobots, Entry: 1, Offer: 1, Duties: []string{"attribution"}, Says: rulings.Preferences{rulings.Allow}}
	if diff := cmp.Diff([]rulings.LicenceRuling{want}, c.cross(t).Licences); diff != "" {
		t.Errorf("for ai-input (-want +got):\n%s", diff)
	}
	c.Purposes = purposesOf("ai-input", "ai-train")
	want = rulings.LicenceRuling{
		URL: licenceURL, Mechanism: rulings.ByRobots, Entry: 1, Offer: 2, Payment: rulings.Payment{Type: "training", Amount: "5", Currency: "EUR"},
		RefusedBy: rulings.LicencePayment, Says: rulings.Preferences{rulings.Allow, rulings.Disallow},
	}
	x := c.cross(t)
	x.comesTo(t, rulings.LicencePayment, rulings.StageBefore, rulings.AITrain)
	if diff := cmp.Diff([]rulings.LicenceRuling{want}, x.Licences); diff != "" {
		t.Errorf("for ai-input and ai-train (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(x.Detail, "licence_payment (training, 5 EUR)") {
		t.Errorf("the record says %q", x.Detail)
	}
}

// T80 to T84: each different selection of the readings is ruled, and the strictest
// holds; over the budget nothing is selected.
func TestT69T80T81T83T84SelectionsAreRuledEachAndTheStrictestHolds(t *testing.T) {
	of := func(entries ...string) crossing {
		return crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: {200, rslOf(entries...)}}}
	}
	for _, tt := range []struct {
		name, target string
		entries      []string
		reason       rulings.Reason
	}{
		{"the narrowest entry governs", "/a/b", []string{entry("/", noInput), entry("/a/", freeForAll)}, ""},
		{"whatever its place", "/a/b", []string{entry("/a/", freeForAll), entry("/", noInput)}, ""},
		{"a reading that meets a prohibition", "//a/b", []string{entry("/a/", noInput), entry("//", freeForAll)}, rulings.LicenceProhibits},
		{"a reading that meets a price", "/x/../a/b", []string{entry("/x/", freeForAll), entry("/a/", priced)}, rulings.LicencePayment},
		{"no entry on any reading", "/x/../a/b", []string{entry("/c/", noInput)}, ""},
		{"an entry of another origin", "/a/b", []string{entry("https://other.test/", noInput)}, ""},
		{"equal patterns are one", "/a/b", []string{entry("/a/", freeForAll), entry("/a/*", noInput)}, rulings.LicenceProhibits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := of(tt.entries...)
			c.Page = "https://site.test" + tt.target
			if x := c.cross(t); x.Reason != tt.reason {
				t.Errorf("%s: %s", x.Reason, x.Detail)
			}
		})
	}
	for count, reason := range map[int]rulings.Reason{125: "", 126: rulings.LicenceUnread} { // the known costs of the page
		var entries []string
		for i := range count {
			entries = append(entries, entry("/*"+strings.Repeat("x", 1996-i)+strings.Repeat("y", i)+"*", freeForAll))
		}
		c := of(entries...)
		c.Page = "https://site.test/" + strings.Repeat("x", 1996) + strings.Repeat("y", 130)
		licence, cause := rulings.ParseLicence([]byte(rslOf(entries...)))
		if cause != "" {
			t.Fatal(cause)
		}
		c.Found = map[string]rulings.LicenceTerms{licenceURL: {Term: rulings.Term{Outcome: rulings.TermRead, ExpiresAt: time.Unix(1<<31, 0)}, Licence: licence}}
		x := c.cross(t)
		if x.Reason != reason || reason != "" && !strings.Contains(x.Told.String(), "(budget)") || !x.RetryAt.IsZero() {
			t.Errorf("%d entries: %s %q", count, x.Reason, x.Told)
		}
	}
}

// T88: conditions are met by what the policy declares of the operator.
func TestT88WhoIsLicensedIsWhatThePolicyDeclares(t *testing.T) {
	for _, tt := range []struct {
		conditions string
		classes    []string
		country    string
		reason     rulings.Reason
	}{
		{`<permits type="user">education</permits>`, nil, "", rulings.LicenceRestricted},
		{`<permits type="user">education</permits>`, []string{"commercial"}, "", rulings.LicenceRestricted},
		{`<permits type="user">education</permits>`, []string{"commercial", "education"}, "", ""},
		{`<prohibits type="user">commercial</prohibits>`, nil, "", rulings.LicenceRestricted},
		{`<prohibits type="user">commercial</prohibits>`, []string{"commercial"}, "", rulings.LicenceRestricted},
		{`<prohibits type="user">commercial</prohibits>`, []string{"education"}, "", ""},
		{`<permits type="geo">US DE</permits>`, nil, "", rulings.LicenceRestricted},
		{`<permits type="geo">US DE</permits>`, nil, "DE", ""},
		{`<permits type="geo">EU</permits>`, nil, "FR", ""},
		{`<permits type="geo">EU</permits>`, nil, "GB", rulings.LicenceRestricted},
		{`<prohibits type="geo">EU</prohibits>`, nil, "FR", rulings.LicenceRestricted},
		{`<prohibits type="geo">EU</prohibits>`, nil, "US", ""},
		{`<prohibits type="geo">EU</prohibits>`, nil, "", rulings.LicenceRestricted},
	} {
		c := crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: forAll(tt.conditions)}}
		c.Policy.Terms.UserClasses, c.Policy.Terms.Country = tt.classes, tt.country
		if x := c.cross(t); x.Reason != tt.reason {
			t.Errorf("%s for %v in %q: %s", tt.conditions, tt.classes, tt.country, x.Reason)
		} else if restricted := x.Licences[0].Restricted; tt.reason != "" && !slices.Equal(restricted, []int{1}) || tt.reason == "" && restricted != nil {
			t.Errorf("%s for %v in %q: recorded as restricted are %v", tt.conditions, tt.classes, tt.country, restricted)
		}
	}
}

// T91, T92: a demand for reports is met by what the policy lists for this host,
// and the operator's own agreement is held to the same.
func TestT91T92DemandsForReportsAreMetByThePolicyAlone(t *testing.T) {
	const demand = `<permits type="usage">ai-input</permits><reporting type="usage" profile="https://profiles.test/p"/>`
	meets := func(profile, host string) []rulings.ReportingFile {
		return []rulings.ReportingFile{{Profile: profile, Hosts: []string{host}}}
	}
	agreed := func(host, profile string) []rulings.AgreementFile {
		return []rulings.AgreementFile{{Host: "other.test", Reporting: "https://profiles.test/other"}, {Host: host, Reference: "contract 7", Reporting: profile}}
	}
	const profile = "https://profiles.test/p"
	for _, tt := range []struct {
		name    string
		licence string
		terms   rulings.OperatorFile
		reason  rulings.Reason
		whose   rulings.Whose
	}{
		{"none is met by default", demand, rulings.OperatorFile{}, rulings.LicenceReporting, "source"},
		{"the profile is met for this host", demand, rulings.OperatorFile{Reporting: meets(profile, "site.test")}, "", ""},
		{"and for hosts below a name", demand, rulings.OperatorFile{Reporting: meets(profile, "*.test")}, "", ""},
		{"for another host it is not", demand, rulings.OperatorFile{Reporting: meets(profile, "other.test")}, rulings.LicenceReporting, "source"},
		{"another profile does not meet it", demand, rulings.OperatorFile{Reporting: meets(profile+"2", "site.test")}, rulings.LicenceReporting, "source"},
		{"a price comes before it", strings.Replace(demand, "<reporting", `<payment type="use"/><reporting`, 1), rulings.OperatorFile{}, rulings.LicencePayment, "source"},
		{"the first free offer decides, though the second demands nothing", demand + `</license><license><permits type="usage">ai-input</permits>`, rulings.OperatorFile{}, rulings.LicenceReporting, "source"},
		{"an agreement that demands nothing", freeForAll, rulings.OperatorFile{Agreements: agreed("site.test", "")}, "", ""},
		{"an agreement whose demand is not met", freeForAll, rulings.OperatorFile{Agreements: agreed("site.test", profile)}, rulings.LicenceReporting, "operator"},
		{"one whose demand is met", freeForAll, rulings.OperatorFile{Agreements: agreed("site.test", profile), Reporting: meets(profile, "site.test")}, "", ""},
		{"one with another host", freeForAll, rulings.OperatorFile{Agreements: agreed("www.site.test", profile)}, "", ""},
		{"one with hosts below a name", freeForAll, rulings.OperatorFile{Agreements: agreed("*.test", profile)}, rulings.LicenceReporting, "operator"},
		{"an agreement lifts no licence", priced, rulings.OperatorFile{Agreements: agreed("site.test", "")}, rulings.LicencePayment, "source"},
		{"what the source says comes first", priced, rulings.OperatorFile{Agreements: agreed("site.test", profile)}, rulings.LicencePayment, "source"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := crossing{Robots: "License: /l.xml\n", Licences: map[string]answer{licenceURL: forAll(tt.licence)}}
			c.Policy.Terms = tt.terms
			x := c.cross(t)
			if x.Reason != tt.reason || x.Refused() && x.WhoseTerm() != tt.whose {
				t.Errorf("%s of %s: %s", x.Reason, x.WhoseTerm(), x.Detail)
			}
			if tt.whose == "operator" && !strings.Contains(x.Told.String(), "agreement with the site (2)") {
				t.Errorf("the agent is told %q", x.Told)
			}
		})
	}
}

// T59, T60, T62: what names a licence does so however it is spelled, and against
// the page's own URL.
func TestT59T60ALinkNamesALicenceHoweverItIsSpelled(t *testing.T) {
	for _, tt := range []struct {
		name, page, line, licence string
	}{
		{"in plain words", "https://site.test/a/b", `<l.xml>; rel=license; type="application/rsl+xml"`, "https://site.test/a/l.xml"},
		{"with escapes in quotes", "https://site.test/a/b", `<l.xml>; rel="li\cen\se"; type="application/rsl+xml"`, "https://site.test/a/l.xml"},
		{"with escapes of a starred parameter", "https://site.test/a/b", `<l.xml>; rel*=UTF-8''%6Cicens%65; type="application/rsl+xml"`, "https://site.test/a/l.xml"},
		{"in capitals", "https://site.test/a/b", `<l.xml>; REL=LICENSE; TYPE="APPLICATION/RSL+XML"`, "https://site.test/a/l.xml"},
		{"from a page with a query", "https://site.test/a/b?x=/y/z", `<l.xml>; rel=license; type="application/rsl+xml"`, "https://site.test/a/l.xml"},
		{"from a page that no URL can have", "https://site.test/a/%zz/b", `<l.xml>; rel=license; type="application/rsl+xml"`, "https://site.test/a/%25zz/l.xml"},
		{"from a page with two slashes", "https://site.test//a/b", `<l.xml>; rel=license; type="application/rsl+xml"`, "https://site.test//a/l.xml"},
	} {
		c := crossing{Page: tt.page, Found: missing([]string{tt.licence})}
		x := c.answering(map[string][]string{"link": {tt.line}}, "").cross(t)
		if diff := cmp.Diff([]string{"robots", "page", tt.licence}, x.asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", tt.name, diff)
		}
	}
	whole := get("*") // OPTIONS *
	terms := read("")
	terms.Response = rulings.ResponseOf(200, map[string][]string{"Link": byLink("l.xml")["link"]})
	if r := rulings.Decide(whole, terms, rulings.DefaultPolicy()); len(r.Needs) != 1 || r.Needs[0].URL != licenceURL {
		t.Errorf("of the whole server: %+v", r)
	}
}

// T67: what cannot be read of an HTML head is told apart.
func TestT67WhatAHeadNamesAndCannotBeReadHasItsCause(t *testing.T) {
	long := strings.Repeat("<!-- -->", 9000)
	for _, tt := range []struct{ name, html, cause string }{
		{"a link to no URL", page(linkTag("mailto:x")), "scheme"},
		{"a document that is no XML", page(scriptTag("<rsl>")), "xml"},
		{"a document that is no RSL", page(scriptTag("<rss/>")), "not_rsl"},
		{"a document without content", page(scriptTag(rslOf())), "invalid"},
		{"a document that does not end within the bound", page(scriptTag(long + rslOf(entry("", freeForAll)))), "xml"},
		{"a document that never ends", "<head>" + strings.TrimSuffix(scriptTag(rslOf(entry("", freeForAll))), "</script>"), "xml"},
	} {
		x := crossing{}.answering(nil, tt.html).cross(t)
		x.comesTo(t, rulings.LicenceUnread, rulings.StageBody, "")
		if want := "(" + tt.cause + ")"; !strings.Contains(x.Told.String(), want) {
			t.Errorf("%s: the agent is told %q", tt.name, x.Told)
		}
		read := len(x.known.Response.HTML.Inline) > 0
		ended := !strings.Contains(tt.name, " end")
		if read != strings.Contains(x.Detail, " at octet ") || ended == strings.Contains(x.Detail, "does not end") {
			t.Errorf("%s: the record says %q (T71)", tt.name, x.Detail)
		}
		kept := x.known.Response.RestoreHTML(x.known.Response.HTML.Octets(), x.req.Origin, x.req.Target, x.policy.Identity.Tokens)
		kept.Term, x.known.Response.HTML = x.known.Response.HTML.Term, kept
		x.againIsTheSame(t)
	}
}
