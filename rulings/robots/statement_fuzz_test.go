package robots_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/robots"
)

// FuzzStatements compares what a file says of a page with an evaluation written
// straight from T49, T50, T54 and T38, and holds what TermsSettled promises.
func FuzzStatements(f *testing.F) {
	seeds := [][2]string{
		{"Content-Usage: ai-use=n\nContent-Usage: /a ai-use=y", "/a//b"},
		{"Content-Signal: /a* ai-input=no, use=full\nContent-Signal: /*a use=immediate ai-input=maybe", "/aa;x"},
		{"Content-Usage: /a/b ai-use=y, search=n\nContent-Usage: /a/\nContent-Usage: /a/%2F bots=n", "/a/%2Fb?q=1"},
		{"Content-Signal: search\nContent-Signal: / search=\nContent-Signal: /x$ search=yes", "/x"},
		{"DisallowAITraining: /a\nAllowAITraining: /a/*b\nAllowAITraining: x", "/a//b?k"},
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s[0], s[1], "1")
	}
	f.Fuzz(func(t *testing.T, lines, target, end string) {
		file := robots.Parse([]byte("User-agent: *\n" + lines))
		s := file.Select([]string{"x"}, "")
		p := robots.NewPage(target)
		if len(s.Groups()) != 1 || s.Groups()[0] != "*" || p.OverLimit() || target == "/robots.txt" || target == "/.well-known/tdmrep.json" {
			return
		}
		if usage := readUsage(file); slices.ContainsFunc(s.Lines(robots.ContentUsage), usable) {
			if got, want := usageOf(s, p, usage), plainUsage(s, p); got.TrainAI != want.TrainAI || got.AIUse != want.AIUse || got.Search != want.Search {
				t.Fatalf("%q says of %q %+v, want %+v", lines, target, got, want)
			}
		}
		if got, want := signalOf(s, p, readSignals(file)), plainSignal(s, p); got != want {
			t.Fatalf("%q says of %q %+v, want %+v", lines, target, got, want)
		}
		checkSettled(t, file, target+"?k=", end)
	})
}

// checkSettled holds that no end changes what is settled.
func checkSettled(t *testing.T, f *robots.File, prefix, end string) {
	s := f.Select([]string{"x"}, "")
	if !s.TermsSettled(prefix) {
		return
	}
	a, b := robots.NewPage(prefix), robots.NewPage(prefix+end)
	if s.Access(a).OverLimit || s.Access(b).OverLimit {
		return
	}
	usage, signals := readUsage(f), readSignals(f)
	if s.Statements(a, robots.ContentUsage, usage) != s.Statements(b, robots.ContentUsage, usage) ||
		s.Statements(a, robots.ContentSignal, signals) != s.Statements(b, robots.ContentSignal, signals) || s.Training(a) != s.Training(b) {
		t.Fatalf("%q is settled, and %q changes it", prefix, end)
	}
}

// part parts a line's value as T49 says.
func part(line robots.Line) (path, value string) {
	if strings.HasPrefix(line.Value, "/") {
		if i := strings.IndexAny(line.Value, " \t"); i >= 0 {
			return line.Value[:i], strings.Trim(line.Value[i:], " \t\v\f")
		}
		return line.Value, ""
	}
	return "", line.Value
}

func usable(line robots.Line) bool {
	_, value := part(line)
	_, ok := contentusage.Parse(value)
	return ok && value != ""
}

// lengthOn returns how long the path of a line is that matches reading.
func lengthOn(line robots.Line, reading string) (int, bool) {
	path, _ := part(line)
	if path == "" {
		return 0, true
	}
	pattern := robots.Compile(path)
	return pattern.Len(), pattern.Match(reading)
}

func plainUsage(s robots.Selection, p *robots.Page) (strictest contentusage.Value) {
	for i, reading := range p.Readings() {
		longest := -1
		for _, line := range s.Lines(robots.ContentUsage) {
			if n, ok := lengthOn(line, reading); ok && usable(line) {
				longest = max(longest, n)
			}
		}
		var on contentusage.Value
		for _, line := range s.Lines(robots.ContentUsage) {
			if n, ok := lengthOn(line, reading); ok && usable(line) && n == longest {
				_, value := part(line)
				v, _ := contentusage.Parse(value)
				on.TrainAI, on.AIUse, on.Search = max(on.TrainAI, v.TrainAI), max(on.AIUse, v.AIUse), max(on.Search, v.Search)
			}
		}
		if i == 0 {
			strictest = on
			continue
		}
		for _, pair := range [][2]*contentusage.Preference{{&strictest.TrainAI, &on.TrainAI}, {&strictest.AIUse, &on.AIUse}, {&strictest.Search, &on.Search}} {
			switch {
			case *pair[0] == contentusage.Disallow || *pair[1] == contentusage.Disallow:
				*pair[0] = contentusage.Disallow
			case *pair[0] != *pair[1]:
				*pair[0] = contentusage.Unknown
			}
		}
	}
	return strictest
}

func plainSignal(s robots.Selection, p *robots.Page) (strictest contentsignal.Value) {
	name := func(of func(contentsignal.Value) int) (strictest int) {
		for i, reading := range p.Readings() {
			longest, on := -1, 0
			for _, line := range s.Lines(robots.ContentSignal) {
				_, value := part(line)
				said := of(contentsignal.Parse(value))
				n, ok := lengthOn(line, reading)
				switch {
				case !ok || said == 0 || n < longest:
				case n == longest:
					on = max(on, said)
				default:
					longest, on = n, said
				}
			}
			switch {
			case i == 0:
				strictest = on
			case strictest > 2 || on > 2: // something is forbidden
				strictest = max(strictest, on)
			default:
				strictest = min(strictest, on)
			}
		}
		if strictest == 1 {
			strictest = 0 // says nothing, like a name that is not there
		}
		return strictest
	}
	return contentsignal.Value{
		Search:  contentsignal.Preference(name(func(v contentsignal.Value) int { return int(v.Search) })),
		AIInput: contentsignal.Preference(name(func(v contentsignal.Value) int { return int(v.AIInput) })),
		AITrain: contentsignal.Preference(name(func(v contentsignal.Value) int { return int(v.AITrain) })),
		Use:     contentsignal.Use(name(func(v contentsignal.Value) int { return int(v.Use) })),
	}
}
