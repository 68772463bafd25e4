package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestO2TheSchemaForEditorsIsThatOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/wayleave.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(schemaText())); diff != "" {
		t.Errorf("docs/wayleave.schema.json is not what `wayleave policy schema` prints (-file +code):\n%s", diff)
	}
	if !strings.HasPrefix(starter, "# yaml-language-server: $schema="+schemaURL+"\n") {
		t.Error("what init writes does not begin with the schema's URL")
	}
}

// fits holds a value against the part of JSON Schema that configSchema uses.
func fits(s map[string]any, v any) bool {
	if choices, ok := s["oneOf"].([]any); ok {
		n := 0
		for _, one := range choices {
			if fits(one.(map[string]any), v) {
				n++
			}
		}
		return n == 1
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return false
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	switch v := v.(type) {
	case nil:
		return slices.Contains(types, any("null"))
	case bool:
		return slices.Contains(types, any("boolean"))
	case int:
		least, _ := s["minimum"].(float64)
		return slices.Contains(types, any("integer")) && float64(v) >= least
	case string:
		pattern, _ := s["pattern"].(string)
		return slices.Contains(types, any("string")) && regexp.MustCompile(pattern).MatchString(v)
	case []any:
		least, _ := s["minItems"].(float64)
		items, _ := s["items"].(map[string]any)
		return slices.Contains(types, any("array")) && len(v) >= int(least) &&
			!slices.ContainsFunc(v, func(item any) bool { return !fits(items, item) })
	case map[string]any:
		required, _ := s["required"].([]any)
		properties, _ := s["properties"].(map[string]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return false
			}
		}
		for name, member := range v {
			property, known := properties[name].(map[string]any)
			if !known || !fits(property, member) {
				return false
			}
		}
		return slices.Contains(types, any("object"))
	}
	return false // a number with a point, a date
}

// fitsSchema holds a configuration against the schema.
func fitsSchema(t *testing.T, text string) bool {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(schemaText(), &s); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return false // a key given twice, for one
	}
	return fits(s, v)
}

// An editor marks what has another shape, and nothing that loads.
func TestO2TheSchemaAgreesWithTheReader(t *testing.T) {
	good := map[string]string{"init": starter, "init with every example": uncommented(), "termsText": "policy:" + termsText, "all keys": everyKey}
	for _, kind := range []string{"hosts", "terms", "licence", "guard", "service", "tunnel", "money", "caps", "context", "screen", "overlay", "exec"} {
		for _, v := range policyVectors(t, kind) {
			good[v.ID] = section(v.Policy)
		}
	}
	for name, text := range good {
		if !fitsSchema(t, text) {
			t.Errorf("%s loads and does not fit the schema:\n%s", name, text)
		}
	}
	for name, text := range map[string]string{
		"an unknown key":               "policy: {contraints: []}",
		"an unknown key in a mapping":  "policy: {spend: [{user: a, hosts: [a.example], more: 1}]}",
		"an unknown key of an overlay": "policy: {sessions: [{user: a, hosts: {denied: [a.example]}}]}",
		"a key given twice":            "policy: {mode: observe, mode: strict}",
		"money as a number":            "policy: {services: [{host: a.example, price: {amount: 5.0, currency: USD}}]}",
		"a word that is none":          "policy: {mode: strickt}",
		"an empty list":                "policy: {hosts: {allow: []}}",
		"another type":                 "policy: {allow_private: true}",
		"a member that is missing":     "policy: {hosts: {rules: [{host: a.example}]}}",
		"a size without its unit":      "policy: {caps: {body_bytes: \"2\"}}",
		"a duration without its unit":  "shutdown_grace: 30",
	} {
		if fitsSchema(t, text) {
			t.Errorf("%s fits the schema", name)
		}
		c, err := loadText(text, nil, nil)
		if err == nil && c.policy != nil {
			t.Errorf("%s loads", name)
		}
	}
}

// memberPaths calls each with the path of every member below a shape.
func memberPaths(path string, s *shape, each func(path string, m *member)) {
	if s.as != "" {
		return // it is told of where that is
	}
	if s.form == formRecords {
		path += "[]"
	}
	for i := range s.members {
		m := &s.members[i]
		each(path+"."+m.name, m)
		memberPaths(path+"."+m.name, &m.shape, each)
	}
}

func TestEveryKeyOfThePolicyIsOnItsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	onPage := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]]+)` \\|").FindAllSubmatch(page, -1) {
		onPage["policy."+string(m[1])] = true
	}
	inCode := map[string]bool{}
	for i := range policyKeys {
		k := &policyKeys[i]
		inCode[k.name] = true
		memberPaths(k.name, &k.shape, func(path string, m *member) {
			inCode[path] = true
			if m.doc == "" {
				t.Errorf("%s says nothing of itself", path)
			}
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(onPage))); diff != "" {
		t.Errorf("docs/policy.md (-code +page):\n%s", diff)
	}
}

// The words that the table lists for a value are those that load.
func TestO2TheWordsOfTheTableAreThoseThatLoad(t *testing.T) {
	words := 0
	for i := range configKeys {
		k := &configKeys[i]
		if k.words == nil {
			continue
		}
		for _, w := range append(slices.Clone(k.words), "other", strings.ToUpper(k.words[0])) {
			env := map[string]string{k.variable(): w}
			if k.name == "tenancy" {
				env["WAYLEAVE_AUTH"] = "token"
			}
			c, err := loadText("", env, nil)
			if loads := err == nil && c.policy != nil; loads != slices.Contains(k.words, w) {
				t.Errorf("%s: %s loads: %v", k.name, w, loads)
			}
			words++
		}
	}
	if words < 20 {
		t.Errorf("only %d words were tried", words)
	}
}

// everyKey is a policy with every key and every member of it.
const everyKey = `
auth: token
policy:
  mode: strict
  purposes: [search]
  identity: {product_token: [one, two], user_agent: keep, contact: "mailto:a@example.org"}
  hosts:
    deny: [d.example]
    allow: ["*.a.example", "*"]
    rules:
      - {host: "*.r.example", action: require_licence, licence: "https://lic.example/a"}
      - {host: r.example, action: refuse}
  required_licence: ["https://std.example/by/4.0"]
  services:
    - plain.example
    - {host: paid.example, pace: true, price: {amount: "0.020", currency: USD}, charge_header: X-Charge}
    - {host: told.example, price: reported, charge_header: x-charge}
    - {host: vague.example, price: unknown}
  tunnels: [plain.example]
  allow_private: [10.0.0.0/8]
  spend: [{user: "a*", hosts: [s.example]}]
  terms:
    user_classes: [commercial]
    country: NO
    reporting: [{profile: "https://std.example/r", hosts: [n.example]}]
    agreements: [{host: n.example, reference: "7", reporting: "https://std.example/r"}]
    tdm_binds_ai_input: true
  allowances:
    - {name: team, user: "*", period: month, amount: "250.00", currency: USD, timezone: Europe/Berlin}
    - {name: one, user: one, period: day, amount: "1", currency: EUR}
  caps: {body_bytes: 8MiB, context_bytes: 10000}
  screens: {injection: on, pii: on, extract: on, limit_bytes: 1MiB, scope: all, exempt: [Text/CSS]}
  sessions:
    - user: ci-*
      mode: observe
      purposes: [ai-input]
      hosts: {deny: [other.example], allow: [x.example], rules: [{host: y.example, action: allow}]}
      required_licence: []
      caps: {body_bytes: 1}
      screens: {pii: on, limit_bytes: 5KiB, exempt: [text/html]}
    - {user: dev, hosts: {}}
`

// What is written arrives: each key changes the digest, or that of an overlay.
func TestO5EveryKeyOfThePolicyCounts(t *testing.T) {
	all := loadWhole(t, everyKey)
	lines := strings.Split(everyKey, "\n")
	tried := 0
	for i, line := range lines {
		if i < 4 || strings.TrimSpace(line) == "" || strings.HasSuffix(line, ":") || strings.Contains(line, "user: ci-*") || strings.Contains(line, "plain.example") {
			continue
		}
		text := strings.Join(slices.Concat(lines[:i], lines[i+1:]), "\n")
		if text = strings.Replace(text, "  spend:\n", "", 1); samePolicy(all, loadWhole(t, text)) {
			t.Errorf("without this line the policy is the same: %s", line)
		}
		tried++
	}
	if tried < 25 {
		t.Errorf("only %d lines were tried", tried)
	}
}

func uncommented() string {
	return "auth: token\n" + regexp.MustCompile(`(?m)^auth: .*\n`).ReplaceAllString(regexp.MustCompile(`(?m)^( *)#([^ #\n])`).ReplaceAllString(starter, "$1$2"), "")
}

func TestInitWritesTheDefaults(t *testing.T) {
	got, err := loadText(starter, nil, nil)
	if err != nil || got.policy == nil {
		t.Fatal(err, got)
	}
	want, err := loadText("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.written, got.written); diff != "" {
		t.Errorf("what init writes is not the default (-default +init):\n%s", diff)
	}
	if !samePolicy(got.policy, want.policy) {
		t.Error("what init writes is another policy than the default")
	}
}

func TestInitShowsEverySectionOfThePolicy(t *testing.T) {
	text := uncommented()
	c, err := loadText(text, nil, nil)
	if err != nil || c.policy == nil {
		t.Fatal(err, c)
	}
	for _, name := range knownUnder("policy") {
		if !strings.Contains(text, fmt.Sprintf("\n  %s:", name)) {
			t.Errorf("init shows no %s", name)
		}
	}
	for _, host := range []string{"api.openai.com", "registry.npmjs.org"} {
		if _, ok := c.policy.ServiceFor(host); !ok {
			t.Errorf("%s is no service in the examples", host)
		}
	}
}
