package allowances

import (
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/money"
)

// receipts are fields of answers, and what they name in the currency USD; empty:
// nothing that can be read.
var receipts = []struct{ name, field, want string }{
	{"an amount alone", "0.02", "0.02 USD"},
	{"a whole number", "3", "3 USD"},
	{"nothing was charged", "0", "0 USD"},
	{"zeros in front and behind", "00.0200", "0.02 USD"},
	{"with its currency behind it", "0.02 EUR", "0.02 EUR"},
	{"with its currency in front of it", "EUR 0.02", "0.02 EUR"},
	{"with its currency right in front of it", "EUR0.02", "0.02 EUR"},
	{"with blanks", " EUR \t 0.02 ", "0.02 EUR"},
	{"as much as can be written", "999999999999.999999", "999999999999.999999 USD"},

	{"no value", "", ""},
	{"a currency alone", "USD", ""},
	{"a sign", "-0.02", ""},
	{"an exponent", "2e-2", ""},
	{"a comma", "0,02", ""},
	{"a list", "0.02, 0.02", ""},
	{"two currencies", "USD 0.02 USD", ""},
	{"a currency in small letters", "0.02 usd", ""},
	{"a currency right behind it", "0.02USD", ""},
	{"a sign of a currency", "$0.02", ""},
	{"less than a millionth", "0.0000001", ""},
	{"more than can be written", "1000000000000", ""},
	{"no digit in front of the point", ".02", ""},
	{"words", "a cent", ""},
	{"a blank within", "0. 02", ""},
	{"digits of another script", "٠.٠٢", ""},
	{"very long", strings.Repeat("0", 65), ""},
}

func TestO32_WhatAReceiptNames(t *testing.T) {
	for _, r := range receipts {
		want := Unreadable
		if r.want != "" {
			amount, currency, _ := strings.Cut(r.want, " ")
			m, err := money.New(amount, currency)
			must(t, err)
			want = Observed(m)
		}
		if got := ReadReceipt([]string{r.field}, "USD"); got != want {
			t.Errorf("%s, %q: %+v, want %+v", r.name, r.field, got, want)
		}
	}
	if got := ReadReceipt(nil, "USD"); got != Unnamed {
		t.Errorf("no field: %+v", got)
	}
	if got := ReadReceipt([]string{"0.02", "0.02"}, "USD"); got != Unreadable {
		t.Errorf("two lines: %+v", got)
	}
	if got := ReadReceipt([]string{"0.02"}, ""); got != Unreadable {
		t.Errorf("an amount that could be of any currency: %+v", got)
	}
	if got := ReadReceipt([]string{"0.02 EUR"}, ""); got == Unreadable {
		t.Error("an amount of a currency is not read where no other is known")
	}
}

// What is read is money that can be written, and reads as the same again.
func FuzzReadReceipt(f *testing.F) {
	if len(receipts) == 0 {
		f.Fatal("no seeds")
	}
	for _, r := range receipts {
		f.Add(r.field, "USD")
	}
	f.Add("0.02", "")
	f.Fuzz(func(t *testing.T, field, currency string) {
		c := ReadReceipt([]string{field}, currency)
		if c.kind != observed {
			return
		}
		if c.money.Amount < 0 || c.money.Amount >= money.Limit || !money.IsCurrency(c.money.Currency) {
			t.Errorf("%q is read as %+v", field, c.money)
		}
		if again := ReadReceipt([]string{c.money.String()}, ""); again != c {
			t.Errorf("%q is read as %v, and that as %v", field, c.money, again.money)
		}
	})
}
