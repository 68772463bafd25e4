package rsl_test

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/rsl"
)

// paths reads patterns and origins as the rest of the module does.
var paths = rsl.Paths{
	Compile: func(text string) rsl.Pattern {
		p := robots.Compile(text)
		return &p
	},
	Origin: func(scheme, authority string) (string, bool) {
		o, err := hostkey.ParseOrigin(scheme, authority)
		return o.String(), err == nil
	},
}

const space = `xmlns="https://rslstandard.org/rsl"`

// document wraps what stands inside the root.
func document(inside string) string { return "<rsl " + space + ">" + inside + "</rsl>" }

// licence wraps what stands inside the one licence of a site.
func licence(inside string) string {
	return document(`<content url="/"><license>` + inside + `</license></content>`)
}

// withEntries is a document whose entries have these urls and free licences.
func withEntries(urls ...string) string {
	var b strings.Builder
	for _, url := range urls {
		b.WriteString(`<content url="` + escape(url) + `"><license/></content>`)
	}
	return document(b.String())
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#10;").Replace(s)
}

func parse(t testing.TB, text string) *rsl.Document {
	t.Helper()
	d, err := rsl.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	return d
}

// splitPage parts the URL of a page into its origin and its readings.
func splitPage(t testing.TB, page string) (origin string, readings []string) {
	t.Helper()
	scheme, rest, ok := strings.Cut(page, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	origin, valid := paths.Origin(scheme, rest[:end])
	if !ok || !valid {
		t.Fatalf("no page: %.200q", page)
	}
	return origin, robots.NewPage(rest[end:]).Readings()
}

func selectFor(t testing.TB, d *rsl.Document, page string) rsl.Selection {
	t.Helper()
	origin, readings := splitPage(t, page)
	return d.Index(paths).Select(origin, readings)
}

// rule is what a document says of a use of the page /page.
func rule(t testing.TB, text, use string, op rsl.Operator) rsl.Verdict {
	t.Helper()
	d := parse(t, text)
	return d.RuleAll(selectFor(t, d, "https://o.example/page"), use, op)
}
