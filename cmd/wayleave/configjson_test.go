package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestA20RecordsInTheEnvironmentAreReadStrictly(t *testing.T) {
	tests := map[string]struct {
		value string
		want  []string // beginning of each fault behind the variable's name
	}{
		"no JSON": {
			"shop.example", []string{"policy.spend: is no JSON: invalid character 's' looking for beginning of value; here it wants a list of mappings {user, hosts} as a JSON array"},
		},
		"YAML that is no JSON":       {"[{user: a, hosts: [a.example]}]", []string{"policy.spend: is no JSON"}},
		"something behind the array": {"[] []", []string{"policy.spend: is no JSON"}},
		"an array without its end":   {`[{"user":"a"`, []string{"policy.spend: is no JSON"}},
		"an object":                  {`{"user":"a","hosts":["a.example"]}`, []string{"policy.spend: wants a list of mappings {user, hosts}, not a mapping"}},
		"null":                       {"null", []string{"policy.spend: has no value"}},
		"items that are no objects": {
			`["a", 1, null, [], true]`,
			[]string{
				"policy.spend[0]: wants a list of mappings {user, hosts}; this is text", "policy.spend[1]: wants a list of mappings {user, hosts}; this is a number",
				"policy.spend[2]: wants a list of mappings {user, hosts}; this is nothing", "policy.spend[3]: wants a list of mappings {user, hosts}; this is a list",
				"policy.spend[4]: wants a list of mappings {user, hosts}; this is true or false",
			},
		},
		"a member in another letter case": {
			`[{"User":"a","hosts":["a.example"]}]`,
			[]string{"policy.spend[0].User: unknown key; the nearest known one is user", "policy.spend[0].user: is missing"},
		},
		"a member given twice": {`[{"user":"a","user":"b","hosts":["a.example"]}]`, []string{"policy.spend[0].user: given twice"}},
		"members of another type": {
			`[{"user":7,"hosts":"a.example"},{"user":"a","hosts":["a.example",null]}]`,
			[]string{"policy.spend[0].user: wants text, not a number", "policy.spend[0].hosts: wants a list of text", "policy.spend[1].hosts[1]: wants a list of text"},
		},
		"values that the policy refuses": {
			`[{"user":"a*b","hosts":["a.example","*.*"]}]`,
			[]string{`policy.spend[0].user: "a*b" is no user name`, `policy.spend[0].hosts[1]: "*.*" is no host pattern`},
		},
		"octets that are no text":         {"[{\"user\":\"a\xff\",\"hosts\":[\"a.example\"]}]", []string{"policy.spend: is no JSON: a string in it is no Unicode text"}},
		"half a surrogate":                {`[{"user":"\ud800","hosts":["a.example"]}]`, []string{"policy.spend: is no JSON: a string in it is no Unicode text"}},
		"half a surrogate in a name":      {`[{"user\udc00":"a","hosts":["a.example"]}]`, []string{"policy.spend: is no JSON: a string in it is no Unicode text"}},
		"a number too large for a float":  {"[1e999]", []string{"policy.spend[0]: wants a list of mappings"}},
		"arrays in arrays without an end": {strings.Repeat("[", 100_000), []string{"policy.spend: is no JSON: invalid character '[' exceeded max depth"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := loadText("", map[string]string{"WAYLEAVE_POLICY_SPEND": tt.value}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.policy != nil {
				t.Error("O3: there is a policy in place of the one that does not load")
			}
			want := make([]string, len(tt.want))
			for i, w := range tt.want {
				want[i] = "WAYLEAVE_POLICY_SPEND: " + w
			}
			checkFaults(t, c.policyFaults, want)
		})
	}
}

func TestA20StringsOfTheEnvironmentArriveUnchanged(t *testing.T) {
	for written, want := range map[string]string{
		`"contract \u0031 \"a\/b\" <c>"`: `contract 1 "a/b" <c>`,
		"\" a\u2028b\u0085 \"":           " a\u2028b\u0085 ",
		`"\ud83d\ude00\t"`:               "\U0001f600\t",
		`"null"`:                         "null",
	} {
		value := `[{"host":"a.example","reference":` + written + `}]`
		c, err := loadText("", map[string]string{"WAYLEAVE_POLICY_TERMS_AGREEMENTS": value}, nil)
		if err != nil || c.policy == nil {
			t.Fatal(err, c)
		}
		if diff := cmp.Diff(want, c.policyFile.Terms.Agreements[0].Reference); diff != "" {
			t.Error(diff)
		}
	}
}

// Whatever a variable holds is either read or a fault on one line, and what was
// read reads the same again.
func FuzzWrittenRecords(f *testing.F) {
	seeds := []string{
		"", "[]", "null", `[{"user":"a*","hosts":["shop.example"]}]`, `[{"user":"a","user":"b"}]`, `[{"User":1,"hosts":[{}]}]`,
		`[[[{}]]]`, `["\ud800"]`, "[1e999]", "{\"a\\n\":1}", "[] x", "\xff", `[{"user":"","hosts":[]}]`,
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	key := findKey("policy.spend")
	f.Fuzz(func(t *testing.T, text string) {
		at := position{source: key.variable()}
		settings, found := key.written(text, at)
		if len(settings) != 1 {
			t.Fatalf("%d settings", len(settings))
		}
		for _, one := range found {
			if one.at != at || strings.ContainsAny(one.String(), "\n\r") {
				t.Errorf("fault %q does not stand on one line with its place", one)
			}
		}
		if len(found) > 0 {
			return
		}
		c := newConfig("")
		if bad := c.apply(settings); len(bad) > 0 {
			t.Fatalf("read, but not set: %v", bad)
		}
		again, found := key.written("["+strings.Join(c.written[key.name], ",")+"]", at)
		if len(found) > 0 {
			t.Fatalf("read once, but not again: %v", found)
		}
		if diff := cmp.Diff(settings[0].values, again[0].values); diff != "" {
			t.Error(diff)
		}
		c.checkPolicy()
	})
}
