package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// wholePolicy has every member.
func wholePolicy() Policy {
	p, faults := rulings.NewPolicy(rulings.PolicyFile{Sessions: []rulings.SessionFile{{User: "ci-*", Mode: "strict"}}})
	if len(faults) > 0 {
		panic(faults)
	}
	v := Policy{Digest: p.Digest().String(), Policy: p.Canonical()}
	for _, o := range p.Overlays() {
		v.Sessions = append(v.Sessions, SessionPolicy{o.User, o.Policy.Digest().String(), o.Policy.Canonical()})
	}
	return v
}

var someFaults = []PolicyFault{
	{At: "wayleave.yaml:3", Line: 3, Key: "policy.mod", Problem: "unknown key"},
	{At: "WAYLEAVE_POLICY_MODE", Key: "policy.mode", Problem: `"lax" is none of observe, prefer, strict`},
}

// checkDraft finds a fault in drafts that hold the word strickt.
func checkDraft(draft []byte) PolicyCheck {
	if strings.Contains(string(draft), "strickt") {
		return PolicyCheck{Policy: Policy{Faults: someFaults}}
	}
	return PolicyCheck{Loads: true, Changed: draft != nil, Restart: []string{"listen"}, Policy: wholePolicy()}
}

func TestA14ThePolicyInForceIsTold(t *testing.T) {
	w := newWorld(t, nil)
	a := w.ask(http.MethodGet, "/v1/policy", "", nil)
	var got Policy
	if err := json.Unmarshal(a.body, &got); err != nil || a.StatusCode != http.StatusOK {
		t.Fatal(err, a.StatusCode)
	}
	if diff := cmp.Diff(wholePolicy(), got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(a.body), `"policy":`+string(wholePolicy().Policy)) {
		t.Errorf("the canonical form is not told byte for byte: %s", a.body)
	}
}

func TestA14ADraftIsPassedOnAsItIs(t *testing.T) {
	var got []byte
	w := newWorld(t, func(o *Options) {
		o.CheckPolicy = func(draft []byte) PolicyCheck { got = draft; return PolicyCheck{Loads: true} }
	})
	for body, want := range map[string]string{
		`{}`:                               "",
		`{"policy":{"mode":"strict"}}`:     `{"mode":"strict"}`,
		`{"policy":"mode: strict\n# why"}`: `"mode: strict\n# why"`,
	} {
		got = []byte("not asked")
		a := w.ask(http.MethodPost, "/v1/policy/check", body, nil)
		if a.StatusCode != http.StatusOK || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s: status %d, passed on %q", body, a.StatusCode, got)
		}
	}
	for _, body := range []string{`{"policy":5}`, `{"policy":[]}`, `{"policy":null}`, `{"policy":true}`, `{"polity":{}}`, `[]`} {
		got = []byte("not asked")
		w.ask(http.MethodPost, "/v1/policy/check", body, nil).isProblem(t, http.StatusBadRequest)
		if string(got) != "not asked" {
			t.Errorf("%s was passed on", body)
		}
	}
}

func TestO4AReloadThatFailsTellsTheFaults(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.ReloadPolicy = func() (PolicyCheck, error) { return PolicyCheck{Policy: Policy{Faults: someFaults}}, nil }
	})
	a := w.ask(http.MethodPost, "/v1/policy/reload", "", nil)
	if kind := a.Header.Get("Content-Type"); a.StatusCode != http.StatusUnprocessableEntity || kind != "application/problem+json" {
		t.Fatalf("status %d, type %s", a.StatusCode, kind)
	}
	var p struct {
		Status int
		Detail string
		Faults []PolicyFault
	}
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != http.StatusUnprocessableEntity || p.Detail == "" {
		t.Errorf("%v: %s", err, a.body)
	}
	if diff := cmp.Diff(someFaults, p.Faults); diff != "" {
		t.Error(diff)
	}
	readDocument(t).holdAgainst(t, readDocument(t).Paths["/v1/policy/reload"]["post"], a)
}

func TestA3AReloadThatBreaksTellsNothingOfTheMachine(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.ReloadPolicy = func() (PolicyCheck, error) {
			return PolicyCheck{}, errors.New("open /var/lib/wayleave/terms: disk full")
		}
	})
	a := w.ask(http.MethodPost, "/v1/policy/reload", "", nil)
	a.isProblem(t, http.StatusInternalServerError)
	if strings.Contains(string(a.body), "/var") {
		t.Errorf("%s", a.body)
	}
}

func TestA14AnEdgeWithoutAPolicyToTellSaysSo(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Policy, o.CheckPolicy, o.ReloadPolicy = nil, nil, nil })
	w.ask(http.MethodGet, "/v1/policy", "", nil).isProblem(t, http.StatusServiceUnavailable)
	w.ask(http.MethodPost, "/v1/policy/check", "{}", nil).isProblem(t, http.StatusServiceUnavailable)
	w.ask(http.MethodPost, "/v1/policy/reload", "", nil).isProblem(t, http.StatusServiceUnavailable)
}
