package rulings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// Hosts is the checked section policy.hosts. The zero value names no host.
type Hosts struct {
	deny, allow []pattern // in the order of the canonical form
	rules       []hostRule
}

type hostRule struct {
	host pattern
	rule HostRule
}

// A HostRule is one item of policy.hosts.rules.
type HostRule struct {
	Host     string // pattern
	Action   HostAction
	Licence  string // URL in the form of LicenceURL, with HostRequireLicence alone
	Position int    // from 1
}

// A HostAction is what a rule does with the hosts that it is first to match (O14).
type HostAction string

const (
	HostAllow          HostAction = "allow"           // passes the allow list
	HostRefuse         HostAction = "refuse"          // is a breach
	HostRequireLicence HostAction = "require_licence" // passes the allow list, and needs the licence
)

// HostDenied returns the first pattern of hosts.deny that matches host, a key of
// hostkey.Key, and its position from 1. Positions count in the order of the
// canonical form, so that a ruling made again from that form has the same.
func (p *Policy) HostDenied(host string) (pattern string, position int, denied bool) {
	i := firstMatch(p.Hosts.deny, host)
	if i < 0 {
		return "", 0, false
	}
	return p.Hosts.deny[i].String(), i + 1, true
}

// HostRule returns the first of hosts.rules that matches host, a key of
// hostkey.Key, and reports whether there is one.
func (p *Policy) HostRule(host string) (HostRule, bool) {
	for i := range p.Hosts.rules {
		if r := &p.Hosts.rules[i]; r.host.match(host) {
			return r.rule, true
		}
	}
	return HostRule{}, false
}

// HostAllowed reports whether hosts.allow is absent or matches host, a key of
// hostkey.Key.
func (p *Policy) HostAllowed(host string) bool {
	return len(p.Hosts.allow) == 0 || matchAny(p.Hosts.allow, host)
}

// readHosts checks policy.hosts.
func readHosts(f HostsFile, fault faulter) Hosts {
	h := Hosts{
		deny:  patternSet(filledPatterns("hosts.deny", f.Deny, fault)),
		allow: patternSet(filledPatterns("hosts.allow", f.Allow, fault)),
	}
	for i, r := range f.Rules {
		key := fmt.Sprintf("hosts.rules[%d]", i)
		host, err := parsePattern(r.Host)
		if err != nil {
			fault(key+".host", "%v", err)
		}
		rule := HostRule{Host: host.String(), Action: HostAction(r.Action), Position: i + 1}
		switch rule.Action {
		case HostAllow, HostRefuse:
			if r.Licence != "" {
				fault(key+".licence", "says nothing with the action %s; use require_licence, or leave it out", r.Action)
			}
		case HostRequireLicence:
			rule.Licence = readLicence(key+".licence", r.Licence, fault)
		default:
			fault(key+".action", "%q is none of allow, refuse, require_licence", r.Action)
		}
		h.rules = append(h.rules, hostRule{host, rule})
	}
	return h
}

// filledPatterns checks a list that may be left out but not be empty: an empty
// allow list could mean that nothing passes, or that everything does.
func filledPatterns(key string, hosts []string, fault faulter) []pattern {
	if hosts != nil && len(hosts) == 0 {
		fault(key, "is empty; name hosts, or leave the key out")
	}
	return eachPattern(key, hosts, fault)
}

func (h *Hosts) form() HostsFile {
	f := HostsFile{Allow: patternStrings(h.allow), Deny: patternStrings(h.deny), Rules: []HostRuleFile{}}
	for _, r := range h.rules {
		f.Rules = append(f.Rules, HostRuleFile{Action: string(r.rule.Action), Host: r.rule.Host, Licence: r.rule.Licence})
	}
	return f
}

// LicenceURL returns the spelling in which URLs of licences and standards are
// compared (O16, T13): the origin as hostkey writes it, then path and query as
// they are asked for. ok is false for what is no http or https URL with a host.
func LicenceURL(raw string) (spelling string, ok bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil {
		return "", false
	}
	o, err := hostkey.ParseOrigin(u.Scheme, u.Host)
	if err != nil {
		return "", false
	}
	return o.String() + u.RequestURI(), true
}

// readLicence checks the URL of a licence or standard.
func readLicence(key, raw string, fault faulter) string {
	spelling, ok := LicenceURL(raw)
	switch {
	case raw == "":
		fault(key, "is missing; name the licence by its URL")
	case !ok:
		fault(key, "%q is no URL of a licence; use one with http or https", raw)
	}
	return spelling
}

// readLicences checks policy.required_licence.
func readLicences(list []string, fault faulter) []string {
	var urls []string
	for i, raw := range list {
		urls = append(urls, readLicence(fmt.Sprintf("required_licence[%d]", i), raw, fault))
	}
	return sorted(urls)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// oneOf reads a word that has to be one of words.
func oneOf[T ~string](key, word string, fault faulter, words ...T) T {
	if !slices.Contains(words, T(word)) {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = string(w)
		}
		fault(key, "%q is none of %s", word, strings.Join(list, ", "))
	}
	return T(word)
}
