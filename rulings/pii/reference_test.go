package pii

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// A grammar is a category in its most obvious form: a pattern for all of a match,
// what adjoins it, and what no pattern can say.
type grammar struct {
	category string
	pattern  *regexp.Regexp
	before   string // what must not stand before, as the inside of a class
	behind   string
	holds    func(match string) bool
}

var grammars = []grammar{
	{EmailAddress, whole(`[A-Za-z0-9._%+-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}`), ``, `A-Za-z0-9`, nil},
	{PaymentCard, whole(`[2-6]([ -]?[0-9]){12,18}`), `0-9`, `0-9`, holdsLuhn},
	{IBAN, whole(`[A-Za-z]{2} ?[0-9] ?[0-9]( ?[A-Za-z0-9]){11,30}`), `A-Za-z0-9`, `A-Za-z0-9`, holdsIBAN},
	{InternationalPhone, whole(`\+[0-9](\)?[ .-]?\(?[0-9]){7,14}`), `A-Za-z0-9`, `0-9`, nil},
	{UKNationalInsurance, whole(`[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]`), `A-Za-z0-9`, `A-Za-z0-9`, func(match string) bool {
		match = strings.ToUpper(match)
		return !regexp.MustCompile(`^(.?[DFIQUV]|.O|BG|GB|KN|NK|NT|TN|ZZ)`).MatchString(match)
	}},
	{USSocialSecurity, whole(`[0-9]{3}-[0-9]{2}-[0-9]{4}`), `0-9-`, `0-9-`, func(match string) bool {
		return !regexp.MustCompile(`^(000|666|9)|-00-|-0000$`).MatchString(match)
	}},
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// class matches one octet of a class; an empty one has none.
func class(inside string) *regexp.Regexp {
	if inside == "" {
		return regexp.MustCompile(`^\z.`)
	}
	return regexp.MustCompile("[" + inside + "]")
}

func holdsLuhn(match string) bool {
	digits := strings.NewReplacer(" ", "", "-", "").Replace(match)
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0 && strings.Trim(digits, digits[:1]) != ""
}

var inFours = regexp.MustCompile(`^([A-Za-z0-9]{4} ?)*[A-Za-z0-9]{0,3}$`)

func holdsIBAN(match string) bool {
	if strings.ToUpper(match) != match && !inFours.MatchString(match) {
		return false
	}
	compact := strings.ReplaceAll(match, " ", "")
	compact = strings.ToUpper(compact[4:] + compact[:4])
	number := ""
	for _, c := range compact {
		if 'A' <= c {
			number += big.NewInt(int64(c - 'A' + 10)).String()
		} else {
			number += string(c)
		}
	}
	n, _ := new(big.Int).SetString(number, 10)
	return n.Mod(n, big.NewInt(97)).Int64() == 1
}

// reference tries every part of text on every grammar: from each place, the
// longest first.
func reference(text string) (findings []Finding) {
	for _, g := range grammars {
		before, behind := class(g.before), class(g.behind)
		for start := 0; start < len(text); start++ {
			if start > 0 && before.MatchString(text[start-1:start]) {
				continue
			}
			for end := len(text); end > start; end-- {
				if end < len(text) && behind.MatchString(text[end:end+1]) || !g.pattern.MatchString(text[start:end]) {
					continue
				}
				if g.holds == nil || g.holds(text[start:end]) {
					findings = append(findings, Finding{g.category, start, end})
					start = end - 1
					break
				}
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Category, b.Category))
	})
	return findings
}
