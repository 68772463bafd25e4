package allowances

import (
	"errors"
	"iter"
	"os"
	"testing"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// facts yields facts, and then err if there is one.
func facts(err error, all ...Fact) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		for _, f := range all {
			if !yield(f, nil) {
				return
			}
		}
		if err != nil {
			yield(Fact{}, err)
		}
	}
}

func fact(amount string) Fact {
	m := dollars(amount)
	return Fact{Allowance: "team", At: noon.Add(-time.Hour), Charge: &m}
}

func TestO34_AMissingLedgerIsMadeFromTheLogs(t *testing.T) {
	with := func(f Fact, change func(*Fact)) Fact { change(&f); return f }
	named := func(id string) func(*Fact) { return func(f *Fact) { f.Reservation = id } }
	for name, tt := range map[string]struct {
		facts iter.Seq2[Fact, error]
		want  string
	}{
		"nothing was charged":                  {facts(nil), "0"},
		"charges add up":                       {facts(nil, fact("4.25"), fact("0.5")), "4.75"},
		"another allowance's":                  {facts(nil, fact("1"), with(fact("2"), func(f *Fact) { f.Allowance = "x" })), "1"},
		"another period's":                     {facts(nil, fact("1"), with(fact("2"), func(f *Fact) { f.At = noon.Add(-24 * time.Hour) })), "1"},
		"one that nobody knows":                {facts(nil, fact("1"), with(fact("2"), func(f *Fact) { f.Charge = nil })), "1 unknown"},
		"one in another currency":              {facts(nil, fact("1"), with(fact("2"), func(f *Fact) { f.Charge.Currency = "EUR" })), "1 unknown"},
		"two facts of one charge":              {facts(nil, with(fact("1"), named("a")), with(fact("2"), named("b")), with(fact("3"), named("a"))), "5"},
		"logs that cannot be read":             {facts(errors.New("damage"), fact("1")), "1 unknown"},
		"more than can be written":             {facts(nil, fact("999999999999"), fact("999999999999")), "0 unknown"},
		"a charge that was unknown, and known": {facts(nil, Fact{Allowance: "team", Reservation: "a", At: noon}, with(fact("3"), named("a"))), "3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			made, err := b.Rebuild(t.Context(), team, tt.facts)
			if err != nil || !made {
				t.Fatalf("%v, %v", made, err)
			}
			b.wants(team, tt.want)
			benchIn(t, b.dir, Options{}).wants(team, tt.want)
			made, err = b.Rebuild(t.Context(), team, facts(nil, fact("1")))
			if err != nil || made {
				t.Errorf("made again: %v, %v", made, err)
			}
			b.wants(team, tt.want)
			b.now = noon.Add(24 * time.Hour)
			b.wants(team, "0")
		})
	}
}

func TestO34_ALedgerThatGoesMissingIsMadeByTheNextCrossing(t *testing.T) {
	dir := t.TempDir()
	var asked []time.Time
	b := benchIn(t, dir, Options{Charges: func(a Allowance, from time.Time) iter.Seq2[Fact, error] {
		asked = append(asked, from)
		return facts(nil, fact("4.5"))
	}})
	r := b.reserve(team, usd("0.25"), Reserved) // there was none
	b.wants(team, "4.5 +0.25")
	must(t, os.Remove(b.path(team)))
	b.reserve(team, usd("0.75"), Exhausted)
	b.settle(r, observe("0.125")) // of a crossing the logs did not know yet
	b.wants(team, "4.625")
	if len(asked) != 2 || !asked[0].Equal(noon.Add(-12*time.Hour)) {
		t.Errorf("asked for charges from %v", asked)
	}
}

// What was made for one period says nothing of another that it is part of.
func TestO34_ALedgerMadeForAnotherPeriod(t *testing.T) {
	b := newBench(t)
	if _, err := b.Rebuild(t.Context(), team, facts(nil, fact("1"))); err != nil {
		t.Fatal(err)
	}
	month := team
	month.Period = Month
	b.now = noon.Add(14 * 24 * time.Hour)
	b.wants(team, "0")
	b.wants(month, "1") // the period began on that very day
	b = newBench(t)
	b.now = noon.Add(48 * time.Hour)
	at := fact("1")
	at.At = b.now
	if _, err := b.Rebuild(t.Context(), team, facts(nil, at)); err != nil {
		t.Fatal(err)
	}
	b.wants(month, "0 unknown")
	b.wants(team, "1")
}

func TestO33_ACurrencyThatChangesWithinThePeriod(t *testing.T) {
	b := newBench(t)
	b.spends(team, "1")
	euros := team
	euros.Currency = "EUR"
	b.wants(euros, "0 unknown")
	b.reserve(euros, Price{Basis: Declared, Money: money.Money{Amount: 1, Currency: "EUR"}}, Unenforceable)
	b.wants(team, "1")
}
