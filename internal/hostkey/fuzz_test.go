package hostkey

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

var keySeeds = []string{
	"example.test", "EXAMPLE.test.", "exampl%65.test", "bücher.example", "faß.example", "xn--bcher-kva.example",
	"a。b", "a\u00adb.example", "א.example", "1.א", "a\u200db.example", "_x.test", "-a-.test", "r3---sn.test", "xn--", "%78n--a",
	"127.0.0.1", "0x7f.1", "017700000001", "2130706433", "1.2.3.4.", "１２７.1", "a.0x", "0x100000000",
	"[::1]", "::ffff:192.0.2.7", "fe80::1%eth0", "[::1", "a:80", "", ".", "..", "a..b", "%", "%2e", "a%2eb%3a1",
}

// FuzzKey holds what every user of keys relies on: a key is its own key, is made
// of few octets, and is an address in canonical spelling or surely none (P1).
func FuzzKey(f *testing.F) {
	if len(keySeeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range keySeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		key, err := Key(host)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || key != "" {
				t.Fatalf("Key(%q) = %q, %v", host, key, err)
			}
			return
		}
		if again, err := Key(key); err != nil || again != key {
			t.Fatalf("Key(%q) = %q, whose key is %q, %v", host, key, again, err)
		}
		if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" {
			t.Fatalf("Key(%q) = %q", host, key)
		}
		if addr, err := netip.ParseAddr(key); err == nil && (addr.String() != key || addr.Is4In6()) {
			t.Fatalf("Key(%q) = %q, canonically %s", host, key, addr)
		}
	})
}

// FuzzParseOrigin holds that an origin survives being written and read (T13) and
// that its file key is a safe file name (T14).
func FuzzParseOrigin(f *testing.F) {
	if len(keySeeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range keySeeds {
		f.Add("https", s)
		f.Add("http", s+":8080")
	}
	f.Fuzz(func(t *testing.T, scheme, authority string) {
		o, err := ParseOrigin(scheme, authority)
		if err != nil {
			return
		}
		for _, text := range []string{o.Authority(), strings.TrimPrefix(o.String(), o.Scheme+"://")} {
			if again, err := ParseOrigin(o.Scheme, text); err != nil || again != o {
				t.Fatalf("%+v is written %q and read %+v, %v", o, text, again, err)
			}
		}
		if key := o.FileKey(); !plainFileKey.MatchString(key) && !hashedFileKey.MatchString(key) {
			t.Fatalf("file key of %s is %q", o, key)
		}
		if addr, ok := o.Addr(); ok != strings.Contains(o.Host, ":") && ok != endsInNumber(o.Host) || ok && addr.String() != o.Host {
			t.Fatalf("address of %s is %v, %v", o, addr, ok)
		}
	})
}
