package rulings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// The text and digest that stand in the policy page under O5.
const (
	defaultCanonical = `{"allow_private":[],"allowances":[],"caps":{},"format":"wayleave-policy/1","hosts":{"allow":[],"deny":[],"rules":[]},"identity":{"product_token":["wayleave"],"user_agent":"append"},"mode":"observe","purposes":["ai-input"],"required_licence":[],"screens":{"exempt":[],"extract":"off","injection":"off","limit_bytes":2097152,"pii":"off","scope":"sources"},"services":[],"spend":[],"terms":{"agreements":[],"reporting":[],"tdm_binds_ai_input":false,"user_classes":[]},"tunnels":[]}`
	defaultDigest    = "sha256:b1512f5e98b151625fec9928af8292cc5271b335d0642d9a86f50d85341ab6f6"
)

func TestO5TheDefaultPolicyHasTheDigestOfThePage(t *testing.T) {
	p := rulings.DefaultPolicy()
	if diff := cmp.Diff(defaultCanonical, string(p.Canonical())); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
	if got := p.Digest().String(); got != defaultDigest {
		t.Errorf("digest %s", got)
	}
}

func TestO5SpellingAndOrderChangeNoDigest(t *testing.T) {
	base := rulings.PolicyFile{
		AllowPrivate: []string{"10.0.0.0/8", "corp.internal"},
		Services:     []string{"*.pinned.example", "api.example"},
		Tunnels:      []string{"a.pinned.example", "b.pinned.example"},
		Identity:     rulings.IdentityFile{ProductToken: []string{"ExampleBot", "Second"}},
	}
	same := map[string]rulings.PolicyFile{
		"another order": {
			AllowPrivate: []string{"corp.internal", "10.0.0.0/8"}, Services: []string{"api.example", "*.pinned.example"},
			Tunnels: []string{"b.pinned.example", "a.pinned.example"}, Identity: base.Identity,
		},
		"another spelling": {
			AllowPrivate: []string{"10.1.2.3/8", "CORP.internal."}, Services: []string{"*.Pinned.Example", "api.example."},
			Tunnels: []string{"%61.pinned.example", "b.pinned.example"}, Identity: base.Identity,
		},
		"doubles": {
			AllowPrivate: []string{"10.0.0.0/8", "::ffff:10.0.0.0/104", "corp.internal"}, Services: []string{"*.pinned.example", "api.example", "API.example"},
			Tunnels: append(base.Tunnels, base.Tunnels...), Identity: base.Identity,
		},
		"defaults written out": {
			AllowPrivate: base.AllowPrivate, Services: base.Services, Tunnels: base.Tunnels,
			Identity: rulings.IdentityFile{ProductToken: base.Identity.ProductToken, UserAgent: "append"},
		},
	}
	want := policy(t, base).Digest()
	for name, f := range same {
		if got := policy(t, f); got.Digest() != want {
			t.Errorf("%s: %s", name, got.Canonical())
		}
	}
	other := base
	other.Identity.ProductToken = []string{"Second", "ExampleBot"} // the first is the edge's own name
	if policy(t, other).Digest() == want {
		t.Error("the order of the product tokens does not count")
	}
}

// RFC 8785 escapes no more than JSON must and has members in order.
func TestO5TheCanonicalFormIsRFC8785(t *testing.T) {
	p := policy(t, rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: `https://a.example/?x=<1>&y="2"`}})
	if !strings.Contains(string(p.Canonical()), `"contact":"https://a.example/?x=<1>&y=\"2\""`) {
		t.Errorf("%s", p.Canonical())
	}
	var v any
	if err := json.Unmarshal(p.Canonical(), &v); err != nil {
		t.Fatal(err)
	}
	// Encoding a map sorts its keys, as RFC 8785 does for keys in ASCII.
	var sorted strings.Builder
	enc := json.NewEncoder(&sorted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(sorted.String()), string(p.Canonical())); diff != "" {
		t.Errorf("members in order (-want +got):\n%s", diff)
	}
}

func TestAPolicyDoesNotChangeWithWhatItWasMadeFrom(t *testing.T) {
	f := rulings.PolicyFile{Identity: rulings.IdentityFile{ProductToken: []string{"ExampleBot"}}}
	p := policy(t, f)
	f.Identity.ProductToken[0] = "OtherBot"
	if p.Identity.Tokens[0] != "ExampleBot" {
		t.Errorf("the policy's token became %s", p.Identity.Tokens[0])
	}
}

func TestO7HostPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, host string
		want          bool
	}{
		{"api.example.com", "api.example.com", true},
		{"API.Example.COM.", "api.example.com", true},
		{"api.example.com", "a.api.example.com", false},
		{"api.example.com", "example.com", false},
		{"*.example.com", "example.com", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "badexample.com", false},
		{"*.bücher.example", "a.xn--bcher-kva.example", true},
		{"192.0.2.1", "192.0.2.1", true},
		{"3221225985", "192.0.2.1", true},
		{"::ffff:192.0.2.1", "192.0.2.1", true},
		{"2001:DB8::1", "2001:db8::1", true},
	} {
		p := policy(t, rulings.PolicyFile{Services: []string{tt.pattern}, Tunnels: []string{tt.pattern}})
		if got := p.Class(tt.host) == rulings.Service; got != tt.want {
			t.Errorf("service %s matches %s: %v", tt.pattern, tt.host, got)
		}
		if got := p.Tunnel(tt.host); got != tt.want {
			t.Errorf("tunnel %s matches %s: %v", tt.pattern, tt.host, got)
		}
	}
}

func TestFaultsNameTheKeyAndWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		file rulings.PolicyFile
		want []string // keys
	}{
		{"O7: a wildcard in the middle", rulings.PolicyFile{Services: []string{"docs.*.example.com"}}, []string{"services[0]"}},
		{"O7: a wildcard without a dot", rulings.PolicyFile{Services: []string{"*example.com"}}, []string{"services[0]"}},
		{"O7: two wildcards", rulings.PolicyFile{Services: []string{"*.*.example.com"}}, []string{"services[0]"}},
		{"O7: nothing behind the wildcard", rulings.PolicyFile{Services: []string{"*."}}, []string{"services[0]"}},
		{"O7: nothing", rulings.PolicyFile{Services: []string{""}}, []string{"services[0]"}},
		{"O7: an empty label", rulings.PolicyFile{Services: []string{"a..example"}}, []string{"services[0]"}},
		{"O7: a URL", rulings.PolicyFile{Services: []string{"https://a.example/"}}, []string{"services[0]"}},
		{"O7: a port", rulings.PolicyFile{Services: []string{"a.example:443"}}, []string{"services[0]"}},
		{"O8: everything", rulings.PolicyFile{Services: []string{"*"}}, []string{"services[0]"}},
		{"O8: a public suffix", rulings.PolicyFile{Services: []string{"com"}}, []string{"services[0]"}},
		{"O8: all of a public suffix", rulings.PolicyFile{Services: []string{"ok.example.com", "*.co.uk"}}, []string{"services[1]"}},
		{"O8: all of a private one", rulings.PolicyFile{Services: []string{"*.github.io"}}, []string{"services[0]"}},
		{"O9: a tunnel to a source", rulings.PolicyFile{Services: []string{"api.example.com"}, Tunnels: []string{"pinned.example.com"}}, []string{"tunnels[0]"}},
		{"O9: a tunnel wider than its service", rulings.PolicyFile{Services: []string{"api.example.com"}, Tunnels: []string{"*.api.example.com"}}, []string{"tunnels[0]"}},
		{"O9: a tunnel above its service", rulings.PolicyFile{Services: []string{"*.api.example.com"}, Tunnels: []string{"*.example.com"}}, []string{"tunnels[0]"}},
		{"O9: a tunnel to everything", rulings.PolicyFile{Services: []string{"*.example.com"}, Tunnels: []string{"*"}}, []string{"tunnels[0]"}},
		{"O9: a tunnel to a service that is at fault", rulings.PolicyFile{Services: []string{"*.com"}, Tunnels: []string{"a.com"}}, []string{"services[0]"}},
		{"the guard lifted for every host", rulings.PolicyFile{AllowPrivate: []string{"*"}}, []string{"allow_private[0]"}},
		{"no prefix", rulings.PolicyFile{AllowPrivate: []string{"10.0.0.0/33", "10/8", "corp.internal/8"}}, []string{"allow_private[0]", "allow_private[1]", "allow_private[2]"}},
		{"no product token", rulings.PolicyFile{Identity: rulings.IdentityFile{ProductToken: []string{"Example Bot", "", "a/1", "*", "a\n"}}}, []string{
			"identity.product_token[0]", "identity.product_token[1]", "identity.product_token[2]", "identity.product_token[3]", "identity.product_token[4]",
		}},
		{"an unknown mode of the User-Agent", rulings.PolicyFile{Identity: rulings.IdentityFile{UserAgent: "Keep"}}, []string{"identity.user_agent"}},
		{"a contact that would end its comment", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "me) X/1 ("}}, []string{"identity.contact"}},
		{"a contact that would end its field", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "me\r\nX: 1"}}, []string{"identity.contact"}},
		{"a contact that is none", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "call me maybe"}}, []string{"identity.contact"}},
		{"a contact without a scheme", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "a.example/bot"}}, []string{"identity.contact"}},
		{"a contact without a host", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "https:///bot"}}, []string{"identity.contact"}},
		{"a contact at no domain", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "bot@"}}, []string{"identity.contact"}},
		{"a contact with a name beside it", rulings.PolicyFile{Identity: rulings.IdentityFile{Contact: "Bot <bot@a.example>"}}, []string{"identity.contact"}},
		{"T92: an agreement that demands reporting by no URL", rulings.PolicyFile{Terms: rulings.OperatorFile{Agreements: []rulings.AgreementFile{
			{Host: "a.test", Reporting: "not a url"}, {Host: "b.test", Reporting: "https://std.test/r"},
		}}}, []string{"terms.agreements[0].reporting"}},
		{"T2: no purpose", rulings.PolicyFile{Purposes: []string{}}, []string{"purposes"}},
		{"T2: purposes that are none, or given twice", rulings.PolicyFile{Purposes: []string{"ai-input", "training", "", "ai-input", "AI-Train"}}, []string{
			"purposes[1]", "purposes[2]", "purposes[3]", "purposes[4]",
		}},
		{"T105: who may spend without a name or a host", rulings.PolicyFile{Spend: []rulings.SpendFile{
			{User: "", Hosts: []string{"a.test"}}, {User: "a*b", Hosts: []string{"a.test"}}, {User: "a", Hosts: nil}, {User: "a*", Hosts: []string{"a.test", "b c"}},
		}}, []string{"spend[0].user", "spend[1].user", "spend[2].hosts", "spend[3].hosts[1]"}},
		{"T88: what the operator is not", rulings.PolicyFile{Terms: rulings.OperatorFile{UserClasses: []string{"education", "", "a b"}, Country: "Germany"}}, []string{
			"terms.user_classes[1]", "terms.user_classes[2]", "terms.country",
		}},
		{"T92: reports and agreements of no profile and no host", rulings.PolicyFile{Terms: rulings.OperatorFile{
			Reporting:  []rulings.ReportingFile{{Profile: "weekly", Hosts: []string{"a.test"}}, {Profile: "https://p.test/", Hosts: nil}, {Profile: "https://p.test/", Hosts: []string{"a b"}}},
			Agreements: []rulings.AgreementFile{{Host: ""}, {Host: "a.test"}, {Host: "https://a.test"}},
		}}, []string{"terms.reporting[0].profile", "terms.reporting[1].hosts", "terms.reporting[2].hosts[0]", "terms.agreements[0].host", "terms.agreements[2].host"}},
		{"O2: every fault, in the order of the keys", rulings.PolicyFile{
			Identity: rulings.IdentityFile{ProductToken: []string{"a b"}, UserAgent: "x"}, AllowPrivate: []string{"*"}, Services: []string{"*"}, Tunnels: []string{"a b"},
		}, []string{"identity.product_token[0]", "identity.user_agent", "services[0]", "tunnels[0]", "allow_private[0]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, faults := rulings.NewPolicy(tt.file)
			var keys []string
			for _, f := range faults {
				keys = append(keys, f.Key)
				if f.Problem == "" {
					t.Errorf("%s: nothing is said about it", f.Key)
				}
			}
			if diff := cmp.Diff(tt.want, keys); diff != "" {
				t.Errorf("faults (-want +got):\n%s\n%v", diff, faults)
			}
			if p != nil {
				t.Error("a policy with faults was returned")
			}
		})
	}
}

func TestO8O9WhatIsCoveredLoads(t *testing.T) {
	for _, f := range []rulings.PolicyFile{
		{Services: []string{"*.example.com"}, Tunnels: []string{"a.example.com", "*.b.example.com", "example.com", "*.example.com"}},
		{Services: []string{"api.example.com", "localhost", "192.0.2.1"}, Tunnels: []string{"API.example.com.", "192.0.2.1"}},
		{Services: []string{"mine.github.io"}},
	} {
		if _, faults := rulings.NewPolicy(f); len(faults) > 0 {
			t.Errorf("%v: %v", f, faults)
		}
	}
}

func TestO10TheDefaultPolicyListsNothing(t *testing.T) {
	p := rulings.DefaultPolicy()
	if p.Class("site.test") != rulings.Source || p.Tunnel("site.test") {
		t.Error("a host is listed")
	}
	want := rulings.Identity{Tokens: []string{"wayleave"}, UserAgent: rulings.UserAgentAppend}
	if diff := cmp.Diff(want, p.Identity); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rulings.Purpose{rulings.AIInput}, p.Purposes); diff != "" {
		t.Errorf("purposes (-want +got):\n%s", diff)
	}
}
