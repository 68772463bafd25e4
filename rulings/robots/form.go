package robots

import "strings"

// Form returns the spelling in which a target, the path and query of a request
// as sent, is compared (specs: terms T31): escapes of unreserved octets decoded,
// other escapes in upper case, octets that may not stand in a URL escaped, and
// *, $ and a stray % escaped, so that in a form they never mean themselves.
// Behind the first ? the escapes of : / ? @ [ ] are decoded too (RFC 9309,
// figure 4). No path and the target * are /; a fragment goes.
//
// A target already in its form is returned as it is, without allocation. The
// form of a form is itself.
func Form(target string) string {
	target = wholeTarget(target)
	if inForm(target) {
		return target
	}
	form, _ := appendForm(make([]byte, 0, len(target)+len(target)/4), target, false)
	return string(form)
}

// wholeTarget drops a fragment and gives a target without a path the path /.
func wholeTarget(target string) string {
	target, _, _ = strings.Cut(target, "#")
	switch {
	case target == "", target == "*": // OPTIONS * is about the whole server
		return "/"
	case target[0] == '?':
		return "/" + target
	}
	return target
}

// kept holds the octets that stand in forms as themselves: RFC 3986's
// unreserved and reserved ones, save * and $, which mean something in patterns.
var kept = octets(unreservedOctets + ":/?#[]@!&'()+,;=")

var unreserved = octets(unreservedOctets)

const unreservedOctets = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

func octets(list string) (set [256]bool) {
	for i := 0; i < len(list); i++ {
		set[list[i]] = true
	}
	return set
}

// inForm reports whether forming would change nothing in s. Escapes are left to
// appendForm, so a false may be wrong.
func inForm(s string) bool {
	for i := 0; i < len(s); i++ {
		if !kept[s[i]] {
			return false
		}
	}
	return true
}

const upperHex = "0123456789ABCDEF"

// appendForm appends the form of s to dst. query tells whether s begins behind
// the first ?, and the result whether what follows s does.
func appendForm(dst []byte, s string, query bool) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if kept[c] {
			query = query || c == '?'
			dst = append(dst, c)
			continue
		}
		if c == '%' {
			if decoded, ok := unescape(s[i:]); ok {
				i += 2
				if unreserved[decoded] || query && sameInQuery(decoded) {
					dst = append(dst, decoded)
					continue
				}
				c = decoded
			}
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
	}
	return dst, query
}

// sameInQuery reports whether c and its escape are one in a query (RFC 9309,
// figure 4, which writes https%3A%2F%2F for https://).
func sameInQuery(c byte) bool {
	return strings.IndexByte(":/?@[]", c) >= 0
}

// unescape returns the octet that the escape at the start of s stands for.
func unescape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok1 := hexDigit(s[1])
	low, ok2 := hexDigit(s[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
