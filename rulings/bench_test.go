package rulings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// thousand is a robots.txt of 1,000 rules in one group, each made by rule.
func thousand(rule func(i int) string) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 1000 {
		b.WriteString(rule(i) + "\n")
	}
	return b.String()
}

// of adds what lines say before the rules of a file.
func (f benched) of(lines string) benched {
	f.robots = strings.Replace(f.robots, "User-agent: *\n", "User-agent: *\n"+lines, 1)
	return f
}

// A benched ruling is one whose terms are held, as nearly all of them are.
type benched struct {
	robots   string
	licences []answer // named by robots.txt, or by the Link field of the answer
	response *rulings.ResponseTerms
}

func (f benched) terms() rulings.Terms {
	terms := read(f.robots)
	terms.Response = f.response
	for i, a := range f.licences {
		l, _ := rulings.ParseLicence([]byte(a.Body))
		term := rulings.Term{Kind: rulings.TermLicence, Outcome: rulings.TermRead, URL: fmt.Sprintf("https://site.test/%d.xml", i)}
		terms.Licences = append(terms.Licences, rulings.LicenceTerms{Term: term, Licence: l})
	}
	return terms
}

// longLicence has 200 entries, one of which is for articles.
func longLicence() answer {
	var entries []string
	for i := range 199 {
		entries = append(entries, entry(fmt.Sprintf("https://site.test/section-%d/", i), freeForAll))
	}
	return answer{200, rslOf(append(entries, entry("https://site.test/articles/", freeForAll))...)}
}

// BenchmarkDecide is a ruling on a warm robots.txt of 1,000 rules, and on what
// else is said beside it.
func BenchmarkDecide(b *testing.B) {
	const article = "/articles/2030/01/a-page.html?id=1"
	plain := benched{robots: thousand(func(i int) string { return fmt.Sprintf("Disallow: /section-%d/", i) })}
	licensed := plain.of("License: /0.xml\n")
	licensed.licences = []answer{longLicence()}
	linked, other := plain, plain
	linked.licences = licensed.licences
	linked.response = rulings.ResponseOf(200, http.Header{"Link": {`</0.xml>; rel="license"; type="application/rsl+xml"`}})
	other.response = rulings.ResponseOf(200, http.Header{"Link": {`</style.css>; rel=preload; as=style, </next>; rel="next"`}, "Content-Type": {"application/json"}})
	two := plain.of("License: /0.xml\nLicense: /1.xml\n")
	two.licences = []answer{longLicence(), forAll(freeForAll)}
	for _, bb := range []struct {
		name   string
		of     benched
		target string
	}{
		{"NothingMatches", plain, article},
		{"OneMatches", plain, "/section-999/a-page.html?id=1"},
		{"Wildcards", benched{robots: thousand(func(i int) string { return fmt.Sprintf("Disallow: /*/print-%d/*.pdf$", i) })}, article},
		{"EightReadings", plain, "/articles//2030/./a;b/a-page.html"},
		{"Signals", plain.of("Content-Signal: search=yes, ai-input=yes, ai-train=no\nContent-Signal: /articles/ use=reference\n"), article},
		{"Usage", plain.of("Content-Usage: ai-use=y, train-ai=n\n"), article},
		{"Licence200", licensed, article},
		{"LicencesTwo", two, article},
		{"LinkLicence200", linked, article},
		{"LinkOther", other, article},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p, req, terms := rulings.DefaultPolicy(), get(bb.target), bb.of.terms()
			req.UserAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36"
			if r := rulings.Decide(req, terms, p); len(r.Needs) > 0 { // merges the groups once
				b.Fatalf("%+v is needed", r.Needs)
			}
			b.ReportAllocs()
			for b.Loop() {
				rulings.Decide(req, terms, p)
			}
		})
	}
}
