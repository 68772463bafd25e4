package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Amount is a number of millionths of some currency's unit. What Parse returns
// is never negative and below [Limit].
type Amount int64

// Unit is one whole unit of a currency, and Limit the first amount that has too
// many digits to be written (O7).
const (
	Unit  Amount = 1_000_000
	Limit Amount = 1_000_000_000_000 * Unit
)

// Digits an amount may have (O7).
const (
	maxWhole    = 12
	maxFraction = 6
)

// Money is an amount of a currency, which is three capitals.
type Money struct {
	Amount   Amount
	Currency string
}

// String returns the amount and its currency, "0.015 USD".
func (m Money) String() string { return m.Amount.String() + " " + m.Currency }

// ErrForm is what the errors of Parse and New wrap.
var ErrForm = errors.New("not an amount of money")

// Parse reads a decimal such as "0.015000" (O7): digits, and behind a point
// digits again; zeros may stand in front and behind. A sign, an exponent, blanks,
// separators and digits of other scripts are errors.
func Parse(s string) (Amount, error) {
	whole, fraction, point := strings.Cut(s, ".")
	switch {
	case !isDigits(whole) || point && !isDigits(fraction):
		return 0, fmt.Errorf("%w: want a decimal such as 0.015", ErrForm)
	case len(whole) > maxWhole:
		return 0, fmt.Errorf("%w: more than %d digits before the point", ErrForm, maxWhole)
	case len(fraction) > maxFraction:
		return 0, fmt.Errorf("%w: more than %d digits behind the point", ErrForm, maxFraction)
	}
	digits := whole + fraction + strings.Repeat("0", maxFraction-len(fraction))
	n, err := strconv.ParseInt(digits, 10, 64) // 18 digits, which always fit
	return Amount(n), err
}

// New parses an amount and the currency it is of.
func New(amount, currency string) (Money, error) {
	a, err := Parse(amount)
	if err == nil && !IsCurrency(currency) {
		err = fmt.Errorf("%w: a currency is three capitals", ErrForm)
	}
	if err != nil {
		return Money{}, err
	}
	return Money{a, currency}, nil
}

// IsCurrency reports whether s has the form of a currency: three capitals. That
// the currency exists is not looked up.
func IsCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// String returns the normal form, the shortest decimal there is: "0.015", "5".
func (a Amount) String() string {
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", -n
	}
	whole, fraction := n/uint64(Unit), n%uint64(Unit)
	if fraction == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%06d", fraction), "0")
}

// Add returns a + b; false: the sum is no Amount any more.
func (a Amount) Add(b Amount) (Amount, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
