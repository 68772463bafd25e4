package allowances

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/wayleave/wayleave/internal/money"
)

func someRecords() []record {
	m := dollars("0.02")
	return []record{
		{Event: eventOpened, At: noon, Edge: "e", Format: ledgerFormat, Allowance: "team"},
		{Event: eventOpened, At: noon, Edge: "e", Format: ledgerFormat, Allowance: "team", From: noon, Money: &money.Money{Currency: "USD"}, Reason: "why"},
		{Event: eventReserved, At: noon, Edge: "e", Reservation: "r", Crossing: "s/1 \"\u2028\"", Decision: DecisionCarried, Basis: Declared, Money: &m},
		{Event: eventReserved, At: noon, Edge: "e", Reservation: "r", Decision: DecisionReserved, Basis: Receipt},
		{Event: eventSettled, At: noon, Edge: "e", Reservation: "r", ReservedAt: noon, Money: &m, Late: true, Again: true},
		{Event: eventSettled, At: noon, Edge: "e", Reservation: "r", ReservedAt: noon, Reason: "why"},
		{Event: eventReleased, At: noon, Edge: "e", Reservation: "r", ReservedAt: noon},
		{Event: eventLost, At: noon, Edge: "e", Reservation: "r", ReservedAt: noon},
		{Event: eventUnreadable, At: noon, Edge: "e", Reason: "why"},
		{Event: eventTorn, At: noon, Edge: "e", Torn: []int{3, 0}},
	}
}

func TestO31_LinesAreReadAsTheyWereWritten(t *testing.T) {
	for _, r := range someRecords() {
		text, ended := strings.CutSuffix(string(r.encode(nil)), "\n")
		got, err := decode([]byte(text))
		if diff := cmp.Diff(r, got); diff != "" || err != nil || !ended || strings.ContainsAny(text, "\r\n") {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestO33_WhatIsNoLineOfALedger(t *testing.T) {
	const good = `{"event":"settled","at":"2026-03-01T12:00:00.000Z","reservation":"r","reserved_at":"2026-03-01T12:00:00.000Z","amount":"0.02","currency":"USD"}`
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("no %q in the good line", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	if _, err := decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := decode([]byte(change(`"event"`, `"new":{"event":1},"event"`))); err != nil {
		t.Errorf("a member of another version: %v", err)
	}
	for name, text := range map[string]string{
		"nothing":                          "",
		"a byte order mark":                "\ufeff" + good,
		"a carriage return":                good + "\r",
		"a blank in front":                 " " + good,
		"two values":                       good + good,
		"a list":                           "[" + good + "]",
		"cut short":                        good[:len(good)-2] + "}",
		"a member named twice":             change(`"amount":"0.02"`, `"amount":"0.02","amount":"0.01"`),
		"one in two spellings":             change(`"amount":"0.02"`, `"amount":"0.02","\u0061mount":"0.01"`),
		"a name in other letters":          change(`"amount"`, `"Amount"`),
		"invalid UTF-8":                    change(`"r"`, "\"\xff\""),
		"an unknown event":                 change("settled", "refunded"),
		"no event":                         change(`"event":"settled",`, ""),
		"an amount that is a number":       change(`"0.02"`, "0.02"),
		"an amount below nothing":          change("0.02", "-0.02"),
		"an amount without a currency":     change(`,"currency":"USD"`, ""),
		"a currency alone":                 change(`"amount":"0.02",`, ""),
		"null for an amount":               change(`"0.02"`, "null"),
		"no instant":                       change(`"at":"2026-03-01T12:00:00.000Z",`, ""),
		"an instant without milliseconds":  change("12:00:00.000Z", "12:00:00Z"),
		"an instant of no day":             change("03-01T", "02-30T"),
		"a reservation without an instant": change(`"reserved_at"`, `"from"`),
		"no reservation":                   change(`"r"`, `""`),
		"a torn line of no length":         `{"event":"torn","at":"2026-03-01T12:00:00.000Z"}`,
		"a torn line below nothing":        `{"event":"torn","at":"2026-03-01T12:00:00.000Z","torn":[-1]}`,
		"another format":                   `{"event":"opened","at":"2026-03-01T12:00:00.000Z","format":"wayleave-allowance/2","allowance":"team"}`,
		"a price that is not there":        `{"event":"reserved","at":"2026-03-01T12:00:00.000Z","reservation":"r","basis":"declared"}`,
		"longer than a line may be":        change(`"r"`, `"`+strings.Repeat("r", maxLine)+`"`),
	} {
		if r, err := decode([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", name, r)
		}
	}
}

// FuzzDecode holds that the short way of splitting a line finds what the long one
// does, and that whatever is read can be written, and is then the same.
func FuzzDecode(f *testing.F) {
	records := someRecords()
	if len(records) == 0 {
		f.Fatal("no seeds")
	}
	for _, r := range records {
		f.Add(r.encode(nil)[:len(r.encode(nil))-1])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var plain, any fields
		if utf8.Valid(text) && plain.splitPlain(text) {
			if err := any.splitAny(text); err != nil || !reflect.DeepEqual(plain.members, any.members) {
				t.Fatalf("%q and %q, %v", plain.members, any.members, err)
			}
		}
		r, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode([]byte(strings.TrimSuffix(string(r.encode(nil)), "\n")))
		if diff := cmp.Diff(r, again); diff != "" || err != nil {
			t.Fatalf("%s: %v\n%s", text, err, diff)
		}
	})
}
