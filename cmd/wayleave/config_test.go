package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
)

// loadText loads a configuration whose file reads text, with the given
// variables and flags. The file is named c.yaml.
func loadText(text string, env, flags map[string]string) (*config, error) {
	s := source{
		file:   "c.yaml",
		getenv: func(name string) string { return env[name] },
		flags:  flags,
		read:   func(string) ([]byte, error) { return []byte(text), nil },
	}
	return s.load()
}

func TestConfigFaults(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string // beginning of each fault, in order
	}{
		"A20 an unknown key names the nearest known one": {
			"listn: 127.0.0.1:1\n",
			[]string{"c.yaml:1: listn: unknown key; the nearest known one is listen (known here: listen, admin,"},
		},
		"A20 an unknown key inside a section": {
			"admin:\n  listen: 127.0.0.1:1\n  port: 3\n",
			[]string{"c.yaml:3: admin.port: unknown key"},
		},
		"P33 shared tenancy needs tokens: both lines": {
			"auth: open\npacing: {max_wait: 5s}\ntenancy: shared\n",
			[]string{"c.yaml:3: tenancy: shared needs auth: token, but auth is open (c.yaml:1)"},
		},
		"P33 shared tenancy needs tokens: auth is left out": {
			"tenancy: shared\n",
			[]string{"c.yaml:1: tenancy: shared needs auth: token, but auth is open (default)"},
		},
		"P33 shared tenancy and an auth that is none": {
			"tenancy: shared\nauth: tokens\n",
			[]string{`c.yaml:2: auth: "tokens" is none of open, token`},
		},
		"P28 a number that is quoted": {
			"pacing: {max_waiters: \"5\"}\n",
			[]string{"c.yaml:1: pacing.max_waiters: wants a whole number, such as 100, not text"},
		},
		"P33 a tenancy that is none": {
			"tenancy: several\n",
			[]string{`c.yaml:1: tenancy: "several" is none of single, shared`},
		},
		"P28 pacing without sense": {
			"pacing:\n  max_wait: 20\n  max_delay: 0s\n  max_waiters: 0\n  lock_wait: -2s\n  max_age: 5s\n",
			[]string{
				"c.yaml:2: pacing.max_wait: wants a duration with its unit",
				"c.yaml:3: pacing.max_delay: 0s is too short",
				`c.yaml:4: pacing.max_waiters: "0" is no number of 1 or more`,
				"c.yaml:5: pacing.lock_wait: -2s is too short",
				"c.yaml:6: pacing.max_age: unknown key",
			},
		},
		"A20 a dotted key is told to nest": {
			"admin.listen: 127.0.0.1:1\n",
			[]string{"c.yaml:1: admin.listen: unknown key; in the file dotted keys are nested"},
		},
		"A20 every fault is listed in file order": {
			"connect_ports: [443, https, 70000, \"9-1\"]\nauth: none\nshutdown_grace: 30\ndata: 5\n",
			[]string{
				`c.yaml:1: connect_ports[1]: "https" is no port`,
				`c.yaml:1: connect_ports[2]: "70000" is no port`,
				`c.yaml:1: connect_ports[3]: "9-1" is no port`,
				`c.yaml:2: auth: "none" is none of open, token`,
				`c.yaml:3: shutdown_grace: wants a duration with its unit, such as 30s, not a number`,
				`c.yaml:4: data: wants a path as text, not a number`,
			},
		},
		"A20 items of a list have lines of their own": {
			"connect_ports:\n  - 443\n  - [80]\n  - 1.5\n",
			[]string{"c.yaml:3: connect_ports[1]: wants a list of ports", "c.yaml:4: connect_ports[2]: wants a list of ports"},
		},
		"A20 a key given twice": {
			"auth: open\nauth: token\n",
			[]string{"c.yaml:2: auth: given twice; it stands in line 1 already"},
		},
		"A20 a section that is no mapping": {
			"admin: 127.0.0.1:3129\n",
			[]string{"c.yaml:1: admin: is no mapping; known under it: listen, open_metrics"},
		},
		"A20 a key without a value": {
			"listen:\n",
			[]string{"c.yaml:1: listen: has no value"},
		},
		"A20 an address without a port": {
			"listen: localhost\n",
			[]string{`c.yaml:1: listen: "localhost" is no address; use host:port`},
		},
		"A20 yes is no boolean": {
			"admin: {open_metrics: yes}\n",
			[]string{"c.yaml:1: admin.open_metrics: wants true or false, not text"},
		},
		"A20 a duration without its unit, below zero, or of words": {
			"upstream: {head_timeout: \"30\"}\nshutdown_grace: -1s\nevidence: {append_wait: soon, session_idle: 0s}\n",
			[]string{
				`c.yaml:1: upstream.head_timeout: "30" is no duration`,
				`c.yaml:2: shutdown_grace: -1s is too short`,
				`c.yaml:3: evidence.append_wait: "soon" is no duration`,
				`c.yaml:3: evidence.session_idle: 0s is too short`,
			},
		},
		"A20 a size without its unit": {
			"evidence: {segment_bytes: \"64\"}\n",
			[]string{`c.yaml:1: evidence.segment_bytes: "64" is no size; use a whole number and B, KiB, MiB or GiB, such as 64MiB`},
		},
		"A20 a size of words": {
			"evidence: {segment_bytes: largeMiB}\n",
			[]string{`c.yaml:1: evidence.segment_bytes: "largeMiB" is no size`},
		},
		"A20 a size that is too small": {
			"evidence: {segment_bytes: 1023B}\n",
			[]string{`c.yaml:1: evidence.segment_bytes: 1023B is too small; at least 1024B are needed`},
		},
		"N17 the proxy's URL is not quoted: it may hold a password": {
			"upstream:\n  proxy: ftp://u:hunter2@proxy.example\n",
			[]string{"c.yaml:2: upstream.proxy: is no proxy's URL; use http://host:port or https://host:port"},
		},
		"N17 the CA file is not there": {
			"upstream:\n  ca_file: /nowhere/roots.pem\n",
			[]string{"c.yaml:2: upstream.ca_file: cannot be read"},
		},
		"E23 secret names and paths": {
			"evidence:\n  secret_names: [voucher, my-key]\n  secret_paths: [hooks.example/services/*, nopath]\n",
			[]string{`c.yaml:2: evidence.secret_names[1]: "my-key" is no name`, `c.yaml:3: evidence.secret_paths[1]: "nopath" is no host and path`},
		},
		"A20 no YAML": {
			"listen: [\n",
			[]string{"c.yaml:"},
		},
		"A20 a list in place of keys": {
			"- listen\n",
			[]string{"c.yaml:1: is no mapping"},
		},
		"A20 a second document": {
			"auth: open\n---\nauth: token\n",
			[]string{"c.yaml:2: a second document begins here"},
		},
		"A20 an alias that leads back to its parent ends": {
			"admin: &a {listen: 127.0.0.1:1, admin: *a}\n",
			[]string{"c.yaml:1: admin.admin: unknown key"},
		},
		"A20 a key that would break the line of its fault": {
			"\"a\\nb\": 1\n",
			[]string{`c.yaml:1: "a\nb": unknown key`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(tt.file, nil, nil)
			checkFaults(t, err, tt.want)
		})
	}
}

// checkFaults compares the lines of err with the beginnings in want.
func checkFaults(t *testing.T, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Fatalf("loaded; want faults %q", want)
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d faults, want %d:\n%s", len(got), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("fault %d:\n got %s\nwant %s...", i, got[i], want[i])
		}
	}
}

func TestConfigPolicyFaults(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string
	}{
		"O2 an unknown key names its line": {
			"listen: 127.0.0.1:3128\npolicy:\n  contraints: []\n",
			[]string{"c.yaml:3: policy.contraints: unknown key"},
		},
		"O2 a wildcard in the middle": {
			"policy:\n  services: [api.example]\n  allow_private:\n    - 10.0.0.0/8\n    - docs.*.example\n",
			[]string{`c.yaml:5: policy.allow_private[1]: "docs.*.example" is no host pattern`},
		},
		"O2 a key given twice": {
			"policy:\n  services: [a.example]\n  services: [b.example]\n",
			[]string{"c.yaml:3: policy.services: given twice"},
		},
		"O2 a key given twice, of which the first value is wrong": {
			"policy:\n  mode: bogus\n  mode: strict\n  hosts:\n    deny: [\"a.*.b\"]\n    deny: [b.example]\n",
			[]string{
				`c.yaml:2: policy.mode: "bogus" is none of observe, prefer, strict`,
				"c.yaml:3: policy.mode: given twice",
				`c.yaml:5: policy.hosts.deny[0]: "a.*.b" is no host pattern`,
				"c.yaml:6: policy.hosts.deny: given twice",
			},
		},
		"O2 O6 sessions under auth: open, of which one is wrong": {
			"auth: open\npolicy:\n  sessions:\n    - user: x\n      mode: bogus\n",
			[]string{
				"c.yaml:3: policy.sessions: needs auth: token",
				`c.yaml:5: policy.sessions[0].mode: "bogus" is none of observe, prefer, strict`,
			},
		},
		"O2 a list of hosts without any": {
			"policy:\n  spend: [{user: \"*\", hosts: []}]\n",
			[]string{"c.yaml:2: policy.spend[0].hosts: is empty"},
		},
		"O8 a public suffix as a service": {
			"policy:\n  services: [\"*.co.uk\"]\n",
			[]string{"c.yaml:2: policy.services[0]: "},
		},
		"O9 a tunnel to something that is not a service": {
			"policy:\n  services: [api.example]\n  tunnels: [pinned.example]\n",
			[]string{"c.yaml:3: policy.tunnels[0]: "},
		},
		"O2 private addresses wholesale": {
			"policy:\n  allow_private: true\n",
			[]string{"c.yaml:2: policy.allow_private: wants a list of text"},
		},
		"O2 a service without a host, and with what is not known": {
			"policy:\n  services:\n    - {place: true}\n    - {host: a.example, price: \"1\"}\n    - {host: [a]}\n",
			[]string{
				"c.yaml:3: policy.services[0].host: is missing",
				"c.yaml:3: policy.services[0].place: unknown key; the nearest known one is pace (known here: host, pace, price, charge_header)",
				`c.yaml:4: policy.services[1].price: "1" is none of reported, unknown`,
				"c.yaml:5: policy.services[2].host: wants text, not a list",
			},
		},
		"O2 a product token that is none": {
			"policy:\n  identity:\n    product_token: two words\n    user_agent: hide\n    contact: \"(me)\"\n",
			[]string{
				"c.yaml:3: policy.identity.product_token: \"two words\" is no product token",
				"c.yaml:4: policy.identity.user_agent: \"hide\" is none of keep, append, replace",
				"c.yaml:5: policy.identity.contact: use a URL or mail address",
			},
		},
		"O2 an empty list of product tokens": {
			"policy:\n  identity: {product_token: []}\n",
			[]string{"c.yaml:2: policy.identity.product_token: is empty"},
		},
		"O2 a section that is no mapping": {
			"policy: strict\n",
			[]string{"c.yaml:1: policy: is no mapping"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := loadText(tt.file, nil, nil)
			if err != nil {
				t.Fatalf("O3: a policy that does not load must leave the edge running, but load says %v", err)
			}
			if c.policy != nil {
				t.Error("O3: there is a policy in place of the one that does not load")
			}
			checkFaults(t, c.policyFaults, tt.want)
		})
	}
}

func TestO3FaultsOutsideThePolicyListBoth(t *testing.T) {
	_, err := loadText("policy:\n  mod: strict\nauth: none\n", nil, nil)
	checkFaults(t, err, []string{"c.yaml:2: policy.mod: unknown key", `c.yaml:3: auth: "none"`})
}

func TestA20EveryKeyIsRead(t *testing.T) {
	dir := t.TempDir()
	ca := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(ca, testRoot(t), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
listen: "[::1]:1"
admin: {listen: ":2", open_metrics: true}
data: state
auth: token
connect_ports: [443, "9000-9999"]
upstream: {ca_file: roots.pem, proxy: "http://u:p@proxy.example:8080", head_timeout: 1m}
shutdown_grace: 0s
tenancy: shared
pacing: {max_wait: 5s, max_delay: 2m, max_waiters: 7, lock_wait: 100ms}
evidence: {segment_bytes: 1MiB, session_idle: 1h, append_wait: 500ms, secret_names: [voucher], secret_paths: ["hooks.example/*"]}
policy:
  allow_private: [127.0.0.0/8]
  services: [api.example, {host: git.example}]
  tunnels: [git.example]
  identity: {product_token: [one, two], user_agent: keep, contact: "mailto:a@example.org"}
` + termsText
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := source{file: file, getenv: func(string) string { return "" }, read: os.ReadFile}.load()
	if err != nil {
		t.Fatal(err)
	}
	if c.policy == nil {
		t.Fatal(c.policyFaults)
	}
	want := termsFile
	want.AllowPrivate, want.Services, want.Tunnels = []string{"127.0.0.0/8"}, []string{"api.example", "git.example"}, []string{"git.example"}
	want.ServiceTerms = make([]rulings.ServiceFile, 2)
	want.Identity = rulings.IdentityFile{ProductToken: []string{"one", "two"}, UserAgent: "keep", Contact: "mailto:a@example.org"}
	if diff := cmp.Diff(want, c.policyFile); diff != "" {
		t.Error(diff)
	}
	switch {
	case c.listen != "[::1]:1", c.adminListen != ":2", !c.openMetrics, c.auth != authToken:
		t.Errorf("listeners and access: %+v", c)
	case c.data != filepath.Join(dir, "state"), c.caFile != ca:
		t.Errorf("paths are not relative to the file: data %s, ca_file %s", c.data, c.caFile)
	case !c.connectPorts.Has(443), !c.connectPorts.Has(9500), c.connectPorts.Has(80):
		t.Error("connect_ports")
	case c.upstreamProxy.url.Host != "proxy.example:8080", c.headTimeout != time.Minute, c.shutdownGrace != 0:
		t.Errorf("upstream: %+v", c)
	case !c.shared, c.pacing != backoff.Config{MaxWait: 5 * time.Second, MaxDelay: 2 * time.Minute, MaxWaiters: 7, LockWait: 100 * time.Millisecond}:
		t.Errorf("pacing: %+v", c)
	case c.segmentBytes != 1<<20, c.sessionIdle != time.Hour, c.appendWait != 500*time.Millisecond, len(c.secretNames) != 1, len(c.secretPaths) != 1:
		t.Errorf("evidence: %+v", c)
	}
}

func TestA20FlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	file := "listen: 127.0.0.1:1\nauth: token\nconnect_ports: [1]\npolicy: {services: [file.example]}\n"
	env := map[string]string{
		"WAYLEAVE_LISTEN": "127.0.0.1:2", "WAYLEAVE_CONNECT_PORTS": "2, 3-4", "WAYLEAVE_ADMIN_LISTEN": "127.0.0.1:5",
		"WAYLEAVE_POLICY_SERVICES": "env.example", "WAYLEAVE_AUTH": "", "WAYLEAVE_UNRELATED": "x",
	}
	c, err := loadText(file, env, map[string]string{"listen": "127.0.0.1:3"})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case c.listen != "127.0.0.1:3":
		t.Errorf("listen %s, want the flag's", c.listen)
	case c.adminListen != "127.0.0.1:5":
		t.Errorf("admin.listen %s, want the environment's", c.adminListen)
	case c.connectPorts.Has(1) || !c.connectPorts.Has(2) || !c.connectPorts.Has(4):
		t.Error("connect_ports are not the environment's alone")
	case c.auth != authToken:
		t.Errorf("auth %s: an empty variable counts as not set", c.auth)
	case c.shutdownGrace != 30*time.Second:
		t.Errorf("shutdown_grace %s, want the default", c.shutdownGrace)
	case !cmp.Equal(c.policyFile.Services, []string{"env.example"}):
		t.Errorf("policy.services %q, want the environment's", c.policyFile.Services)
	}
}

func TestA20FaultsOutsideTheFileNameTheirPlace(t *testing.T) {
	env := map[string]string{"WAYLEAVE_AUTH": "none", "WAYLEAVE_POLICY_SERVICES": "ok.example,co.uk"}
	_, err := loadText("policy: {services: [com]}\nlisten: x\n", env, map[string]string{"admin.listen": "y"})
	checkFaults(t, err, []string{
		`c.yaml:2: listen: "x" is no address`,
		`WAYLEAVE_AUTH: auth: "none" is none of`,
		`command line: admin.listen: "y" is no address`,
		`WAYLEAVE_POLICY_SERVICES: policy.services[1]: `,
	})
}

func TestA20DefaultsLoadAndAreTheStatedOnes(t *testing.T) {
	env := map[string]string{"XDG_STATE_HOME": "/state", "HOME": "/home/a"}
	c, err := loadText("", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.listen != "127.0.0.1:3128" || c.adminListen != "127.0.0.1:3129" || c.auth != authOpen || c.openMetrics {
		t.Errorf("defaults: %+v", c)
	}
	if got, want := c.pacing, (backoff.Config{}).WithDefaults(); c.shared || got.MaxWait != want.MaxWait || got.MaxDelay != want.MaxDelay || got.MaxWaiters != want.MaxWaiters || got.LockWait != want.LockWait || c.headTimeout != want.HeadTimeout {
		t.Errorf("P28: pacing %+v, want %+v", got, want)
	}
	if c.data != "/state/wayleave" {
		t.Errorf("data %s", c.data)
	}
	if got, want := c.policy.Digest(), rulings.DefaultPolicy().Digest(); got != want {
		t.Errorf("O10: policy %s, want the default's %s", got, want)
	}
	delete(env, "XDG_STATE_HOME")
	if c, err = loadText("", env, nil); err != nil || c.data != "/home/a/.local/state/wayleave" {
		t.Errorf("data %s, error %v", c.data, err)
	}
}

func TestA20AnEmptySectionIsOneWithoutKeys(t *testing.T) {
	c, err := loadText("policy:\n  # mode: strict\nadmin: {}\n", nil, nil)
	if err != nil || c.policy == nil {
		t.Fatal(err, c.policyFaults)
	}
}

func TestA20AMissingFileIsAFault(t *testing.T) {
	s := source{file: filepath.Join(t.TempDir(), "none.yaml"), getenv: func(string) string { return "" }, read: os.ReadFile}
	_, err := s.load()
	checkFaults(t, err, []string{s.file + ": cannot be read: no such file or directory"})
}

func TestP33TheTwoPlacesOfAFaultMayBeDifferentOnes(t *testing.T) {
	_, err := loadText("tenancy: shared\n", map[string]string{"WAYLEAVE_AUTH": "open"}, nil)
	checkFaults(t, err, []string{"c.yaml:1: tenancy: shared needs auth: token, but auth is open (WAYLEAVE_AUTH)"})
	_, err = loadText("auth: open\n", map[string]string{"WAYLEAVE_TENANCY": "shared"}, nil)
	checkFaults(t, err, []string{"WAYLEAVE_TENANCY: tenancy: shared needs auth: token, but auth is open (c.yaml:1)"})
	if c, err := loadText("tenancy: shared\n", map[string]string{"WAYLEAVE_AUTH": "token", "WAYLEAVE_PACING_MAX_WAITERS": "12"}, nil); err != nil || !c.shared || c.pacing.MaxWaiters != 12 {
		t.Errorf("%+v, error %v", c, err)
	}
}

func TestHelpListsEveryKey(t *testing.T) {
	help := configHelp()
	for _, k := range configKeys {
		if !strings.Contains(help, "\n"+k.name+" ") || !strings.Contains(help, k.variable()) || k.doc == "" {
			t.Errorf("%s is not in the help of the configuration", k.name)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	seeds := []string{
		"", "listen: 127.0.0.1:3128\n", "policy:\n  services: [a.example, {host: b.example}]\n",
		"admin: &a {listen: \":1\", admin: *a}\n", "connect_ports: [443, \"1-2\"]\n---\n", "a: *b\n", "\xff: {", "<<: {auth: open}\n",
		"? [a, b]\n: c\n", "policy: !!binary aGk=\n", "auth: |\n  open\n", "- - - -\n", "data: !x y\n",
		"policy:" + termsText, everyKey, starter, "policy: {sessions: &s [{user: a, hosts: {rules: *s, deny: *s}, screens: [], caps: {body_bytes: 0x10}}]}\n", "policy: {spend: &a [{user: x, hosts: *a}, *a]}\n", "policy: {spend: [{user: &u x, user: *u, <<: y, [h]: z}]}\n",
		"policy: {purposes: [], terms: {country: de, reporting: [{profile: x}], agreements: [{host: \"\", reference: ~}]}}\n",
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, found := parseConfig("c.yaml", []byte(text))
		for _, one := range found {
			if one.at.line < 1 || strings.ContainsAny(one.String(), "\n\r") {
				t.Errorf("fault %q does not stand on one line with its place", one)
			}
		}
		for _, s := range settings {
			if !s.key.list() && len(s.values) != 1 {
				t.Errorf("%s has %d values", s.key.name, len(s.values))
			}
		}
		c := newConfig("c.yaml")
		c.apply(settings)
		c.checkPolicy()
	})
}
