package rsl_test

import (
	"fmt"
	"math/rand/v2"
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
	documents := append([]hostile{{name: "200 entries", text: sections(200)}}, hostileDocuments()...)
	for _, h := range documents {
		b.Run(h.name, func(b *testing.B) {
			body := []byte(h.text)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				rsl.Parse(body)
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

// differing returns count different strings of width octets out of text, and
// from each on.
func differing(text string, width, count int) (list []string) {
	seen := make(map[string]bool)
	for i := 0; len(list) < count; i++ {
		if s := text[i : i+width]; !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// noise returns n octets of the first letters of the alphabet, always the same.
func noise(n, letters int) string {
	r := rand.New(rand.NewPCG(uint64(letters), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(letters))
	}
	return string(b)
}

// nearly returns count forms none of which lies within another, though it takes
// to their ends to see it: half of them have a long run of blocks, and half one of
// half the length with an octet behind it that no other has.
func nearly(length, count int) (urls []string, page string) {
	block := "a" + strings.Repeat("b", 15)
	run, half := strings.Repeat(block, length/16), strings.Repeat(block, length/32)+"z"
	all, tail := noise(500, 26), noise(700, 25)
	for i, end := range differing(tail, 10, count) {
		if i%2 == 0 {
			urls = append(urls, "/*"+run+"*"+all+"*"+end)
		} else {
			urls = append(urls, "/*"+half+"*"+all+"*"+end+"*")
		}
	}
	return urls, "https://o.example/" + run + "z" + all + tail
}

// BenchmarkSelectWorst is what is dearest within the budget: what many tests of
// containment can be made of that are not decided by a first look.
func BenchmarkSelectWorst(b *testing.B) {
	bits := noise(6000, 2)
	var short []string
	for _, w := range differing(bits, 10, 790) {
		short = append(short, "/*"+w)
	}
	type licence struct {
		name, page string
		urls       []string
	}
	licences := []licence{{"790 forms of 12 octets", "https://o.example/" + bits, short}}
	for _, c := range [][2]int{{500, 180}, {2000, 124}, {8000, 68}, {30000, 20}, {60000, 10}} {
		urls, page := nearly(c[0], c[1])
		licences = append(licences, licence{fmt.Sprintf("%d forms of up to %d octets", c[1], c[0]), page, urls})
	}
	urls, page := windows(1996, 125)
	licences = append(licences, licence{"125 forms of 1,999 octets", page, urls})
	for _, l := range licences {
		b.Run(l.name, func(b *testing.B) {
			x := parse(b, withEntries(l.urls...)).Index(paths)
			origin, readings := splitPage(b, l.page)
			if s := x.Select(origin, readings); s.Unread != "" || len(s.Governs[0]) < len(l.urls) {
				b.Fatalf("cost %d, unread %q", s.Cost, s.Unread)
			}
			for b.Loop() {
				x.Select(origin, readings)
			}
		})
	}
}

// BenchmarkSelectMatching is a licence that is dear to match: many wildcards, on
// a long page of many readings.
func BenchmarkSelectMatching(b *testing.B) {
	var urls []string
	for i := range 11000 {
		urls = append(urls, fmt.Sprintf("/*a%x", i))
	}
	x := parse(b, withEntries(urls...)).Index(paths)
	origin, readings := splitPage(b, "https://o.example/"+noise(300, 26)+strings.Repeat("0123456789abcdefa", 16)+"//b;x//c;y/%2F..//d;z")
	for b.Loop() {
		x.Select(origin, readings)
	}
}
