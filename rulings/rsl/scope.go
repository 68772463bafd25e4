package rsl

import "strings"

// A Pattern is a compiled path pattern (specs: terms T32, T33).
type Pattern interface {
	// Match reports whether the pattern matches form, in time in proportion to
	// the lengths of both.
	Match(form string) bool
	// String returns the pattern's form.
	String() string
}

// Paths is how patterns and origins are read elsewhere, so that this package
// means the same by them. Both functions must be set, must be pure, and must
// answer one input always alike.
type Paths struct {
	// Compile compiles a text that begins with / or *. A nil Pattern matches
	// nothing.
	Compile func(text string) Pattern

	// Origin returns the spelling in which origins are compared, of an http or
	// https scheme in lower case and the authority without userinfo. ok is
	// false for an authority that no page can have.
	Origin func(scheme, authority string) (origin string, ok bool)
}

// A reach is what sort of pages the url of an entry speaks of.
type reach uint8

const (
	reachNothing  reach = iota // pages of another scheme than http and https
	reachUnscoped              // where no other entry does
	reachPath                  // a pattern on whatever origin
	reachOrigin                // a pattern on one origin
)

// A scopeText is the url of an entry, taken apart (T78).
type scopeText struct {
	reach             reach
	scheme, authority string // of reachOrigin
	pattern           string // of reachPath and reachOrigin
}

// readScope takes the url of an entry apart. White space round it is no part of
// it, as for every reader of URLs; a fragment goes (T31).
func readScope(url string) scopeText {
	url, _, _ = strings.Cut(strings.Trim(url, " \t\r\n"), "#")
	if url == "" {
		return scopeText{reach: reachUnscoped}
	}
	if url[0] == '/' || url[0] == '*' {
		return scopeText{reach: reachPath, pattern: url}
	}
	scheme, rest, ok := cutScheme(url)
	if !ok {
		return scopeText{reach: reachPath, pattern: "/" + url}
	}
	scheme = lower(scheme)
	if scheme != "http" && scheme != "https" {
		return scopeText{}
	}
	rest, ok = strings.CutPrefix(rest, "//")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, target := rest[:end], rest[end:]
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	if !ok || authority == "" || authority[0] == ':' {
		return scopeText{reach: reachUnscoped}
	}
	if target == "" || target[0] == '?' {
		target = "/" + target
	}
	return scopeText{reachOrigin, scheme, authority, target}
}

// cutScheme parts url behind its scheme (RFC 3986, section 3.1).
func cutScheme(url string) (scheme, rest string, ok bool) {
	for i := range len(url) {
		switch c := lowerOctet(url[i]); {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return url[:i], url[i+1:], c == ':' && i > 0
		}
	}
	return "", "", false
}
