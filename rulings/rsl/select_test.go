package rsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// selects reports whether an entry with this url governs a page, as it was sent,
// beside one that is unscoped: it does, the other does, or both do.
func selects(t *testing.T, url, page string) string {
	t.Helper()
	s := selectFor(t, parse(t, withEntries("", url)), page)
	if len(s.Governs) == 0 {
		t.Fatalf("%q on %s: %+v", url, page, s)
	}
	switch fmt.Sprint(s.Governs[0]) {
	case "[1]":
		return "matches"
	case "[0]":
		return "does not"
	}
	return "unscoped"
}

func TestT78_WhatAURLSpeaksOf(t *testing.T) {
	for _, tt := range []struct{ url, page, want string }{
		{"/a", "https://o.example/abc", "matches"},
		{"/a", "http://o.example:8080/abc", "matches"},
		{"*b", "https://o.example/abc", "matches"},
		{"a", "https://o.example/abc", "matches"},
		{"a/b:c", "https://o.example/a/b:c", "matches"},
		{"?q", "https://o.example/?q=1", "matches"}, // "/?q"
		{"1a:b", "https://o.example/1a:b", "matches"},
		{":a", "https://o.example/:a", "matches"},
		{"//o.example/a", "https://o.example/a", "does not"},
		{"//o.example/a", "https://o.example//o.example/a", "matches"},
		{"b", "https://o.example/abc", "does not"},

		{"https://o.example/a", "https://o.example/abc", "matches"},
		{"https://o.example", "https://o.example/abc", "matches"},
		{"https://o.example?q", "https://o.example/?q=1", "matches"},
		{"https://o.example?q", "https://o.example/", "does not"},
		{"HTTPS://O.Example:443/a", "https://o.example/abc", "matches"},
		{"https://user:word@o.example/a", "https://o.example/abc", "matches"},
		{"https://o.example/*c$", "https://o.example/abc", "matches"},
		{"https://o.example/é*x", "https://o.example/%C3%A9/x", "matches"},
		{"https://o.example:/a", "https://o.example/abc", "matches"},
		{"http://o.example/a", "https://o.example/abc", "does not"},
		{"https://o.example:8443/a", "https://o.example/abc", "does not"},
		{"https://p.o.example/a", "https://o.example/abc", "does not"},
		{"https://*/a", "https://o.example/abc", "does not"},
		{"https://o.example:x/a", "https://o.example/abc", "does not"},
		{"https://o.exam ple/a", "https://o.example/abc", "does not"},

		{"ftp://o.example/a", "https://o.example/abc", "does not"},
		{"urn:a", "https://o.example/urn:a", "does not"},
		{"o.example:443/a", "https://o.example/abc", "does not"},

		{"", "https://o.example/abc", "unscoped"},
		{" \n", "https://o.example/abc", "unscoped"},
		{"http:", "https://o.example/abc", "unscoped"},
		{"https:/a", "https://o.example/abc", "unscoped"},
		{"https:a", "https://o.example/abc", "unscoped"},
		{"https:///a", "https://o.example/abc", "unscoped"},
		{"https://:443/a", "https://o.example/abc", "unscoped"},
		{"https://user@/a", "https://o.example/abc", "unscoped"},
		{"https://?q", "https://o.example/?q", "unscoped"},
		{"#top", "https://o.example/", "unscoped"},

		{" /a\n", "https://o.example/abc", "matches"}, // no URL begins or ends so
		{"/a#top", "https://o.example/abc", "matches"},
		{"https://o.example/a#top", "https://o.example/abc", "matches"},
		{"/a b", "https://o.example/a%20b", "matches"},
		{"/%61", "https://o.example/abc", "matches"},
	} {
		if got := selects(t, tt.url, tt.page); got != tt.want {
			t.Errorf("%q on %s: %s, want %s", tt.url, tt.page, got, tt.want)
		}
	}
}

func TestT79ToT84_Selections(t *testing.T) {
	for _, tt := range []struct {
		name string
		urls []string
		page string
		want [][]int
	}{
		{"no entry on any reading", []string{"/b"}, "https://o.example/a", nil},
		{"no entry at all for another origin", []string{"https://p.example/"}, "https://o.example/a", nil},
		{"unscoped entries count by reading", []string{"", "/a/b"}, "https://o.example/a//b", [][]int{{0}, {1}}},
		{"unscoped entries govern once", []string{"", "/c"}, "https://o.example/a//b;c", [][]int{{0}}},
		{"a reading without entries is left out", []string{"/a/b"}, "https://o.example/a//b", [][]int{{0}}},
		{"one form on all origins and on this", []string{"https://o.example/a", "/", "/a"}, "https://o.example/a", [][]int{{0, 2}}},
		{"and on another", []string{"https://p.example/a", "/a", "https://o.example/a"}, "https://o.example/a", [][]int{{1, 2}}},
		{"one form on this origin and on all, both set aside", []string{"https://o.example/a", "/a", "/ab"}, "https://o.example/abc", [][]int{{2}}},
		{"the whole URL is narrower", []string{"/", "https://o.example/a", "/a"}, "https://o.example/ab", [][]int{{1, 2}}},
		{"three spellings that match the same", []string{"/a", "/a*", "/a**", "/"}, "https://o.example/a", [][]int{{0, 1, 2}}},
		{"all set aside by a later one", []string{"/a*", "/*a", "/a", "/a$"}, "https://o.example/a", [][]int{{3}}},
		{"an anchor is narrower than none", []string{"/a*$", "/a", "/*$"}, "https://o.example/ab", [][]int{{0, 1}}},
		{"document order, whatever the forms", []string{"/x*", "/a", "/*b", "/a"}, "https://o.example/ab", [][]int{{1, 2, 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := selectFor(t, parse(t, withEntries(tt.urls...)), tt.page)
			if diff := cmp.Diff(tt.want, s.Governs, cmpopts.EquateEmpty()); diff != "" || s.Unread != "" {
				t.Errorf("unread %q (-want +got):\n%s", s.Unread, diff)
			}
		})
	}
}

func TestT81_LongListsComeInDocumentOrder(t *testing.T) {
	var urls []string
	for i := range 300 {
		urls = append(urls, []string{"/a*", "/*b", "/", "/a"}[i%4])
	}
	page := "https://o.example/ab"
	origin, readings := splitPage(t, page)
	want := plainSelect(urls, origin, readings)
	got := selectFor(t, parse(t, withEntries(urls...)), page)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// windows returns the entries that vectors/README.md calls so, and their page.
func windows(width, count int) (urls []string, page string) {
	path := make([]byte, width+count)
	for i, state := 0, uint32(1); i < len(path); i++ {
		state = state*1664525 + 1013904223
		path[i] = 'b' + byte(state>>24)%24
	}
	for i := range count {
		urls = append(urls, "/*"+string(path[i:i+width])+"*")
	}
	return urls, "https://o.example/" + string(path)
}

func TestT82_KnownCosts(t *testing.T) {
	for _, tt := range []struct {
		name         string
		width, count int
		cost         int64
		unread       string
	}{
		{"256 patterns of 64 octets", 61, 256, 12_615_424, ""},
		{"125 of 1,999 octets fit", 1996, 125, 63_226_375, ""},
		{"126 do not", 1996, 126, 64_244_124, "budget"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			urls, page := windows(tt.width, tt.count)
			s := selectFor(t, parse(t, withEntries(urls...)), page)
			if s.Cost != tt.cost || s.Unread != tt.unread {
				t.Errorf("cost %d, unread %q; want %d, %q", s.Cost, s.Unread, tt.cost, tt.unread)
			}
			if governs := len(s.Governs) == 1; governs != (tt.unread == "") {
				t.Errorf("%d selections", len(s.Governs))
			}
		})
	}
	nested := func(n int) rsl.Selection {
		path := "/" + strings.Repeat("a", n*200)
		var urls []string
		for i := range n {
			urls = append(urls, path[:1+(i+1)*200])
		}
		return selectFor(t, parse(t, withEntries(urls...)), "https://o.example"+path)
	}
	if s := nested(68); s.Unread != "" {
		t.Errorf("68 nested literals: %q, %d", s.Unread, s.Cost)
	}
	if s := nested(69); s.Unread != "budget" {
		t.Errorf("69 nested literals: %q, %d", s.Unread, s.Cost)
	}
}

func TestT82_TheBudgetIsCountedOverAllReadingsBeforeTheFirstTest(t *testing.T) {
	urls, page := windows(1996, 90)
	d := parse(t, withEntries(urls...))
	tests := 0
	x := d.Index(rsl.Paths{Origin: paths.Origin, Compile: func(text string) rsl.Pattern {
		return countingPattern{paths.Compile(text), &tests}
	}})
	origin, readings := splitPage(t, page)
	one := x.Select(origin, readings)
	if one.Unread != "" || tests == 0 {
		t.Fatalf("one reading: %q, cost %d, %d tests", one.Unread, one.Cost, tests)
	}
	tests = 0
	_, readings = splitPage(t, page+"//;")
	many := x.Select(origin, readings)
	if len(readings) < 2 || many.Unread != "budget" || many.Cost != int64(len(readings))*one.Cost || tests > 0 {
		t.Errorf("%d readings: %q, cost %d, %d tests", len(readings), many.Unread, many.Cost, tests)
	}
}

// A countingPattern counts the tests of containment, whose texts alone have a
// space in them.
type countingPattern struct {
	rsl.Pattern
	tests *int
}

func (p countingPattern) Match(form string) bool {
	if strings.Contains(form, " ") {
		*p.tests++
	}
	return p.Pattern.Match(form)
}

func TestT40_MatchingIsBounded(t *testing.T) {
	var urls []string
	for i := range 20000 {
		urls = append(urls, fmt.Sprint("/", i))
	}
	d := parse(t, withEntries(append(urls[:10000:10000], "https://p.example/")...))
	x := d.Index(paths)
	// Every pattern is counted with its length for each reading, so 25 readings
	// of 2,000 octets are about 500,000,000.
	page := "/" + strings.Repeat("x", 2034)
	readings := func(n int) (list []string) {
		for i := range n {
			list = append(list, page+fmt.Sprint(i%10))
		}
		return list
	}
	if s := x.Select("https://o.example", readings(25)); s.Unread != "" {
		t.Errorf("25 readings are %q", s.Unread)
	}
	if s := x.Select("https://o.example", readings(26)); s.Unread != "budget" {
		t.Errorf("26 readings are %q", s.Unread)
	}
}

func TestT31_APatternThatCannotBeCompiledMatchesNothing(t *testing.T) {
	d := parse(t, withEntries("/a", "/b"))
	x := d.Index(rsl.Paths{Origin: paths.Origin, Compile: func(text string) rsl.Pattern {
		if text == "/a" {
			return nil
		}
		return paths.Compile(text)
	}})
	if s := x.Select("https://o.example", []string{"/a"}); len(s.Governs) > 0 {
		t.Errorf("%+v", s)
	}
}
