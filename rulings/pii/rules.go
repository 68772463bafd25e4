package pii

import (
	"crypto/sha256"
	"slices"
)

// ruleText says all that Scan does. A golden file is named after its digest, so
// whoever changes what is found has to change what is said here.
const ruleText = `wayleave-pii/1

Letters are A-Z and a-z, digits 0-9, a blank is U+0020; every other byte is neither letter nor digit. In "n to m" the longest match counts. Of one category the leftmost match counts and the next begins behind it; categories may overlap. At most 64 findings are told, in order of start, end and category, and whether there are more.

email_address: 1 to 64 of letters, digits and . _ % + -, then @, then at least two labels joined by dots. A label is letters, digits and inner hyphens; the last label is at least two letters and no letter or digit adjoins behind it.
payment_card: 13 to 19 digits, the first 2 to 6, not all equal; between two digits one blank or hyphen or nothing; the Luhn sum is a multiple of 10; no digit adjoins.
iban: two letters, two digits, 11 to 30 letters or digits; behind the second letter and every further character but the last one blank or nothing, with a small letter in it only behind every fourth character; the last characters, then the first four, a letter read as 10 to 35, leave the remainder 1 modulo 97; no letter or digit adjoins.
international_phone: + and 8 to 15 digits; between two digits, each once or not at all and in this order, a closing parenthesis, one of blank, hyphen and dot, an opening parenthesis; no letter or digit adjoins before it, no digit behind it.
uk_national_insurance: two letters, three pairs of digits, a letter A to D in either case; between two of these one blank or nothing; neither of the first letters one of D F I Q U V, the second not O, the two not BG GB KN NK NT TN ZZ, in either case; no letter or digit adjoins.
us_social_security: three digits, hyphen, two digits, hyphen, four digits; the first not 000, 666 or 9xx, the second not 00, the third not 0000; no digit or hyphen adjoins.
`

// RuleText returns the whole text of the rules, the same in every edge of this
// version (O43).
func RuleText() string { return ruleText }

// Digest returns the SHA-256 of RuleText.
func Digest() [sha256.Size]byte { return sha256.Sum256([]byte(ruleText)) }

// Blind returns what a text may hold that Scan does not see (O43). The caller may
// change the slice.
func Blind() []string { return slices.Clone(blind) }

var blind = []string{
	"names, postal addresses, dates of birth and every other kind of personal data than the six categories",
	"identity numbers of other countries, telephone numbers without a country code",
	"what is written out in words, disguised or encoded (jane at example dot org, percent-encoding, base64)",
	"mail addresses and digits beyond ASCII",
	"pictures, sound and files inside the text",
}
