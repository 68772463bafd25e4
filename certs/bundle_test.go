package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/wayleave/wayleave/certs"
)

// root returns a self-signed root in PEM.
func root(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func file(t *testing.T, content ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(path, bytes.Join(content, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// subjects lists whom the two bundles of a vouch for, and fails when they differ.
func subjects(t *testing.T, a *certs.Authority) string {
	t.Helper()
	rest, err := os.ReadFile(a.BundleFile())
	if err != nil {
		t.Fatal(err)
	}
	var inPEM []*x509.Certificate
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		inPEM = append(inPEM, c)
	}
	raw, err := os.ReadFile(a.P12File())
	if err != nil {
		t.Fatal(err)
	}
	inStore, err := pkcs12.DecodeTrustStore(raw, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(inPEM) != len(inStore) {
		t.Fatalf("bundle.pem has %d certificates, bundle.p12 %d", len(inPEM), len(inStore))
	}
	var names []string
	for i, c := range inPEM {
		if !c.Equal(inStore[i]) {
			t.Errorf("certificate %d differs between bundle.pem and bundle.p12", i)
		}
		if c.Equal(parsePEM(t, a.PEM())) {
			names = append(names, "ours")
		} else {
			names = append(names, c.Subject.CommonName)
		}
	}
	return strings.Join(names, " ")
}

// Case C04: a client given only the bundle still accepts public certificates.
func TestN22_C04_TheBundlesHoldTheSystemsRootsAndOurs(t *testing.T) {
	one, two, three := root(t, "one"), root(t, "two"), root(t, "three")
	bad := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("old")})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("k")})
	for name, test := range map[string]struct {
		system, extra []byte
		want          string
		logs          bool
	}{
		"roots of the system":                   {system: bytes.Join([][]byte{one, two}, nil), want: "one two ours"},
		"extra roots":                           {system: one, extra: three, want: "one three ours"},
		"a root that stands there twice":        {system: bytes.Join([][]byte{one, two, one}, nil), extra: two, want: "one two ours"},
		"a root that cannot be read":            {system: bytes.Join([][]byte{one, bad, two}, nil), want: "one two ours", logs: true},
		"text and other blocks between":         {system: bytes.Join([][]byte{[]byte("# one\n"), one, key, two}, nil), want: "one two ours"},
		"line ends of another system":           {system: bytes.ReplaceAll(one, []byte("\n"), []byte("\r\n")), want: "one ours"},
		"the last block without its line break": {system: bytes.TrimSuffix(one, []byte("\n")), want: "one ours"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			o := certs.Options{SystemRoots: file(t, test.system), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			if test.extra != nil {
				o.ExtraRoots = file(t, test.extra)
			}
			if got := subjects(t, open(t, t.TempDir(), o)); got != test.want {
				t.Errorf("bundles hold %q, want %q", got, test.want)
			}
			if logged := log.Len() > 0; logged != test.logs {
				t.Errorf("logged %q", &log)
			}
		})
	}
}

func TestN22_TheBundlesFollowTheSystemsRootsAtEachStart(t *testing.T) {
	dir := t.TempDir()
	one, two := root(t, "one"), root(t, "two")
	system := file(t, one)
	a := open(t, dir, certs.Options{SystemRoots: system})
	written := identities(t, a)

	a = open(t, dir, certs.Options{SystemRoots: system})
	if identities(t, a) != written {
		t.Error("bundles that were right have been written again")
	}
	if err := os.WriteFile(system, two, 0o600); err != nil {
		t.Fatal(err)
	}
	a = open(t, dir, certs.Options{SystemRoots: system})
	if got := subjects(t, a); got != "two ours" {
		t.Errorf("after the system's roots changed the bundles hold %q", got)
	}
	for _, path := range []string{a.BundleFile(), a.P12File()} {
		if err := os.WriteFile(path, []byte("scribble"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := subjects(t, open(t, dir, certs.Options{SystemRoots: system})); got != "two ours" {
		t.Errorf("bundles that were written over hold %q at the next start", got)
	}
}

// identities tells whether the bundles were replaced or written to.
func identities(t *testing.T, a *certs.Authority) [2]time.Time {
	t.Helper()
	var out [2]time.Time
	for i, path := range []string{a.BundleFile(), a.P12File()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = info.ModTime()
	}
	return out
}

// A process started by `wayleave run` finds SSL_CERT_FILE set to the bundle.
func TestN22_ItsOwnBundleIsNotTakenForTheSystemsRoots(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, certs.Options{})
	fresh := subjects(t, a)
	stale := bytes.Join([][]byte{root(t, "stale"), a.PEM()}, nil)
	if err := os.WriteFile(a.BundleFile(), stale, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := subjects(t, open(t, dir, certs.Options{SystemRoots: a.BundleFile()})); got != fresh {
		t.Errorf("bundles hold %q, want %q", got, fresh)
	}
}

func TestN22_RootsThatWereNamedAndCannotBeReadAreAnError(t *testing.T) {
	for name, o := range map[string]certs.Options{
		"no such file of system roots":            {SystemRoots: "/nowhere/roots.pem"},
		"system roots without any certificate":    {SystemRoots: file(t, []byte("none"))},
		"no such file of extra roots":             {ExtraRoots: "/nowhere/extra.pem"},
		"extra roots without any certificate":     {ExtraRoots: file(t, []byte("none"))},
		"extra roots that are only a damaged one": {ExtraRoots: file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := certs.Open(t.TempDir(), o); err == nil || !strings.Contains(err.Error(), "roots") {
				t.Errorf("got %v, want an error about the roots", err)
			}
		})
	}
}
