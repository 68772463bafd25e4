package rsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// sections is a licence of n entries as a large site writes one: a rule for the
// site, one for each section, some by suffix.
func sections(n int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<rsl " + space + ">\n")
	for i := range n {
		url := fmt.Sprintf("/sections/%d/", i)
		switch {
		case i == 0:
			url = "/"
		case i%20 == 7:
			url = fmt.Sprintf("/*/archive-%d/", i)
		case i%20 == 8:
			url = fmt.Sprintf("/*.ext%d$", i)
		case i%20 == 9:
			url = fmt.Sprintf("https://o.example/whole/%d/", i)
		}
		fmt.Fprintf(&b, "  <content url=\"%s\">\n    <license>\n      <permits type=\"usage\">search ai-input</permits>\n", url)
		b.WriteString("      <prohibits type=\"usage\">ai-train</prohibits>\n      <payment type=\"attribution\">\n        <standard>https://o.example/by</standard>\n")
		b.WriteString("      </payment>\n    </license>\n    <copyright>O</copyright>\n  </content>\n")
	}
	b.WriteString("</rsl>\n")
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"200 entries", sections(200)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			body := []byte(bb.text)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rsl.Parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIndex200(b *testing.B) {
	d := parse(b, sections(200))
	b.ReportAllocs()
	for b.Loop() {
		d.Index(paths)
	}
}

func BenchmarkRuling200(b *testing.B) {
	d := parse(b, sections(200))
	x := d.Index(paths)
	for _, bb := range []struct{ name, page string }{
		{"one entry", "https://o.example/articles/2026/11/some-longer-title-of-a-page?ref=home"},
		{"two entries", "https://o.example/sections/101/some-longer-title-of-a-page"},
		{"three readings", "https://o.example/sections//101;v=1/title"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			origin, readings := splitPage(b, bb.page)
			b.ReportAllocs()
			for b.Loop() {
				d.RuleAll(x.Select(origin, readings), "ai-input", rsl.Operator{})
			}
		})
	}
}
