package main

import "testing"

// nestedFaults are faults below lists and overlays: each at its line with its
// whole key, none hidden by another, and none that only follows from one.
var nestedFaults = map[string]struct {
	file string
	want []string
}{
	"O6 overlays are read as the policy is": {
		`auth: token
policy:
  sessions:
    - user: "a*b"
      mod: strict
      mode: lax
    - user: ci-*
      hosts:
        deny:
          - ok.example
          - a.*.example
        rules:
          - host: b.example
            action: require_licence
            licenze: "https://lic.example/"
      caps: {body_bytes: 0, context_bytes: many}
      screens:
        limit_bytes: 1GiB
        pii: true
      purposes: []
      services: [a.example]
    - mode: strict
    - [x]
`,
		[]string{
			`c.yaml:4: policy.sessions[0].user: "a*b" is no user name`,
			"c.yaml:5: policy.sessions[0].mod: unknown key; the nearest known one is mode (known here: user, mode, purposes, hosts, required_licence, caps, screens)",
			`c.yaml:6: policy.sessions[0].mode: "lax" is none of observe, prefer, strict`,
			`c.yaml:11: policy.sessions[1].hosts.deny[1]: "a.*.example" is no host pattern`,
			"c.yaml:13: policy.sessions[1].hosts.rules[0].licence: is missing; name the licence by its URL",
			"c.yaml:15: policy.sessions[1].hosts.rules[0].licenze: unknown key; the nearest known one is licence (known here: host, action, licence)",
			"c.yaml:16: policy.sessions[1].caps.body_bytes: 0B is too small; at least 1B are needed",
			`c.yaml:16: policy.sessions[1].caps.context_bytes: "many" is no size`,
			"c.yaml:18: policy.sessions[1].screens.limit_bytes: 1073741824 is out of range; use 1 to 268435456 bytes",
			"c.yaml:19: policy.sessions[1].screens.pii: wants one of on, off, not true or false",
			"c.yaml:20: policy.sessions[1].purposes: is empty",
			"c.yaml:21: policy.sessions[1].services: unknown key",
			"c.yaml:22: policy.sessions[2].user: is missing",
			"c.yaml:23: policy.sessions[3]: wants a list of mappings {user, mode, purposes, hosts, required_licence, caps, screens}; this is a list",
		},
	},
	"O2 a key without a value inside an overlay": {
		"auth: token\npolicy:\n  sessions:\n    - user: a\n      hosts:\n      mode:\n",
		[]string{
			"c.yaml:5: policy.sessions[0].hosts: wants a mapping {deny, allow, rules}, not nothing",
			"c.yaml:6: policy.sessions[0].mode: wants one of observe, prefer, strict, not nothing",
		},
	},
	"O8 O9 services that cannot be read make no tunnel wrong": {
		"policy:\n  services: {host: api.example}\n  tunnels: [api.example]\n",
		[]string{"c.yaml:2: policy.services: wants a list of mappings {host, pace, price, charge_header}, or of text, each a host, not a mapping"},
	},
	"O8 O9 nor does one of them": {
		"policy:\n  services:\n    - {hots: api.example}\n    - 7\n    - b.example\n  tunnels: [api.example, \"a b\"]\n",
		[]string{
			"c.yaml:3: policy.services[0].host: is missing",
			"c.yaml:3: policy.services[0].hots: unknown key; the nearest known one is host",
			"c.yaml:4: policy.services[1]: wants a list of mappings",
			`c.yaml:6: policy.tunnels[1]: "a b" is no host pattern`,
		},
	},
	"O2 faults of one line stand in the order of the line": {
		"policy: {mode: lax, hosts: {allow: [], dney: [x]}, caps: {body_bytes: 1.5}, services: [{host: \"*.com\", price: {amount: \"1,5\"}}]}\n",
		[]string{
			`c.yaml:1: policy.mode: "lax" is none of`,
			"c.yaml:1: policy.hosts.allow: is empty",
			"c.yaml:1: policy.hosts.dney: unknown key; the nearest known one is deny",
			"c.yaml:1: policy.caps.body_bytes: wants a number of bytes, or a size with its unit, such as 64MiB, not a number",
			`c.yaml:1: policy.services[0].host: "*.com" is too wide`,
			"c.yaml:1: policy.services[0].price.currency: is missing",
			`c.yaml:1: policy.services[0].price.amount: "1,5" is no amount`,
		},
	},
	"O7 money that is no decimal text": {
		"policy:\n  services:\n    - {host: a.example, price: 5}\n    - host: b.example\n      price: {amount: \"0.0000001\", currency: usd}\n    - {host: c.example, price: reported}\n    - {host: d.example, price: gratis}\n",
		[]string{
			"c.yaml:3: policy.services[0].price: wants a mapping {amount, currency}, or one of reported, unknown, not a number",
			`c.yaml:5: policy.services[1].price.amount: "0.0000001" is no amount; use a decimal string of at most 12 digits before and 6 behind the point`,
			`c.yaml:5: policy.services[1].price.currency: "usd" is no currency`,
			"c.yaml:6: policy.services[2].charge_header: is missing",
			`c.yaml:7: policy.services[3].price: "gratis" is none of reported, unknown`,
		},
	},
	"O30 a time zone that does not exist": {
		"policy:\n  allowances:\n    - {name: a, user: \"*\", period: day, amount: \"1\", currency: USD, timezone: Europe/Atlantis}\n",
		[]string{`c.yaml:3: policy.allowances[0].timezone: "Europe/Atlantis" is no time zone`},
	},
	"O6 overlays and an auth that is none": {
		"auth: tokens\npolicy:\n  sessions: [{user: a}]\n",
		[]string{`c.yaml:1: auth: "tokens" is none of open, token`},
	},
}

func TestO2FaultsBelowListsAndOverlays(t *testing.T) {
	for name, tt := range nestedFaults {
		t.Run(name, func(t *testing.T) {
			c, err := loadText(tt.file, nil, nil)
			if err == nil {
				err = c.policyFaults
			}
			checkFaults(t, err, tt.want)
		})
	}
}

func TestO6OverlaysNeedTokensWhereverTheyAreSaid(t *testing.T) {
	env := map[string]string{"WAYLEAVE_POLICY_SESSIONS": `[{"user":"ci-*","mode":"strict","caps":{"body_bytes":1000}}]`}
	c, err := loadText("", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkFaults(t, c.policyFaults, []string{"WAYLEAVE_POLICY_SESSIONS: policy.sessions: needs auth: token, but auth is open (default)"})
	if c, err = loadText("", env, map[string]string{"auth": "token"}); err != nil || c.policy == nil || c.policy.For("ci-1").Caps.Body != 1000 {
		t.Error(err, c)
	}
	if c, err = loadText("policy: {sessions: []}\n", nil, nil); err != nil || c.policy == nil {
		t.Errorf("an empty list needs no tokens: %v, %v", err, c)
	}
}

func TestO7SizesInTheEnvironmentMayBeBytes(t *testing.T) {
	for written, want := range map[string]int64{"10000": 10_000, "10000B": 10_000, "2MiB": 2 << 20} {
		c, err := loadText("", map[string]string{"WAYLEAVE_POLICY_CAPS_CONTEXT_BYTES": written}, nil)
		if err != nil || c.policy == nil || c.policy.Caps.Context != want {
			t.Errorf("%s: %v, %+v", written, err, c)
		}
	}
}
