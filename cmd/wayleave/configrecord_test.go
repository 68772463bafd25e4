package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// termsText is the part of a policy that says what agents and the operator do,
// are and have agreed: every key of it, and every member of their mappings.
const termsText = `
  purposes: [ai-train, search]
  spend:
    - user: "buyer-*"
      hosts: [shop.example, "*.pay.example"]
    - {user: alice, hosts: ["*"]}
  terms:
    user_classes: [commercial, research]
    country: NO
    reporting: [{profile: "https://std.example/r", hosts: ["*.news.example"]}]
    agreements:
      - {host: a.example, reference: "contract <1>", reporting: "https://std.example/r"}
      - reference: second
        host: b.example
    tdm_binds_ai_input: true
`

var termsFile = rulings.PolicyFile{
	Mode:     "observe",
	Purposes: []string{"ai-train", "search"},
	Identity: rulings.IdentityFile{ProductToken: []string{"wayleave"}, UserAgent: "append"},
	Spend: []rulings.SpendFile{
		{User: "buyer-*", Hosts: []string{"shop.example", "*.pay.example"}},
		{User: "alice", Hosts: []string{"*"}},
	},
	Terms: rulings.OperatorFile{
		UserClasses: []string{"commercial", "research"},
		Country:     "NO",
		Reporting:   []rulings.ReportingFile{{Profile: "https://std.example/r", Hosts: []string{"*.news.example"}}},
		Agreements: []rulings.AgreementFile{
			{Host: "a.example", Reference: "contract <1>", Reporting: "https://std.example/r"},
			{Host: "b.example", Reference: "second"},
		},
		TDMBindsAIInput: true,
	},
	Screens: rulings.ScreensFile{Injection: "off", PII: "off", Extract: "off", LimitBytes: 2 << 20, Scope: "sources"},
}

func TestT2T92T97T105KeysOfTermsAreRead(t *testing.T) {
	c, err := loadText("policy:"+termsText, nil, nil)
	if err != nil || c.policy == nil {
		t.Fatal(err, c)
	}
	if diff := cmp.Diff(termsFile, c.policyFile); diff != "" {
		t.Error(diff)
	}
}

func TestA20TheEnvironmentHasMappingsInJSON(t *testing.T) {
	env := map[string]string{
		"WAYLEAVE_POLICY_PURPOSES":                 "ai-train, search",
		"WAYLEAVE_POLICY_SPEND":                    `[{"user":"buyer-*","hosts":["shop.example","*.pay.example"]}, {"hosts":["*"],"user":"alice"}]`,
		"WAYLEAVE_POLICY_TERMS_USER_CLASSES":       "commercial,research",
		"WAYLEAVE_POLICY_TERMS_COUNTRY":            "NO",
		"WAYLEAVE_POLICY_TERMS_REPORTING":          `[{"profile":"https://std.example/r","hosts":["*.news.example"]}]`,
		"WAYLEAVE_POLICY_TERMS_AGREEMENTS":         `[{"host":"a.example","reference":"contract <1>","reporting":"https://std.example/r"},{"host":"b.example","reference":"second"}]`,
		"WAYLEAVE_POLICY_TERMS_TDM_BINDS_AI_INPUT": "true",
	}
	c, err := loadText("policy: {spend: [{user: of-the-file, hosts: [file.example]}]}\n", env, nil)
	if err != nil || c.policy == nil {
		t.Fatal(err, c)
	}
	if diff := cmp.Diff(termsFile, c.policyFile); diff != "" {
		t.Error(diff)
	}
	file, err := loadText("policy:"+termsText, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.policy.Digest() != file.policy.Digest() {
		t.Error("O5: the same policy has another digest when the environment has it")
	}
	if diff := cmp.Diff(file.written["policy.spend"], c.written["policy.spend"]); diff != "" {
		t.Errorf("the order of members changes what was written: %s", diff)
	}
}

func TestO2ListsOfMappingsMayBeEmpty(t *testing.T) {
	c, err := loadText("policy: {spend: [], terms: {reporting: [], agreements: [], user_classes: []}}\n", nil, nil)
	if err != nil || c.policy == nil {
		t.Fatal(err, c)
	}
	if got, want := c.policy.Digest(), rulings.DefaultPolicy().Digest(); got != want {
		t.Errorf("digest %s, want the default's %s", got, want)
	}
}

// recordFaults are faults of the keys whose items are mappings: each at its own
// line, with its full key.
var recordFaults = map[string]struct {
	file string
	want []string // beginning of each fault, in order
}{
	"O2 an unknown member, the nearest one and what is missing": {
		"policy:\n  spend:\n    - user: a\n      host: [a.example]\n",
		[]string{
			"c.yaml:3: policy.spend[0].hosts: is missing; known here: user, hosts",
			"c.yaml:4: policy.spend[0].host: unknown key; the nearest known one is hosts (known here: user, hosts)",
		},
	},
	"O2 an unknown member beside all known ones": {
		"policy:\n  terms:\n    agreements:\n      - {host: a.example, reference: r}\n      - host: b.example\n        reference: s\n        until: 2030\n",
		[]string{"c.yaml:7: policy.terms.agreements[1].until: unknown key (known here: host, reference, reporting)"},
	},
	"O2 a member given twice": {
		"policy:\n  spend:\n    - user: a\n      hosts: [a.example]\n      user: b\n",
		[]string{"c.yaml:5: policy.spend[0].user: given twice"},
	},
	"O2 members of another type": {
		"policy:\n  spend:\n    - user: [a]\n      hosts: a.example\n    - user: 5\n      hosts:\n        - a.example\n        - 7\n    - {user: , hosts: {a: b}}\n",
		[]string{
			"c.yaml:3: policy.spend[0].user: wants text, not a list",
			"c.yaml:4: policy.spend[0].hosts: wants a list of text, such as [a, b], not text",
			"c.yaml:5: policy.spend[1].user: wants text, not a number",
			"c.yaml:8: policy.spend[1].hosts[1]: wants a list of text, such as [a, b]; this is a number",
			"c.yaml:9: policy.spend[2].user: wants text, not nothing",
			"c.yaml:9: policy.spend[2].hosts: wants a list of text, such as [a, b], not a mapping",
		},
	},
	"O2 items that are no mappings": {
		"policy:\n  terms:\n    reporting:\n      - https://std.example/r\n      -\n",
		[]string{
			"c.yaml:4: policy.terms.reporting[0]: wants a list of mappings {profile, hosts}; this is text",
			"c.yaml:5: policy.terms.reporting[1]: wants a list of mappings {profile, hosts}; this is nothing",
		},
	},
	"O2 a mapping in place of a list of them": {
		"policy:\n  spend: {user: a, hosts: [a.example]}\n",
		[]string{"c.yaml:2: policy.spend: wants a list of mappings {user, hosts}, not a mapping"},
	},
	"O2 a key without a value": {
		"policy:\n  spend:\n  terms:\n",
		[]string{"c.yaml:2: policy.spend: has no value"},
	},
	"O2 a required text that is empty": {
		"policy:\n  terms:\n    agreements:\n      - host: a.example\n        reference: \"\"\n",
		[]string{"c.yaml:5: policy.terms.agreements[0].reference: is empty"},
	},
	"O2 members whose names are no text": {
		"policy:\n  spend:\n    - {user: &user a, hosts: [a], 1: b, *user : c, <<: {user: d}, [e]: f}\n",
		[]string{
			"c.yaml:3: policy.spend[0].1: unknown key", "c.yaml:3: policy.spend[0].user: unknown key",
			"c.yaml:3: policy.spend[0].<<: unknown key", "c.yaml:3: policy.spend[0].: unknown key",
		},
	},
	"O2 a list that holds itself": {
		"policy:\n  spend: &a\n    - {user: x, hosts: *a}\n    - *a\n",
		[]string{
			"c.yaml:3: policy.spend[0].hosts[0]: wants a list of text, such as [a, b]; this is a mapping",
			"c.yaml:4: policy.spend[0].hosts[1]: wants a list of text, such as [a, b]; this is a list",
			"c.yaml:4: policy.spend[1]: wants a list of mappings {user, hosts}; this is a list",
		},
	},
	"O7 a bad host pattern stands at its own line": {
		"policy:\n  spend:\n    - user: a\n      hosts:\n        - a.example\n        - b.*.example\n    - user: \"a*b\"\n      hosts: []\n",
		[]string{
			`c.yaml:6: policy.spend[0].hosts[1]: "b.*.example" is no host pattern`,
			`c.yaml:7: policy.spend[1].user: "a*b" is no user name`,
			"c.yaml:8: policy.spend[1].hosts: is empty; name the hosts",
		},
	},
	"T88 T92 values of terms stand at their own lines": {
		`policy:
  terms:
    user_classes:
      - commercial
      - two words
    country: Germany
    reporting:
      - {profile: "https://std.example/r", hosts: [a.example]}
      - profile: monthly
        hosts:
          - a..example
    agreements:
      - reference: r
        host: "*a.example"
    tdm_binds_ai_input: "true"
`,
		[]string{
			`c.yaml:5: policy.terms.user_classes[1]: "two words" is no user class`,
			`c.yaml:6: policy.terms.country: "Germany" is no country`,
			`c.yaml:9: policy.terms.reporting[1].profile: "monthly" is no profile`,
			`c.yaml:11: policy.terms.reporting[1].hosts[0]: "a..example" is no host pattern`,
			`c.yaml:14: policy.terms.agreements[0].host: "*a.example" is no host pattern`,
			"c.yaml:15: policy.terms.tdm_binds_ai_input: wants true or false, not text",
		},
	},
	"T2 purposes that are unknown, given twice": {
		"policy:\n  purposes:\n    - ai-input\n    - training\n    - ai-input\n",
		[]string{
			`c.yaml:4: policy.purposes[1]: "training" is none of ai-input, ai-train, ai-index, search`,
			`c.yaml:5: policy.purposes[2]: "ai-input" is given twice`,
		},
	},
	"T2 no purposes": {
		"policy: {purposes: []}\n",
		[]string{"c.yaml:1: policy.purposes: is empty"},
	},
	"T2 purposes that are no list": {
		"policy: {purposes: search}\n",
		[]string{"c.yaml:1: policy.purposes: wants a list of text, such as [a, b], not text"},
	},
	"O2 an unknown key of terms": {
		"policy:\n  terms:\n    user_class: [commercial]\n",
		[]string{"c.yaml:3: policy.terms.user_class: unknown key; the nearest known one is user_classes (known here: user_classes, country, reporting, agreements, tdm_binds_ai_input)"},
	},
	"O2 a service given twice in one mapping": {
		"policy:\n  services:\n    - host: a.example\n      host: b.example\n",
		[]string{"c.yaml:4: policy.services[0].host: given twice"},
	},
}

func TestConfigRecordFaults(t *testing.T) {
	for name, tt := range recordFaults {
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

// A small file whose aliases stand for a long list is refused, not written out.
func TestO2AliasesMakeNoListTooLongToHold(t *testing.T) {
	hosts := strings.Repeat("a,", maxItems/4)
	const items = "policy: {spend: [{user: a, hosts: &h [%H]}%R]}\n"
	text := strings.NewReplacer("%H", hosts, "%R", strings.Repeat(", {user: a, hosts: *h}", 4)).Replace(items)
	c, err := loadText(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkFaults(t, c.policyFaults, []string{"c.yaml:1: policy.spend: is too many"})
	text = "policy: {spend: [&r {user: a, hosts: [a]}" + strings.Repeat(",*r", maxItems/2) + "]}\n"
	if c, err = loadText(text, nil, nil); err != nil {
		t.Fatal(err)
	}
	checkFaults(t, c.policyFaults, []string{"c.yaml:1: policy.spend: is too many"})
}

func TestO2AFaultNobodyHasWrittenStandsAtTheNearest(t *testing.T) {
	c := newConfig("c.yaml")
	c.policyAt = map[string]position{"policy.spend": {"c.yaml", 2, 3}, "policy.spend[1]": {"c.yaml", 5, 7}, "policy.spend[1].hosts[0]": {"c.yaml", 7, 11}}
	for key, want := range map[string]string{
		"policy.spend[1].hosts[0]": "c.yaml:7",
		"policy.spend[1].hosts":    "c.yaml:5",
		"policy.spend[1].user":     "c.yaml:5",
		"policy.spend[0].hosts[3]": "c.yaml:2",
		"policy.terms.country":     "default",
	} {
		if got := c.place(key).String(); got != want {
			t.Errorf("%s stands at %s, want %s", key, got, want)
		}
	}
}

func TestO2FaultsOfALaterLayerStandThere(t *testing.T) {
	file := "policy:\n  spend:\n    - user: a\n      hosts: [\"*.*\", \"b.*\"]\n"
	env := map[string]string{"WAYLEAVE_POLICY_SPEND": `[{"user":"a","hosts":["c.*"]}]`}
	c, err := loadText(file, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkFaults(t, c.policyFaults, []string{`WAYLEAVE_POLICY_SPEND: policy.spend[0].hosts[0]: "c.*" is no host pattern`})
	if at, kept := c.policyAt["policy.spend[0].hosts[1]"]; kept {
		t.Errorf("the file's value is still known at %s", at)
	}
}

func TestO4O5ChangedTermsAreAnotherPolicyAndNeedNoRestart(t *testing.T) {
	before, err := loadText("policy:"+termsText, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{
		"[ai-train, search]":         "[search, ai-train]",
		"shop.example":               "shop2.example",
		"user: alice":                "user: bob",
		"[commercial, research]":     "[commercial]",
		"country: NO":                "country: SE",
		"profile: \"https":           "profile: \"http",
		"*.news.example":             "news.example",
		"contract <1>":               "contract <2>",
		"host: b.example":            "host: c.example",
		"tdm_binds_ai_input: true":   "tdm_binds_ai_input: false",
		"        host: b.example\n":  "        host: b.example\n        reporting: \"https://std.example/r\"\n",
		"    - {user: alice, hosts:": "    - {user: \"alice*\", hosts:",
	} {
		text := strings.Replace(termsText, old, changed, 1)
		if text == termsText {
			t.Fatalf("%q is not there to be changed", old)
		}
		after, err := loadText("policy:"+text, nil, nil)
		if err != nil || after.policy == nil {
			t.Fatal(err, after)
		}
		if after.policy.Digest() == before.policy.Digest() {
			t.Errorf("%q in place of %q is the same policy", changed, old)
		}
		if keys := before.fixedChanges(after); len(keys) > 0 {
			t.Errorf("%q in place of %q needs a restart for %q", changed, old, keys)
		}
	}
}

func TestExamplesOfTheDocumentationLoad(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(examples) < 2 {
		t.Fatalf("found only %d examples", len(examples))
	}
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	inPage := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(page, -1)
	if len(inPage) == 0 {
		t.Fatal("docs/policy.md has no example")
	}
	for _, example := range append(examples, inPage...) {
		c := newConfig("c.yaml")
		settings, found := parseConfig("c.yaml", example[1])
		found = append(found, c.apply(settings)...)
		found = append(found, c.checkPolicy()...)
		for _, f := range found {
			if f.key != "upstream.ca_file" { // not on this machine
				t.Error(f)
			}
		}
	}
	variable := regexp.MustCompile(`(?m)^.(WAYLEAVE_POLICY_SPEND)='(.*)'`).FindSubmatch(text)
	if variable == nil {
		t.Fatal("no example of a variable")
	}
	if c, err := loadText("", map[string]string{string(variable[1]): string(variable[2])}, nil); err != nil || c.policy == nil {
		t.Error(err, c.policyFaults)
	}
}
