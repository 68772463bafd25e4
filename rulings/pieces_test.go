package rulings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// Pieces that tests of crossings are put together from.
const (
	licenceURL = "https://site.test/l.xml"
	secondURL  = "https://site.test/m.xml"

	freeForAll = `<permits type="usage">all</permits><payment type="free"/>`
	priced     = `<permits type="usage">all</permits><payment type="use"><amount currency="USD">0.015</amount></payment>`
	noInput    = `<prohibits type="usage">ai-input</prohibits>`
	noTraining = `<prohibits type="usage">ai-train</prohibits>`
)

// entry is a content element of a licence document.
func entry(url string, licences ...string) string {
	return `<content url="` + url + `"><license>` + strings.Join(licences, `</license><license>`) + `</license></content>`
}

// rslOf is a licence document.
func rslOf(entries ...string) string {
	return `<rsl xmlns="https://rslstandard.org/rsl">` + strings.Join(entries, "") + `</rsl>`
}

// forAll is a licence document with one entry for every page.
func forAll(licences ...string) answer { return answer{200, rslOf(entry("/", licences...))} }

// byLink are the fields of an answer that names licences.
func byLink(urls ...string) map[string][]string {
	var lines []string
	for _, u := range urls {
		lines = append(lines, fmt.Sprintf(`<%s>; rel="license"; type="application/rsl+xml"`, u))
	}
	return map[string][]string{"link": lines}
}

// page is an HTML page with this in its head.
func page(head ...string) string {
	return "<!doctype html><html><head>" + strings.Join(head, "") + "</head><body>x</body></html>"
}

func linkTag(url string) string {
	return `<link rel="license" type="application/rsl+xml" href="` + url + `">`
}

func scriptTag(document string) string {
	return `<script type="application/rsl+xml">` + document + `</script>`
}

func purposesOf(list ...string) []string { return list }

// with returns c with what set sets.
func (c crossing) with(set func(*crossing)) crossing {
	set(&c)
	return c
}

// answering returns c with an answer of these fields and this page.
func (c crossing) answering(fields map[string][]string, html string) crossing {
	c.Response.Fields, c.Response.HTML = fields, html
	return c
}

// comesTo checks what x came to: "" for letting the page pass.
func (x *crossed) comesTo(t *testing.T, reason rulings.Reason, stage rulings.Stage, purpose rulings.Purpose) {
	t.Helper()
	outcome := rulings.Proceed
	switch {
	case stage == rulings.StageBefore:
		outcome = rulings.Refuse
	case stage != "":
		outcome = rulings.Withhold
	}
	if x.Outcome != outcome || x.Reason != reason || x.Stage != stage || x.Purpose != purpose {
		t.Errorf("%s for %q at %q of %q, want %s for %q at %q of %q: %s", x.Outcome, x.Reason, x.Stage, x.Purpose, outcome, reason, stage, purpose, x.Detail)
	}
}
