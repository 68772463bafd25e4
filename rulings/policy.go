package rulings

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// A Fault is one thing wrong with a policy: the key it stands under, such as
// "services[2]", and what is wrong and would be right.
type Fault struct{ Key, Problem string }

// A Policy is an effective policy: checked, in normal form, with every default
// filled in. It never changes after NewPolicy, so any number of goroutines may
// use it.
type Policy struct {
	Mode            Mode
	Purposes        []Purpose // declared, in this order; never empty
	Identity        Identity
	Hosts           Hosts
	RequiredLicence []string // in the form of LicenceURL, sorted; one of them must govern a source
	Caps            Caps
	Screens         Screens

	services   []service // in the order of the canonical form, as tunnels
	tunnels    []pattern
	prefixes   []netip.Prefix
	private    []pattern
	spend      []spendRule
	operator   operator
	allowances []Allowance

	overlays  []Overlay // none in an overlay's own policy
	canonical []byte
	digest    Digest
}

// A Mode is what happens to a breach of the operator's policy (O11). Whatever is
// none of the three is to be taken for ModeStrict.
type Mode string

const (
	ModeObserve Mode = "observe" // is carried
	ModePrefer  Mode = "prefer"  // is carried, and the agent is told
	ModeStrict  Mode = "strict"  // is refused
)

func readMode(word string, fault faulter) Mode {
	return oneOf("mode", cmp.Or(word, string(ModeObserve)), fault, ModeObserve, ModePrefer, ModeStrict)
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
	p := &Policy{Mode: readMode(f.Mode, fault)}
	p.declare(f.Purposes, fault)
	p.Identity = readIdentity(f.Identity, fault)
	p.Hosts = readHosts(f.Hosts, fault)
	p.RequiredLicence = readLicences(f.RequiredLicence, fault)
	p.readServices(f.Services, f.ServiceTerms, fault)
	p.readTunnels(f.Tunnels, fault)
	for i, s := range f.AllowPrivate {
		if err := p.allowPrivate(s); err != nil {
			fault(fmt.Sprintf("allow_private[%d]", i), "%v", err)
		}
	}
	p.private = patternSet(p.private)
	slices.SortFunc(p.prefixes, netip.Prefix.Compare)
	p.allowSpending(f.Spend, fault)
	p.describeOperator(f.Terms, fault)
	p.allowances = readAllowances(f.Allowances, fault)
	p.Caps = readCaps(f.Caps, fault)
	p.Screens = readScreens(f.Screens, fault)
	for i, s := range f.Sessions {
		p.overlay(i, s, fault)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	p.seal()
	for _, o := range p.overlays {
		o.Policy.seal()
	}
	return p, nil
}

// readIdentity checks policy.identity.
func readIdentity(f IdentityFile, fault faulter) Identity {
	id := Identity{Tokens: slices.Clone(f.ProductToken), Contact: f.Contact}
	if len(id.Tokens) == 0 {
		id.Tokens = []string{"wayleave"}
	}
	for i, t := range id.Tokens {
		if !productToken.MatchString(t) {
			fault(fmt.Sprintf("identity.product_token[%d]", i), "%q is no product token; use letters, digits, - and _", t)
		}
	}
	id.UserAgent = oneOf("identity.user_agent", cmp.Or(f.UserAgent, string(UserAgentAppend)), fault, UserAgentKeep, UserAgentAppend, UserAgentReplace)
	if f.Contact != "" && !isContact(f.Contact) {
		fault("identity.contact", "use a URL or mail address of printable ASCII without blanks and parentheses")
	}
	return id
}

// isContact reports whether s is an absolute URL or a mail address, which may stand
// in a comment of a field (RFC 9110, section 5.6.5).
func isContact(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' || r == '\\' }) {
		return false
	}
	local, domain, _ := strings.Cut(s, "@")
	_, err := hostkey.Key(domain)
	return isURL(s) || local != "" && err == nil
}

// isURL reports whether s is a URL by itself.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "")
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

// SameGuard reports whether p and q let the same addresses through for the same
// hosts.
func (p *Policy) SameGuard(q *Policy) bool {
	return p == q || slices.Equal(p.prefixes, q.prefixes) && slices.Equal(p.private, q.private)
}

// Inside reports whether allow_private names o, which then may be asked by an edge
// that is offline (O60): the host by a pattern, or by its address, which is not
// public. No name is resolved for it.
func (p *Policy) Inside(o hostkey.Origin) bool {
	if matchAny(p.private, o.Host) {
		return true
	}
	addr, ok := o.Addr()
	return ok && !public(embedded(addr)) && p.AllowsAddr(o.Host, addr)
}

// Digest is the SHA-256 of Canonical (O5).
func (p *Policy) Digest() Digest { return p.digest }

// Canonical returns the effective policy as RFC 8785 canonical JSON, the form in
// which it is kept as a term object. The caller must not change it.
func (p *Policy) Canonical() []byte { return p.canonical }
