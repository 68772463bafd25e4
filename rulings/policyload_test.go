package rulings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestE82APolicyIsLoadedFromItsCanonicalForm(t *testing.T) {
	p, faults := NewPolicy(PolicyFile{
		AllowPrivate: []string{"10.0.0.0/8", "db.test", "::ffff:192.0.2.0/120"}, Services: []string{"*.api.test", "a.test"}, Tunnels: []string{"a.test"},
		Identity: IdentityFile{[]string{"zeta", "Alpha"}, "replace", "mailto:a&b@c.test"},
		Purposes: []string{"search", "ai-train"}, Spend: []SpendFile{{"team-*", []string{"b.test", "*.a.test"}}, {"buyer", []string{"*"}}},
		Terms: OperatorFile{
			UserClasses: []string{"education", "commercial"}, Country: "DE", TDMBindsAIInput: true,
			Reporting:  []ReportingFile{{"https://p.test/2", []string{"b.test", "a.test"}}, {"https://p.test/1", []string{"*"}}},
			Agreements: []AgreementFile{{"*.b.test", "contract <7>", "https://p.test/1"}, {"a.test", "", ""}},
		},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, p := range map[string]*Policy{"with everything in it": p, "default": DefaultPolicy()} {
		got, err := LoadPolicy(p.Canonical())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same := got.Digest() == p.Digest() && got.Class("x.api.test") == p.Class("x.api.test") && slices.Equal(got.Purposes, p.Purposes) &&
			got.MaySpend("team-1", "x.a.test") == p.MaySpend("team-1", "x.a.test") && fmt.Sprint(got.licensee("a.test")) == fmt.Sprint(p.licensee("a.test"))
		if !same {
			t.Errorf("%s: it is not the same policy", name)
		}
	}
}

func TestE82APolicyOfAnotherFormIsNotLoaded(t *testing.T) {
	good := DefaultPolicy().Canonical()
	for name, form := range map[string][]byte{
		"empty":               nil,
		"no JSON":             []byte("policy"),
		"white space":         append([]byte(" "), good...),
		"another format":      bytes.Replace(good, []byte("policy/1"), []byte("policy/2"), 1),
		"hosts out of order":  bytes.Replace(good, []byte(`"deny":[]`), []byte(`"deny":["b.test","a.test"]`), 1),
		"a member not known":  bytes.Replace(good, []byte(`"spend":[]`), []byte(`"spend":[],"t":1`), 1),
		"a faulty allowance":  bytes.Replace(good, []byte(`"allow_private":[]`), []byte(`"allow_private":["*"]`), 1),
		"an unknown identity": bytes.Replace(good, []byte(`"append"`), []byte(`"shout"`), 1),
	} {
		if bytes.Equal(form, good) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := LoadPolicy(form); !errors.Is(err, ErrPolicyForm) {
			t.Errorf("%s: %v, want ErrPolicyForm", name, err)
		}
	}
}

func FuzzLoadPolicyE82(f *testing.F) {
	f.Add(DefaultPolicy().Canonical())
	f.Add([]byte(`{"identity":{"product_token":[""]}}`))
	f.Add([]byte(`{"services":["a.test",{"charge_header":"x","host":"b.test","price":"reported"},{"host":"c.test","price":{"amount":"1.5","currency":"USD"}}],"allowances":[{"amount":"1","currency":"USD","name":"a","period":"day","timezone":"UTC","user":"*"}]}`))
	f.Add([]byte(`{"hosts":{"allow":["*"],"deny":["a.test"],"rules":[{"action":"require_licence","host":"*","licence":"https://a.test/"}]},"caps":{"body_bytes":1},"required_licence":["https://a.test/"]}`))
	f.Fuzz(func(t *testing.T, form []byte) {
		if p, err := LoadPolicy(form); err == nil && !bytes.Equal(p.Canonical(), form) {
			t.Error("what was loaded has another form")
		}
	})
}
