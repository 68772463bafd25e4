package htmlhead

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// resolve returns the absolute http or https URL that a reference stands for.
func resolve(base *url.URL, reference string) (string, bool) {
	if strings.Trim(reference, whiteSpace) == "" {
		return "", false // HTML: a link without one links to nothing
	}
	u, ok := parseReference(base, reference)
	if !ok || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return "", false
	}
	if port := u.Port(); port != "" {
		// Package url takes any number.
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
	}
	u.Fragment, u.RawFragment = "", "" // a licence is the whole resource, and read once (T68)
	return u.String(), true
}

// parseReference parses a reference of an attribute as browsers do: white space
// round it goes, and line breaks and tabs inside it.
func parseReference(base *url.URL, reference string) (*url.URL, bool) {
	reference = strings.Trim(reference, whiteSpace)
	reference = withoutBreaks.Replace(reference)
	if !utf8.ValidString(reference) {
		return nil, false
	}
	u, err := url.Parse(encode(reference))
	if err != nil {
		return nil, false
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	return u, true
}

var withoutBreaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// encode escapes octets that no URL has, in the query too, which package url
// leaves as it stands. Control octets stay: they make it no URL.
func encode(s string) string {
	if strings.IndexFunc(s, isOutside) < 0 {
		return s
	}
	const hex = "0123456789ABCDEF"
	dst := make([]byte, 0, len(s)+len(s)/2)
	for i := 0; i < len(s); i++ {
		if c := s[i]; isOutside(rune(c)) {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return string(dst)
}

func isOutside(r rune) bool {
	return r >= 0x80 || strings.IndexByte(" \"<>\\^`{|}", byte(r)) >= 0
}
