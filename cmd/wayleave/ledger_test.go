package main

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wayleave/wayleave/admin"
)

// Operators read how allowances stand in the status and the figures, in the order
// of the policy in force, also behind a reload.
func TestA5_A16_HowAllowancesStand(t *testing.T) {
	const services = "policy: {allow_private: [127.0.0.0/8], services: [{host: 127.0.0.1, price: {amount: \"0.02\", currency: USD}}], allowances: ["
	w := newPolicyWorld(t, services+"{name: month, user: \"*\", period: month, amount: \"250.00\", currency: USD}, {name: day, user: \"x-*\", period: day, amount: \"1\", currency: EUR}]}\n")
	for range 3 {
		if status, err := w.cross(t.Context(), w.site.URL+"/a"); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
	}
	status := func() (s admin.Status) {
		t.Helper()
		w.ask(http.MethodGet, "/v1/status", "", &s)
		for _, a := range s.Allowances {
			if a.From == nil || a.Until == nil || !a.From.Before(*a.Until) || a.From.After(time.Now()) || a.Until.Location() != time.UTC {
				t.Errorf("the period of %s: from %v, until %v", a.Name, a.From, a.Until)
			}
		}
		return s
	}
	without := cmpopts.IgnoreFields(admin.AllowanceStatus{}, "From", "Until")
	want := []admin.AllowanceStatus{
		{Name: "month", Period: "month", Currency: "USD", Amount: "250", Spent: "0.06", Reserved: "0", Enforceable: true},
		{Name: "day", Period: "day", Currency: "EUR", Amount: "1", Enforceable: true}, // nothing has asked for its ledger yet
	}
	s := status()
	if diff := cmp.Diff(want, s.Allowances, without); diff != "" {
		t.Errorf("allowances (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]admin.StoreStatus{{Name: "evidence", Healthy: true}, {Name: "pacing", Healthy: true}, {Name: "terms", Healthy: true}, {Name: "allowances", Healthy: true}}, s.Stores); diff != "" {
		t.Errorf("stores (-want +got):\n%s", diff)
	}
	w.counted(
		`wayleave_allowance_amount{allowance="month",currency="USD"} 250`, `wayleave_allowance_spent{allowance="month",currency="USD"} 0.06`,
		`wayleave_allowance_reserved{allowance="month",currency="USD"} 0`, `wayleave_allowance_enforceable{allowance="month",currency="USD"} 1`,
		`wayleave_allowance_crossings_total{allowance="month",decision="reserved"} 3`, `wayleave_allowance_gaps_total 0`,
	)

	// The ledger is a file like another, and what becomes of it is told.
	mustDo(t, os.Chmod(filepath.Join(w.edge.cfg.data, "allowances", "month.jsonl"), 0o666))
	w.write(services + "{name: month, user: \"*\", period: month, amount: \"300.00\", currency: USD}]}\n")
	if code, got := w.reload(); code != http.StatusOK || !got.Changed {
		t.Fatalf("%d %+v", code, got)
	}
	mustDo(t, w.edge.ledger.Close()) // lets go of the file, as another edge never had it
	var lost admin.Status
	w.ask(http.MethodGet, "/v1/status", "", &lost)
	want = []admin.AllowanceStatus{{Name: "month", Period: "month", Currency: "USD", Amount: "300", Unknown: "the ledger of allowance month cannot be read and written"}}
	if diff := cmp.Diff(want, lost.Allowances, without); diff != "" {
		t.Errorf("of a ledger that anybody may write (-want +got):\n%s", diff)
	}
	w.counted(`wayleave_allowance_enforceable{allowance="month",currency="USD"} 0`, `wayleave_allowance_amount{allowance="month",currency="USD"} 300`)
	mustDo(t, os.Chmod(filepath.Join(w.edge.cfg.data, "allowances", "month.jsonl"), 0o600))
	want[0].Unknown, want[0].Spent, want[0].Reserved, want[0].Enforceable = "", "0.06", "0", true
	if diff := cmp.Diff(want, status().Allowances, without); diff != "" {
		t.Errorf("with its rights again (-want +got):\n%s", diff)
	}
}

// An edge without allowances has no ledger to speak of.
func TestA5_WithoutAllowancesThereIsNoLedger(t *testing.T) {
	w := newPolicyWorld(t, "policy: {allow_private: [127.0.0.0/8]}\n")
	var s admin.Status
	w.ask(http.MethodGet, "/v1/status", "", &s)
	if len(s.Allowances) > 0 || slices.ContainsFunc(s.Stores, func(s admin.StoreStatus) bool { return s.Name == "allowances" }) {
		t.Errorf("%+v", s)
	}
	if files, err := os.ReadDir(filepath.Join(w.edge.cfg.data, "allowances")); len(files) > 0 {
		t.Errorf("there are ledgers: %v, %v", files, err)
	}
}

// A ledger that went missing while no edge ran is made from the logs (O34).
func TestO34_AnEdgeMakesAMissingLedgerFromTheLogs(t *testing.T) {
	w := newPolicyWorld(t, "policy: {allow_private: [127.0.0.0/8], services: [{host: 127.0.0.1, price: {amount: \"0.02\", currency: USD}}],"+
		" allowances: [{name: team, user: \"*\", period: month, amount: \"0.05\", currency: USD}]}\n")
	cross := func() {
		t.Helper()
		if status, err := w.cross(t.Context(), w.site.URL+"/a"); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
	}
	cross()
	src, cfg := w.edge.source, w.edge.cfg
	mustDo(t, w.edge.close(t.Context()))
	mustDo(t, os.Remove(filepath.Join(cfg.data, "allowances", "team.jsonl")))
	var err error
	w.edge, err = startEdge(t.Context(), cfg, edgeOptions{source: src, log: slog.New(slog.DiscardHandler), unlisted: true})
	mustDo(t, err)
	var s admin.Status
	w.ask(http.MethodGet, "/v1/status", "", &s)
	if got := s.Allowances[0]; got.Spent != "" || got.Reserved != "" || !got.Enforceable {
		t.Errorf("before a crossing has had it made: %+v", got)
	}
	if figures := w.metrics(); strings.Contains(figures, "wayleave_allowance_spent{") || strings.Contains(figures, "wayleave_allowance_reserved{") {
		t.Errorf("figures of a ledger that is not there:\n%s", figures)
	}
	cross()
	w.ask(http.MethodGet, "/v1/status", "", &s)
	if got := s.Allowances[0]; got.Spent != "0.04" || !got.Enforceable {
		t.Errorf("%+v", got)
	}
}
