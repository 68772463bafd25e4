package pii

import (
	"cmp"
	"slices"
)

// MaxFindings is how many findings of a text are told.
const MaxFindings = 64

// Categories of O48.
const (
	EmailAddress        = "email_address"
	PaymentCard         = "payment_card"
	IBAN                = "iban"
	InternationalPhone  = "international_phone"
	UKNationalInsurance = "uk_national_insurance"
	USSocialSecurity    = "us_social_security"
)

// A Finding is a match: the bytes from Start up to End, which is the offset
// behind the last of them.
type Finding struct {
	Category   string
	Start, End int
}

// Scan returns the first MaxFindings matches in text, in order of Start, then of
// End, then of Category. cut reports that there are more. Of one category a match
// is the leftmost, of those the longest, and the next begins behind it; matches of
// different categories may overlap.
func Scan(text []byte) (findings []Finding, cut bool) {
	findings = slices.Concat(mails(text), phones(text), numbers(text))
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Category, b.Category))
	})
	if len(findings) > MaxFindings {
		return findings[:MaxFindings:MaxFindings], true
	}
	return findings, false
}

// A series holds the matches of one category in order. One more than is told is
// enough to know what is told of all categories and that there is more.
type series struct {
	category string
	found    []Finding
	end      int // of the last match
}

func (s *series) full() bool { return len(s.found) > MaxFindings }

// add takes a match up that begins behind the last one. No match has an end of 0.
func (s *series) add(start, end int) {
	if end == 0 || start < s.end || s.full() {
		return
	}
	s.found = append(s.found, Finding{s.category, start, end})
	s.end = end
}

// numbers finds the categories that have digits in them and no sign that is
// rarer. Each is looked for from its first digit.
func numbers(text []byte) []Finding {
	cards, ibans := series{category: PaymentCard}, series{category: IBAN}
	insured, secured := series{category: UKNationalInsurance}, series{category: USSocialSecurity}
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		cards.add(paymentCard(text, i))
		ibans.add(iban(text, i))
		insured.add(nationalInsurance(text, i))
		secured.add(socialSecurity(text, i))
		for i+1 < len(text) && isDigit(text[i+1]) {
			i++
		}
	}
	return slices.Concat(cards.found, ibans.found, insured.found, secured.found)
}

func isDigit(c byte) bool { return c-'0' < 10 }

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func isAlphanumeric(c byte) bool { return isDigit(c) || isLetter(c) }

// begins reports that no letter or digit adjoins before at.
func begins(text []byte, at int) bool { return at == 0 || !isAlphanumeric(text[at-1]) }

// ends reports that no letter or digit adjoins behind what ends at at.
func ends(text []byte, at int) bool { return at >= len(text) || !isAlphanumeric(text[at]) }
