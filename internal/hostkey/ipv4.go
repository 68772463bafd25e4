package hostkey

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// endsInNumber reports whether the last label of name is a number. Such a name
// is an IPv4 address or nothing (WHATWG URL, "ends in a number checker").
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// parseV4 reads an IPv4 address of one to four parts, each decimal, octal (0…)
// or hexadecimal (0x…), the last one filling the octets that are left (WHATWG
// URL, "IPv4 parser"). name is in lower case.
func parseV4(name string) (netip.Addr, bool) {
	var value uint64
	parts := 0
	for rest, more := name, true; more; parts++ {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		n, ok := parseV4Number(part)
		if !ok || parts == 4 {
			return netip.Addr{}, false
		}
		if more {
			if n > 0xff {
				return netip.Addr{}, false
			}
			value |= n << (24 - 8*parts)
			continue
		}
		if n >= 1<<(32-8*parts) {
			return netip.Addr{}, false
		}
		value |= n
	}
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], uint32(value))
	return netip.AddrFrom4(octets), true
}

// parseV4Number reads one part of an IPv4 address (WHATWG URL, "IPv4 number
// parser"). A number beyond 64 bits is no number of an address either way.
func parseV4Number(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" { // "0x" alone is zero to browsers
		return 0, true
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
