package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/wayleave/wayleave/internal/durable"
)

// rootPlaces are the files in which systems keep their roots as PEM, the list
// of the standard library's crypto/x509 (root_linux.go, root_bsd.go).
var rootPlaces = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, older RHEL
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL
	"/etc/ssl/cert.pem",                                 // Alpine, macOS
}

// writeBundles brings bundle.pem and bundle.p12 up to date with the system's
// roots, the extra ones, retired CAs and ca. The caller holds the lock. Files that already
// hold the right bytes are left alone, so that watchers of them stay quiet.
func writeBundles(dir string, ca *x509.Certificate, o Options) error {
	roots, err := collectRoots(dir, o)
	if err != nil {
		return err
	}
	retired, err := readRetired(dir, o.Now())
	if err != nil {
		return err
	}
	for _, r := range retired {
		roots.add(r.cert)
	}
	roots.add(ca)
	store, err := encodeStore(roots.certs, ca)
	if err != nil {
		return err
	}
	var bundle bytes.Buffer
	for _, c := range roots.certs {
		bundle.Write(encodeCert(c))
	}
	if err := update(filepath.Join(dir, bundleName), bundle.Bytes()); err != nil {
		return err
	}
	return update(filepath.Join(dir, storeName), store)
}

func update(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := durable.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing the bundle for clients: %w", err)
	}
	return nil
}

// encodeStore encodes certs as a trust store that Java reads without a
// password. Each alias is of the certificate's digest: Java keeps one entry per
// alias, and subjects are not unique.
func encodeStore(certs []*x509.Certificate, ca *x509.Certificate) ([]byte, error) {
	entries := make([]pkcs12.TrustStoreEntry, len(certs))
	for i, c := range certs {
		digest := sha256.Sum256(c.Raw)
		entries[i] = pkcs12.TrustStoreEntry{Cert: c, FriendlyName: "root-" + hex.EncodeToString(digest[:16])}
		if c.Equal(ca) {
			entries[i].FriendlyName = "wayleave"
		}
	}
	store, err := pkcs12.Passwordless.EncodeTrustStoreEntries(entries, "")
	if err != nil {
		return nil, fmt.Errorf("encoding the trust store for Java: %w", err)
	}
	return store, nil
}

// A rootSet collects certificates, each once, in the order they come.
type rootSet struct {
	certs []*x509.Certificate
	seen  map[[sha256.Size]byte]bool
	bad   int // blocks that are no readable certificate
}

func (s *rootSet) add(c *x509.Certificate) {
	digest := sha256.Sum256(c.Raw)
	if !s.seen[digest] {
		s.seen[digest] = true
		s.certs = append(s.certs, c)
	}
}

// addFile adds the certificates of a PEM file. One it cannot read does not take
// the rest away: systems ship old roots that the standard library rejects.
func (s *rootSet) addFile(path string) error {
	rest, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	readable := 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			s.add(c)
			readable++
		} else {
			s.bad++
		}
	}
	if readable == 0 {
		return fmt.Errorf("%s holds no readable certificate", path)
	}
	return nil
}

// collectRoots gathers the system's roots and the extra ones.
func collectRoots(dir string, o Options) (*rootSet, error) {
	roots := &rootSet{seen: make(map[[sha256.Size]byte]bool)}
	path := systemRoots(dir, o.SystemRoots)
	if path == "" {
		o.Logger.Warn("no system roots found; clients will trust only intercepted hosts", "looked_in", rootPlaces)
	} else if err := roots.addFile(path); err != nil {
		return nil, fmt.Errorf("reading the system's roots: %w", err)
	}
	if o.ExtraRoots != "" {
		if err := roots.addFile(o.ExtraRoots); err != nil {
			return nil, fmt.Errorf("reading the extra roots: %w", err)
		}
	}
	if roots.bad > 0 {
		o.Logger.Warn("roots left out of the bundle for clients", "unreadable", roots.bad, "kept", len(roots.certs))
	}
	return roots, nil
}

// systemRoots chooses the file of the system's roots, "" when there is none.
func systemRoots(dir, told string) string {
	if told != "" && !sameFile(told, filepath.Join(dir, bundleName)) {
		return told
	}
	for _, path := range rootPlaces {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	ai, errA := os.Stat(a)
	bi, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ai, bi)
}
