package payment

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// spending are the fields that spend or accept terms by being there, in lower
// case. Authorization does so with some schemes only.
var spending = []string{"crawler-exact-price", "crawler-max-price", "payment-signature", "x-payment"}

// Spending returns the lower-case names of the request fields that spend, sorted,
// each once (T105). It never returns a value. Every line of Authorization is
// looked at, and every scheme in it. Of trailers that are only announced, and have
// no lines yet, the names count.
func Spending(h http.Header) []string {
	if !hasAny(h, ofRequests) {
		return nil
	}
	var names []string
	if s := schemesOf(lines(h, "authorization")); s.license || s.l402 || s.payment {
		names = append(names, "authorization")
	}
	for _, name := range spending {
		if has(h, name) {
			names = append(names, name)
		}
	}
	return names
}

// ofRequests are the fields that are looked at in a request, and ofAnswers those
// in any answer.
var (
	ofRequests = append([]string{"authorization"}, spending...)
	ofAnswers  = []string{"crawler-charged", "payment-response", AcceptSignature, CrawlerPrice}
)

// hasAny reports whether h has a field of names in any spelling. Nearly every
// message has none, and one pass tells.
func hasAny(h http.Header, names []string) bool {
	for spelling := range h {
		for _, name := range names {
			if equalFold(spelling, name) {
				return true
			}
		}
	}
	return false
}

// lines returns the lines of a field. A header map may have names that are not in
// their canonical form, if something put them there; they count too, the spellings
// in sequence.
func lines(h http.Header, name string) (all []string) {
	var spellings []string
	for spelling := range h {
		if len(spelling) == len(name) && strings.EqualFold(spelling, name) {
			spellings = append(spellings, spelling)
		}
	}
	if len(spellings) == 1 {
		return h[spellings[0]]
	}
	slices.Sort(spellings)
	for _, spelling := range spellings {
		all = append(all, h[spelling]...)
	}
	return all
}

func has(h http.Header, name string) bool { return hasAny(h, []string{name}) }

// schemes are those that have to do with payment (T102, T105).
type schemes struct{ license, l402, payment bool }

// schemesOf finds the schemes in lines of challenges or credentials.
func schemesOf(lines []string) (found schemes) {
	for _, line := range lines {
		for line != "" {
			var member string
			member, line = cutMember(line)
			switch scheme := schemeOf(member); {
			case equalFold(scheme, "license"):
				found.license = true
			case equalFold(scheme, "l402"), equalFold(scheme, "lsat"):
				found.l402 = true
			case equalFold(scheme, "payment"):
				found.payment = true
			}
		}
	}
	return found
}

// cutMember cuts line at its first comma outside quotes.
func cutMember(line string) (member, rest string) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return line[:i], line[i+1:]
		}
	}
	return line, ""
}

// schemeOf returns the scheme that a member of a list begins with (RFC 9110,
// section 11.6.1), or nothing if the member is a parameter of the one before.
func schemeOf(member string) string {
	member = strings.TrimLeft(member, " \t")
	end := strings.IndexFunc(member, func(r rune) bool { return !isTokenRune(r) })
	if end < 0 {
		return member
	}
	if strings.HasPrefix(strings.TrimLeft(member[end:], " \t"), "=") {
		return ""
	}
	return member[:end]
}

func isTokenRune(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return letter || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// equalFold compares without letter case, of ASCII alone.
func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// decode returns the members of the JSON object that line is the base64 of, of
// either alphabet, padded or not.
func decode(line string) (map[string]json.RawMessage, bool) {
	line = strings.TrimRight(strings.Trim(line, " \t"), "=")
	if base64.RawStdEncoding.DecodedLen(len(line)) > MaxBody {
		return nil, false
	}
	line = strings.NewReplacer("-", "+", "_", "/").Replace(line)
	octets, err := base64.RawStdEncoding.DecodeString(line)
	if err != nil {
		return nil, false
	}
	return object(octets)
}

// object returns the members of a JSON object, their names as written.
func object(octets []byte) (members map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(octets, &members)
	return members, err == nil && members != nil
}

// states reports whether a member is there and not null.
func states(members map[string]json.RawMessage, name string) bool {
	value, ok := members[name]
	return ok && string(value) != "null"
}
