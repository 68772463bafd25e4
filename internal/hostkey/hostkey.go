package hostkey

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// ErrInvalid is what every error of this package wraps: the host, or the
// authority it stands in, names nothing that could be asked.
var ErrInvalid = errors.New("not a host")

// Lengths in octets of a DNS name as text, without its final dot (RFC 1035,
// section 2.3.4), and of any spelling of one that is looked at: punycode takes
// time in the square of the length, and no name needs more even if all of it is
// escaped UTF-8.
const (
	maxLabel    = 63
	maxName     = 253
	maxSpelling = 4096
)

// profile is UTS 46 for lookup, non-transitional. Hyphens may stand where IDNA
// would not have them, because names such as r3---sn-a1b.example are in use,
// and STD3 is off because it forbids the underscore; plainName checks the rest.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false),
	idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// Key returns the key of host (specs: pacing P1, terms T13): lower case, IDNA
// A-labels, percent-escapes decoded, one trailing dot dropped, and an IP address
// in its canonical spelling, without brackets or zone. IPv4 in any spelling the
// WHATWG host parser takes, and IPv4-mapped IPv6, come out dotted. host has no
// port; an IPv6 address may stand in brackets or not.
//
// A host that has no key (an empty label, bad IDNA, an octet no DNS name has, a
// last label that is a number where the whole is no address) is an error that
// wraps ErrInvalid. A host that is already its key is returned as it is, without
// allocation.
func Key(host string) (string, error) {
	if strings.HasPrefix(host, "[") || strings.Contains(host, ":") {
		return v6Key(host)
	}
	if plainName(host) && !strings.Contains(host, acePrefix) {
		return nameOrV4(host)
	}
	return spelledKey(host)
}

// acePrefix begins a label in IDNA's ASCII form (RFC 5890, section 2.3.2.5).
// Such a label is valid only if it decodes, whatever its octets.
const acePrefix = "xn--"

// spelledKey is Key for a name that is not plain yet.
func spelledKey(host string) (string, error) {
	if len(host) > maxSpelling {
		return "", invalid(host[:maxName]+"...", "too long")
	}
	name := host
	if strings.Contains(name, "%") {
		var err error
		if name, err = url.PathUnescape(name); err != nil {
			return "", invalid(host, "bad percent-escape")
		}
	}
	name, err := toASCII(name)
	if err != nil {
		return "", invalid(host, "bad IDNA")
	}
	name = strings.TrimSuffix(name, ".")
	if !plainName(name) {
		return "", invalid(host, "no DNS name")
	}
	return nameOrV4(name)
}

// toASCII maps name to lower case and A-labels. Names in ASCII without A-labels
// skip IDNA, which has nothing to say of them. The result is mapped once more:
// a name whose key is not its own key would be two hosts to two callers.
func toASCII(name string) (string, error) {
	if isASCII(name) {
		name = strings.ToLower(name)
		if !strings.Contains(name, acePrefix) {
			return name, nil
		}
	}
	once, err := profile.ToASCII(name)
	if err != nil {
		return "", err
	}
	twice, err := profile.ToASCII(once)
	if err == nil && twice != once {
		err = ErrInvalid
	}
	return once, err
}

// plainName reports whether s consists of labels as keys have them: a to z,
// digits, hyphen and underscore, none empty, none too long.
func plainName(s string) bool {
	if len(s) > maxName {
		return false
	}
	start := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && i > start && i-start <= maxLabel:
			start = i + 1
		default:
			return false
		}
	}
	return len(s) > start && len(s)-start <= maxLabel
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// nameOrV4 returns name, in which plainName holds, or the address it spells.
func nameOrV4(name string) (string, error) {
	if !endsInNumber(name) {
		return name, nil
	}
	addr, ok := parseV4(name)
	if !ok {
		return "", invalid(name, "its last label is a number and it is no IPv4 address")
	}
	return canonical(name, addr), nil
}

// v6Key is Key for an IPv6 address, in brackets or not.
func v6Key(host string) (string, error) {
	text := host
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(text, ":") {
			return "", invalid(host, "brackets without an IPv6 address")
		}
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return "", invalid(host, "no IPv6 address")
	}
	return canonical(text, addr.Unmap().WithZone("")), nil
}

// canonical returns the canonical spelling of addr (RFC 5952), which is text
// itself, not a copy, when text has it.
func canonical(text string, addr netip.Addr) string {
	var buf [len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")]byte
	b := addr.AppendTo(buf[:0])
	if string(b) == text {
		return text
	}
	return string(b)
}

func invalid(host, why string) error {
	return fmt.Errorf("%w: %q: %s", ErrInvalid, host, why)
}

// IsPublicSuffix reports whether key is itself a suffix of the Public Suffix
// List, in its ICANN or its private part: everything under it belongs to
// strangers. A single label the list does not know, such as localhost, is none,
// nor is an address.
func IsPublicSuffix(key string) bool {
	if key == "" || strings.Contains(key, ":") || endsInNumber(key) {
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(key)
	// For a name under no rule the list's implicit rule "*" answers with the last
	// label; rules of the private part all have a dot.
	return suffix == key && (icann || strings.Contains(key, "."))
}
