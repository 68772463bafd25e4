package certs

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// leafLife is 90 days, of which the last second counts too (RFC 5280 section
// 4.1.2.5).
const leafLife = 90*24*time.Hour - time.Second

// ErrName is returned by Leaf for a host that no certificate can name.
var ErrName = errors.New("not a DNS name or an IP address")

// ErrExpired is returned by Leaf when the CA has expired since it was loaded.
var ErrExpired = errors.New("the CA has expired")

// Leaf returns the certificate to show for host, a DNS name or an IP address
// without brackets, with the chain up to and including the CA (N23). It comes
// from memory where it can; otherwise it is signed once, however many callers
// ask for the name together, and held until two thirds of its life are over or
// other names push it out. The certificate is shared and must not be changed.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	// Callers nearly always ask for a name in normal form, so it is looked up
	// before it is taken apart.
	if cert := a.leaves.get(host, a.now()); cert != nil {
		return cert, nil
	}
	n, err := parseName(host)
	if err != nil {
		return nil, err
	}
	minted, err, _ := a.minting.Do(n.key, func() (any, error) {
		// The flight before this one may have ended since the look above.
		if cert := a.leaves.get(n.key, a.now()); cert != nil {
			return cert, nil
		}
		return a.mint(n)
	})
	if err != nil {
		return nil, err
	}
	return minted.(*tls.Certificate), nil
}

// mint signs a leaf for n and puts it into the cache.
func (a *Authority) mint(n name) (*tls.Certificate, error) {
	now := a.now()
	if !now.Before(a.cert.NotAfter) {
		return nil, ErrExpired
	}
	point, err := a.leafKey.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encoding the key of the leaves: %w", err)
	}
	keyID := sha256.Sum256(point) // RFC 7093 section 2, method 1
	template := &x509.Certificate{
		NotBefore:    latest(now.Add(-backdate), a.cert.NotBefore),
		NotAfter:     earliest(now.Add(-backdate).Add(leafLife), a.cert.NotAfter),
		SubjectKeyId: keyID[:20],
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     n.dns, IPAddresses: n.ips,
		BasicConstraintsValid: true,
		// No subject, so the name is a critical extension (RFC 5280 section
		// 4.2.1.6); no serial number, so CreateCertificate draws one at random.
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.leafKey.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the leaf of %s: %w", n.key, err)
	}
	// Leaf stays nil: a TLS server does not need it, and parsed it would be
	// most of what an entry of the cache weighs.
	cert := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leafKey}
	a.leaves.put(n.key, cert, now.Add(template.NotAfter.Sub(now)*2/3))
	a.minted.Inc()
	return cert, nil
}

// A name is what a leaf is minted for. Exactly one of dns and ips has one item.
type name struct {
	key string // normal form, the key of the cache
	dns []string
	ips []net.IP
}

// parseName tells DNS names from addresses and brings both into normal form.
func parseName(host string) (name, error) {
	host = strings.TrimSuffix(host, ".") // the root's dot
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return name{key: addr.String(), ips: []net.IP{addr.AsSlice()}}, nil
	}
	if !validDNS(host) {
		// The host may be of any length and hold anything.
		return name{}, fmt.Errorf("%.80q: %w", host, ErrName)
	}
	// Only now: lowering other scripts yields ASCII letters (U+212A is a k).
	key := strings.ToLower(host)
	return name{key: key, dns: []string{key}}, nil
}

// dnsOctets are letters, digits and hyphens (RFC 1123 section 2.1), and the
// underscore that names in use have nevertheless.
const dnsOctets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// validDNS reports whether s, without a trailing dot, can be the dNSName of a
// certificate: labels of 1 to 63 octets, 253 in all (RFC 1035 section 2.3.4).
func validDNS(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, dnsOctets) != "" {
			return false
		}
	}
	return true
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
