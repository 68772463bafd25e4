package rulings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// A pattern is an exact host key, "*.name" (the name and all under it) or "*" (O7).
type pattern struct {
	name string
	wild bool
}

func parsePattern(s string) (pattern, error) {
	if s == "*" {
		return pattern{wild: true}, nil
	}
	name, wild := strings.CutPrefix(s, "*.")
	key, err := hostkey.Key(name)
	if err != nil || strings.Contains(name, "*") {
		return pattern{}, fmt.Errorf("%q is no host pattern; use a name, *.name or *", s)
	}
	return pattern{key, wild}, nil
}

func (p pattern) String() string {
	switch {
	case p.wild && p.name == "":
		return "*"
	case p.wild:
		return "*." + p.name
	}
	return p.name
}

func (p pattern) match(host string) bool {
	if !p.wild || len(host) <= len(p.name) {
		return host == p.name
	}
	return p.name == "" || strings.HasSuffix(host, p.name) && host[len(host)-len(p.name)-1] == '.'
}

// covers reports whether every host q matches is matched by p.
func (p pattern) covers(q pattern) bool {
	if q.wild && (!p.wild || q.name == "" && p.name != "") {
		return false
	}
	return p.match(q.name)
}

// narrower orders patterns that match the same host: an exact one before those
// with a wildcard, of which the longest name is the narrowest.
func (p pattern) narrower(q pattern) bool {
	if p.wild != q.wild {
		return q.wild
	}
	return len(p.name) > len(q.name)
}

// notTooWide refuses patterns that would declare strangers' hosts services (O8).
func (p pattern) notTooWide() error {
	if p.name == "" || hostkey.IsPublicSuffix(p.name) {
		return fmt.Errorf("%q is too wide for a service; name the host", p)
	}
	return nil
}

func matchAny(list []pattern, host string) bool { return firstMatch(list, host) >= 0 }

// firstMatch returns the index of the first pattern that matches host, or -1.
func firstMatch(list []pattern, host string) int {
	return slices.IndexFunc(list, func(p pattern) bool { return p.match(host) })
}

// patternSet puts patterns into the order of the canonical form, without doubles.
func patternSet(list []pattern) []pattern {
	slices.SortFunc(list, func(a, b pattern) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(list)
}

func patternStrings(list []pattern) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// eachPattern checks a list of host patterns. Those that are none are left out.
func eachPattern(key string, hosts []string, fault faulter) (list []pattern) {
	for i, host := range hosts {
		pt, err := parsePattern(host)
		if err != nil {
			fault(fmt.Sprintf("%s[%d]", key, i), "%v", err)
			continue
		}
		list = append(list, pt)
	}
	return list
}

// hostPatterns checks a list of host patterns that may not be empty.
func hostPatterns(key string, hosts []string, fault faulter) []pattern {
	switch {
	case hosts == nil:
		fault(key, "is missing; name the hosts")
	case len(hosts) == 0:
		fault(key, "is empty; name the hosts")
	}
	return eachPattern(key, hosts, fault)
}

// A userPattern is a proxy user name, or with a final * the beginning of some.
type userPattern string

func parseUser(key, name string, fault faulter) userPattern {
	if begin := strings.TrimSuffix(name, "*"); name == "" || strings.Contains(begin, "*") {
		fault(key, "%q is no user name; use one, or its beginning and *", name)
	}
	return userPattern(name)
}

func (u userPattern) match(user string) bool {
	begin, wild := strings.CutSuffix(string(u), "*")
	return user == string(u) || wild && strings.HasPrefix(user, begin)
}
