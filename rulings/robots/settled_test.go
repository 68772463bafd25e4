package robots

import "testing"

func TestE82WhatFollowsAPrefixIsSettled(t *testing.T) {
	for _, c := range []struct {
		name, rules, prefix string
		want                bool
	}{
		{"no rule at all", "", "/a?key=", true},
		{"no rule at all, within the path", "", "/a/", true},
		{"a rule that the prefix reaches", "Disallow: /a", "/a?key=", true},
		{"a rule of another path", "Disallow: /b", "/a?key=", true},
		{"a rule that goes on behind the prefix", "Disallow: /a?key=1", "/a?key=", false},
		{"a rule of another name in the query", "Disallow: /a?kez=1", "/a?key=", true},
		{"a wildcard that has found its piece", "Disallow: /*key", "/a?key=", true},
		{"a wildcard that may find its piece", "Disallow: /*print", "/a?key=", false},
		{"a wildcard below a longer rule that decides", "Disallow: /*p\nAllow: /a?key=", "/a?key=", true},
		{"an anchor", "Disallow: /a?key=$", "/a?key=", false},
		{"an anchor elsewhere", "Disallow: /b?key=$", "/a?key=", true},
		{"any rule, within the path", "Disallow: /b", "/a;sig=", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Parse([]byte("User-agent: *\n"+c.rules+"\n")).Select([]string{"wayleave"}, "")
			if got := s.Settled(c.prefix); got != c.want {
				t.Errorf("Settled(%q) = %v, want %v", c.prefix, got, c.want)
			}
		})
	}
}

// What Settled calls settled must be: no end changes a decision.
func FuzzSettledE82(f *testing.F) {
	f.Add("Disallow: /a?key=1\nAllow: /a", "/a?key=", "1")
	f.Add("Disallow: /*x$", "/a?key=", "x")
	f.Add("Disallow: /a/%2F", "/a;x?key=", "%2f")
	f.Fuzz(func(t *testing.T, rules, prefix, end string) {
		s := Parse([]byte("User-agent: *\n"+rules+"\n")).Select([]string{"wayleave"}, "")
		if prefix = prefix + "?k="; !s.Settled(prefix) {
			return
		}
		a, b := s.Access(NewPage(prefix)), s.Access(NewPage(prefix+end))
		if a.OverLimit == b.OverLimit && a.Decisions != nil && b.Decisions != nil && a.Decisions[0] != b.Decisions[0] {
			t.Errorf("%q ends settled, but %q changes %+v to %+v", prefix, end, a.Decisions[0], b.Decisions[0])
		}
	})
}

func TestE82WhatFollowsAPrefixIsSettledForStatements(t *testing.T) {
	for _, c := range []struct {
		name, robots, prefix string
		want                 bool
	}{
		{"nothing is stated", "", "/a?key=", true},
		{"rules of access are others", "Disallow: /a?key=1", "/a?key=", true},
		{"the whole site", "Content-Usage: ai-use=n", "/a?key=", true},
		{"the whole site, within the path", "Content-Usage: ai-use=n", "/a;key=", true},
		{"a path, within the path", "Content-Usage: /b ai-use=n", "/a;key=", false},
		{"a path that the prefix reaches", "Content-Signal: /a ai-input=no", "/a?key=", true},
		{"a path that goes on behind the prefix", "Content-Signal: /a?key=1 ai-input=no", "/a?key=", false},
		{"an anchor elsewhere", "Content-Usage: /b$ ai-use=n", "/a?key=", true},
		{"an anchor behind a wildcard", "Content-Usage: /*1$ ai-use=n", "/a?key=", false},
		{"a wildcard that may find its piece", "Content-Usage: /*print ai-use=n", "/a?key=", false},
		{"an AI-training rule that the prefix reaches", "DisallowAITraining: /a", "/a?key=", true},
		{"one that goes on", "DisallowAITraining: /a?key=1", "/a?key=", false},
		{"one within the path", "DisallowAITraining: /a", "/a;key=", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Parse([]byte("User-agent: *\n"+c.robots+"\n")).Select([]string{"wayleave"}, "")
			if got := s.TermsSettled(c.prefix); got != c.want {
				t.Errorf("TermsSettled(%q) = %v, want %v", c.prefix, got, c.want)
			}
		})
	}
	if s := Parse([]byte("Content-Usage: /a?key=1 ai-use=n\n")).Select([]string{"wayleave"}, ""); s.TermsSettled("/a?key=") {
		t.Error("a site-wide path that goes on is settled")
	}
	if !(Selection{}).TermsSettled("/a") {
		t.Error("no file is not settled")
	}
}
