package links

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// resolve returns the absolute http or https URL that target stands for on page
// (T60). A bracket inside it is the start of another target, whose neighbour was
// not closed.
func resolve(page *url.URL, target string) (string, bool) {
	if !utf8.ValidString(target) || strings.IndexByte(target, '<') >= 0 {
		return "", false
	}
	u, err := url.Parse(encode(target))
	if err != nil {
		return "", false
	}
	if page != nil {
		u = page.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
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

// isElsewhere reports whether anchor is another URL than the page, fragments
// aside (T61). One that is no URL does not say so.
func isElsewhere(page *url.URL, anchor string) bool {
	if page == nil {
		return false
	}
	u, err := url.Parse(encode(anchor))
	if err != nil {
		return false
	}
	u = page.ResolveReference(u)
	page = page.ResolveReference(&url.URL{}) // without the dot segments that u has lost too
	return u.Scheme != page.Scheme || u.Opaque != page.Opaque || authority(u) != authority(page) ||
		rootless(u.Path) != rootless(page.Path) || encode(u.RawQuery) != encode(page.RawQuery)
}

// authority is the host and port of u in one spelling (RFC 3986, section 6.2.3).
func authority(u *url.URL) string {
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

func rootless(path string) string { return strings.TrimPrefix(path, "/") }
