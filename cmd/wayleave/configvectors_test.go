package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings"
)

// A policyVector is what the configuration's tests need of a case of policy.json.
type policyVector struct {
	ID, Title, Auth, Policy string
	Crossing                struct{ URL, User string }
	Expect                  map[string]struct {
		Breach []string
		Reason string // of a refusal
	}

	File   string // of load cases
	Faults []struct {
		Line      int
		Key, What string
	}

	Policies   []string // of digest cases
	SameDigest bool     `json:"same_digest"`
}

// policyVectors returns the cases of one group.
func policyVectors(t *testing.T, group string) []policyVector {
	t.Helper()
	return vectors.Read[policyVector](t, "", "policy.json", vectors.Group(group))
}

// section makes a configuration of a policy without its key.
func section(policy string) string {
	if strings.TrimSpace(policy) == "{}" {
		return "policy: {}\n"
	}
	return "policy:\n  " + strings.ReplaceAll(policy, "\n", "\n  ") + "\n"
}

// loadPolicy loads a policy without its key, under auth: token.
func loadPolicy(t *testing.T, policy string) *rulings.Policy {
	t.Helper()
	c, err := loadText("auth: token\n"+section(policy), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.policy == nil {
		t.Fatalf("%s\n%v", policy, c.policyFaults)
	}
	return c.policy
}

// faultKinds are the words in which each kind of the vectors is told.
var faultKinds = map[string]*regexp.Regexp{
	"unknown key":   regexp.MustCompile(`^unknown key`),
	"value":         regexp.MustCompile(`is none of|out of range|is no (size|URL|currency|amount|time zone|name)`),
	"pattern":       regexp.MustCompile(`is no host pattern|is too wide for a service`),
	"empty":         regexp.MustCompile(`^is empty`),
	"twice":         regexp.MustCompile(`given twice`),
	"type":          regexp.MustCompile(`^wants `),
	"missing":       regexp.MustCompile(`^is missing`),
	"not a service": regexp.MustCompile(`is not covered by services`),
	"auth":          regexp.MustCompile(`needs auth: token`),
}

func TestO2O3LoadVectors(t *testing.T) {
	for _, v := range policyVectors(t, "load") {
		t.Run(v.ID+" "+v.Title, func(t *testing.T) {
			c, err := loadText(v.File, nil, nil)
			if err != nil {
				t.Fatalf("O3: the edge must run without a policy, but load says %v", err)
			}
			if c.policy != nil {
				t.Error("O3: there is a policy")
			}
			if len(c.policyFaults) != len(v.Faults) {
				t.Fatalf("%d faults, want %d:\n%v", len(c.policyFaults), len(v.Faults), c.policyFaults)
			}
			for i, want := range v.Faults {
				got, kind := c.policyFaults[i], faultKinds[want.What]
				if kind == nil {
					t.Fatalf("the kind %q has no words", want.What)
				}
				if got.at.line != want.Line || got.key != want.Key || !kind.MatchString(got.problem) {
					t.Errorf("fault %d: %s\nwant line %d, key %s: %s", i, got, want.Line, want.Key, want.What)
				}
			}
		})
	}
}

func TestO5DigestVectors(t *testing.T) {
	for _, v := range policyVectors(t, "digest") {
		t.Run(v.ID+" "+v.Title, func(t *testing.T) {
			a, b := loadPolicy(t, v.Policies[0]), loadPolicy(t, v.Policies[1])
			if same := a.Digest() == b.Digest(); same != v.SameDigest {
				t.Errorf("the same digest: %v\n%s\n%s", same, a.Canonical(), b.Canonical())
			}
		})
	}
}

// What the vectors say of hosts, of those policies and overlays that name them.
func TestO6O7HostVectors(t *testing.T) {
	cases := slices.Concat(policyVectors(t, "overlay"), policyVectors(t, "hosts"))
	for _, v := range cases {
		t.Run(v.ID+" "+v.Title, func(t *testing.T) {
			p := loadPolicy(t, v.Policy).For(v.Crossing.User)
			authority, _, _ := strings.Cut(strings.TrimPrefix(v.Crossing.URL, "https://"), "/")
			host, err := hostkey.Key(authority)
			if err != nil {
				t.Fatal(err)
			}
			expect, ok := v.Expect["as_written"]
			if !ok {
				expect = v.Expect["observe"]
			}
			want := expect.Breach
			if expect.Reason != "" {
				want = append(want, expect.Reason)
			}
			if got := hostBreach(p, host); !slices.Equal(got, want) {
				t.Errorf("breach %q, want %q", got, want)
			}
		})
	}
}

// hostBreach is what O14 says of hosts alone.
func hostBreach(p *rulings.Policy, host string) []string {
	if _, _, denied := p.HostDenied(host); denied {
		return []string{"host_denied"}
	}
	if rule, ok := p.HostRule(host); ok {
		if rule.Action == rulings.HostRefuse {
			return []string{"host_rule"}
		}
		return nil
	}
	if !p.HostAllowed(host) {
		return []string{"host_not_allowed"}
	}
	return nil
}

// Every policy of the vectors loads, and its canonical form is read as the same.
func TestO5PoliciesOfTheVectorsAreWhole(t *testing.T) {
	seen := 0
	for _, kind := range []string{"hosts", "terms", "licence", "guard", "service", "tunnel", "money", "caps", "context", "text", "screen", "overlay", "exec"} {
		for _, v := range policyVectors(t, kind) {
			p := loadPolicy(t, v.Policy)
			policies := []*rulings.Policy{p}
			for _, o := range p.Overlays() {
				policies = append(policies, o.Policy)
			}
			for _, p := range policies {
				again, err := rulings.LoadPolicy(p.Canonical())
				if err != nil || again.Digest() != p.Digest() || string(again.Canonical()) != string(p.Canonical()) {
					t.Errorf("%s: %v\n%s", v.ID, err, p.Canonical())
				}
				seen++
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d policies were read", seen)
	}
}

// loadWhole loads a configuration that has a policy.
func loadWhole(t *testing.T, text string) *rulings.Policy {
	t.Helper()
	c, err := loadText(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.policy == nil {
		t.Fatalf("%s\n%v", text, c.policyFaults)
	}
	return c.policy
}
