package allowances

import (
	"strings"

	"github.com/wayleave/wayleave/internal/money"
)

// ReadReceipt returns the charge that an answer names in the lines of its receipt's
// field, as they came:
//
//	0.02        in currency, empty: there is none that it could be in
//	0.02 USD
//	USD 0.02    as the fields of crawlers' prices have it
//	USD0.02
//
// An amount is written as policy writes one (O7): digits, a point, and at most six
// digits behind it; blanks may stand around either part. Anything else is
// Unreadable, and so are several lines, of which nobody can tell whether they are to
// be added up. No line is Unnamed.
func ReadReceipt(lines []string, currency string) Charge {
	switch {
	case len(lines) == 0:
		return Unnamed
	case len(lines) > 1 || len(lines[0]) > maxReceipt:
		return Unreadable
	}
	text := strings.Trim(lines[0], " \t")
	const capitals = 3
	switch n := len(text) - capitals; {
	case n > 0 && money.IsCurrency(text[:capitals]):
		text, currency = strings.TrimLeft(text[capitals:], " \t"), text[:capitals]
	case n > 0 && money.IsCurrency(text[n:]) && strings.ContainsAny(text[n-1:n], " \t"):
		text, currency = strings.TrimRight(text[:n], " \t"), text[n:]
	}
	m, err := money.New(text, currency)
	if err != nil {
		return Unreadable
	}
	return Observed(m)
}

// maxReceipt bounds what is read of a receipt, in octets.
const maxReceipt = 64
