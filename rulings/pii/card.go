package pii

// Digits of a payment card's number (ISO/IEC 7812-1).
const minCard, maxCard = 13, 19

// paymentCard returns the longest number that begins at the digit at i, which no
// digit precedes. It can end wherever no digit follows.
func paymentCard(text []byte, i int) (start, end int) {
	if text[i] < '2' || text[i] > '6' {
		return 0, 0
	}
	// Luhn doubles every second digit from the right, so which ones depends on
	// their count: sums holds that of an even and that of an odd one.
	var sums [2]int
	allEqual := true
	for n, at := 0, i; n < maxCard; n++ {
		digit := int(text[at] - '0')
		sums[n&1] += doubled[digit]
		sums[n&1^1] += digit
		allEqual = allEqual && text[at] == text[i]
		at++
		if at < len(text) && isDigit(text[at]) {
			continue
		}
		if n+1 >= minCard && sums[(n+1)&1]%10 == 0 && !allEqual {
			end = at
		}
		if at+1 >= len(text) || text[at] != ' ' && text[at] != '-' || !isDigit(text[at+1]) {
			break
		}
		at++
	}
	return i, end
}

// doubled is twice a digit, the digits of the product added up.
var doubled = [10]int{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}

// socialSecurity returns the number whose first digit, which no digit precedes,
// is at i.
func socialSecurity(text []byte, i int) (start, end int) {
	const form = "AAA-GG-SSSS"
	end = i + len(form)
	if end > len(text) || i > 0 && text[i-1] == '-' || end < len(text) && (isDigit(text[end]) || text[end] == '-') {
		return 0, 0
	}
	for j := range len(form) {
		if c := text[i+j]; form[j] == '-' && c != '-' || form[j] != '-' && !isDigit(c) {
			return 0, 0
		}
	}
	area, group, serial := string(text[i:i+3]), string(text[i+4:i+6]), string(text[i+7:end])
	if area == "000" || area == "666" || area[0] == '9' || group == "00" || serial == "0000" {
		return 0, 0
	}
	return i, end
}
