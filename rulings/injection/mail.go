package injection

// mailLength returns the length of the mail address that text begins with, 0 if it
// begins with none (specs: policy, O48).
func mailLength(text []byte) int {
	const maxLocal = 64
	p := 0
	for p < len(text) && p <= maxLocal && isLocal(text[p]) {
		p++
	}
	if p == 0 || p > maxLocal || p == len(text) || text[p] != '@' {
		return 0
	}
	return hostEnd(text, p+1)
}

// hostEnd returns the end of the longest host name that begins at p, of two labels
// or more, the last of two letters or more; 0 if there is none.
func hostEnd(text []byte, p int) (end int) {
	const maxHost = 255 // RFC 5321, section 4.5.3.1.2
	text = text[:min(len(text), p+maxHost)]
	for labels := 1; ; labels++ {
		start, digits := p, 0
		for p < len(text) && (isLetterOrDigit(text[p]) || text[p] == '-' && p > start) {
			if text[p] <= '9' { // a hyphen too
				digits++
			}
			p++
		}
		stop := p
		for stop > start && text[stop-1] == '-' {
			stop--
			digits--
		}
		if labels > 1 && digits == 0 && stop-start >= 2 {
			end = stop
		}
		if stop == start || stop < p || p == len(text) || text[p] != '.' {
			return end
		}
		p++
	}
}

func isLetterOrDigit(b byte) bool { return isLower(b|0x20) || '0' <= b && b <= '9' }

func isLocal(b byte) bool {
	switch b {
	case '.', '_', '%', '+', '-':
		return true
	}
	return isLetterOrDigit(b)
}
