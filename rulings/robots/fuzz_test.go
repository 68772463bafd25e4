package robots

import (
	"net/url"
	"strings"
	"testing"
)

// fileSeeds are files that take the parser through each of its branches.
var fileSeeds = []string{
	"",
	"User-agent: *\nDisallow: /\n",
	"User-agent: a\nUser-agent: b\nAllow: /x*y$\nDisallow: /%2F%61*\nCrawl-delay: 0.5\nLicense: /l.xml\n\nUser-agent: *\nDisallow:\n",
	"Crawl-delay: 1\nLicense: l\nDisallow: /\nUser-agent /\nAllow: x\n\nContent-Signal: a=b\nSitemap: s\nLicense: m",
	"\xef\xbb\xbfuser agent: *\rdisallaw /a b\r\n# c\n\xef\xbb\xbfdisallow: \v/a#b\f\n",
	"\xff\xfeU\x00\n", "\xfe\xff\x00U", "\xefU", "::::\n\x00\nUser-agent:*\nDisallow:*",
}

var targetSeeds = []string{
	"/", "", "*", "?", "/a?b#c", "/x//..;/%2Fb/c", "/%zz%2", "/\\..\\a", "/a/%2e%2E/b;c;d/e?;//..%2F%3f", "/robots.txt", "/caf\xc3\xa9",
}

// FuzzParse holds what callers rely on for any file and any target.
func FuzzParse(f *testing.F) {
	if len(fileSeeds) == 0 || len(targetSeeds) == 0 {
		f.Fatal("no seeds")
	}
	for i, file := range fileSeeds {
		f.Add([]byte(file), targetSeeds[i%len(targetSeeds)], "b/1.0 x")
	}
	base, err := url.Parse("https://o.example/robots.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, target, userAgent string) {
		s := Parse(body).Select([]string{"a", "zz"}, userAgent)
		lines := 1 + strings.Count(decode(body), "\n") + strings.Count(decode(body), "\r")
		p := NewPage(target)
		checkPage(t, target, p)
		a := s.Access(p)
		if !p.document && len(a.Decisions) != len(s.Groups()) || a.OverLimit && a.Refused != nil {
			t.Fatalf("%+v of groups %q", a, s.Groups())
		}
		for _, d := range a.Decisions {
			if d.Allowed == a.OverLimit && d.Line == 0 || d.Line > lines || (d.Line == 0) != (d.Rule == "") || !d.Allowed && a.Refused == nil && !a.OverLimit {
				t.Fatalf("%+v in %+v", d, a)
			}
		}
		if d := s.Delay(); d.Known != (len(d.Values) > 0) || d.Milliseconds < 0 || d.Milliseconds > maxDelay {
			t.Fatalf("%+v", d)
		}
		for _, l := range s.Licences(base, 0) {
			if l == "" {
				continue // nothing can be asked for
			}
			if u, err := url.Parse(l); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				t.Fatalf("licence %q, %v", l, err)
			}
		}
	})
}

// checkPage holds what T31 and T35 to T37 say of any page.
func checkPage(t *testing.T, target string, p *Page) {
	form := Form(target)
	if Form(form) != form {
		t.Fatalf("Form(%q) = %q, whose form is %q", target, form, Form(form))
	}
	if strings.ContainsAny(form, "*$#\x00") || !isASCII(form) {
		t.Fatalf("Form(%q) = %q", target, form)
	}
	readings := p.Readings()
	switch {
	case p.OverLimit():
	case len(readings) == 0, len(readings) > MaxReadings, readings[0] != form:
		t.Fatalf("readings of %q: %q", target, readings)
	}
	seen := make(map[string]bool)
	for _, r := range readings {
		if seen[r] {
			t.Fatalf("%q is twice in the readings of %q", r, target)
		}
		seen[r] = true
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0
}

// FuzzMatch compares Match, and the sieve before it, with a matcher that is
// written straight from T33.
func FuzzMatch(f *testing.F) {
	seeds := [][2]string{
		{"/a*b$", "/axbyb"}, {"/a$b", "/a%24b"}, {"*", "/"}, {"/?q=%3A*", "/?q=:x"}, {"/ab*ba$", "/aba"}, {"/a**b", "/ab"},
		{"", "/"}, {"$", ""}, {"/abcdefghij*klmnop*$", "/abcdefghijklmnop"}, {"/é*", "/%C3%A9"}, {"/*aab", "/aaaab"},
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, target string) {
		if len(pattern) > 200 || len(target) > 200 {
			return // the plain matcher takes the product of the lengths
		}
		form := Form(target)
		p := Compile(pattern)
		if again := Compile(p.String()); again != p {
			t.Fatalf("%q has the form %q, which compiles to %q", pattern, p.String(), again.String())
		}
		want := plainMatch(p.String(), form)
		if got := p.Match(form); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, form, got, want)
		}
		if pattern == "" {
			return
		}
		of := seek(form)
		set := newRuleset([]*group{{rules: []rule{{pattern: p}}}})
		if got := set.longest(&of, nil) != nil; got != want {
			t.Fatalf("the sieve of %q lets %q through: %v, want %v", pattern, form, got, want)
		}
	})
}

// plainMatch decides by trying every split: a wildcard takes nothing, or one
// octet and goes on.
func plainMatch(pattern, form string) bool {
	if pattern == "" {
		return false
	}
	body, anchored := strings.CutSuffix(pattern, "$")
	if !anchored {
		body += "*"
	}
	// can[j] says that what of body has been looked at matches form[:j].
	can := make([]bool, len(form)+1)
	can[0] = true
	for i := 0; i < len(body); i++ {
		next := make([]bool, len(form)+1)
		for j := range next {
			if body[i] == '*' {
				next[j] = can[j] || j > 0 && next[j-1]
			} else {
				next[j] = j > 0 && can[j-1] && form[j-1] == body[i]
			}
		}
		can = next
	}
	return can[len(form)]
}
