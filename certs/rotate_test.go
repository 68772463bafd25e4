package certs_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/certs"
)

const week = 7 * 24 * time.Hour

func rotate(t *testing.T, dir string, keep time.Duration, o certs.Options) *certs.Authority {
	t.Helper()
	a, err := certs.Rotate(dir, keep, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trusts reports whether a client with a's bundle accepts a leaf.
func trusts(t *testing.T, a *certs.Authority, served *tls.Certificate) bool {
	t.Helper()
	roots := x509.NewCertPool()
	raw, err := os.ReadFile(a.BundleFile())
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(raw)
	c, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Verify(x509.VerifyOptions{Roots: roots})
	return err == nil
}

func TestN22_ARotatedCAIsTrustedForTheStatedTime(t *testing.T) {
	dir := t.TempDir()
	o := certs.Options{SystemRoots: file(t, root(t, "system"))}
	first := open(t, dir, o)
	oldLeaf, _ := leaf(t, first, "old.test")
	second := rotate(t, dir, week, o)
	newLeaf, _ := leaf(t, second, "new.test")

	if bytes.Equal(first.PEM(), second.PEM()) {
		t.Fatal("the CA is the same")
	}
	if !trusts(t, second, oldLeaf) || !trusts(t, second, newLeaf) {
		t.Error("the bundle does not vouch for both CAs")
	}
	if got := subjects(t, second); !strings.HasPrefix(got, "system Wayleave CA ") || !strings.HasSuffix(got, " ours") {
		t.Errorf("the bundles hold %q", got)
	}
	again := open(t, dir, o)
	if !bytes.Equal(again.PEM(), second.PEM()) || !trusts(t, again, oldLeaf) {
		t.Error("the next start undid the rotation")
	}
	o.Now = func() time.Time { return time.Now().Add(week + time.Minute) }
	if later := open(t, dir, o); trusts(t, later, oldLeaf) || !trusts(t, later, newLeaf) {
		t.Error("after the stated time the old CA is still trusted, or the new one no longer")
	}
}

func TestN22_EachOfSeveralRotatedCAsHasItsOwnTime(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, certs.Options{})
	firstLeaf, _ := leaf(t, first, "a.test")
	second := rotate(t, dir, 2*week, certs.Options{})
	secondLeaf, _ := leaf(t, second, "a.test")
	third := rotate(t, dir, 0, certs.Options{})
	if !trusts(t, third, firstLeaf) || trusts(t, third, secondLeaf) {
		t.Error("want the first CA trusted for its two weeks and the second, kept for no time, not at all")
	}
}

// Each state is what a crash leaves behind one step of a rotation.
func TestN22_ARotationThatWasCutShortLeavesAUsableCA(t *testing.T) {
	for name, cut := range map[string]func(dir string, before map[string][]byte) error{
		"the old certificate retired and still there": func(dir string, before map[string][]byte) error {
			return restore(dir, before, "ca.pem", "ca-key.pem")
		},
		"the old certificate gone, the old key there": func(dir string, before map[string][]byte) error {
			if err := os.Remove(filepath.Join(dir, "ca.pem")); err != nil {
				return err
			}
			return restore(dir, before, "ca-key.pem")
		},
		"the new key there, no certificate": func(dir string, _ map[string][]byte) error {
			return os.Remove(filepath.Join(dir, "ca.pem"))
		},
		"all but the bundles": func(dir string, before map[string][]byte) error {
			return restore(dir, before, "bundle.pem", "bundle.p12")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			oldLeaf, _ := leaf(t, open(t, dir, certs.Options{}), "a.test")
			before := map[string][]byte{}
			for _, name := range []string{"ca.pem", "ca-key.pem", "bundle.pem", "bundle.p12"} {
				raw, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				before[name] = raw
			}
			rotate(t, dir, week, certs.Options{})
			if err := cut(dir, before); err != nil {
				t.Fatal(err)
			}
			a := open(t, dir, certs.Options{})
			newLeaf, _ := leaf(t, a, "a.test")
			if !trusts(t, a, oldLeaf) || !trusts(t, a, newLeaf) {
				t.Error("the bundle vouches for one CA only")
			}
		})
	}
}

func restore(dir string, before map[string][]byte, names ...string) error {
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), before[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func TestN22_RetiredCAsThatCannotBeReadAreAnError(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"no end of trust":   func(b []byte) []byte { return bytes.Replace(b, []byte("Trusted-Until"), []byte("Trusted-While"), 1) },
		"an unreadable end": func(b []byte) []byte { return bytes.Replace(b, []byte("Until: 2"), []byte("Until: x"), 1) },
		"a damaged certificate": func([]byte) []byte {
			return []byte("-----BEGIN CERTIFICATE-----\nTrusted-Until: 2126-01-01T00:00:00Z\n\nAAAA\n-----END CERTIFICATE-----\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, certs.Options{})
			rotate(t, dir, week, certs.Options{})
			path := filepath.Join(dir, "retired.pem")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoil(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := certs.Open(dir, certs.Options{}); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want an error that names %s", err, path)
			}
		})
	}
	if _, err := certs.Rotate(t.TempDir(), -time.Second, certs.Options{}); err == nil {
		t.Error("a time before now was taken")
	}
}
