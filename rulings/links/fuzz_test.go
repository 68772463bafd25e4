package links

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var seeds = []string{
	"", ",", " , ;", "<", "<>", "\"", "license", "<l>;rel=license;type=application/rsl+xml",
	`</a,b>; title="x\", <y>"; rel="a license"; type="application/rsl+xml; v=1", <m>; rel*=UTF-8''license%20; type*=iso-8859-1''application/rsl%2Bxml`,
	"</l.xml; rel=license", "<l>; rel=license; r@l=x; =y; \"z", "</caf\xe9>; rel=\"license\xe9\"; type=application/rsl+xml", `<l>; rel="lic\ense\"; anchor=<x,y>`,
	"<http://[x>; rel=license; type=application/rsl+xml; anchor=\"#a\"",
	strings.Repeat("<a>;rel=license;type=application/rsl+xml,", 3), strings.Repeat("<", 50) + strings.Repeat("\"", 51),
}

// hostile are lines that are long, deep or meant to make a reader go back.
var hostile = []string{
	strings.Repeat("<", 1<<16), strings.Repeat("\"", 1<<16+1), strings.Repeat("\\\"", 1<<15), strings.Repeat(",", 1<<16), strings.Repeat(";", 1<<16),
	strings.Repeat("l", 1<<16), strings.Repeat("license,", 1<<13), "<l>" + strings.Repeat(";a", 1<<15), "<l>" + strings.Repeat("; \"<\"", 1<<13),
	"<l>; rel=\"" + strings.Repeat("license ", 1<<13) + "\"; type=application/rsl+xml", "<" + strings.Repeat("../", 1<<14) + "l>; rel=license; type=application/rsl+xml",
	strings.Repeat("<a>;rel=license;type=application/rsl+xml;anchor=\"#\",", 1<<10), "<l>; rel*=UTF-8''" + strings.Repeat("%6C", 1<<14),
}

func TestT59_HostileLinesAreReadAndBounded(t *testing.T) {
	page := parseURL(t, "https://o.example/"+strings.Repeat("a/", 1000))
	for _, line := range hostile {
		check(t, page, line, line)
	}
}

// check holds what T59 to T64 say of any two lines.
func check(t *testing.T, page *url.URL, first, second string) {
	t.Helper()
	both := Licences(page, []string{first, second})
	if diff := cmp.Diff(both, Licences(page, []string{first, second})); diff != "" {
		t.Fatalf("a second reading differs:\n%s", diff)
	}
	if len(both.Licences) > MaxLicences {
		t.Fatalf("%d licences", len(both.Licences))
	}
	for i, l := range both.Licences {
		u, err := url.Parse(l)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || slices.Contains(both.Licences[:i], l) {
			t.Fatalf("licence %q, %v", l, err)
		}
		if strings.IndexFunc(l, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			t.Fatalf("licence %q is not ASCII", l)
		}
	}
	length := 0
	for _, m := range both.Unread {
		length += len(m)
		if m == "" || !strings.Contains(first, m) && !strings.Contains(second, m) {
			t.Fatalf("unread %q", m)
		}
	}
	if length > len(first)+len(second) {
		t.Fatalf("%d unread octets", length)
	}
	// A line says the same beside any other.
	alone := Licences(page, []string{first})
	if !slices.Equal(both.Licences[:len(alone.Licences)], alone.Licences) || !slices.Equal(both.Unread[:len(alone.Unread)], alone.Unread) {
		t.Fatalf("%+v alone, %+v beside %q", alone, both, second)
	}
}

func FuzzLicences(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for i, s := range seeds {
		f.Add(s, seeds[(i+1)%len(seeds)])
	}
	page := parseURL(f, "https://o.example/dir/page?q=1")
	f.Fuzz(func(t *testing.T, first, second string) {
		check(t, page, first, second)
		// What a broken line cannot do is hide a good one behind it.
		if got := Licences(page, []string{first, "<https://good.example/l>; rel=license; type=application/rsl+xml"}); len(got.Licences) < MaxLicences && !slices.Contains(got.Licences, "https://good.example/l") {
			t.Fatalf("%+v", got)
		}
	})
}
