package pii

import "bytes"

// maxLocal is how long the part before the @ can be (RFC 5321, section 4.5.3.1.1).
const maxLocal = 64

// mails finds addresses from their @. Neither part holds another @, so no byte
// is looked at more than twice.
func mails(text []byte) []Finding {
	s := series{category: EmailAddress}
	for at := 0; !s.full(); at++ {
		next := bytes.IndexByte(text[at:], '@')
		if next < 0 {
			break
		}
		at += next
		start := at
		for start > s.end && start > at-maxLocal && isLocal(text[start-1]) {
			start--
		}
		if start < at {
			s.add(start, domain(text, at+1))
		}
	}
	return s.found
}

func isLocal(c byte) bool {
	return isAlphanumeric(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-'
}

// domain returns where the longest domain ends that begins at start, or 0. What
// follows its last label is no letter or digit: "1.0.rc1" does not end in a label
// "rc". It may be a hyphen or a dot, which are then not part of it.
func domain(text []byte, start int) (end int) {
	labels := 0
	for at := start; ; at++ {
		label, onlyLetters := at, true
		for at < len(text) && isAlphanumeric(text[at]) {
			onlyLetters = onlyLetters && isLetter(text[at])
			at++
		}
		if at == label {
			return end // no label begins with a hyphen
		}
		labels++
		if labels > 1 && onlyLetters && at-label > 1 {
			end = at
		}
		for at < len(text) && (isAlphanumeric(text[at]) || text[at] == '-') {
			at++ // behind the first hyphen, and so no last label
		}
		if at == len(text) || text[at] != '.' || text[at-1] == '-' {
			return end
		}
	}
}
