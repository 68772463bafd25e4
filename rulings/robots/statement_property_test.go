package robots_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/robots"
)

// someLine returns a line that states something, of few paths and values so that
// they meet.
func someLine(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	path := pick("", "", "/ ", "/a ", "/a/ ", "/a/b ", "/*b ", "/a*b$ ", "/%61 ", "/a%2Fb ")
	switch r.IntN(3) {
	case 0:
		return "Content-Usage: " + path + pick("ai-use=n", "ai-use=y", "train-ai=n, search=y", "bots=n", "AI-USE=n", "")
	case 1:
		return "Content-Signal: " + path + pick("ai-input=no", "ai-input=yes", "ai-input=maybe", "search=yes, use=reference", "use=immediate", "use=full ai-train=yes", "other=no", "")
	}
	return pick("Allow", "Disallow") + "AITraining: " + pick("/", "/a", "/a/b", "/*b", "a", "")
}

var somePages = []string{"/", "/a", "/a/b", "/b", "/a//b", "/a%2Fb", "/a;x/b", "/a/../b"}

// saidOf returns all that a file of groups says of every one of somePages, in
// words. The tokens are ours, and theirs by the agent's field.
func saidOf(groups []string) (words []string) {
	f := robots.Parse([]byte(strings.Join(groups, "\n")))
	s := f.Select([]string{"ours"}, "theirs/1")
	usage, signals := readUsage(f), readSignals(f)
	for _, target := range somePages {
		p := robots.NewPage(target)
		for _, said := range []map[string]string{usageWords(usageOf(s, p, usage)), signalWords(signalOf(s, p, signals)), {"ai-train": word(s.Training(p).Says)}} {
			for _, purpose := range []string{"ai-input", "ai-train", "ai-index", "search"} {
				words = append(words, target+" "+purpose+" "+said[purpose])
			}
		}
	}
	return words
}

func someGroup(r *rand.Rand) []string {
	names := []string{"*", "ours", "theirs"}
	lines := []string{"User-agent: " + names[r.IntN(len(names))], "Disallow:"}
	for range r.IntN(5) {
		lines = append(lines, someLine(r))
	}
	return lines
}

func TestPropertyT128OrderOfStatementsChangesNoOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 3))
	for range 1000 {
		var groups, shuffled []string
		all := [][]string{someGroup(r), someGroup(r), someGroup(r)}
		for _, g := range all {
			groups = append(groups, strings.Join(g, "\n"))
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, g := range all {
			lines := g[2:]
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			shuffled = append(shuffled, strings.Join(g, "\n"))
		}
		if a, b := saidOf(groups), saidOf(shuffled); !slices.Equal(a, b) {
			t.Fatalf("order matters:\n%s\n\n%s", strings.Join(groups, "\n"), strings.Join(shuffled, "\n"))
		}
	}
}

// A group of what an agent calls itself takes no prohibition away.
func TestPropertyT29AnotherTokenNeverLiftsAProhibition(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 2))
	for range 1000 {
		text := strings.Join(append(someGroup(r), someGroup(r)...), "\n")
		groups := []string{strings.ReplaceAll(text, "theirs", "nobody")}
		theirs := "User-agent: theirs\nDisallow:\n" + someLine(r) + "\n" + someLine(r)
		before, after := saidOf(groups), saidOf(append(groups, theirs))
		for i := range before {
			if strings.HasSuffix(before[i], "disallow") && !strings.HasSuffix(after[i], "disallow") {
				t.Fatalf("%s is lifted by\n%s\n\nfrom\n%s", before[i], theirs, text)
			}
		}
	}
}

// A longer path hides the shorter ones (T50), so this is said of paths that have
// a line already.
func TestPropertyT128AProhibitionBesideAnotherLineLiftsNone(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 4))
	forbid := map[string]string{"Content-Usage": "ai-use=n, train-ai=n, search=n", "Content-Signal": "ai-input=no, ai-train=no, search=no, use=immediate"}
	for range 1000 {
		group := someGroup(r)
		key, value, _ := strings.Cut(group[len(group)-1], ": ")
		path, value := part(robots.Line{Value: value})
		if _, ok := forbid[key]; !ok || value == "" || value == "AI-USE=n" {
			continue // the path has no line yet
		}
		before := saidOf([]string{strings.Join(group, "\n")})
		after := saidOf([]string{strings.Join(append(group, strings.TrimSpace(key+": "+path+" "+forbid[key])), "\n")})
		for i := range before {
			if strings.HasSuffix(before[i], "disallow") && !strings.HasSuffix(after[i], "disallow") {
				t.Fatalf("%s is lifted in\n%s", before[i], strings.Join(group, "\n"))
			}
		}
	}
}
