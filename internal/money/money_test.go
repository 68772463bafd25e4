package money

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestO7_AmountsAreDecimalsOf12And6Digits(t *testing.T) {
	for text, want := range map[string]Amount{
		"0": 0, "0.000000": 0, "000": 0, "0.000001": 1, "0.1": 100_000, "0.015000": 15_000, "5": 5 * Unit, "5.00": 5 * Unit, "007.5": 7_500_000,
		"999999999999.999999": Limit - 1, "000000000001.5": 1_500_000,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("Parse(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestO7_WhatIsNoAmount(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a point": ".", "nothing before the point": ".5", "nothing behind it": "5.", "two points": "1.2.3", "a comma": "1,5", "a plus": "+1", "a minus": "-1", "a minus behind the point": "1.-1",
		"an exponent": "1e3", "hexadecimal": "0x1", "blanks": " 1", "a separator": "1_000", "other digits": "١", "no number": "NaN", "infinity": "Inf",
		"13 digits before the point": "1000000000000", "13 digits, of zeros": "0000000000001", "7 digits behind it": "0.0000001", "7 digits, of zeros": "0.0000000",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrForm) || got != 0 {
			t.Errorf("%s: Parse(%q) = %d, %v, want ErrForm", name, text, got, err)
		}
	}
}

func TestO7_TheNormalFormIsTheShortest(t *testing.T) {
	for a, want := range map[Amount]string{
		0: "0", 1: "0.000001", 100_000: "0.1", 299_999: "0.299999", 15_000: "0.015", 5 * Unit: "5", 12_500_000: "12.5", Limit - 1: "999999999999.999999",
		-1: "-0.000001", -5 * Unit: "-5", math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		if got := a.String(); got != want {
			t.Errorf("%d is written %q, want %q", int64(a), got, want)
		}
	}
}

func TestO7_ACurrencyIsThreeCapitals(t *testing.T) {
	for _, c := range []string{"", "US", "USDC", "usd", "USd", "US1", "ÜSD", "U D"} {
		if IsCurrency(c) {
			t.Errorf("%q passes for a currency", c)
		}
		if m, err := New("1", c); !errors.Is(err, ErrForm) || m != (Money{}) {
			t.Errorf("New(1, %q) = %v, %v", c, m, err)
		}
	}
	if m, err := New("0.0150", "EUR"); err != nil || m.String() != "0.015 EUR" {
		t.Errorf("New = %v, %v", m, err)
	}
	if m, err := New("1e3", "EUR"); !errors.Is(err, ErrForm) || m != (Money{}) {
		t.Errorf("New of no amount = %v, %v", m, err)
	}
}

func TestO31_SumsAreExactOrRefused(t *testing.T) {
	for _, tt := range []struct {
		a, b, sum Amount
		ok        bool
	}{
		{0, 0, 0, true}, {100_000, 200_000, 300_000, true}, {5, -7, -2, true}, {-5, 0, -5, true}, {Limit - 1, 1, Limit, true},
		{math.MaxInt64, 0, math.MaxInt64, true}, {math.MaxInt64, 1, 0, false}, {1, math.MaxInt64, 0, false}, {math.MinInt64, -1, 0, false}, {math.MinInt64, 1, math.MinInt64 + 1, true},
	} {
		sum, ok := tt.a.Add(tt.b)
		if ok != tt.ok || ok && sum != tt.sum {
			t.Errorf("%d + %d = %d, %v", tt.a, tt.b, sum, ok)
		}
	}
	total := Amount(0)
	for range 1_000_000 {
		total, _ = total.Add(1)
	}
	if total != Unit {
		t.Errorf("a million millionths are %v", total)
	}
}

var seeds = []string{"0", "0.015000", "12", "999999999999.999999", "1000000000000", "0.0000001", "-1", "+1", "1e3", ".5", "5.", "١", "007.50"}

// FuzzParse holds Parse against the arithmetic of math/big, and the normal form
// against Parse.
func FuzzParse(f *testing.F) {
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s, int64(len(s)))
	}
	f.Fuzz(func(t *testing.T, text string, n int64) {
		if a, err := Parse(text); err == nil {
			checkParsed(t, text, a)
		}
		a := Amount(uint64(n) % uint64(Limit))
		if back, err := Parse(a.String()); err != nil || back != a {
			t.Errorf("%d is written %q and read as %d, %v", int64(a), a, int64(back), err)
		}
	})
}

func checkParsed(t *testing.T, text string, a Amount) {
	t.Helper()
	exact, ok := new(big.Rat).SetString(text)
	if !ok || a < 0 || a >= Limit || exact.Cmp(big.NewRat(int64(a), int64(Unit))) != 0 {
		t.Fatalf("Parse(%q) = %d", text, int64(a))
	}
	if normal := a.String(); len(normal) > len(text) || strings.HasSuffix(normal, ".") {
		t.Fatalf("%q has the longer normal form %q", text, normal)
	}
}
