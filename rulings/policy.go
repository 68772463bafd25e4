package rulings

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// A PolicyFile is the operator's policy as written, before it is checked. The
// zero value is the default policy.
type PolicyFile struct {
	AllowPrivate []string // hosts and CIDR prefixes
	Services     []string // hosts
	Tunnels      []string // host patterns
	Purposes     []string // declared, in this order; nil means ai-input
	Identity     IdentityFile
	Spend        []SpendFile
	Terms        OperatorFile
}

// An IdentityFile is the section policy.identity as written.
type IdentityFile struct {
	ProductToken []string
	UserAgent    string
	Contact      string
}

// A Fault is one thing wrong with a policy: the key it stands under, such as
// "services[2]", and what is wrong and would be right.
type Fault struct{ Key, Problem string }

// A Policy is an effective policy: checked, in normal form, with every default
// filled in. It never changes after NewPolicy, so any number of goroutines may
// use it.
type Policy struct {
	Identity Identity
	Purposes []Purpose // declared, in this order; never empty

	spend    []spendRule
	operator operator

	prefixes  []netip.Prefix
	private   []pattern
	services  []pattern
	tunnels   []pattern
	canonical []byte
	digest    Digest
}

// UserAgentMode is what happens to the agent's User-Agent on its way to a source.
type UserAgentMode string

const (
	UserAgentKeep    UserAgentMode = "keep"    // untouched
	UserAgentAppend  UserAgentMode = "append"  // ours goes behind it, so that a site can see the name it may address
	UserAgentReplace UserAgentMode = "replace" // only ours
)

// Identity is what the edge calls itself to sources.
type Identity struct {
	Tokens    []string // product tokens ruled for in robots.txt; the first is the edge's own
	UserAgent UserAgentMode
	Contact   string // URL or mail address; empty for none
}

// DefaultPolicy refuses nothing of its own: sources' terms alone bind (O10).
func DefaultPolicy() *Policy {
	p, faults := NewPolicy(PolicyFile{})
	if len(faults) > 0 {
		panic("rulings: the default policy has faults") // it has no input
	}
	return p
}

var productToken = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// NewPolicy checks f and returns the effective policy, or every fault in it.
func NewPolicy(f PolicyFile) (*Policy, []Fault) {
	var faults []Fault
	fault := func(key, format string, args ...any) {
		faults = append(faults, Fault{key, fmt.Sprintf(format, args...)})
	}
	p := &Policy{Identity: Identity{Tokens: slices.Clone(f.Identity.ProductToken), UserAgent: UserAgentMode(f.Identity.UserAgent), Contact: f.Identity.Contact}}
	p.declare(f.Purposes, fault)
	if len(p.Identity.Tokens) == 0 {
		p.Identity.Tokens = []string{"wayleave"}
	}
	for i, t := range p.Identity.Tokens {
		if !productToken.MatchString(t) {
			fault(fmt.Sprintf("identity.product_token[%d]", i), "%q is no product token; use letters, digits, - and _", t)
		}
	}
	switch p.Identity.UserAgent {
	case "":
		p.Identity.UserAgent = UserAgentAppend
	case UserAgentKeep, UserAgentAppend, UserAgentReplace:
	default:
		fault("identity.user_agent", "%q is none of keep, append, replace", f.Identity.UserAgent)
	}
	if strings.ContainsFunc(f.Identity.Contact, func(r rune) bool { return r < ' ' || r > '~' || r == '(' || r == ')' || r == '\\' }) {
		fault("identity.contact", "use a URL or mail address of printable ASCII without parentheses")
	}
	for i, s := range f.AllowPrivate {
		if err := p.allowPrivate(s); err != nil {
			fault(fmt.Sprintf("allow_private[%d]", i), "%v", err)
		}
	}
	for i, s := range f.Services {
		pt, err := parsePattern(s)
		if err == nil {
			err = pt.notTooWide()
		}
		if err != nil {
			fault(fmt.Sprintf("services[%d]", i), "%v", err)
			continue
		}
		p.services = append(p.services, pt)
	}
	for i, s := range f.Tunnels {
		pt, err := parsePattern(s)
		if err == nil && !slices.ContainsFunc(p.services, func(s pattern) bool { return s.covers(pt) }) {
			err = fmt.Errorf("%q is not covered by services; a tunnel hides the paths that terms speak about, so a source can never be one", s)
		}
		if err != nil {
			fault(fmt.Sprintf("tunnels[%d]", i), "%v", err)
			continue
		}
		p.tunnels = append(p.tunnels, pt)
	}
	p.allowSpending(f.Spend, fault)
	p.describeOperator(f.Terms, fault)
	if len(faults) > 0 {
		return nil, faults
	}
	p.seal()
	return p, nil
}

func (p *Policy) allowPrivate(s string) error {
	if strings.Contains(s, "/") {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			return fmt.Errorf("%q is no CIDR prefix", s)
		}
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96) // judged as IPv4 (N18)
		}
		p.prefixes = append(p.prefixes, prefix.Masked())
		return nil
	}
	pt, err := parsePattern(s)
	if err != nil {
		return err
	}
	if pt == (pattern{wild: true}) {
		return fmt.Errorf("* would lift the guard for every host; name the hosts or prefixes")
	}
	p.private = append(p.private, pt)
	return nil
}

// Class says whether host, a key of hostkey.Key, is a source or a service.
func (p *Policy) Class(host string) Class {
	if matchAny(p.services, host) {
		return Service
	}
	return Source
}

// Tunnel reports whether host, a key of hostkey.Key, is passed through unread.
func (p *Policy) Tunnel(host string) bool { return matchAny(p.tunnels, host) }

// AllowsAddr reports whether a connection may go to addr on account of host, a
// key of hostkey.Key (N18). Public addresses always may. An IPv4 address inside
// an IPv6 one is judged as the IPv4 address.
func (p *Policy) AllowsAddr(host string, addr netip.Addr) bool {
	addr = embedded(addr)
	if public(addr) || matchAny(p.private, host) {
		return true
	}
	return slices.ContainsFunc(p.prefixes, func(pr netip.Prefix) bool { return pr.Contains(addr) })
}

// Digest is the SHA-256 of Canonical (O5).
func (p *Policy) Digest() Digest { return p.digest }

// Canonical returns the effective policy as RFC 8785 canonical JSON, the form in
// which it is kept as a term object. The caller must not change it.
func (p *Policy) Canonical() []byte { return p.canonical }

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

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
	if !p.wild {
		return host == p.name
	}
	return p.name == "" || host == p.name || strings.HasSuffix(host, "."+p.name)
}

// covers reports whether every host q matches is matched by p.
func (p pattern) covers(q pattern) bool {
	if q.wild && (!p.wild || q.name == "" && p.name != "") {
		return false
	}
	return p.match(q.name)
}

// notTooWide refuses patterns that would declare strangers' hosts services (O8).
func (p pattern) notTooWide() error {
	if p.name == "" || hostkey.IsPublicSuffix(p.name) {
		return fmt.Errorf("%q is too wide for a service; name the host", p)
	}
	return nil
}

func matchAny(list []pattern, host string) bool {
	return slices.ContainsFunc(list, func(p pattern) bool { return p.match(host) })
}

func patternStrings(list []pattern) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}
