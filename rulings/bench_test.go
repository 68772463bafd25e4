package rulings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// thousand is a robots.txt of 1,000 rules in one group, each made by rule.
func thousand(rule func(i int) string) rulings.Terms {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 1000 {
		b.WriteString(rule(i) + "\n")
	}
	return read(b.String())
}

// BenchmarkDecide is a ruling on a warm robots.txt of 1,000 rules.
func BenchmarkDecide(b *testing.B) {
	for _, bb := range []struct {
		name   string
		terms  rulings.Terms
		target string
	}{
		{"NothingMatches", thousand(func(i int) string { return fmt.Sprintf("Disallow: /section-%d/", i) }), "/articles/2030/01/a-page.html?id=1"},
		{"OneMatches", thousand(func(i int) string { return fmt.Sprintf("Disallow: /section-%d/", i) }), "/section-999/a-page.html?id=1"},
		{"Wildcards", thousand(func(i int) string { return fmt.Sprintf("Disallow: /*/print-%d/*.pdf$", i) }), "/articles/2030/01/a-page.html?id=1"},
		{"EightReadings", thousand(func(i int) string { return fmt.Sprintf("Disallow: /section-%d/", i) }), "/articles//2030/./a;b/a-page.html"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p, req := rulings.DefaultPolicy(), get(bb.target)
			req.UserAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36"
			rulings.Decide(req, bb.terms, p) // merges the groups once
			b.ReportAllocs()
			for b.Loop() {
				rulings.Decide(req, bb.terms, p)
			}
		})
	}
}
