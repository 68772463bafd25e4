package rsl

import "strings"

// payment begins a payment element.
func (p *parser) payment() {
	licence := p.licence()
	t, typed := p.attr("type")
	payment := Payment{Type: clip(t), typed: typed}
	if typed && !payment.Known() {
		p.doc.remark(RemarkPayment, t, p.at)
	}
	licence.Payments = append(licence.Payments, payment)
	p.amounts = 0
}

// standard takes the URL of the standard licence that a payment is by.
func (p *parser) standard(url string) {
	if l := p.licence(); url != "" && len(l.Standards) < maxStandards {
		l.Standards = append(l.Standards, url)
	}
}

// amount begins an amount element.
func (p *parser) amount() {
	p.lastPayment().priced = true
	p.taken = p.taken[:0]
	p.currency, _ = p.attr("currency")
	p.amounts++
}

// priced ends an amount element whose text is text. Two amounts are no price.
func (p *parser) priced(text string) {
	payment := p.lastPayment()
	payment.Amount, payment.Currency = "", ""
	if text = strings.Trim(text, " \t\r\n"); p.amounts == 1 && isDecimal(text) && isCurrency(p.currency) {
		payment.Amount, payment.Currency = text, p.currency
	}
}

// isDecimal reports whether s is digits with at most one point and at least one
// digit, of a length that a price has.
func isDecimal(s string) bool {
	digits, points := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1 && len(s) <= maxWord
}

// isCurrency reports whether s is three letters, as ISO 4217's codes are.
func isCurrency(s string) bool {
	for i := range len(s) {
		if c := lowerOctet(s[i]); c < 'a' || 'z' < c {
			return false
		}
	}
	return len(s) == 3
}

// reporting takes a reporting element. What it contains is not looked into.
func (p *parser) reporting() {
	licence := p.licence()
	var d Demand
	d.Type, _ = p.attr("type")
	d.Profile, _ = p.attr("profile")
	licence.Reporting = append(licence.Reporting, d)
}
