package evidence

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/rulings"
)

func dollars(t testing.TB, amount string) *money.Money {
	t.Helper()
	m, err := money.New(amount, "USD")
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// The members of the tables, to the last one, and none that does not apply.
func TestE9_WhatAllowancesSayOfACrossing(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	paid := func(list ...any) map[string]any { return map[string]any{"allowance": list} }
	usd := func(amount string) map[string]any { return map[string]any{"amount": amount, "currency": "USD"} }
	for name, c := range map[string]struct {
		record Record
		want   map[string]any
	}{
		"nothing": {CrossingEnded{&Crossing{}}, map[string]any{"allowance": nil}},
		"all members": {CrossingEnded{&Crossing{Paid: []Paid{{"team", "reserved", "r1", dollars(t, "0.02"), dollars(t, "0"), "receipt"}}}},
			paid(map[string]any{"name": "team", "decision": "reserved", "reservation": "r1", "declared": usd("0.02"), "observed": usd("0"), "basis": "receipt"})},
		"in the order of the policy": {CrossingEnded{&Crossing{Paid: []Paid{{Name: "b", Decision: "declined", Basis: "unknown"}, {Name: "a", Decision: "declined", Basis: "unknown"}}}},
			paid(map[string]any{"name": "b", "decision": "declined", "basis": "unknown"}, map[string]any{"name": "a", "decision": "declined", "basis": "unknown"})},
		"when it is opened": {CrossingOpened{&Crossing{Paid: []Paid{{"team", "carried", "r1", dollars(t, "0.02"), nil, "declared"}}}},
			paid(map[string]any{"name": "team", "decision": "carried", "reservation": "r1", "declared": usd("0.02"), "basis": "declared"})},
		"a gap": {AllowanceGap{"team", "r1", dollars(t, "0.02"), "why", at, at.Add(time.Second)},
			map[string]any{"allowance": "team", "reservation": "r1", "observed": usd("0.02"), "reason": "why", "from": "2026-03-01T12:00:00.000Z", "to": "2026-03-01T12:00:01.000Z"}},
		"a gap of which nothing is known": {AllowanceGap{Allowance: "team", Reservation: "r1", Reason: "why", From: at, To: at},
			map[string]any{"observed": nil}},
	} {
		got := checkLine(t, encodeLine(t, c.record))
		for member, want := range c.want {
			if diff := cmp.Diff(want, got[member]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, member, diff)
			}
		}
	}
}

// What was charged is read back from every log: as named, else as declared; nothing
// where nothing was sent, and unknown where nobody knew.
func TestO34_WhatLogsSayThatAllowancesWereCharged(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, err := Open(dir, Options{Now: func() time.Time { return at.Add(time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	sent := func(p ...Paid) *Crossing {
		return &Crossing{Grade: Mediated, Class: rulings.Service, Outcome: Delivered, Address: "203.0.113.7:443", RequestedAt: at, Paid: p}
	}
	unsent := sent(Paid{"team", "reserved", "r4", dollars(t, "0.02"), nil, "declared"})
	unsent.Address = ""
	unreached := sent(Paid{"team", "reserved", "r8", dollars(t, "0.02"), nil, "declared"})
	unreached.Outcome, unreached.Failure.Kind = Unavailable, "connection_refused"
	refused := sent(Paid{"team", "declined", "", dollars(t, "0.02"), nil, "declared"})
	refused.Address, refused.Refusal.Reason = "", rulings.AllowanceExhausted
	tunnel := sent(Paid{"team", "carried", "r7", nil, nil, "unknown"})
	tunnel.Grade = Observed
	log, err := store.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{
		CrossingOpened{sent(Paid{"team", "reserved", "r1", nil, dollars(t, "0.01"), "receipt"})},
		CrossingEnded{sent(Paid{"team", "reserved", "r1", nil, dollars(t, "0.01"), "receipt"})},
		CrossingEnded{sent(Paid{"team", "carried", "r2", dollars(t, "0.02"), nil, "declared"}, Paid{"other", "reserved", "r2", dollars(t, "0.02"), nil, "declared"})},
		CrossingEnded{sent(Paid{"team", "reserved", "r3", dollars(t, "0.02"), nil, "unknown"})},
		CrossingEnded{unsent}, CrossingEnded{unreached}, CrossingEnded{refused}, CrossingEnded{tunnel}, CrossingEnded{sent()},
		AllowanceGap{"team", "r5", dollars(t, "0.05"), "why", at.Add(-time.Second), at},
		AllowanceGap{Allowance: "team", Reservation: "r6", Reason: "why", From: at, To: at},
	} {
		if _, err := log.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []Charge{
		{"team", "r1", at.Add(time.Minute), dollars(t, "0.01"), false},
		{"team", "r1", at, dollars(t, "0.01"), false},
		{"team", "r2", at, dollars(t, "0.02"), false},
		{"other", "r2", at, dollars(t, "0.02"), false},
		{"team", "r3", at, nil, false},
		{"team", "r4", at, nil, true},
		{"team", "r8", at, nil, true},
		{"team", "r7", at, nil, false},
		{"team", "r5", at.Add(-time.Second), dollars(t, "0.05"), false},
		{"team", "r6", at, nil, false},
	}
	charges := func(from time.Time) (list []Charge, faults int) {
		for c, err := range Charges(t.Context(), dir, from) {
			if err != nil {
				faults++
				continue
			}
			list = append(list, c)
		}
		return list, faults
	}
	got, faults := charges(at)
	if diff := cmp.Diff(want, got); diff != "" || faults > 0 {
		t.Errorf("%d faults, charges (-want +got):\n%s", faults, diff)
	}
	if got, faults := charges(time.Now().Add(time.Hour)); len(got)+faults > 0 {
		t.Errorf("of logs that nobody wrote to since: %v, %d faults", got, faults)
	}

	// A published run is a log as well, and a place that cannot be read is told of.
	name := filepath.Join(dir, "sessions", "s", "000001.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "runs", "nightly")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	ofRun := bytes.ReplaceAll(text, []byte(`"session":"s"`), []byte(`"run":"nightly"`))
	if err := os.WriteFile(filepath.Join(run, "evidence.jsonl"), ofRun, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := charges(at); len(got) != 2*len(want) {
		t.Errorf("with a run: %v", got)
	}
	if err := os.WriteFile(name, append(text, "no record\n{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, faults := charges(at); len(got) != 2*len(want) || faults == 0 {
		t.Errorf("of a log that is damaged: %d charges, %d faults", len(got), faults)
	}
	for range Charges(t.Context(), dir, at) {
		break // whoever has enough is left alone
	}
}

// What segments that are gone had of charges is not counted as nothing: it is a
// fault where it may be of the period.
func TestO34_ChargesOfSegmentsThatAreGoneAreAFault(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, dir, Options{SegmentBytes: smallSegments})
	log, err := store.Session("s")
	must(t, err)
	for len(readSegments(t, dir, "s")) < 3 {
		_, err := log.Append(t.Context(), summed(1000))
		must(t, err)
	}
	must(t, store.Close(t.Context()), os.Remove(filepath.Join(dir, "sessions", "s", segmentName(1))))
	later := time.Now().Add(time.Hour) // the log is read for either period
	must(t, os.Chtimes(filepath.Join(dir, "sessions", "s", segmentName(2)), later, later))
	for from, want := range map[time.Time]int{time.Now().Add(-time.Hour): 1, time.Now().Add(time.Millisecond): 0} {
		faults := 0
		for _, err := range Charges(t.Context(), dir, from) {
			if err != nil {
				faults++
			}
		}
		if faults != want {
			t.Errorf("%d faults, want %d", faults, want)
		}
	}
}

// A breach that the mode does not carry is one of another policy, save for what a
// request turned out to cost that had been sent by then.
func TestE82_BreachesThatAModeCarries(t *testing.T) {
	const unknown, over, charge = `[{"reason":"allowance_unenforceable","detail":"d"}]`, `[{"reason":"allowance_exhausted","detail":"d"}]`, `[{"reason":"spend_not_allowed","detail":"d"}]`
	for _, c := range []struct {
		name, breaches string
		mode           rulings.Mode
		sent, same     bool
	}{
		{"unknown after it was sent", unknown, rulings.ModeStrict, true, true},
		{"unknown before it was sent", unknown, rulings.ModeStrict, false, false},
		{"unknown, and carried", unknown, rulings.ModeObserve, false, true},
		{"exhausted, and sent all the same", over, rulings.ModeStrict, true, false},
		{"exhausted, and carried", over, rulings.ModePrefer, true, true},
		{"charged for after it was sent", charge, rulings.ModeStrict, true, true},
		{"charged for before it was sent", charge, rulings.ModeObserve, false, false},
	} {
		if what := compareBreaches([]byte(c.breaches), &Redone{Mode: c.mode}, c.sent); (what == "") != c.same {
			t.Errorf("%s: %q", c.name, what)
		}
	}
}

// What spends behind a request's body is seen when the request was sent, so a
// ruling that is made again lets it pass.
func TestE82_T105_WhatSpendsBehindABodyIsNoDifference(t *testing.T) {
	for _, c := range []struct {
		name, member, reason string
		same                 bool
	}{
		{"behind a body", `,"requested_at":"2026-08-02T10:00:00.000Z"`, "spend_not_allowed", true},
		{"before anything was sent", "", "spend_not_allowed", false},
		{"another reason, and sent", `,"requested_at":"2026-08-02T10:00:00.000Z"`, "robots_disallow", false},
	} {
		var v logVerifier
		record := goldenRecord(1, EventCrossingRefused, `,"refusal":{"reason":"`+c.reason+`"}`+c.member)
		if fault := v.line.read([]byte(record)); fault != "" {
			t.Fatal(fault)
		}
		if what := v.compare(v.line.member("refusal"), rulings.Reason(c.reason), &Redone{Ruling: rulings.Ruling{Outcome: rulings.Proceed}}); (what == "") != c.same {
			t.Errorf("%s: %q", c.name, what)
		}
	}
}
