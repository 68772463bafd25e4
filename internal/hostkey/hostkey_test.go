package hostkey

import (
	"errors"
	"strings"
	"testing"
)

func TestKeyP1(t *testing.T) {
	label := strings.Repeat("a", 63)
	for _, tt := range []struct{ name, host, want string }{
		{"a plain name is its own key", "example.test", "example.test"},
		{"letter case goes", "EXAMPLE.Test", "example.test"},
		{"one trailing dot goes", "example.test.", "example.test"},
		{"a percent-escape is decoded", "exampl%65.test", "example.test"},
		{"a decoded letter loses its case", "%45xample.test", "example.test"},
		{"an escaped dot is a dot", "a%2eb", "a.b"},
		{"escaped UTF-8 is decoded before IDNA", "b%C3%BCcher.example", "xn--bcher-kva.example"},
		{"a name in Unicode becomes A-labels", "bücher.example", "xn--bcher-kva.example"},
		{"capitals in Unicode fold", "BÜCHER.example", "xn--bcher-kva.example"},
		{"an A-label stays", "xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"an A-label in capitals folds", "XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		{"the sharp s stays itself, non-transitional", "faß.example", "xn--fa-hia.example"},
		{"an ideographic full stop is a dot", "a。b", "a.b"},
		{"and the trailing one is dropped like any", "a.b。", "a.b"},
		{"full-width digits make an address", "１２７.0.0.1", "127.0.0.1"},
		{"an underscore survives", "a_b.test", "a_b.test"},
		{"an underscore survives beside Unicode", "_dmarc.bücher.example", "_dmarc.xn--bcher-kva.example"},
		{"hyphens in third and fourth place are in use", "r3---sn-a1b.example", "r3---sn-a1b.example"},
		{"63 octets are a label", label + ".test", label + ".test"},
		{"localhost is a name, not an address", "localhost", "localhost"},
		{"a digit inside a name is no address", "1und1.test", "1und1.test"},
		{"IPv4 dotted", "127.0.0.1", "127.0.0.1"},
		{"IPv4 with a trailing dot", "127.0.0.1.", "127.0.0.1"},
		{"IPv4 in decimal", "2130706433", "127.0.0.1"},
		{"IPv4 in octal", "0177.0.0.01", "127.0.0.1"},
		{"IPv4 in hexadecimal", "0x7F.0x0.0x0.0x1", "127.0.0.1"},
		{"IPv4 in one hexadecimal number", "0x7f000001", "127.0.0.1"},
		{"IPv4 of two parts", "127.1", "127.0.0.1"},
		{"IPv4 of three parts, the last of 16 bits", "192.168.257", "192.168.1.1"},
		{"IPv4 of mixed bases", "0x7f.1", "127.0.0.1"},
		{"a bare 0x is zero", "0x.0x.0", "0.0.0.0"},
		{"IPv4 behind escapes", "%31%32%37.1", "127.0.0.1"},
		{"IPv6 loses brackets", "[2001:DB8::1]", "2001:db8::1"},
		{"IPv6 is shortened", "2001:db8:0:0:0:0:0:1", "2001:db8::1"},
		{"IPv6 loses its zone", "fe80::1%eth0", "fe80::1"},
		{"IPv4-mapped IPv6 is dotted", "[::ffff:192.0.2.7]", "192.0.2.7"},
		{"IPv4-mapped IPv6 in hexadecimal is dotted", "::ffff:c000:207", "192.0.2.7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Key(tt.host)
			if err != nil || got != tt.want {
				t.Errorf("Key(%q) = %q, %v, want %q", tt.host, got, err, tt.want)
			}
		})
	}
}

func TestKeyP1RefusesWhatNamesNothing(t *testing.T) {
	for _, tt := range []struct{ name, host string }{
		{"nothing", ""},
		{"a dot", "."},
		{"an empty label", "a..b"},
		{"an empty first label", ".a"},
		{"two trailing dots", "example.test.."},
		{"a label of 64 octets", strings.Repeat("a", 64)},
		{"a name of 254 octets", strings.Repeat(strings.Repeat("a", 50)+".", 4) + strings.Repeat("b", 50)},
		{"a spelling without end", strings.Repeat("%61", 5000)},
		{"an A-label that does not decode", "xn--a.example"},
		{"an A-label of ASCII", "xn--example-.test"},
		{"UTF-8 broken off", "b\xc3.example"},
		{"a bad escape", "a%zz.test"},
		{"a space", "a b.test"},
		{"an escaped slash", "a%2fb.test"},
		{"an escaped NUL", "a%00.test"},
		{"a full-width slash", "a／b.test"},
		{"a port", "a.test:80"},
		{"a wildcard", "*.a.test"},
		{"a number that is no address", "a.1"},
		{"a last label in hexadecimal", "a.0x1"},
		{"five parts", "1.2.3.4.5"},
		{"a part over 255", "1.256.3.4"},
		{"a last part too large", "1.2.3.256"},
		{"a number beyond 32 bits", "4294967296"},
		{"a number beyond 64 bits", "99999999999999999999999"},
		{"an octal with a nine", "1.2.3.09"},
		{"an empty part before a number", "1..2"},
		{"IPv4 in brackets", "[127.0.0.1]"},
		{"a bracket left open", "[::1"},
		{"a bracket never opened", "::1]"},
		{"too many groups", "1:2:3:4:5:6:7:8:9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Key(tt.host); !errors.Is(err, ErrInvalid) {
				t.Errorf("Key(%q) = %q, %v, want ErrInvalid", tt.host, got, err)
			}
		})
	}
}

func TestKeyP1OfAKeyDoesNotAllocate(t *testing.T) {
	for _, host := range []string{"localhost", "a_b.www.example.test", "192.0.2.7", "2001:db8::1"} {
		if n := testing.AllocsPerRun(100, func() {
			if key, err := Key(host); err != nil || key != host {
				t.Fatalf("Key(%q) = %q, %v", host, key, err)
			}
		}); n != 0 {
			t.Errorf("Key(%q) allocates %v times", host, n)
		}
	}
}

func TestIsPublicSuffixO8(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		want      bool
	}{
		{"a top-level domain", "com", true},
		{"a suffix of two labels", "co.uk", true},
		{"a name under one", "example.co.uk", false},
		{"a suffix of the private part", "github.io", true},
		{"a name under that", "someone.github.io", false},
		{"a suffix by a wildcard rule", "anything.ck", true},
		{"an exception to that rule", "www.ck", false},
		{"a suffix in A-labels", "xn--p1ai", true},
		{"a single label the list does not know", "localhost", false},
		{"a name under such a label", "models.internal", false},
		{"an address", "127.0.0.1", false},
		{"an IPv6 address", "::1", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsPublicSuffix(tt.key); got != tt.want {
				t.Errorf("IsPublicSuffix(%q) = %v", tt.key, got)
			}
		})
	}
}

func BenchmarkKey(b *testing.B) {
	for _, bb := range []struct{ name, host string }{
		{"canonical name", "www.example.test"},
		{"canonical IPv4", "192.0.2.7"},
		{"canonical IPv6", "2001:db8::1"},
		{"capitals", "WWW.Example.test"},
		{"Unicode", "bücher.example"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Key(bb.host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
