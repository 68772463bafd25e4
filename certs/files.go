package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/wayleave/wayleave/internal/durable"
)

const (
	// lockWait bounds a start behind another one. A CA is made in
	// milliseconds: who holds the lock longer hangs, and the operator should
	// hear of it.
	lockWait = 10 * time.Second
	lockPoll = 10 * time.Millisecond

	lifeYears = 10

	// backdate lets clients whose clock is a little behind accept what was
	// just signed.
	backdate = time.Hour
)

// lockDir makes dir if it is not there and takes its lock.
func lockDir(dir string) (unlock func(), err error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the CA directory: %w", err)
	}
	return lock(dir, lockWait)
}

// lock takes the lock that every writer of dir holds, waiting for it at most
// wait. The file stays when the
// lock is released: removing it would let two processes lock two files.
func lock(dir string, wait time.Duration) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	l := flock.New(path, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if _, err := l.TryLockContext(ctx, lockPoll); errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("another process has held %s for %s; end it, then start again", path, wait)
	} else if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// An error while unlocking leaves a descriptor that ends with the process.
	return func() { _ = l.Unlock() }, nil
}

// loadOrMake returns the CA of dir. The caller holds the lock.
//
// The key is written before the certificate. A crash between the two leaves a
// key that no client can have trusted yet, and the next start makes the
// certificate for it.
func loadOrMake(dir string, now time.Time) (*x509.Certificate, crypto.Signer, error) {
	keyPath, certPath := filepath.Join(dir, keyName), filepath.Join(dir, certName)
	certPEM, certErr := os.ReadFile(certPath)
	if certErr != nil && !errors.Is(certErr, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading the CA certificate: %w", certErr)
	}
	key, err := readKey(keyPath)
	switch {
	case errors.Is(err, fs.ErrNotExist) && certErr == nil:
		return nil, nil, fmt.Errorf("%s is there but its key %s is not; put the key back, or move the certificate away to have a new CA made, which every client must then be told to trust", certPath, keyPath)
	case errors.Is(err, fs.ErrNotExist):
		key, err = makeKey(keyPath)
	}
	if err != nil {
		return nil, nil, err
	}
	if certErr != nil {
		cert, err := makeCert(certPath, key, now)
		return cert, key, err
	}
	cert, err := parseCA(certPEM, key, now)
	if err != nil {
		return nil, nil, fmt.Errorf("the CA certificate %s cannot be used: %w", certPath, err)
	}
	return cert, key, nil
}

// readKey reads a private key that nobody but its owner can read.
func readKey(path string) (crypto.Signer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CA key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the CA key %s is not a regular file", path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return nil, fmt.Errorf("the CA key %s has mode %04o, so others may have read it; if nobody has, run: chmod 600 %s", path, perm, path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CA key: %w", err)
	}
	// What is wrong inside is not quoted: an error text is logged, a key never.
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("the CA key %s holds no PEM block of type PRIVATE KEY (PKCS #8)", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the CA key %s is not readable as PKCS #8", path)
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the CA key %s cannot sign", path)
	}
	return key, nil
}

func makeKey(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the CA key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("making the CA key: %w", err)
	}
	if err := durable.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, fmt.Errorf("writing the CA key: %w", err)
	}
	return key, nil
}

// makeCert makes and writes the self-signed certificate of key. The subject
// carries digits of the key, because two CAs of one name in one trust store
// confuse clients that look an issuer up by its subject.
func makeCert(path string, key crypto.Signer, now time.Time) (*x509.Certificate, error) {
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("making the CA certificate: %w", err)
	}
	digits := sha256.Sum256(spki)
	from := now.Add(-backdate).UTC().Truncate(time.Second)
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Wayleave"}, CommonName: "Wayleave CA " + hex.EncodeToString(digits[:4])},
		NotBefore: from, NotAfter: from.AddDate(lifeYears, 0, 0),
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		// No serial number and no key identifier: CreateCertificate gives
		// both (RFC 5280 sections 4.1.2.2 and 4.2.1.2).
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the CA certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making the CA certificate: %w", err)
	}
	if err := durable.WriteFile(path, encodeCert(cert), 0o600); err != nil {
		return nil, fmt.Errorf("writing the CA certificate: %w", err)
	}
	return cert, nil
}

// parseCA reads the one certificate in raw and checks that leaves signed by key
// under it will be accepted now.
func parseCA(raw []byte, key crypto.Signer, now time.Time) (*x509.Certificate, error) {
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it holds no PEM block of type CERTIFICATE")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	switch {
	case !ok || !public.Equal(key.Public()):
		return nil, errors.New("the key beside it is not its own")
	case !cert.BasicConstraintsValid || !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, errors.New("it is not the certificate of a CA")
	case len(cert.SubjectKeyId) == 0:
		return nil, errors.New("it has no subject key identifier, without which strict clients refuse its leaves")
	case now.Before(cert.NotBefore):
		return nil, fmt.Errorf("it is not valid before %s; is the clock right?", cert.NotBefore.Format(time.RFC3339))
	case now.After(cert.NotAfter):
		return nil, fmt.Errorf("it expired at %s; move it and its key away to have a new CA made, which every client must then be told to trust", cert.NotAfter.Format(time.RFC3339))
	}
	return cert, nil
}
