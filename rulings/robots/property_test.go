package robots

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Names, patterns and targets of the random files: few, so that they meet.
var (
	someNames    = []string{"*", "ours", "theirs", "Ours/2.0"}
	somePatterns = []string{"/", "/a", "/a/", "/a/b", "/*b", "/a*b$", "/b$", "/%61", "/a%2Fb", "*", "a", "", "/?q", "/*?"}
	someTargets  = []string{"/", "/a", "/a/b", "/b", "/a//b", "/a%2Fb", "/a;x/b", "/?q", "/c", "/a/../b"}
)

// A randomGroup is a group in parts, so that parts can be moved about.
type randomGroup struct {
	names []string
	rules []string
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func randomGroups(r *rand.Rand) []randomGroup {
	groups := make([]randomGroup, 1+r.IntN(4))
	for i := range groups {
		for range 1 + r.IntN(2) {
			groups[i].names = append(groups[i].names, "User-agent: "+pick(r, someNames))
		}
		// The empty rule keeps the next group's names from joining this one's.
		groups[i].rules = append(groups[i].rules, "Disallow:")
		for range r.IntN(5) {
			groups[i].rules = append(groups[i].rules, pick(r, []string{"Allow: ", "Disallow: "})+pick(r, somePatterns))
		}
	}
	return groups
}

func write(groups []randomGroup) []byte {
	var lines []string
	for _, g := range groups {
		lines = append(append(lines, g.names...), g.rules...)
	}
	return []byte(strings.Join(lines, "\n"))
}

// refusals returns for each of someTargets whether the file refuses it.
func refusals(groups []randomGroup) []bool {
	s := Parse(write(groups)).Select([]string{"ours"}, "Theirs/1.0")
	var refused []bool
	for _, target := range someTargets {
		refused = append(refused, s.Access(NewPage(target)).Refused != nil)
	}
	return refused
}

func clones(groups []randomGroup) []randomGroup {
	out := slices.Clone(groups)
	for i := range out {
		out[i].rules = slices.Clone(out[i].rules)
	}
	return out
}

const randomFiles = 1000

func TestPropertyT128OrderOfGroupsAndRulesChangesNoOutcome(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 1))
	for range randomFiles {
		groups := randomGroups(r)
		shuffled := clones(groups)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, g := range shuffled {
			r.Shuffle(len(g.rules), func(i, j int) { g.rules[i], g.rules[j] = g.rules[j], g.rules[i] })
		}
		if !slices.Equal(refusals(groups), refusals(shuffled)) {
			t.Fatalf("order matters:\n%s\n\n%s", write(groups), write(shuffled))
		}
	}
}

func TestPropertyT128AnotherDisallowNeverOpensAPage(t *testing.T) {
	r := rand.New(rand.NewPCG(128, 2))
	for range randomFiles {
		groups := randomGroups(r)
		stricter := clones(groups)
		g := &stricter[r.IntN(len(stricter))]
		g.rules = slices.Insert(g.rules, r.IntN(len(g.rules)+1), "Disallow: "+pick(r, somePatterns))
		before, after := refusals(groups), refusals(stricter)
		for i, target := range someTargets {
			if before[i] && !after[i] {
				t.Fatalf("%s was refused by\n%s\n\nand is allowed by\n%s", target, write(groups), write(stricter))
			}
		}
	}
}

func TestPropertyT29WhatAnAgentCallsItselfNeverOpensAPage(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 1))
	for range randomFiles {
		f := Parse(write(randomGroups(r)))
		for _, target := range someTargets {
			p := NewPage(target)
			if f.Select([]string{"ours"}, "").Access(p).Refused == nil {
				continue
			}
			if f.Select([]string{"ours"}, "theirs/1 ours/2").Access(p).Refused == nil {
				t.Fatalf("%s is opened by a User-Agent", target)
			}
		}
	}
}

func TestPropertyT22ABadLineCostsNoOther(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	bad := []string{"", "# comment", "nonsense", "Disallow /x y z", ":", "Foo: bar", "\x00\xff", "Crawl-delay: 1,5", "Sitemap: /s", "Allow: no-slash", "Disallow:"}
	for range randomFiles {
		groups := randomGroups(r)
		noisy := clones(groups)
		for i := range noisy {
			// Behind the first rule: before it an empty rule would end the names.
			rules := &noisy[i].rules
			*rules = slices.Insert(*rules, 1+r.IntN(len(*rules)), pick(r, bad))
		}
		if !slices.Equal(refusals(groups), refusals(noisy)) {
			t.Fatalf("a bad line matters:\n%s\n\n%s", write(groups), write(noisy))
		}
	}
}
