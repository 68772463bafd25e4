package robotstag

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestT98_Lines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  Rules
	}{
		{"each rule", []string{"noai, noimageai", "disallowaitraining"}, Rules{NoAI: true, NoImageAI: true, DisallowAITraining: true}},
		{"no letter case", []string{"DisallowAITraining,NoImageAI"}, Rules{NoImageAI: true, DisallowAITraining: true}},
		{"white space and empty members", []string{"\t, noai ,,"}, Rules{NoAI: true}},
		{"a prefix without a blank", []string{"examplebot:noai"}, Rules{NoAI: true}},
		{"a prefix with a blank before the colon", []string{"ExampleBot : noai"}, Rules{NoAI: true}},
		{"a prefix in the middle holds to the end", []string{"noindex, otherbot: noai, noimageai"}, Rules{Search: []string{"noindex"}}},
		{"ours behind another's", []string{"otherbot: noindex, examplebot: noai"}, Rules{NoAI: true}},
		{"two prefixes in a row: the last is whose it is", []string{"otherbot: examplebot: noai"}, Rules{NoAI: true}},
		{"a prefix that only begins like ours", []string{"examplebot/2.0: noai"}, Rules{}},
		{"a prefix holds for its own line", []string{"otherbot: x", "noai"}, Rules{NoAI: true}},
		{"rules with values are no agents", []string{"Max-Image-Preview: large, max-video-preview:-1, noai"}, Rules{NoAI: true, Search: []string{"Max-Image-Preview: large", "max-video-preview:-1"}}},
		{"a date with a comma", []string{"unavailable_after: Friday, 25-Jun-27 15:00:00 GMT, noai"}, Rules{NoAI: true, Search: []string{"unavailable_after: Friday", "25-Jun-27 15:00:00 GMT"}}},
		{"no comma, no rule", []string{"noai noimageai"}, Rules{Search: []string{"noai noimageai"}}},
		{"a colon without a word", []string{": noai"}, Rules{Search: []string{": noai"}}},
		{"nothing", []string{"", ","}, Rules{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Parse(tt.lines, []string{"ExampleBot"})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestT98_MetaNames(t *testing.T) {
	for name, binds := range map[string]bool{"Robots": true, "examplebot": true, "googlebot": false, "": false, "tdm-reservation": false} {
		r, ok := ParseMeta(name, "NoAI", []string{"ExampleBot", ""})
		if ok != binds || r.NoAI != binds {
			t.Errorf("%q: %+v, %v", name, r, ok)
		}
	}
	if r, ok := ParseMeta("robots", "otherbot: noai,\n disallowaitraining", nil); !ok || r.NoAI || r.DisallowAITraining {
		t.Errorf("another agent's: %+v, %v", r, ok)
	}
}

func TestT98_WhatIsListedIsBounded(t *testing.T) {
	r := Parse([]string{strings.Repeat("noindex,", 1<<14), strings.Repeat("x", 1<<16), "noai"}, nil)
	if !r.NoAI || len(r.Search) != MaxSearch {
		t.Errorf("%d listed, noai %v", len(r.Search), r.NoAI)
	}
	r = Parse([]string{strings.Repeat("x", 1<<16)}, nil)
	if len(r.Search) != 1 || len(r.Search[0]) != MaxDirective {
		t.Errorf("listed %q", r.Search)
	}
}

var hostile = []string{
	strings.Repeat(":", 1<<16), strings.Repeat("a:", 1<<15), strings.Repeat("a:,", 1<<14), strings.Repeat(",", 1<<16), strings.Repeat(" ", 1<<16) + "noai",
	strings.Repeat("max-snippet:", 1<<12), "\x00\xff:\xff,noai", strings.Repeat("é", 1<<15),
}

func TestT98_HostileLines(t *testing.T) {
	for _, line := range hostile {
		check(t, line)
	}
}

// check holds what T98 says of any line.
func check(t *testing.T, line string) {
	t.Helper()
	r := Parse([]string{line}, []string{"ExampleBot"})
	if diff := cmp.Diff(r, Parse([]string{line}, []string{"ExampleBot"})); diff != "" {
		t.Fatalf("a second reading differs:\n%s", diff)
	}
	if m, ok := ParseMeta("robots", line, []string{"ExampleBot"}); !ok || !cmp.Equal(m, r) {
		t.Fatalf("%+v as a field, %+v as a meta", r, m)
	}
	if len(r.Search) > MaxSearch {
		t.Fatalf("%d listed", len(r.Search))
	}
	for _, s := range r.Search {
		if s == "" || len(s) > MaxDirective || !strings.Contains(line, s) {
			t.Fatalf("listed %q of %q", s, line)
		}
	}
	// A line takes nothing from another.
	if with := Parse([]string{line, "noai"}, nil); !with.NoAI {
		t.Fatalf("%q hides noai", line)
	}
	// Another agent's prefix takes all of it.
	if other := Parse([]string{"otherbot: " + strings.ReplaceAll(line, ":", "")}, nil); !cmp.Equal(other, Rules{}) {
		t.Fatalf("for another agent: %+v", other)
	}
}

func FuzzParse(f *testing.F) {
	seeds := []string{"", "noai", "ExampleBot: noai, noindex", "a: b: NoImageAI", "unavailable_after: Fri, 25 Jun 2027, disallowaitraining", ",:,\t:\x00"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(check)
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, line string }{
		{"a usual line", "noindex, nofollow, max-image-preview: large, noai"},
		{"64 KiB of prefixes", strings.Repeat("a:", 1<<15)},
		{"64 KiB of rules", strings.Repeat("noindex,", 1<<13)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.line)))
			b.ReportAllocs()
			for b.Loop() {
				Parse([]string{bb.line}, []string{"ExampleBot"})
			}
		})
	}
}
