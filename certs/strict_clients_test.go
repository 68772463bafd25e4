//go:build clients

package certs_test

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wayleave/wayleave/certs"
)

// Case P09 with a client of the strict kind itself.
func TestN23_P09_OpenSSLAcceptsTheChainUnderStrictRules(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	for name, test := range map[string]struct{ host, flag string }{
		"a name":       {"www.example.test", "-verify_hostname"},
		"an address":   {"192.0.2.10", "-verify_ip"},
		"IPv6 address": {"2001:db8::1", "-verify_ip"},
	} {
		t.Run(name, func(t *testing.T) {
			served, _ := leaf(t, a, test.host)
			path := filepath.Join(t.TempDir(), "leaf.pem")
			raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate[0]})
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, roots := range []string{a.CAFile(), a.BundleFile()} {
				out, err := exec.Command("openssl", "verify", "-x509_strict", "-purpose", "sslserver", test.flag, test.host, "-no-CApath", "-no-CAstore", "-CAfile", roots, path).CombinedOutput()
				if err != nil {
					t.Errorf("with %s: %v\n%s", filepath.Base(roots), err, out)
				}
			}
		})
	}
}

// Java reads the store without being given a password.
func TestN24_JavaReadsTheTrustStoreWithoutAPassword(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	out, err := exec.Command("keytool", "-list", "-keystore", a.P12File(), "-storetype", "PKCS12", "-storepass", "", "-alias", "wayleave").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
