package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
)

// retiredName is the file of CAs that were rotated out and are still trusted:
// certificates in PEM, each with the header untilHeader, an RFC 3339 time.
const (
	retiredName = "retired.pem"
	untilHeader = "Trusted-Until"
)

// A retiredCA is a CA that signs no more and is trusted for a while longer.
type retiredCA struct {
	cert  *x509.Certificate
	until time.Time
}

// Rotate makes a new CA in dir and keeps the old one in the bundles for the time
// keep (N22). Edges that are running go on with the old CA until they are
// started anew, so keep has to last until the last of them was, and until
// clients that copied a bundle have the new one.
//
// The old certificate is retired first, then its file goes, then the new key and
// the new certificate are written. A crash behind any of these steps leaves a
// directory that Open can use: with the old CA, or with a key that has no
// certificate, for which it makes one.
func Rotate(dir string, keep time.Duration, o Options) (*Authority, error) {
	if keep < 0 {
		return nil, fmt.Errorf("the old CA cannot be trusted for %s longer", keep)
	}
	o = o.withDefaults()
	unlock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	now := o.Now()
	old, _, err := loadOrMake(dir, now)
	if err != nil {
		return nil, err
	}
	if err := retire(dir, old, now, keep); err != nil {
		return nil, fmt.Errorf("retiring the old CA: %w", err)
	}
	key, err := makeKey(filepath.Join(dir, keyName))
	if err != nil {
		return nil, err
	}
	cert, err := makeCert(filepath.Join(dir, certName), key, now)
	if err != nil {
		return nil, err
	}
	return assemble(dir, cert, key, o)
}

// retire adds old to the retired CAs and takes its certificate away.
func retire(dir string, old *x509.Certificate, now time.Time, keep time.Duration) error {
	retired, err := readRetired(dir, now)
	if err != nil {
		return err
	}
	var out []byte
	for _, r := range append(retired, retiredCA{old, now.Add(keep)}) {
		out = append(out, pem.EncodeToMemory(&pem.Block{
			Type: "CERTIFICATE", Bytes: r.cert.Raw,
			Headers: map[string]string{untilHeader: r.until.UTC().Format(time.RFC3339)},
		})...)
	}
	if err := durable.WriteFile(filepath.Join(dir, retiredName), out, 0o600); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, certName)); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}

// readRetired returns the CAs that were rotated out and are trusted at now. A
// file that cannot be read is an error: leaving a CA out would cut off clients
// that were promised it.
func readRetired(dir string, now time.Time) ([]retiredCA, error) {
	path := filepath.Join(dir, retiredName)
	rest, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the retired CAs: %w", err)
	}
	var retired []retiredCA
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return retired, nil
		}
		until, err := time.Parse(time.RFC3339, block.Headers[untilHeader])
		if err != nil {
			return nil, fmt.Errorf("%s: a certificate without a readable %s; move the file away to trust the present CA alone", path, untilHeader)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if now.Before(until) {
			retired = append(retired, retiredCA{cert, until})
		}
	}
}
