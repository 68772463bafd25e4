package robots

import (
	"fmt"
	"strings"
	"testing"
)

// thousandRules is a file of the shape long ones have: many prefixes below a few
// directories, some wildcards, some anchors.
func thousandRules() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\nCrawl-delay: 1\n")
	for i := range 1000 {
		switch i % 10 {
		case 7:
			fmt.Fprintf(&b, "Disallow: /*/private-%d/\n", i)
		case 8:
			fmt.Fprintf(&b, "Disallow: /*.ext%d$\n", i)
		case 9:
			fmt.Fprintf(&b, "Allow: /products/%d/open\n", i)
		default:
			fmt.Fprintf(&b, "Disallow: /products/%d/\n", i)
		}
	}
	b.WriteString("\nUser-agent: SomeBot\nDisallow: /\n")
	return []byte(b.String())
}

const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// BenchmarkAccess1000Rules is the whole ruling of a warm page, as the edge does
// it for every request.
func BenchmarkAccess1000Rules(b *testing.B) {
	f := Parse(thousandRules())
	tokens := []string{"wayleave"}
	for _, bb := range []struct{ name, target string }{
		{"no rule matches", "/articles/2026/11/some-longer-title-of-a-page?ref=home"},
		{"a rule matches", "/products/501/manual"},
		{"every head matches", "/products/none-of-them/manual"},
		{"three readings", "/articles//2026;v=1/11"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Select(tokens, browser).Access(NewPage(bb.target))
			}
		})
	}
}

// BenchmarkAccessWildcards is the dearest file of a thousand rules: each has a
// piece to look for in the whole path.
func BenchmarkAccessWildcards(b *testing.B) {
	var text strings.Builder
	text.WriteString("User-agent: *\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "Disallow: /*section-%d\n", i)
	}
	f := Parse([]byte(text.String()))
	p := NewPage("/articles/2026/11/some-longer-title-of-a-page?ref=home")
	s := f.Select([]string{"wayleave"}, "")
	b.ReportAllocs()
	for b.Loop() {
		s.Access(p)
	}
}

func BenchmarkSelect(b *testing.B) {
	f := Parse(thousandRules())
	tokens := []string{"wayleave"}
	b.ReportAllocs()
	for b.Loop() {
		f.Select(tokens, browser)
	}
}

func BenchmarkNewPage(b *testing.B) {
	for _, bb := range []struct{ name, target string }{
		{"plain", "/articles/2026/11/some-longer-title-of-a-page?ref=home"},
		{"escapes without readings", "/caf%C3%A9/1?q=%20"},
		{"readings", "/x//..;/%2Fb/c"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewPage(bb.target)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct {
		name string
		body []byte
	}{
		{"1000 rules", thousandRules()},
		{"the largest file, of wildcards", []byte("User-agent: *\nDisallow: /" + strings.Repeat("*", MaxBytes-25))},
		{"the largest file, of names", []byte(strings.Repeat("User-agent: some-bot\n", MaxBytes/21))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(bb.body)
			}
		})
	}
}
