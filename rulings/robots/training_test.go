package robots_test

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/robots"
)

func TestTrainingT99(t *testing.T) {
	for _, tt := range []struct {
		name string
		asked
		want string
		line int
	}{
		{"a Disallow that matches disallows", asked{robots: "User-agent: *\nDisallowAITraining: /a\n", target: "/a/b"}, "disallow", 2},
		{"an Allow that matches allows", asked{robots: "User-agent: *\nAllowAITraining: /a\n", target: "/a/b"}, "allow", 2},
		{"what none matches is unknown", asked{robots: "User-agent: *\nDisallowAITraining: /a\n", target: "/b"}, "unknown", 0},
		{"the longest decides", asked{robots: "User-agent: *\nAllowAITraining: /a/b\nDisallowAITraining: /a\n", target: "/a/b"}, "allow", 2},
		{"an Allow before a Disallow of the same length", asked{robots: "User-agent: *\nDisallowAITraining: /a\nAllowAITraining: /a\n", target: "/a"}, "allow", 3},
		{"a Disallow without a slash gets one", asked{robots: "User-agent: *\nDisallowAITraining: a\n", target: "/a"}, "disallow", 2},
		{"such an Allow is skipped", asked{robots: "User-agent: *\nDisallowAITraining: /\nAllowAITraining: a\n", target: "/a"}, "disallow", 2},
		{"a star begins a pattern", asked{robots: "User-agent: *\nDisallowAITraining: *.pdf$\n", target: "/a.pdf"}, "disallow", 2},
		{"an empty one matches nothing", asked{robots: "User-agent: *\nDisallowAITraining:\n", target: "/a"}, "unknown", 0},
		{"rules of access are others", asked{robots: "User-agent: *\nDisallowAITraining: /\nAllow: /a/b/c\nDisallow: /a\n", target: "/a/b/c"}, "disallow", 2},
		{"keys have no letter case", asked{robots: "User-agent: *\ndisallowaitraining: /\n", target: "/"}, "disallow", 2},
		{"T27 site-wide rules bind a group without any", asked{robots: "DisallowAITraining: /\nUser-agent: *\nAllow: /\n", target: "/"}, "disallow", 1},
		{"T27 and nobody's group", asked{robots: "DisallowAITraining: /\nUser-agent: y\nAllow: /\n", target: "/"}, "disallow", 1},
		{"T27 a rule replaces those of its key", asked{robots: "DisallowAITraining: /\nUser-agent: *\nDisallowAITraining: /b\n", target: "/"}, "unknown", 0},
		{"T27 and none of the other", asked{robots: "DisallowAITraining: /\nUser-agent: *\nAllowAITraining: /b\n", target: "/"}, "disallow", 1},
		{"T27 among which it is matched", asked{robots: "DisallowAITraining: /\nUser-agent: *\nAllowAITraining: /b\n", target: "/b"}, "allow", 3},
		{"T27 an Allow replaces those of its key", asked{robots: "AllowAITraining: /\nUser-agent: *\nAllowAITraining: /b\n", target: "/"}, "unknown", 0},
		{"T27 an empty one has the key too", asked{robots: "DisallowAITraining: /\nUser-agent: *\nDisallowAITraining:\n", target: "/"}, "unknown", 0},
		{"T27 a site-wide Allow is matched among a group's", asked{robots: "AllowAITraining: /b\nUser-agent: *\nDisallowAITraining: /\n", target: "/b"}, "allow", 1},
		{"T26 and the longest of several groups", asked{robots: "User-agent: x\nDisallowAITraining: /a\nAllow: /\nUser-agent: x\nAllowAITraining: /a/b\n", target: "/a/b"}, "allow", 5},
		{"T22 one that is skipped does not", asked{robots: "DisallowAITraining: /\nUser-agent: *\nAllowAITraining: b\n", target: "/b"}, "disallow", 1},
		{"T28 they are never trailing", asked{robots: "User-agent: x\nAllow: /\nUser-agent: y\nAllow: /\n\nDisallowAITraining: /\n", target: "/"}, "unknown", 0},
		{"T29 any token's Disallow disallows", asked{robots: "User-agent: a\nAllowAITraining: /\nAllow: /\nUser-agent: b\nDisallowAITraining: /\n", tokens: "a b", target: "/"}, "disallow", 5},
		{"T29 else any token's Allow allows", asked{robots: "User-agent: a\nDisallowAITraining: /b\nAllow: /\nUser-agent: b\nAllowAITraining: /\n", tokens: "a b", target: "/"}, "allow", 5},
		{"T29 what an agent calls itself hides nothing", asked{robots: "User-agent: *\nDisallowAITraining: /\nAllow: /\nUser-agent: mine\nAllowAITraining: /p\n", userAgent: "mine/2", target: "/p"}, "disallow", 2},
		{"T38 a reading that is disallowed disallows", asked{robots: "User-agent: *\nAllowAITraining: /a//b\nDisallowAITraining: /a/b\n", target: "/a//b"}, "disallow", 3},
		{"T38 only all that are allowed allow", asked{robots: "User-agent: *\nAllowAITraining: /a//b\n", target: "/a//b"}, "unknown", 0},
		{"T38 and then they do", asked{robots: "User-agent: *\nAllowAITraining: /a/\n", target: "/a//b"}, "allow", 2},
		{"T11 robots.txt is not ruled", asked{robots: "User-agent: *\nDisallowAITraining: /\n", target: "/robots.txt"}, "unknown", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, s, p := tt.ask()
			got := s.Training(p)
			if word(got.Says) != tt.want || got.Line != tt.line || (got.Rule == "") != (got.Line == 0) {
				t.Errorf("%+v, want %s by line %d", got, tt.want, tt.line)
			}
		})
	}
}

// Statements and AI-training rules count towards what one page may cost.
func TestAccessT40CountsStatementsAndTrainingRules(t *testing.T) {
	const most, lines, length = 512_000_000, 6400, 16
	path := "/" + strings.Repeat("x", length-1)
	part := func(line string) string { return strings.Repeat(line+"\n", lines) }
	file := "User-agent: a\nUser-agent: b\n" + part("Disallow: "+path) + part("Content-Usage: "+path+" a") + part("Content-Signal: "+path+" a") + part("DisallowAITraining: "+path)
	target := "/" + strings.Repeat("y", most/(4*lines)-length-1)
	for _, tokens := range []string{"a", "a b"} { // a pattern counts once
		f, s, p := asked{robots: file, tokens: tokens, target: target}.ask()
		if a := s.Access(p); a.OverLimit {
			t.Errorf("%s: at the bound: %+v", tokens, a)
		}
		s = f.Select(strings.Fields(tokens), "")
		if a := s.Access(robots.NewPage(target + "y")); !a.OverLimit {
			t.Errorf("%s: over the bound: %+v", tokens, a)
		}
	}
	for name, more := range map[string]string{
		"a site-wide statement": "Content-Usage: /a a\n", "one without a path": "Content-Usage: a\n", "a site-wide signal": "Content-Signal: /a a\n", "a site-wide AI-training rule": "AllowAITraining: /a\n",
	} {
		_, s, p := asked{robots: more + file, tokens: "a", target: target}.ask()
		if a := s.Access(p); !a.OverLimit {
			t.Errorf("%s does not count", name)
		}
		if got := s.Training(p); got != (robots.Stated{}) {
			t.Errorf("over the bound: %+v", got)
		}
	}
	_, s, p := asked{robots: file + "User-agent: c\nContent-Usage: /a a\nDisallow: /a\n", tokens: "a", target: target}.ask()
	if a := s.Access(p); a.OverLimit {
		t.Error("another group's lines count")
	}
}
