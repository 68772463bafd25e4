package rulings

import (
	"encoding/binary"
	"net/netip"
)

// special are the ranges that are not the public Internet: the IANA IPv4 and
// IPv6 special-purpose address registries (RFC 6890), multicast, and what is
// reserved. Ranges that only embed an IPv4 address (NAT64, 6to4, Teredo) are
// not here: embedded takes the address out of them first.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/8", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2620:4f:8000::/48",
	"3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public reports whether addr is an address of the public Internet. An IPv4
// address inside an IPv6 one is judged as the IPv4 address.
func Public(addr netip.Addr) bool { return public(embedded(addr)) }

// public reports whether addr, already taken out of any IPv6 wrapping, is an
// address of the public Internet.
func public(addr netip.Addr) bool {
	if !addr.IsValid() {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4 = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo = netip.MustParsePrefix("2001::/32")    // RFC 4380
)

// embedded returns the IPv4 address that addr stands for when it is one inside
// an IPv6 address (mapped, NAT64, 6to4, Teredo), else addr
// itself, in both cases without a zone.
func embedded(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() || !addr.IsValid() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixTo4.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case teredo.Contains(addr):
		// The client's address is stored with every bit inverted.
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], ^binary.BigEndian.Uint32(b[12:16]))
		return netip.AddrFrom4(v4)
	}
	return addr
}
