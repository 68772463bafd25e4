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
