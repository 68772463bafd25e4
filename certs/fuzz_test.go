package certs_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/certs"
)

// Whatever a client names, Leaf answers with ErrName or with a certificate that
// vouches for it.
func FuzzLeaf(f *testing.F) {
	seeds := []string{"", ".", "a.test", "A.TEST.", "a..test", "-a.test", "a_b.test", "xn--bcher-kva.example", "bücher.test", "\u212a.test",
		"192.0.2.1", "192.0.2.1.", "::1", "[::1]", "::ffff:10.0.0.1", "fe80::1%eth0", "1.2.3", "0x7f.1", "*.test", "a\x00b", "a.test:443"}
	for _, s := range seeds {
		f.Add(s)
	}
	a := open(f, f.TempDir(), certs.Options{LeafCache: 64})
	f.Fuzz(func(t *testing.T, host string) {
		served, err := a.Leaf(host)
		if err != nil {
			if !errors.Is(err, certs.ErrName) {
				t.Fatal(err)
			}
			return
		}
		c, err := x509.ParseCertificate(served.Certificate[0])
		if err != nil {
			t.Fatalf("%q: %v", host, err)
		}
		if len(c.DNSNames)+len(c.IPAddresses) != 1 {
			t.Fatalf("%q: names %q and addresses %v", host, c.DNSNames, c.IPAddresses)
		}
		if err := c.VerifyHostname(strings.TrimSuffix(host, ".")); err != nil {
			t.Fatal(err)
		}
	})
}
