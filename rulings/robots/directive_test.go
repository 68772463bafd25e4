package robots_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings/robots"
)

func TestDirectivesT49T51(t *testing.T) {
	for _, tt := range []struct {
		name, value, path, want string
		none                    bool
	}{
		{name: "a value without a path is of the whole site", value: "ai-use=n", want: "ai-use=n"},
		{name: "a slash begins a path", value: "/a ai-use=n", path: "/a", want: "ai-use=n"},
		{name: "a tab ends it too", value: "/a\tai-use=n", path: "/a", want: "ai-use=n"},
		{name: "white space between may be long", value: "/a \t\v ai-use=n", path: "/a", want: "ai-use=n"},
		{name: "a path is formed like a rule's", value: "/%61*/é$ ai-use=n", path: "/a*/%C3%A9$", want: "ai-use=n"},
		{name: "a comma ends no path", value: "/a,ai-use=n x", path: "/a,ai-use=n", want: "x"},
		{name: "a star begins no path", value: "*.pdf ai-use=n", want: "*.pdf ai-use=n"},
		{name: "a path alone is no rule", value: "/a", none: true},
		{name: "nor with a comment", value: "/a # ai-use=n", none: true},
		{name: "nothing is no rule", value: "", none: true},
		{name: "an anchor belongs to the path and its length", value: "/$ ai-use=n", path: "/$", want: "ai-use=n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, key := range map[string]robots.Key{"Content-Usage": robots.ContentUsage, "Content-Signal": robots.ContentSignal} {
				all := robots.Parse([]byte("User-agent: *\n" + name + ": " + tt.value + "\n")).Directives(key)
				if tt.none {
					if len(all) != 0 {
						t.Errorf("%+v", all)
					}
					continue
				}
				if len(all) != 1 {
					t.Fatalf("%d directives", len(all))
				}
				d, path := all[0], ""
				if d.Path != nil {
					path = d.Path.String()
				}
				if path != tt.path || d.Value != tt.want || d.Length() != len(path) || d.Line.Number != 2 || d.Line.Key != key {
					t.Errorf("path %q, length %d, %+v", path, d.Length(), d)
				}
			}
		})
	}
}

func TestDirectivesAreEveryLineOfTheFileOnce(t *testing.T) {
	f := robots.Parse([]byte("Content-Signal: a=1\nUser-agent: x\nUser-agent: *\nContent-Usage: u=1\nContent-Signal: /\n" +
		"Content-Signal: /p a=2\nAllow: /\nUser-agent: /\nContent-Signal: a=3\nAllow: /\n\nContent-Signal: a=4\n"))
	var got []string
	for i, d := range f.Directives(robots.ContentSignal) {
		if d.Index != i {
			t.Errorf("index of %q is %d", d.Value, d.Index)
		}
		got = append(got, d.Value)
	}
	// The last is the last group's and site-wide (T28), and still one line.
	if diff := cmp.Diff([]string{"a=1", "a=2", "a=3", "a=4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(f.Directives(robots.License)); n != 0 {
		t.Errorf("%d licences", n)
	}
	if n := len(f.Directives(255)); n != 0 {
		t.Errorf("%d of a key that is none", n)
	}
}

func TestDirectivesLeaveLinesAsTheyWereT27(t *testing.T) {
	f := robots.Parse([]byte("User-agent: *\nContent-Usage: /a ai-use=n # why\nContent-Usage: /b\n"))
	var got []string
	for _, line := range f.Select([]string{"x"}, "").Lines(robots.ContentUsage) {
		got = append(got, line.Value)
	}
	if want := "/a ai-use=n|/b"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
