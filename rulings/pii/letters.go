package pii

import "strings"

// nationalInsurance returns the number whose first digit, which no digit
// precedes, is at i.
func nationalInsurance(text []byte, i int) (start, end int) {
	start = afterLetters(text, i) - 2
	if start < 0 || !isPrefix(text[start], text[start+1]) || !begins(text, start) {
		return 0, 0
	}
	at := i
	for range 3 {
		if at+2 > len(text) || !isDigit(text[at]) || !isDigit(text[at+1]) {
			return 0, 0
		}
		at += 2
		if at < len(text) && text[at] == ' ' {
			at++
		}
	}
	if at == len(text) || text[at]|0x20 < 'a' || text[at]|0x20 > 'd' || !ends(text, at+1) {
		return 0, 0
	}
	return start, at + 1
}

// afterLetters returns where letters end that stand before i, directly or with a
// blank between.
func afterLetters(text []byte, i int) int {
	if i > 0 && text[i-1] == ' ' {
		return i - 1
	}
	return i
}

// isPrefix reports whether two letters are issued as the first two of a number
// (HMRC, NIM39110).
func isPrefix(a, b byte) bool {
	if !isLetter(a) || !isLetter(b) {
		return false
	}
	pair := string([]byte{a &^ 0x20, b &^ 0x20}) // in capitals
	if strings.ContainsAny(pair, "DFIQUV") || pair[1] == 'O' {
		return false
	}
	switch pair {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// Characters of an IBAN: country, check digits and the account (ISO 13616-1).
const minIBAN, maxIBAN = 2 + 2 + 11, 2 + 2 + 30

// iban returns the longest number whose first check digit, which no digit
// precedes, is at i. With small letters in it blanks stand in fours, as IBANs are
// printed: one in twenty texts like "in 2024 we opened three shops" would be one.
func iban(text []byte, i int) (start, end int) {
	start = afterLetters(text, i) - 2
	if start < 0 || !isLetter(text[start]) || !isLetter(text[start+1]) || !begins(text, start) {
		return 0, 0
	}
	head, rest := 0, 0 // the first four characters and the others, modulo 97
	small, scattered := false, false
	for n, at := 1, start; n <= maxIBAN && at < len(text); n++ {
		c := text[at]
		switch {
		case n <= 2, n <= 4 && isDigit(c):
			head = appendCharacter(head, c)
		case n > 4 && isAlphanumeric(c):
			rest = appendCharacter(rest, c)
		default:
			return start, end
		}
		if small = small || c >= 'a'; small && scattered {
			return start, end
		}
		at++
		// ISO 7064: the first four go behind the others.
		if n >= minIBAN && ends(text, at) && (rest*1_000_000+head)%97 == 1 {
			end = at
		}
		if at < len(text) && text[at] == ' ' {
			scattered = scattered || n%4 != 0
			at++
		}
	}
	return start, end
}

// appendCharacter appends a digit, or the two digits that stand for a letter, to
// a number that is kept modulo 97.
func appendCharacter(number int, c byte) int {
	if isDigit(c) {
		return (number*10 + int(c-'0')) % 97
	}
	return (number*100 + int(c|0x20-'a') + 10) % 97
}
