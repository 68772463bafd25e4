package rulings_test

import (
	"net/netip"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// policy returns the effective policy of f.
func policy(t testing.TB, f rulings.PolicyFile) *rulings.Policy {
	t.Helper()
	p, faults := rulings.NewPolicy(f)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// Every range of the IANA IPv4 and IPv6 special-purpose address registries, and
// what is not in them but is not the public Internet either: multicast and what
// RFC 3879 deprecated. First and last are addresses within it.
var specialRanges = []struct{ name, first, last string }{
	{"this network (RFC 791)", "0.0.0.0", "0.255.255.255"},
	{"private use (RFC 1918), 24 bits", "10.0.0.0", "10.255.255.255"},
	{"shared address space, CGNAT (RFC 6598)", "100.64.0.0", "100.127.255.255"},
	{"loopback (RFC 1122)", "127.0.0.0", "127.255.255.255"},
	{"link local (RFC 3927)", "169.254.0.0", "169.254.255.255"},
	{"private use (RFC 1918), 20 bits", "172.16.0.0", "172.31.255.255"},
	{"IETF protocol assignments (RFC 6890)", "192.0.0.0", "192.0.0.255"},
	{"TEST-NET-1 (RFC 5737)", "192.0.2.0", "192.0.2.255"},
	{"AS112-v4 (RFC 7535)", "192.31.196.0", "192.31.196.255"},
	{"AMT (RFC 7450)", "192.52.193.0", "192.52.193.255"},
	{"6to4 relay anycast (RFC 7526)", "192.88.99.0", "192.88.99.255"},
	{"private use (RFC 1918), 16 bits", "192.168.0.0", "192.168.255.255"},
	{"direct delegation AS112 (RFC 7534)", "192.175.48.0", "192.175.48.255"},
	{"benchmarking (RFC 2544)", "198.18.0.0", "198.19.255.255"},
	{"TEST-NET-2 (RFC 5737)", "198.51.100.0", "198.51.100.255"},
	{"TEST-NET-3 (RFC 5737)", "203.0.113.0", "203.0.113.255"},
	{"multicast (RFC 5771)", "224.0.0.0", "239.255.255.255"},
	{"reserved and limited broadcast (RFC 1112, RFC 919)", "240.0.0.0", "255.255.255.255"},

	{"unspecified (RFC 4291)", "::", "::"},
	{"loopback (RFC 4291)", "::1", "::1"},
	{"local-use translation (RFC 8215)", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"},
	{"discard only (RFC 6666)", "100::", "100::ffff:ffff:ffff:ffff"},
	{"dummy prefix (RFC 9780)", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"},
	{"IETF protocol assignments (RFC 2928), behind Teredo", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"benchmarking (RFC 5180)", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"},
	{"ORCHIDv2 (RFC 7343)", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"documentation (RFC 3849)", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"direct delegation AS112 (RFC 7534)", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"},
	{"documentation (RFC 9637)", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"SRv6 SIDs (RFC 9602)", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"unique local (RFC 4193)", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"link local (RFC 4291)", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"site local (RFC 3879)", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"multicast (RFC 4291)", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
}

func TestN18SpecialRangesAreRefused(t *testing.T) {
	p := rulings.DefaultPolicy()
	for _, r := range specialRanges {
		for _, s := range []string{r.first, r.last} {
			addr := netip.MustParseAddr(s)
			if p.AllowsAddr("site.test", addr) {
				t.Errorf("%s: %s is let through", r.name, s)
			}
			if addr.Is4() && p.AllowsAddr("site.test", netip.AddrFrom16(addr.As16())) {
				t.Errorf("%s: ::ffff:%s is let through", r.name, s)
			}
			if p.AllowsAddr("site.test", addr.WithZone("eth0")) {
				t.Errorf("%s: %s is let through with a zone", r.name, s)
			}
		}
	}
	if p.AllowsAddr("site.test", netip.Addr{}) {
		t.Error("no address at all is let through")
	}
}

// The octet before a range and the one behind it, where these are public: the
// ranges are not wider than they should be.
func TestN18PublicAddressesPass(t *testing.T) {
	p := rulings.DefaultPolicy()
	for _, s := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255",
		"2001:200::", "2001:db7:ffff::", "2001:db9::", "2003::1", "2600::1", "2a00:1450::1", "3ffe::1", "4000::1",
	} {
		if !p.AllowsAddr("site.test", netip.MustParseAddr(s)) {
			t.Errorf("%s is refused", s)
		}
	}
}

func TestN18IPv4InsideIPv6IsJudgedAsIPv4(t *testing.T) {
	p := rulings.DefaultPolicy()
	for _, tt := range []struct {
		name, addr string
		want       bool
	}{
		{"mapped, public", "::ffff:8.8.8.8", true},
		{"mapped, metadata service", "::ffff:169.254.169.254", false},
		{"NAT64, public", "64:ff9b::8.8.8.8", true},
		{"NAT64, private", "64:ff9b::10.0.0.1", false},
		{"NAT64, metadata service", "64:ff9b::a9fe:a9fe", false},
		{"NAT64, loopback", "64:ff9b::127.0.0.1", false},
		{"6to4, public", "2002:0808:0808::1", true},
		{"6to4, private", "2002:0a00:0001::1", false},
		{"6to4, loopback", "2002:7f00:0001::", false},
		{"Teredo, public client", "2001:0:4136:e378:8000:63bf:f7f7:f7f7", true},
		{"Teredo, private client", "2001:0:4136:e378:8000:63bf:f5ff:fffe", false},
		{"Teredo, loopback client", "2001:0:4136:e378:8000:63bf:80ff:fffe", false},
		{"IPv4-compatible, loopback", "::127.0.0.1", false},
		{"IPv4-compatible, private", "::10.0.0.1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.AllowsAddr("site.test", netip.MustParseAddr(tt.addr)); got != tt.want {
				t.Errorf("%s: %v", tt.addr, got)
			}
		})
	}
}

func TestN18AllowPrivateNamesPrefixesAndHosts(t *testing.T) {
	p := policy(t, rulings.PolicyFile{AllowPrivate: []string{"10.1.0.0/16", "fd00:1::/32", "::ffff:172.16.0.0/108", "Corp.Internal.", "*.lab.internal"}})
	for _, tt := range []struct {
		name, host, addr string
		want             bool
	}{
		{"within a prefix", "site.test", "10.1.255.1", true},
		{"within a prefix, mapped", "site.test", "::ffff:10.1.2.3", true},
		{"within a prefix, NAT64", "site.test", "64:ff9b::10.1.2.3", true},
		{"beside a prefix", "site.test", "10.2.0.1", false},
		{"within an IPv6 prefix", "site.test", "fd00:1::5", true},
		{"beside an IPv6 prefix", "site.test", "fd00:2::5", false},
		{"within a prefix written as mapped", "site.test", "172.16.0.9", true},
		{"beside a prefix written as mapped", "site.test", "172.32.0.9", true}, // public
		{"another private address", "site.test", "192.168.0.1", false},
		{"a named host, wherever it is", "corp.internal", "192.168.0.1", true},
		{"a host under a named one", "a.corp.internal", "192.168.0.1", false},
		{"a wildcard", "a.b.lab.internal", "169.254.169.254", true},
		{"the name of a wildcard", "lab.internal", "127.0.0.1", true},
		{"a name that only ends like it", "xlab.internal", "127.0.0.1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.AllowsAddr(tt.host, netip.MustParseAddr(tt.addr)); got != tt.want {
				t.Errorf("%s at %s: %v", tt.host, tt.addr, got)
			}
		})
	}
}

// Every spelling of an address in a URL is the address, and is ruled before
// anything else is known of the host (N6, N18).
func TestN18AnAddressInTheURLIsRuledBeforeAnythingElse(t *testing.T) {
	for spelling, want := range map[string]rulings.Outcome{
		"127.0.0.1": rulings.Refuse, "2130706433": rulings.Refuse, "0x7f.1": rulings.Refuse, "0177.0.0.1": rulings.Refuse, "127.1": rulings.Refuse,
		"[::1]": rulings.Refuse, "[::ffff:127.0.0.1]": rulings.Refuse, "[::ffff:7f00:1]": rulings.Refuse, "169.254.169.254": rulings.Refuse,
		"[64:ff9b::10.0.0.1]": rulings.Refuse, "[fe80::1]": rulings.Refuse,
		"8.8.8.8": rulings.Proceed, "134744072": rulings.Proceed, "[2600::1]": rulings.Proceed, "localhost": rulings.Proceed,
	} {
		o, err := hostkey.ParseOrigin("http", spelling)
		if err != nil {
			t.Fatal(err)
		}
		terms := rulings.Terms{Robots: rulings.RobotsTerms{Site: rulings.ParseSite(nil)}}
		got := rulings.Decide(rulings.Request{Origin: o, Target: "/"}, terms, rulings.DefaultPolicy())
		if got.Outcome != want || got.Refused() && got.Reason != rulings.PrivateAddress {
			t.Errorf("%s: %v %s", spelling, got.Outcome, got.Reason)
		}
	}
}
