package robots

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectT26T29(t *testing.T) {
	const file = "User-agent: One\nDisallow: /1\n\nUser-agent: Two\nDisallow: /2\n\nUser-agent: *\nDisallow: /all\n"
	for _, tt := range []struct {
		name      string
		robots    string
		tokens    []string
		userAgent string
		want      []string
	}{
		{"a named group replaces *", file, []string{"ONE"}, "", []string{"one"}},
		{"a token nobody names is bound by *", file, []string{"three"}, "", []string{"*"}},
		{"or by nothing", "User-agent: One\nDisallow: /\n", []string{"three"}, "", []string{""}},
		{"a longer or shorter name is another", file, []string{"OneTwo", "On"}, "", []string{"*", "*"}},
		{"declared tokens keep their order", file, []string{"two", "one"}, "", []string{"two", "one"}},
		{"the agent's first word adds its group", file, []string{"x"}, "One of many", []string{"*", "one"}},
		{"a product with a version adds its group", file, []string{"x"}, "Mozilla/5.0 (compatible; Two/1.0)", []string{"*", "two"}},
		{"another word does not", file, []string{"x"}, "Mozilla/5.0 (compatible; Two)", []string{"*"}},
		{"a name no group has adds nothing", file, []string{"x"}, "curl/8.0", []string{"*"}},
		{"the first word is the first run of name octets", file, []string{"x"}, "(One; v2)", []string{"*", "one"}},
		{"a declared token is not added again", file, []string{"One"}, "one/1.0 Two/2 TWO/3", []string{"one", "two"}},
		{"the empty token is a token nobody names", file, []string{""}, "", []string{"*"}},
		{"an agent named * names nobody", file, []string{"x"}, "*", []string{"*"}},
		{"an empty file binds nobody", "", []string{"x"}, "One/1", []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Parse([]byte(tt.robots)).Select(tt.tokens, tt.userAgent).Groups()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccessT30NamesTokenGroupAndLine(t *testing.T) {
	f := Parse([]byte("User-agent: One\nAllow: /\n\nUser-agent: *\n  Disallow: /%6Eews/ # not now\n"))
	got := f.Select([]string{"One", "x"}, "").Access(NewPage("/news/1"))
	want := Access{Decisions: []Decision{
		{Token: "One", Group: "one", Rule: "Allow: /", Line: 2, Allowed: true},
		{Token: "x", Group: "*", Wildcard: true, Rule: "Disallow: /%6Eews/ # not now", Line: 5},
	}}
	want.Refused = &want.Decisions[1]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Refused != &got.Decisions[1] {
		t.Error("Refused does not point into Decisions")
	}
}

func TestAccessT38TheStrictestReadingHolds(t *testing.T) {
	f := Parse([]byte("User-agent: *\nAllow: /a//b\nDisallow: /a/b\nDisallow: /a/\n"))
	s := f.Select([]string{"x"}, "")
	if d := s.Access(NewPage("/a//b")).Refused; d == nil || d.Line != 3 {
		t.Errorf("/a//b is decided by %+v, want line 3", d)
	}
}

func TestAccessT11DocumentsOfTermsAreNotRuled(t *testing.T) {
	s := Parse([]byte("User-agent: *\nDisallow: /\n")).Select([]string{"x"}, "")
	for target, free := range map[string]bool{
		"/robots.txt": true, "/.well-known/tdmrep.json": true, "/robots.txt#part": true,
		"/robots.txt?x": false, "/robots.txt?": false, "//robots.txt": false, "/Robots.txt": false, "/robots%2Etxt": false, "/.well-known/": false,
	} {
		if got := s.Access(NewPage(target)).Refused == nil; got != free {
			t.Errorf("%s is free to ask for: %v, want %v", target, got, free)
		}
	}
}

func TestAccessT37OverTheLimitOfReadings(t *testing.T) {
	p := NewPage("/x//..;/.../;/..;/a/%2Fb/;//%2F..%2F..%2F;%5Cc")
	for name, f := range map[string]*File{"zero": new(File), "empty": Parse(nil), "allowing": Parse([]byte("User-agent: *\nAllow: /\n"))} {
		a := f.Select([]string{"x"}, "").Access(p)
		if !a.OverLimit || a.Refused != nil || len(a.Decisions) != 1 || a.Decisions[0].Allowed {
			t.Errorf("the %s file rules %+v", name, a)
		}
	}
}

// TestAccessT40 rules a page at the bound and one octet over it.
func TestAccessT40BoundsTheWork(t *testing.T) {
	const rules, length = 25_600, 16 // the page takes what is left of the bound
	f := Parse([]byte("User-agent: a\nUser-agent: b\n" + strings.Repeat("Disallow: /"+strings.Repeat("x", length-1)+"\n", rules)))
	target := "/" + strings.Repeat("y", maxWork/rules-length-1)
	for _, tokens := range [][]string{{"a"}, {"a", "b"}} { // a pattern counts once
		s := f.Select(tokens, "")
		if a := s.Access(NewPage(target)); a.OverLimit || a.Refused != nil {
			t.Errorf("%v at the bound: %+v", tokens, a)
		}
		if a := s.Access(NewPage(target + "y")); !a.OverLimit {
			t.Errorf("%v over the bound: %+v", tokens, a)
		}
	}
}

func TestAccessT29T41GroupsThatBindManyNamesAreDecidedOnce(t *testing.T) {
	const names = 20_000
	var groups, agent strings.Builder
	for i := range names {
		fmt.Fprintf(&groups, "User-agent: n%d\n", i)
		fmt.Fprintf(&agent, "n%d/ N%d/ ", i, i)
	}
	s := Parse([]byte(groups.String()+"Disallow: /a\n")).Select([]string{"n0"}, agent.String())
	if len(s.choices) != names || len(s.distinct()) != 1 {
		t.Fatalf("%d names and %d different groups, want %d and 1", len(s.choices), len(s.distinct()), names)
	}
	for i, d := range s.Access(NewPage("/a")).Decisions {
		if want := fmt.Sprintf("n%d", i); s.choices[i].first != 0 || d.Group != want || d.Token != want || d.Allowed || d.Line != names+1 {
			t.Fatalf("name %d is ruled like name %d: %+v", i, s.choices[i].first, d)
		}
	}
}

// TestMatchT41 runs files that take a backtracking or a quadratic matcher hours.
func TestMatchT41HostilePatternsEnd(t *testing.T) {
	long := "/" + strings.Repeat("a", 8000)
	slashes := strings.Repeat("/;", 4)
	for _, tt := range []struct {
		name, rule, target string
		refused            bool
	}{
		{"512 KiB of stars", "/" + strings.Repeat("*", MaxBytes-30), long, true},
		{"512 KiB of stars on a page of many readings", "/" + strings.Repeat("*", MaxBytes-30), slashes, true},
		{"stars and an anchored piece that is missing", "/" + strings.Repeat("*", MaxBytes-30) + "b$", long, false},
		{"a piece for each octet", strings.Repeat("/*a", MaxBytes/3-10), long, false},
		{"pieces that nearly match", "/" + strings.Repeat("*"+strings.Repeat("a", 60)+"b", 8000), long, false},
		{"one piece that nearly matches", "/*" + strings.Repeat("a", 4000) + "b*", long, false},
		{"every octet escaped", "/" + strings.Repeat("%61", 100_000), long, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Parse([]byte("User-agent: *\nDisallow: "+tt.rule+"\n")).Select([]string{"x"}, "")
			if a := s.Access(NewPage(tt.target)); a.OverLimit || (a.Refused != nil) != tt.refused {
				t.Errorf("refused %v, over limit %v, want refused %v", a.Refused != nil, a.OverLimit, tt.refused)
			}
		})
	}
}

func TestAccessT41NamesThatShareGroupsShareTheirMemory(t *testing.T) {
	// Every name has a group of its own and all share a long one, so no two names
	// have the same rules: merging for each takes memory in the square of the length.
	var own, all, agent strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&own, "User-agent: n%d\nDisallow: /own-%d\n", i, i)
		fmt.Fprintf(&all, "User-agent: n%d\n", i)
		fmt.Fprintf(&agent, "n%d/ ", i)
	}
	body := []byte(own.String() + all.String() + strings.Repeat("Disallow: /a\n", 5_000) + strings.Repeat("DisallowAITraining: /a\n", 1000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := Parse(body)
	for target, refused := range map[string]bool{"/a": true, "/own-77": true, "/own-78": false} {
		if got := f.Select([]string{"n77"}, "").Access(NewPage(target)).Refused != nil; got != refused {
			t.Errorf("%s is refused: %v, want %v", target, got, refused)
		}
	}
	s := f.Select([]string{"n77"}, agent.String())
	for _, target := range []string{"/a", "/own-77", "/own-78"} {
		if a := s.Access(NewPage(target)); a.OverLimit || a.Refused == nil {
			t.Errorf("%s is allowed to an agent of every name", target)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("a file of %d octets took %d octets of memory", len(body), used)
	}
}

// TestFileServesManyGoroutines makes the race detector look at the one thing that
// is made late.
func TestFileServesManyGoroutines(t *testing.T) {
	f := Parse(thousandRules())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if f.Select([]string{"wayleave"}, browser).Access(NewPage("/products/501/x")).Refused == nil {
				t.Error("/products/501/x is allowed")
			}
		})
	}
	wg.Wait()
}

func TestAccessOfACommonPageAllocatesLittle(t *testing.T) {
	f := Parse(thousandRules())
	tokens := []string{"wayleave"}
	if n := testing.AllocsPerRun(100, func() {
		f.Select(tokens, browser).Access(NewPage("/articles/1?q=2"))
	}); n > 3 {
		t.Errorf("a warm ruling allocates %v times; page, selection and decisions are three", n)
	}
}
