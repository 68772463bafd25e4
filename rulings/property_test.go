package rulings_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// A land is a site put together at random, in pieces that can change places.
type land struct {
	groups   []string   // of robots.txt
	entries  [][]string // of each licence document, all of which the answer names
	fields   map[string][]string
	purposes []string
	target   string
}

func randomLand(r *rand.Rand) land {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	l := land{fields: make(map[string][]string), target: pick("/a", "/a/b", "/a//b", "/b/../a/b", "/c")}
	l.purposes = slices.Clone(allPurposes)
	r.Shuffle(len(l.purposes), func(i, j int) { l.purposes[i], l.purposes[j] = l.purposes[j], l.purposes[i] })
	l.purposes = l.purposes[:1+r.IntN(len(l.purposes))]
	for range r.IntN(4) {
		var b strings.Builder
		// Without a rule a group goes on in the next one (T24).
		fmt.Fprintf(&b, "User-agent: %s\nAllow: /of/this/group\n", pick("*", "wayleave", "Bot", "Other"))
		for range r.IntN(4) {
			b.WriteString(pick("Disallow: /a/", "Allow: /a/b", "Disallow: /c", "Allow: /", "Content-Usage: train-ai=y", "Content-Usage: ai-use=n",
				"Content-Usage: /a/ ai-use=y, search=n", "Content-Signal: ai-input=yes, search=yes", "Content-Signal: ai-train=no", "Content-Signal: /a/b ai-input=no",
				"DisallowAITraining: /a/", "AllowAITraining: /a/b") + "\n")
		}
		l.groups = append(l.groups, b.String())
	}
	for range r.IntN(3) {
		var entries []string
		for range 1 + r.IntN(4) {
			var licences []string
			for range 1 + r.IntN(2) {
				licences = append(licences, pick("", `<permits type="usage">ai-input search</permits>`, `<permits type="usage">all</permits>`)+
					pick("", "", `<prohibits type="usage">ai-train</prohibits>`, `<prohibits type="usage">all</prohibits>`)+
					pick("", "", `<payment type="free"/>`, `<payment type="use"/>`, `<permits type="user">education</permits>`))
			}
			entries = append(entries, entry(pick("/", "/a/", "/a/b", "/*b", "https://site.test/a/", "", "/a/*"), licences...))
		}
		l.entries = append(l.entries, entries)
	}
	fieldLines := map[string][]string{
		"content-usage": {"train-ai=n", "ai-use=y"}, "content-signal": {"ai-input=yes", "search=no", "use=reference"},
		"x-robots-tag": {"noai", "noindex", "disallowaitraining"}, "tdm-reservation": {"0", "1"},
	}
	for _, name := range slices.Sorted(maps.Keys(fieldLines)) { // the same land for a seed
		for _, line := range fieldLines[name] {
			if r.IntN(6) == 0 {
				l.fields[name] = append(l.fields[name], line)
			}
		}
	}
	return l
}

func (l land) cross(t *testing.T) *crossed {
	t.Helper()
	c := crossing{
		Page: "https://site.test" + l.target, Purposes: l.purposes, Robots: strings.Join(l.groups, "\n"), Licences: make(map[string]answer),
		TDM: &rulings.TDMTerms{Term: rulings.Term{Outcome: rulings.TermMissing}}, Request: rulings.Request{UserAgent: "Bot/1"},
	}
	var urls []string
	for i, entries := range l.entries {
		urls = append(urls, fmt.Sprintf("https://site.test/%d.xml", i))
		c.Licences[urls[i]] = answer{200, rslOf(entries...)}
	}
	fields := maps.Clone(l.fields)
	maps.Copy(fields, byLink(urls...))
	return c.answering(fields, "").cross(t)
}

// shuffled is l with everything in another order whose order may not matter:
// the groups of robots.txt, the entries of each licence, and the lines of each
// field of which more than one counts.
func (l land) shuffled(r *rand.Rand) land {
	mix := func(list []string) []string {
		list = slices.Clone(list)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	s := l
	s.groups, s.entries, s.fields = mix(l.groups), nil, make(map[string][]string)
	for _, entries := range l.entries {
		s.entries = append(s.entries, mix(entries))
	}
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		s.fields[name] = mix(l.fields[name])
	}
	return s
}

func TestT128OrderChangesNoOutcome(t *testing.T) {
	outcomes := make(map[rulings.Reason]int)
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := randomLand(r)
		x := l.cross(t)
		outcomes[x.Reason]++
		s := l.shuffled(r)
		y := s.cross(t)
		if x.Outcome != y.Outcome || x.Reason != y.Reason || x.Stage != y.Stage || x.Purpose != y.Purpose || x.Effective != y.Effective {
			t.Errorf("seed %d: %s %s at %s of %s, %v\nin another order: %s %s at %s of %s, %v\n%+v\n%+v", seed,
				x.Outcome, x.Reason, x.Stage, x.Purpose, x.Effective, y.Outcome, y.Reason, y.Stage, y.Purpose, y.Effective, l, s)
		}
	}
	if len(outcomes) < 8 || outcomes[""] < 50 {
		t.Errorf("the cases show too little: %v", outcomes)
	}
}

// T128: one prohibition more never lets a page pass that was refused. Where the
// page lets a line take the place of another, nothing of the kind is added: a
// longer path of Content-Usage says no for every name (T50), there are no
// site-wide lines for a group's to stand in for (T27), every group has a rule
// already (T24), and no free offer is made to drop out before another (T92).
func TestT7T128OneProhibitionMoreNeverLetsAPagePass(t *testing.T) {
	const prohibits = `<prohibits type="usage">ai-input</prohibits></license>`
	more := map[string]func(land, *rand.Rand) land{
		"a Disallow": func(l land, r *rand.Rand) land {
			if len(l.groups) > 0 {
				i := r.IntN(len(l.groups))
				l.groups = slices.Clone(l.groups)
				l.groups[i] += "Disallow: /a\n"
			}
			return l
		},
		"a no of Content-Signal": func(l land, r *rand.Rand) land {
			if len(l.groups) > 0 {
				i := r.IntN(len(l.groups))
				l.groups = slices.Clone(l.groups)
				l.groups[i] += "Content-Signal: /a ai-train=no\n"
			}
			return l
		},
		"a no of Content-Usage for everything": func(l land, r *rand.Rand) land {
			if len(l.groups) > 0 {
				i := r.IntN(len(l.groups))
				l.groups = slices.Clone(l.groups)
				l.groups[i] += "Content-Usage: /a/ ai-use=n, train-ai=n, search=n\n"
			}
			return l
		},
		"a prohibition of an entry": func(l land, r *rand.Rand) land {
			if len(l.entries) > 0 {
				i := r.IntN(len(l.entries))
				l.entries = slices.Clone(l.entries)
				l.entries[i] = slices.Clone(l.entries[i])
				j := r.IntN(len(l.entries[i]))
				l.entries[i][j] = strings.Replace(l.entries[i][j], "</license>", prohibits, 1)
			}
			return l
		},
		"a document that prohibits": func(l land, _ *rand.Rand) land {
			l.entries = append(slices.Clone(l.entries), []string{entry("/", `<prohibits type="usage">ai-index</prohibits>`)})
			return l
		},
		"a tag": func(l land, _ *rand.Rand) land {
			l.fields = maps.Clone(l.fields)
			l.fields["x-robots-tag"] = append(slices.Clone(l.fields["x-robots-tag"]), "noai")
			return l
		},
		"a reservation": func(l land, _ *rand.Rand) land {
			l.fields = maps.Clone(l.fields)
			l.fields["tdm-reservation"] = append(slices.Clone(l.fields["tdm-reservation"]), "1")
			return l
		},
		"a signal of the answer": func(l land, _ *rand.Rand) land {
			l.fields = maps.Clone(l.fields)
			l.fields["content-signal"] = append(slices.Clone(l.fields["content-signal"]), "search=no, use=immediate")
			return l
		},
		"a name": func(l land, _ *rand.Rand) land { return l }, // the agent's own, below
	}
	refused, stricter := 0, make(map[string]int)
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 4))
		l := randomLand(r)
		was := l.cross(t)
		if was.Refused() {
			refused++
		}
		for _, name := range slices.Sorted(maps.Keys(more)) {
			with := more[name](l, r)
			is := with.cross(t)
			if name == "a name" {
				is = decideAs(was, "Bot/1 Other/2")
			}
			switch {
			case was.Refused() && !is.Refused():
				t.Errorf("seed %d: with %s more it passes, and was refused for %s: %s\n%+v\n%+v", seed, name, was.Reason, was.Detail, l, with)
			case !was.Refused() && is.Refused():
				stricter[name]++
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d pages were refused", refused)
	}
	for name := range more {
		if stricter[name] == 0 {
			t.Errorf("%s never refuses anything", name)
		}
	}
}

// decideAs decides x again for an agent that calls itself userAgent.
func decideAs(x *crossed, userAgent string) *crossed {
	again := *x
	again.req.UserAgent = userAgent
	again.Ruling = rulings.Decide(again.req, again.known, again.policy)
	return &again
}
