package allowances

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wayleave/wayleave/internal/money"
)

func TestO31_ThePriceIsReservedAndSettled(t *testing.T) {
	b := newBench(t)
	b.wants(team, "0 missing")
	r := b.reserve(team, usd("4.99"), Reserved)
	b.wants(team, "0 +4.99")
	b.reserve(team, usd("0.02"), Exhausted)
	last := b.reserve(team, usd("0.01"), Reserved)
	b.reserve(team, usd("0.000001"), Exhausted)
	b.reserve(team, usd("0"), Reserved)
	if s := b.settle(r, Unnamed); s != (Settlement{Basis: Declared}) {
		t.Errorf("%+v", s)
	}
	must(t, last.Release())
	b.wants(team, "4.99")
	b.reserve(team, usd("0.01"), Reserved)
}

func TestO31_TheObservedChargeCountsInFull(t *testing.T) {
	for name, tt := range map[string]struct {
		charge Charge
		want   string
	}{
		"less than reserved":      {observe("0.5"), "0.5"},
		"nothing":                 {observe("0"), "0"},
		"more than reserved":      {observe("1.5"), "1.5"},
		"more than the allowance": {observe("12.49"), "12.49"},
		"none named, so that the declared price settles it": {Unnamed, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.settle(b.reserve(team, usd("1"), Reserved), tt.charge)
			b.wants(team, tt.want)
			// Another process reads the same.
			benchIn(t, b.dir, Options{}).wants(team, tt.want)
		})
	}
}

func TestO31_DecimalSumsAreExact(t *testing.T) {
	a := team
	a.Amount = 300_000
	b := newBench(t)
	for range 3 {
		b.spends(a, "0.1") // which in binary fractions come to more than 0.3
	}
	b.wants(a, "0.3")
	b.reserve(a, usd("0.000001"), Exhausted)
}

func TestO31_AReservationEndsOnce(t *testing.T) {
	b := newBench(t)
	r := b.reserve(team, usd("1"), Reserved)
	b.settle(r, Unnamed)
	if _, err := r.Settle(Unnamed); !errors.Is(err, ErrEnded) {
		t.Errorf("settled twice: %v", err)
	}
	must(t, r.Release())
	b.wants(team, "1")
	var none *Reservation
	if s, err := none.Settle(observe("1")); err != nil || s != (Settlement{}) || none.Release() != nil || none.ID() != "" {
		t.Errorf("a reservation of nothing: %+v, %v", s, err)
	}
}

func TestO32_ReportedChargesCountFromTheReceipt(t *testing.T) {
	reported := Price{Basis: Receipt}
	b := newBench(t)
	b.spends(team, "4.99")
	r, at := b.reserve(team, reported, Reserved), b.reserve(team, reported, Reserved)
	if s := b.settle(r, observe("7.5")); s.Basis != Receipt || s.Observed.String() != "7.5 USD" || s.Unknown != "" {
		t.Errorf("%+v", s)
	}
	b.wants(team, "12.49")
	b.reserve(team, reported, Exhausted)
	b.settle(at, observe("0.01"))
	b.wants(team, "12.5")
}

func TestO32_ReportedChargesWaitForNothingButTheAmount(t *testing.T) {
	b := newBench(t)
	b.reserve(team, usd("4.999999"), Reserved)
	b.reserve(team, Price{Basis: Receipt}, Reserved)
	b.reserve(team, usd("0.000001"), Reserved)
	b.reserve(team, Price{Basis: Receipt}, Exhausted)
}

func TestO33_UnknownIsNeverZero(t *testing.T) {
	euro := money.Money{Amount: 20_000, Currency: "EUR"}
	for name, tt := range map[string]struct {
		price  Price
		charge Charge
	}{
		"a receipt that cannot be read":        {usd("0.02"), Unreadable},
		"a charge in another currency":         {usd("0.02"), Observed(euro)},
		"a charge of no currency":              {usd("0.02"), Observed(money.Money{Amount: 1})},
		"a charge below nothing":               {usd("0.02"), Observed(money.Money{Amount: -1, Currency: "USD"})},
		"a receipt that names none, reported":  {Price{Basis: Receipt}, Unnamed},
		"a receipt not to be read, reported":   {Price{Basis: Receipt}, Unreadable},
		"the zero charge":                      {Price{Basis: Receipt}, Charge{}},
		"a reported charge, another currency":  {Price{Basis: Receipt}, Observed(euro)},
		"a charge that no ledger could record": {usd("0.02"), Observed(money.Money{Amount: money.Limit, Currency: "USD"})},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.spends(team, "1")
			s := b.settle(b.reserve(team, tt.price, Reserved), tt.charge)
			if s.Unknown == "" {
				t.Errorf("%+v", s)
			}
			b.wants(team, "1 unknown")
			b.reserve(team, usd("0.02"), Unenforceable)
			b.now = noon.Add(24 * time.Hour)
			b.wants(team, "0")
			b.reserve(team, usd("0.02"), Reserved)
		})
	}
}

func TestO33_APriceThatIsNotKnown(t *testing.T) {
	for name, price := range map[string]Price{
		"unknown":          {Basis: Unknown},
		"the zero price":   {},
		"another currency": {Basis: Declared, Money: money.Money{Amount: 1, Currency: "EUR"}},
		"no currency":      {Basis: Declared, Money: money.Money{Amount: 1}},
		"below nothing":    {Basis: Declared, Money: money.Money{Amount: -1, Currency: "USD"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.reserve(team, price, Unenforceable)
			b.wants(team, "0") // declined, it costs nothing
			r := b.carry(team, price, Unenforceable)
			b.wants(team, "0 unknown")
			must(t, r.Release())
			b.wants(team, "0")
			b.settle(b.carry(team, price, Unenforceable), Unreadable)
			b.wants(team, "0 unknown")
		})
	}
}

func TestO11_ACarriedCrossingIsCountedAllTheSame(t *testing.T) {
	b := newBench(t)
	b.spends(team, "4.99")
	r := b.carry(team, usd("0.02"), Exhausted)
	b.wants(team, "4.99 +0.02")
	b.settle(r, Unnamed)
	b.wants(team, "5.01")
	b.wantEvents(team, "opened", "reserved", "settled", "reserved", "settled")
	if !strings.Contains(b.content(team), `"decision":"carried"`) {
		t.Error(b.content(team))
	}
}

func TestO30_AllAllowancesOrNone(t *testing.T) {
	all, mine := team, team
	all.Name, all.Amount = "all", 10*money.Unit
	mine.Name, mine.Amount = "mine", money.Unit
	b := newBench(t)
	ask := func(amount string, carry bool) Verdict {
		v, err := b.Reserve(t.Context(), []Allowance{all, mine}, Request{Crossing: "s/1", Price: usd(amount), Carry: carry})
		must(t, err)
		return v
	}
	decisions := func(v Verdict) (s []string) {
		for _, f := range v.Each {
			s = append(s, fmt.Sprintf("%s: %v, %s", f.Allowance, f.Outcome, f.Decision))
		}
		return s
	}
	v := ask("0.7", false)
	b.settle(v.Reservation, Unnamed)
	if diff := cmp.Diff([]string{"all: reserved, reserved", "mine: reserved, reserved"}, decisions(v)); diff != "" {
		t.Error(diff)
	}
	v = ask("0.4", false)
	if diff := cmp.Diff([]string{"all: reserved, declined", "mine: allowance_exhausted, declined"}, decisions(v)); diff != "" || v.Outcome != Exhausted || v.Reservation != nil {
		t.Error(v, diff)
	}
	b.wants(all, "0.7")
	b.wants(mine, "0.7")
	v = ask("0.4", true)
	if diff := cmp.Diff([]string{"all: reserved, reserved", "mine: allowance_exhausted, carried"}, decisions(v)); diff != "" || v.Outcome != Exhausted {
		t.Error(v, diff)
	}
	b.settle(v.Reservation, observe("0.5"))
	b.wants(all, "1.2")
	b.wants(mine, "1.2")
}

func TestO30_AnAllowanceThatCannotBeKeptIsUnenforceable(t *testing.T) {
	for name, spoil := range map[string]func(a *Allowance){
		"no name":             func(a *Allowance) { a.Name = "" },
		"a path for a name":   func(a *Allowance) { a.Name = "../x" },
		"a hidden name":       func(a *Allowance) { a.Name = ".x" },
		"129 characters":      func(a *Allowance) { a.Name = strings.Repeat("a", 129) },
		"no period":           func(a *Allowance) { a.Period = "" },
		"an unknown period":   func(a *Allowance) { a.Period = "week" },
		"a negative amount":   func(a *Allowance) { a.Amount = -1 },
		"no currency":         func(a *Allowance) { a.Currency = "" },
		"a currency in small": func(a *Allowance) { a.Currency = "usd" },
	} {
		t.Run(name, func(t *testing.T) {
			a := team
			spoil(&a)
			b := newBench(t)
			b.reserve(a, usd("0.01"), Unenforceable)
			v, err := b.Reserve(t.Context(), []Allowance{a}, Request{Price: usd("0.01"), Carry: true})
			if err != nil || v.Outcome != Unenforceable || v.Reservation != nil {
				t.Errorf("carried: %+v, %v", v, err)
			}
			if s, err := b.Spent(t.Context(), a); err == nil || s.Unknown == "" {
				t.Errorf("%+v, %v", s, err)
			}
			if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 0 {
				t.Errorf("left %v (%v)", entries, err)
			}
		})
	}
	b := newBench(t)
	v, err := b.Reserve(t.Context(), []Allowance{team, team}, Request{Price: usd("0.01")})
	if err != nil || v.Outcome != Unenforceable || v.Reservation != nil {
		t.Errorf("one name twice: %+v, %v", v, err)
	}
	b.wants(team, "0")
	v, err = b.Reserve(t.Context(), []Allowance{team, team}, Request{Price: usd("0.01"), Carry: true})
	must(t, err)
	b.settle(v.Reservation, Unnamed)
	b.wants(team, "0.01")
}

func TestO30_NoAllowanceCoversIt(t *testing.T) {
	b := newBench(t)
	v, err := b.Reserve(t.Context(), nil, Request{Price: Price{}})
	if err != nil || v.Outcome != Reserved || v.Reservation != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if (Verdict{}).Outcome == Reserved {
		t.Error("the zero verdict lets a crossing through")
	}
}

func TestO31_AnAgentThatIsGoneReservesNothing(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := b.Reserve(ctx, []Allowance{team}, Request{Price: usd("1")})
	if !errors.Is(err, context.Canceled) || v.Outcome != Undecided || v.Reservation != nil {
		t.Errorf("%+v, %v", v, err)
	}
	b.wants(team, "0 missing")
}

// 20 crossings at once in this process and in each of three others never reserve
// more than there is, and not less.
func TestO31_ConcurrentCrossingsNeverReserveTheSameMoneyTwice(t *testing.T) {
	dir := t.TempDir()
	var children []*child
	for i := range 3 {
		children = append(children, startChild(t, "reserve", dir, "child-"+strconv.Itoa(i)))
	}
	l, err := Open(dir, Options{Edge: "parent"})
	must(t, err)
	defer l.Close()
	through, err := crowd(l, 20)
	if err != nil {
		t.Error(err)
	}
	for _, c := range children {
		for c.stdout.Scan() {
			n, err := strconv.Atoi(strings.TrimPrefix(c.stdout.Text(), "through "))
			must(t, err)
			through += n
		}
		must(t, c.Wait())
	}
	s, err := l.Spent(t.Context(), dollar)
	if err != nil || s.Unknown != "" || s.Spent+s.Reserved != money.Unit || through != 50 {
		t.Errorf("%d of 80 went through, want 50: %+v, %v", through, s, err)
	}
}

// Callers that want the same ledgers in another order do not wait for each other.
func TestO31_CrossingsUnderSeveralAllowancesAtOnce(t *testing.T) {
	other := dollar
	other.Name, other.Amount = "another", 300_000
	b := newBench(t)
	through := make(chan int)
	for i := range 50 {
		go func() {
			as := []Allowance{dollar, other}
			if i%2 == 0 {
				as = []Allowance{other, dollar}
			}
			v, err := b.Reserve(context.Background(), as, Request{Price: usd("0.05")})
			if err != nil || v.Outcome != Reserved {
				through <- 0
				return
			}
			through <- 1
		}()
	}
	n := 0
	for range 50 {
		n += <-through
	}
	if n != 6 {
		t.Errorf("%d of 50 were let through, want 6", n)
	}
	b.wants(other, "0 +0.3")
	b.wants(dollar, "0 +0.3")
}
