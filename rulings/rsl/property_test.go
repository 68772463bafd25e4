package rsl_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// Parts of the random documents: few, so that they meet.
var (
	someURLs = []string{
		"", "/", "/*", "/a", "/a/", "/a/*", "/a/b", "/a/b$", "/*b", "/a*b$", "/%61", "/**", "*", "a", "/a/b;c", "/a*/*", "/*/*$",
		"https://o.example/", "https://o.example/a", "https://o.example", "https://p.example/", "https://", "http://o.example/*b",
	}
	somePages    = []string{"/", "/a", "/a/b", "/b", "/a//b", "/a%2Fb", "/a;x/b", "/a/b;c", "/c", "/a/../b"}
	somePayments = []string{"", "<payment/>", `<payment type="free"/>`, `<payment type="attribution"/>`, `<payment type="use"/>`, `<payment type="royalty"/>`}
	someWords    = []string{"ai-input", "ai-train", "search", "ai-all", "all", "tdm", "AI-Input", "ai-use", ""}
	someParties  = []string{"", `<permits type="user">a</permits>`, `<prohibits type="user">a</prohibits>`, `<permits type="geo">EU</permits>`, `<prohibits type="geo">FR</prohibits>`}
	someServers  = []string{"", "", "", "", ` server="s"`, ` encrypted="true"`}
	someUses     = []string{"ai-input", "ai-train", "ai-index", "search"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// A randomEntry is a content element in parts, so that parts can be moved about.
type randomEntry struct {
	url, server string
	licences    []string
}

func randomEntries(r *rand.Rand) []randomEntry {
	entries := make([]randomEntry, 1+r.IntN(5))
	for i := range entries {
		e := &entries[i]
		e.url, e.server = pick(r, someURLs), pick(r, someServers)
		for range r.IntN(3) {
			l := pick(r, somePayments) + pick(r, someParties)
			if r.IntN(2) == 0 {
				l += "<permits>" + pick(r, someWords) + " " + pick(r, someWords) + "</permits>"
			}
			if r.IntN(4) == 0 {
				l += "<prohibits>" + pick(r, someWords) + "</prohibits>"
			}
			e.licences = append(e.licences, l)
		}
	}
	return entries
}

func write(entries []randomEntry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(`<content url="` + e.url + `"` + e.server + ">")
		for _, l := range e.licences {
			b.WriteString("<license>" + l + "</license>")
		}
		b.WriteString("</content>\n")
	}
	return document(b.String())
}

func urls(entries []randomEntry) (list []string) {
	for _, e := range entries {
		list = append(list, e.url)
	}
	return list
}

// outcomes returns outcome and reason for each of somePages and someUses.
func outcomes(t *testing.T, entries []randomEntry) (list []rsl.Verdict) {
	d := parse(t, write(entries))
	x := d.Index(paths)
	for _, page := range somePages {
		origin, readings := splitPage(t, "https://o.example"+page)
		s := x.Select(origin, readings)
		for _, use := range someUses {
			v := d.RuleAll(s, use, rsl.Operator{UserClasses: []string{"b"}, Country: "FR"})
			list = append(list, rsl.Verdict{Outcome: v.Outcome, Reason: v.Reason})
		}
	}
	return list
}

const randomDocuments = 1000

// Reporting demands are left out: T92 makes the first written decide between
// free offers that differ in them.
func TestPropertyT128OrderOfEntriesChangesNoOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 1))
	for range randomDocuments {
		entries := randomEntries(r)
		before := outcomes(t, entries)
		shuffled := slices.Clone(entries)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		after := outcomes(t, shuffled)
		for i := range before {
			if before[i].Outcome != after[i].Outcome || before[i].Reason != after[i].Reason {
				t.Fatalf("%s, then %s: order matters:\n%s\n\n%s", before[i].Reason, after[i].Reason, write(entries), write(shuffled))
			}
		}
	}
}

func TestPropertyT128AnotherProhibitionNeverTurnsARefusalIntoAProceed(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 2))
	for range randomDocuments {
		entries := randomEntries(r)
		before := outcomes(t, entries)
		e := &entries[r.IntN(len(entries))]
		if len(e.licences) == 0 {
			continue
		}
		old := write(entries)
		e.licences = slices.Clone(e.licences)
		e.licences[r.IntN(len(e.licences))] += "<prohibits>" + pick(r, someWords) + "," + pick(r, someWords) + "</prohibits>"
		for i, after := range outcomes(t, entries) {
			if before[i].Outcome == rsl.Refuse && after.Outcome != rsl.Refuse {
				t.Fatalf("refused by\n%s\n\nand not by\n%s", old, write(entries))
			}
		}
	}
}

func TestPropertyT78ToT84SelectionIsThatOfThePlainOne(t *testing.T) {
	r := rand.New(rand.NewPCG(84, 1))
	for range 10 * randomDocuments {
		entries := randomEntries(r)
		x := parse(t, write(entries)).Index(paths)
		origin, readings := splitPage(t, "https://o.example"+pick(r, somePages))
		want := plainSelect(urls(entries), origin, readings)
		if diff := cmp.Diff(want, x.Select(origin, readings), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q on %s%s (-want +got):\n%s", urls(entries), origin, readings[0], diff)
		}
	}
}
