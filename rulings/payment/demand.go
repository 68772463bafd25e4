package payment

import (
	"net/http"
	"strings"
)

// MaxBody is how much of a body is looked at for an x402 demand (T102). A longer
// one is none.
const MaxBody = 65536

// Limits of what is taken over from a source.
const (
	maxAmount = 32 // octets of a decimal; a longer one is an unknown price
	maxCharge = 64 // octets of a charge; the rest is cut off
)

// Rails on which an answer asks to be paid, in the order of T102. No rail means
// that it does not ask.
const (
	Licence      = "licence" // a licence token is asked for
	X402         = "x402"
	CrawlerPrice = "crawler-price"
	L402         = "l402"
	Payment      = "payment"
	Unknown      = "unknown" // 402 and nothing that is known
)

// AcceptSignature is the field by which an answer asks for a signature (T106).
const AcceptSignature = "accept-signature"

// A Demand is what an answer asks for and what it says it took. The zero value is
// an answer that does neither.
type Demand struct {
	Rail string

	// Price and Currency are a decimal and three capitals. Both are empty where
	// the price is unknown; it is never zero on that account (T103).
	Price, Currency string

	// Charge is what the answer says was charged, as written and cut to a length,
	// or the name of the field that says it without an amount (T104). It holds
	// whatever the status.
	Charge string

	// Noted has the lower-case names of other fields that are recorded and ask
	// nothing: accept-signature (T106), and crawler-price on another status.
	Noted []string
}

// Demanded reads the status, the fields and, of a 402, the body of a source's
// answer. The body may be cut at MaxBody. No input is an error, and time and
// memory are in proportion to the fields and MaxBody.
func Demanded(status int, h http.Header, body []byte) Demand {
	d := Demand{Rail: rail(status, h, body)}
	if !hasAny(h, ofAnswers) {
		return d
	}
	d.Charge = charge(h)
	if has(h, AcceptSignature) {
		d.Noted = append(d.Noted, AcceptSignature)
	}
	if d.Rail == CrawlerPrice {
		d.Currency, d.Price = price(lines(h, CrawlerPrice))
	} else if status != http.StatusPaymentRequired && has(h, CrawlerPrice) {
		d.Noted = append(d.Noted, CrawlerPrice)
	}
	return d
}

// rail returns the first rail of T102 that the answer is of.
func rail(status int, h http.Header, body []byte) string {
	if status != http.StatusUnauthorized && status != http.StatusPaymentRequired {
		return ""
	}
	asks := schemesOf(lines(h, "www-authenticate"))
	switch {
	case asks.license:
		return Licence
	case status == http.StatusUnauthorized:
		return "" // a login is no payment
	case isX402(lines(h, "payment-required"), body):
		return X402
	case has(h, CrawlerPrice):
		return CrawlerPrice
	case asks.l402:
		return L402
	case asks.payment:
		return Payment
	}
	return Unknown
}

// charge returns what the answer says was charged (T104).
func charge(h http.Header) string {
	const charged, receipt = "crawler-charged", "payment-response"
	for _, line := range lines(h, charged) {
		if line = strings.Trim(line, " \t"); line != "" {
			return line[:min(len(line), maxCharge)]
		}
	}
	if has(h, charged) {
		return charged // of nobody knows how much
	}
	for _, line := range lines(h, receipt) {
		if members, ok := decode(line); ok && string(members["success"]) == "true" {
			return receipt
		}
	}
	return ""
}

// isX402 reports whether a field or the body is a demand of x402: of version 2 the
// field, base64 of JSON; of version 1 the body.
func isX402(fields []string, body []byte) bool {
	for _, line := range fields {
		if members, ok := decode(line); ok && states(members, "x402Version") {
			return true
		}
	}
	if len(body) > MaxBody {
		return false
	}
	members, ok := object(body)
	return ok && states(members, "x402Version")
}

// price parses three capitals, one space and a decimal (T103). Lines that differ
// state no price.
func price(lines []string) (currency, amount string) {
	for i, line := range lines {
		c, a, ok := parsePrice(line)
		if !ok || i > 0 && (c != currency || a != amount) {
			return "", ""
		}
		currency, amount = c, a
	}
	return currency, amount
}

func parsePrice(s string) (currency, amount string, ok bool) {
	currency, amount, ok = strings.Cut(strings.Trim(s, " \t"), " ")
	if !ok || len(currency) != 3 || len(amount) > maxAmount {
		return "", "", false
	}
	for i := range 3 {
		if currency[i] < 'A' || currency[i] > 'Z' {
			return "", "", false
		}
	}
	whole, fraction, point := strings.Cut(amount, ".")
	if !isDigits(whole) || point && !isDigits(fraction) {
		return "", "", false
	}
	return currency, amount, true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
