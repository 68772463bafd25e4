package allowances

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/internal/vectors"
	"go.yaml.in/yaml/v3"
)

// A vector is a case of policy.json, with what an allowance has to do with.
type vector struct {
	ID, Policy string
	Crossing   struct {
		URL, User                      string
		Spent, Reserved, Receipt, Dial string
	}
	Expect map[string]json.RawMessage
}

// An expectation is what a mode does.
type expectation struct {
	Outcome, Stage, Reason, Basis string
	Breach, Gaps                  []string
	SpentAfter                    string `json:"spent_after"`
}

// policyOf is the part of a policy that has to do with money.
type policyOf struct {
	Services   []yaml.Node
	Allowances []struct{ Name, User, Period, Amount, Currency string }
}

// TestVectorsO30ToO34 runs the cases of money in every policy.json below the
// folder that WAYLEAVE_VECTORS names, or below testdata/vectors, on a ledger: what
// the proxy does with the verdict is its own test's matter.
func TestVectorsO30ToO34(t *testing.T) {
	count := 0
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "policy.json", vectors.Group("money")) {
		for _, mode := range []string{"observe", "prefer", "strict"} {
			var want expectation
			if v.Expect[mode] == nil {
				continue
			}
			must(t, json.Unmarshal(v.Expect[mode], &want))
			count++
			t.Run(v.ID+" "+mode, func(t *testing.T) { v.run(t, mode != "strict", want) })
		}
	}
	if count == 0 {
		t.Fatal("no cases of money")
	}
}

// run lets the crossing of v through the ledger as a proxy would.
func (v vector) run(t *testing.T, carry bool, want expectation) {
	var policy policyOf
	must(t, yaml.Unmarshal([]byte(v.Policy), &policy))
	b := newBench(t)
	all, covering := v.allowances(t, policy)
	b.prepare(all[0], v)
	price := v.price(t, policy)
	verdict, err := b.Reserve(t.Context(), covering, Request{Crossing: "s/1", Price: price, Carry: carry})
	must(t, err)
	reasons := slices.DeleteFunc(slices.Clone(want.Breach), func(r string) bool { return !strings.HasPrefix(r, "allowance_") })
	if strings.HasPrefix(want.Reason, "allowance_") {
		reasons = append(reasons, want.Reason)
	}
	var found []string
	if verdict.Outcome != Reserved {
		found = append(found, verdict.Outcome.String())
	}
	sent := carry || verdict.Outcome == Reserved
	switch {
	case !sent:
	case v.Crossing.Dial != "":
		must(t, verdict.Reservation.Release())
	default:
		s, err := verdict.Reservation.Settle(v.charge(price))
		must(t, err)
		if s.Unknown != "" && verdict.Outcome == Reserved {
			found = append(found, Unenforceable.String())
		}
		if want.Basis != "" && want.Basis != string(s.Basis) {
			t.Errorf("basis %s, want %s", s.Basis, want.Basis)
		}
	}
	if !slices.Equal(found, reasons) || sent == (want.Outcome == "refused") {
		t.Errorf("%v, %v, want %s %v", found, verdict, want.Outcome, reasons)
	}
	v.after(t, b, all[0], want.SpentAfter)
}

// prepare brings the ledger into the state before the crossing.
func (b *bench) prepare(a Allowance, v vector) {
	if v.Crossing.Spent == "unknown" {
		b.settle(b.carry(a, usd("0"), Reserved), Unreadable)
	} else if v.Crossing.Spent != "" {
		r, err := b.Reserve(b.t.Context(), []Allowance{a}, Request{Price: usd("0"), Carry: true})
		must(b.t, err)
		b.settle(r.Reservation, observe(v.Crossing.Spent))
	}
	if v.Crossing.Reserved != "" {
		_, err := b.Reserve(b.t.Context(), []Allowance{a}, Request{Price: usd(v.Crossing.Reserved), Carry: true})
		must(b.t, err)
	}
}

func (v vector) after(t *testing.T, b *bench, a Allowance, want string) {
	s, err := b.Spent(t.Context(), a)
	must(t, err)
	if want == "unknown" || want == "" {
		if (s.Unknown == "") == (want == "unknown") {
			t.Errorf("spent %v (%s), want %s", s.Spent, s.Unknown, want)
		}
		return
	}
	if amount, err := money.Parse(want); err != nil || s.Spent != amount || s.Unknown != "" {
		t.Errorf("spent %v (%s), want %s", s.Spent, s.Unknown, want)
	}
}

// allowances returns those of the policy, and those that the crossing's user has.
func (v vector) allowances(t *testing.T, policy policyOf) (all, covering []Allowance) {
	user := v.Crossing.User
	for _, p := range policy.Allowances {
		m, err := money.New(p.Amount, p.Currency)
		must(t, err)
		a := Allowance{Name: p.Name, Period: Period(p.Period), Amount: m.Amount, Currency: m.Currency}
		all = append(all, a)
		prefix, any := strings.CutSuffix(p.User, "*")
		if p.User == "" || user == p.User || any && (prefix == "" || strings.HasPrefix(user, prefix)) {
			covering = append(covering, a)
		}
	}
	return all, covering
}

// price returns what the policy says of the crossing's host.
func (v vector) price(t *testing.T, policy policyOf) Price {
	u, err := url.Parse(v.Crossing.URL)
	must(t, err)
	for _, node := range policy.Services {
		var service struct {
			Host  string
			Price yaml.Node
		}
		if node.Decode(&service) != nil || service.Host != u.Hostname() {
			continue
		}
		var fixed struct{ Amount, Currency string }
		if service.Price.Decode(&fixed) == nil {
			m, err := money.New(fixed.Amount, fixed.Currency)
			must(t, err)
			return Price{Basis: Declared, Money: m}
		}
		return Price{Basis: map[string]Basis{"reported": Receipt, "unknown": Unknown}[service.Price.Value]}
	}
	t.Fatalf("no price of %s", u.Hostname())
	return Price{}
}

// charge reads the receipt as a proxy would: an amount in the allowance's currency,
// or in the one behind it.
func (v vector) charge(price Price) Charge {
	amount, currency, named := strings.Cut(v.Crossing.Receipt, " ")
	if !named {
		currency = "USD"
	}
	switch m, err := money.New(amount, currency); {
	case v.Crossing.Receipt == "" || price.Basis == Unknown:
		return Unnamed
	case err != nil:
		return Unreadable
	default:
		return Observed(m)
	}
}
