package robots_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// asked is a file and who asks for what of it.
type asked struct {
	robots    string
	tokens    string // parted by blanks; x when empty
	userAgent string
	target    string
}

func (a asked) ask() (*robots.File, robots.Selection, *robots.Page) {
	f := robots.Parse([]byte(a.robots))
	return f, f.Select(strings.Fields(a.tokens + " x")[:max(1, len(strings.Fields(a.tokens)))], a.userAgent), robots.NewPage(a.target)
}

func TestUsageOfAPage(t *testing.T) {
	for _, tt := range []struct {
		name string
		asked
		want contentusage.Value
	}{
		{"T50 the longest path selects the whole line", asked{robots: "User-agent: *\nContent-Usage: ai-use=n, train-ai=n\nContent-Usage: /a search=y\n", target: "/a"},
			contentusage.Value{Search: contentusage.Allow}},
		{"T50 wherever it stands", asked{robots: "User-agent: *\nContent-Usage: /a/b ai-use=y\nContent-Usage: /a ai-use=n\n", target: "/a/b"},
			contentusage.Value{AIUse: contentusage.Allow}},
		{"T50 a path that does not match does not", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nContent-Usage: /b search=y\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T50 lines of equal length all count", asked{robots: "User-agent: *\nContent-Usage: /a* ai-use=y, search=y\nContent-Usage: /*a ai-use=n\n", target: "/aa"},
			contentusage.Value{AIUse: contentusage.Disallow, Search: contentusage.Allow}},
		{"T26 the longest path of all groups of a name selects", asked{robots: "User-agent: x\nContent-Usage: /a search=y\nAllow: /\nUser-agent: x\nContent-Usage: /a/b ai-use=y\nContent-Usage: /a ai-use=n\n", target: "/a/b"},
			contentusage.Value{AIUse: contentusage.Allow}},
		{"T50 the root is longer than no path", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nContent-Usage: / ai-use=y\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Allow}},
		{"T49 a line that does not parse hides none", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nContent-Usage: /a AI-USE=y\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T49 nor does one without a value", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nContent-Usage: /a\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T46 one of other names does", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nContent-Usage: /a bots=y\n", target: "/a"},
			contentusage.Value{}},
		{"T27 a group's line replaces the site-wide ones", asked{robots: "Content-Usage: ai-use=n\nUser-agent: *\nContent-Usage: /b search=y\n", target: "/a"},
			contentusage.Value{}},
		{"T22 one that does not parse does not", asked{robots: "Content-Usage: ai-use=n\nUser-agent: *\nContent-Usage: AI-USE=y\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T27 a line of another key does not", asked{robots: "Content-Usage: ai-use=n\nUser-agent: *\nContent-Signal: search=yes\n", target: "/a"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T28 a trailing line is not site-wide", asked{robots: "User-agent: x\nAllow: /\nUser-agent: y\nAllow: /\n\nContent-Usage: ai-use=n\n", target: "/a"},
			contentusage.Value{}},
		{"T29 each token selects for itself", asked{robots: "User-agent: a\nContent-Usage: ai-use=n\nAllow: /\nUser-agent: b\nContent-Usage: /page ai-use=y, search=y\n", tokens: "a b", target: "/page"},
			contentusage.Value{AIUse: contentusage.Disallow, Search: contentusage.Allow}},
		{"T29 what an agent calls itself hides nothing", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\nAllow: /\nUser-agent: mine\nContent-Usage: /page ai-use=y\n", userAgent: "mine/1.0", target: "/page"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T29 and can add a prohibition", asked{robots: "User-agent: *\nContent-Usage: ai-use=y\nAllow: /\nUser-agent: mine\nContent-Usage: ai-use=n\n", userAgent: "mine/1.0", target: "/page"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T38 a reading that forbids forbids", asked{robots: "User-agent: *\nContent-Usage: ai-use=y\nContent-Usage: /a/b ai-use=n\n", target: "/a//b"},
			contentusage.Value{AIUse: contentusage.Disallow}},
		{"T38 one that allows does not allow for another", asked{robots: "User-agent: *\nContent-Usage: /a/b ai-use=y\n", target: "/a//b"},
			contentusage.Value{}},
		{"T38 whichever comes first", asked{robots: "User-agent: *\nContent-Usage: /a//b ai-use=y\n", target: "/a//b"},
			contentusage.Value{}},
		{"T38 all that allow allow", asked{robots: "User-agent: *\nContent-Usage: ai-use=y\nContent-Usage: /a/b ai-use=y\n", target: "/a//b"},
			contentusage.Value{AIUse: contentusage.Allow}},
		{"T11 of robots.txt nothing is said", asked{robots: "User-agent: *\nContent-Usage: ai-use=n\n", target: "/robots.txt"},
			contentusage.Value{}},
		{"T37 nor of a page of too many readings", asked{robots: "User-agent: *\nContent-Usage: ai-use=y\n", target: "/x//..;/.../;/..;/a/%2Fb/;//%2F..%2F..%2F;%5Cc"},
			contentusage.Value{}},
		{"no file says nothing", asked{target: "/a"}, contentusage.Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, s, p := tt.ask()
			if diff := cmp.Diff(tt.want, usageOf(s, p, readUsage(f))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSignalsOfAPage(t *testing.T) {
	const (
		yes = contentsignal.Allow
		no  = contentsignal.Disallow
	)
	for _, tt := range []struct {
		name string
		asked
		want contentsignal.Value
	}{
		{"T54 a name falls back to the shorter path", asked{robots: "User-agent: *\nContent-Signal: ai-input=no, search=no\nContent-Signal: /a search=yes\n", target: "/a"},
			contentsignal.Value{AIInput: no, Search: yes}},
		{"T54 over one that does not match", asked{robots: "User-agent: *\nContent-Signal: ai-input=no\nContent-Signal: /b ai-input=yes\nContent-Signal: /a search=yes\n", target: "/a"},
			contentsignal.Value{AIInput: no, Search: yes}},
		{"T54 a word that says nothing is stated", asked{robots: "User-agent: *\nContent-Signal: ai-input=no\nContent-Signal: /a ai-input=maybe\n", target: "/a"},
			contentsignal.Value{}},
		{"T54 a name without a word is not", asked{robots: "User-agent: *\nContent-Signal: ai-input=no\nContent-Signal: /a ai-input\n", target: "/a"},
			contentsignal.Value{AIInput: no}},
		{"T54 among equals no wins", asked{robots: "User-agent: *\nContent-Signal: /a ai-input=yes\nContent-Signal: /a ai-input=no\nContent-Signal: /a ai-input=yes\n", target: "/a"},
			contentsignal.Value{AIInput: no}},
		{"T54 use is a name like the others", asked{robots: "User-agent: *\nContent-Signal: use=immediate, search=yes\nContent-Signal: /a use=full\n", target: "/a"},
			contentsignal.Value{Use: contentsignal.Full, Search: yes}},
		{"T53 of equals the stricter use holds", asked{robots: "User-agent: *\nContent-Signal: use=immediate\nContent-Signal: use=reference\n", target: "/a"},
			contentsignal.Value{Use: contentsignal.Immediate}},
		{"T38 of readings the stricter use holds", asked{robots: "User-agent: *\nContent-Signal: /a/b use=reference\nContent-Signal: /a// use=immediate\n", target: "/a//b"},
			contentsignal.Value{Use: contentsignal.Immediate}},
		{"T38 a use that says nothing is not stricter", asked{robots: "User-agent: *\nContent-Signal: /a/b use=reference\nContent-Signal: /a// use=other\n", target: "/a//b"},
			contentsignal.Value{Use: contentsignal.Reference}},
		{"T27 any line of a group replaces the site-wide ones", asked{robots: "Content-Signal: ai-input=no\nUser-agent: *\nContent-Signal: other=yes\n", target: "/a"},
			contentsignal.Value{}},
		{"T28 a trailing line is site-wide too", asked{robots: "User-agent: x\nAllow: /\nUser-agent: y\nAllow: /\n\nContent-Signal: /a ai-input=no\n", target: "/a"},
			contentsignal.Value{AIInput: no}},
		{"T28 and counts once for the last group", asked{robots: "User-agent: x\nAllow: /\n\nContent-Signal: /a ai-input=no\n", target: "/a"},
			contentsignal.Value{AIInput: no}},
		{"case T20: another agent's signal is not ours", asked{robots: "User-agent: OtherBot\nContent-Signal: ai-input=no\nAllow: /\n\nUser-agent: *\nAllow: /\n", target: "/p"},
			contentsignal.Value{}},
		{"case T21: spacing and letter case", asked{robots: "user-agent: *\ncontent-signal: ai-train=yes , search=YES,  ai-input=No\n", target: "/p"},
			contentsignal.Value{AITrain: yes, Search: yes, AIInput: no}},
		{"case R30: a managed block before the site's own file", asked{robots: "# BEGIN managed\nUser-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n\nUser-agent: OtherBot\nDisallow: /\n# END managed\n\nUser-agent: *\nDisallow: /private/\n", target: "/a"},
			contentsignal.Value{Search: yes, AITrain: no}},
		{"case R31: a signal among unknown lines", asked{robots: "User-agent: *\nContent-Signal: search=yes,ai-train=no\nHost: o.test\nClean-param: s\nDisallow: /x\n", target: "/y"},
			contentsignal.Value{Search: yes, AITrain: no}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, s, p := tt.ask()
			if diff := cmp.Diff(tt.want, signalOf(s, p, readSignals(f))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatementsT30NameTokenGroupAndLine(t *testing.T) {
	f, s, p := asked{
		robots: "Content-Usage: search=y\nUser-agent: a\nContent-Usage: ai-use=y # maybe\nAllow: /\nUser-agent: *\n Content-Usage: /p ai-use=n\nContent-Usage: train-ai=n\n",
		tokens: "a b", target: "/p/1",
	}.ask()
	got := s.Statements(p, robots.ContentUsage, readUsage(f))
	want := [robots.MaxNames]robots.Stated{
		aiUse: {Says: robots.Forbids, Token: "b", Group: "*", Wildcard: true, Rule: "Content-Usage: /p ai-use=n", Line: 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f, s, p = asked{robots: "User-agent: a\nContent-Usage: ai-use=n\nAllow: /\nUser-agent: b\nContent-Usage: ai-use=n\n", tokens: "b a", target: "/"}.ask()
	if got := s.Statements(p, robots.ContentUsage, readUsage(f))[aiUse]; got.Token != "b" || got.Line != 5 {
		t.Errorf("of two that say the same the first token's is named, not %+v", got)
	}
	f, s, p = asked{robots: "Content-Usage: search=y\nUser-agent: a\nAllow: /\n", tokens: "a b", target: "/"}.ask()
	got = s.Statements(p, robots.ContentUsage, readUsage(f))
	if want := (robots.Stated{Says: robots.Allows, Token: "a", Group: "a", Rule: "Content-Usage: search=y", Line: 1}); got[usageSearch] != want {
		t.Errorf("%+v, want %+v", got[usageSearch], want)
	}
}

func TestStatementsOfAKeyThatStatesNothing(t *testing.T) {
	_, s, p := asked{robots: "User-agent: *\nLicense: /l\nDisallowAITraining: /\n", target: "/"}.ask()
	for _, key := range []robots.Key{0, robots.License, robots.DisallowAITraining, robots.ContentUsage, 255} {
		if got := s.Statements(p, key, nil); got != ([robots.MaxNames]robots.Stated{}) {
			t.Errorf("key %d: %+v", key, got)
		}
	}
	var zero robots.Selection
	if got := zero.Statements(p, robots.ContentUsage, nil); got != ([robots.MaxNames]robots.Stated{}) {
		t.Errorf("no selection: %+v", got)
	}
}
