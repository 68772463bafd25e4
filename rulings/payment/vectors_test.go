package payment

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/internal/vectors"
)

type vector struct {
	ID, Kind, About, Body string
	Status                int
	Fields                http.Header
	RequestFields         http.Header `json:"request_fields"`
	MaySpend              bool        `json:"may_spend"`
	Expect                map[string]json.RawMessage
}

// runners holds, for each kind of case that this package can answer, how it is
// run.
var runners = map[string]func(*testing.T, vector){"challenge": runChallenge, "spending": runSpending}

// TestVectorsT101ToT106 runs the cases of kind challenge and spending in every
// tdm_and_others.json below the folder that WAYLEAVE_VECTORS names, or below
// testdata/vectors. The other kinds are those of other packages.
func TestVectorsT101ToT106(t *testing.T) {
	count := make(map[string]int)
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("challenge", "spending")) {
		count[v.Kind]++
		t.Run(v.ID, func(t *testing.T) { runners[v.Kind](t, v) })
	}
	for kind := range runners {
		if count[kind] == 0 {
			t.Errorf("no case of kind %s", kind)
		}
	}
}

func runChallenge(t *testing.T, v vector) {
	h := make(http.Header)
	for name, lines := range v.Fields {
		for _, line := range lines {
			h.Add(name, line)
		}
	}
	d := Demanded(v.Status, h, []byte(v.Body))
	for member, got := range map[string]string{"rail": d.Rail, "price": d.Price, "currency": d.Currency, "charge": d.Charge} {
		raw, ok := v.Expect[member]
		if !ok {
			continue
		}
		var want string // null, an unknown price, is empty
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %s %q, want %q", v.About, member, got, want)
		}
	}
	if raw, ok := v.Expect["noted"]; ok {
		var want []string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Noted, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: noted (-want +got):\n%s", v.About, diff)
		}
	}
}

func runSpending(t *testing.T, v vector) {
	var want struct{ Ruling, Reason string }
	if err := json.Unmarshal(v.Expect["ruling"], &want.Ruling); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(v.Expect["reason"], &want.Reason); err != nil {
		t.Fatal(err)
	}
	ruling, reason := "proceed", ""
	if len(Spending(v.RequestFields)) > 0 && !v.MaySpend {
		ruling, reason = "refuse", "spend_not_allowed"
	}
	if ruling != want.Ruling || reason != want.Reason {
		t.Errorf("%s: %s %s, want %s %s", v.About, ruling, reason, want.Ruling, want.Reason)
	}
}
