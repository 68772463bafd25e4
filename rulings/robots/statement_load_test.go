package robots_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wayleave/wayleave/rulings/robots"
)

// TestStatementsT41 runs files in which every line is a statement.
func TestStatementsT41HostileFilesEnd(t *testing.T) {
	const head = "User-agent: *\n"
	fill := func(line string) string {
		return head + strings.Repeat(line+"\n", (robots.MaxBytes-len(head))/(len(line)+1))
	}
	readings := "/" + strings.Repeat("a/;", 4)
	for _, tt := range []struct{ name, robots, target string }{
		{"lines without a path", fill("Content-Usage: a"), readings},
		{"lines of one path", fill("Content-Usage: /a a"), readings},
		{"lines of paths of stars", fill("Content-Signal: /*a*a*a*a*a*a*a*a*a*a*b a=b"), "/" + strings.Repeat("a", 8000)},
		{"one path of stars", head + "Content-Usage: /" + strings.Repeat("*", robots.MaxBytes-60) + " ai-use=n", readings},
		{"AI-training rules", fill("DisallowAITraining: /*a*b"), "/" + strings.Repeat("a", 8000)},
		{"AI-training rules on many readings", fill("AllowAITraining: *"), readings},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, s, p := asked{robots: tt.robots, target: tt.target}.ask()
			if a := s.Access(p); a.OverLimit || a.Refused != nil {
				t.Errorf("%+v", a)
			}
			s.Statements(p, robots.ContentUsage, readUsage(f))
			s.Statements(p, robots.ContentSignal, readSignals(f))
			s.Training(p)
		})
	}
}

// thousandRules is a long file with twenty statements on paths.
func thousandRules() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "Disallow: /products/%d/\n", i)
	}
	for i := range 9 {
		fmt.Fprintf(&b, "Content-Usage: /section-%d/ train-ai=n\nContent-Signal: /*.ext%d$ ai-train=no\n", i, i)
	}
	b.WriteString("Content-Usage: train-ai=n, search=y\nContent-Signal: ai-train=no, search=yes\nDisallowAITraining: /articles/\n")
	return []byte(b.String())
}

// TestStatementsServeManyGoroutines makes the race detector look at what is made
// late.
func TestStatementsServeManyGoroutines(t *testing.T) {
	f := robots.Parse(thousandRules())
	usage := readUsage(f)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, p := f.Select([]string{"wayleave"}, ""), robots.NewPage("/articles/1")
			if got := s.Statements(p, robots.ContentUsage, usage)[trainAI]; got.Says != robots.Forbids {
				t.Errorf("%+v", got)
			}
			if got := s.Training(p); got.Says != robots.Forbids {
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
}

func TestStatementsAllocateNothing(t *testing.T) {
	f := robots.Parse(thousandRules())
	usage, signals := readUsage(f), readSignals(f)
	s, p := f.Select([]string{"wayleave"}, ""), robots.NewPage("/articles//1")
	if n := testing.AllocsPerRun(100, func() {
		s.Statements(p, robots.ContentUsage, usage)
		s.Statements(p, robots.ContentSignal, signals)
		s.Training(p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkStatements1000Rules is what statements add to the ruling of a warm
// page, and the whole of it.
func BenchmarkStatements1000Rules(b *testing.B) {
	f := robots.Parse(thousandRules())
	usage, signals := readUsage(f), readSignals(f)
	tokens := []string{"wayleave"}
	for _, bb := range []struct{ name, target string }{
		{"no path matches", "/articles/2026/11/some-longer-title-of-a-page?ref=home"},
		{"a path matches", "/section-7/2026/some-longer-title-of-a-page"},
		{"three readings", "/articles//2026;v=1/11"},
	} {
		s, p := f.Select(tokens, ""), robots.NewPage(bb.target)
		statements := func(s robots.Selection, p *robots.Page) {
			s.Statements(p, robots.ContentUsage, usage)
			s.Statements(p, robots.ContentSignal, signals)
			s.Training(p)
		}
		b.Run(bb.name+"/statements", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				statements(s, p)
			}
		})
		b.Run(bb.name+"/all", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, p := f.Select(tokens, ""), robots.NewPage(bb.target)
				s.Access(p)
				statements(s, p)
			}
		})
	}
}
