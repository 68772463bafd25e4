package pii

import "bytes"

// Digits of a telephone number with its country (ITU-T E.164 has at most 15).
const minPhone, maxPhone = 8, 15

// phones finds numbers from their plus sign, which cannot stand inside one.
func phones(text []byte) []Finding {
	s := series{category: InternationalPhone}
	for at := 0; !s.full(); at++ {
		next := bytes.IndexByte(text[at:], '+')
		if next < 0 {
			break
		}
		at += next
		if begins(text, at) {
			s.add(at, phone(text, at+1))
		}
	}
	return s.found
}

// phone returns where the longest number ends whose first digit is at at, or 0.
// A number does not end between two digits.
func phone(text []byte, at int) (end int) {
	for n := 0; at < len(text) && isDigit(text[at]); {
		at++
		n++
		if at < len(text) && isDigit(text[at]) {
			if n == maxPhone {
				return end
			}
			continue
		}
		if n >= minPhone {
			end = at
		}
		if n == maxPhone {
			return end
		}
		at = afterSeparators(text, at)
	}
	return end
}

// afterSeparators goes past what may stand between two digits: a closing
// parenthesis, a blank, hyphen or dot, and an opening parenthesis, each at most
// once.
func afterSeparators(text []byte, at int) int {
	for _, set := range []string{")", " -.", "("} {
		if at < len(text) && bytes.IndexByte([]byte(set), text[at]) >= 0 {
			at++
		}
	}
	return at
}
