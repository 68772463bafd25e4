package certs

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
)

// The names of the files in the directory of an authority.
const (
	lockName   = ".lock"
	keyName    = "ca-key.pem"
	certName   = "ca.pem"
	bundleName = "bundle.pem"
	storeName  = "bundle.p12"
)

const defaultLeafCache = 4096

// Options are what Open can be told. The zero value is ready for use.
type Options struct {
	// SystemRoots is the PEM file of the machine's trusted roots, such as
	// SSL_CERT_FILE names. Empty means the first file found where
	// distributions keep theirs. Our own bundle.pem counts as empty, because a
	// process started under an edge is told of that file and not of the roots.
	SystemRoots string

	// ExtraRoots is a PEM file of further roots that clients are to trust,
	// empty for none: behind an unread tunnel a client meets the origin's own
	// certificate, which upstream.ca_file may have to vouch for.
	ExtraRoots string

	// LeafCache is how many leaves are held in memory; 0 means 4096.
	LeafCache int

	// Now is the clock; nil means time.Now.
	Now func() time.Time

	// Logger is told what the bundles had to leave out; nil discards it.
	Logger *slog.Logger

	// Metrics receives the number of leaves minted and held; nil for none.
	Metrics prometheus.Registerer
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.LeafCache = cmp.Or(o.LeafCache, defaultLeafCache)
	return o
}

// An Authority is a loaded CA that mints leaves. Its methods may be called by
// any number of goroutines.
type Authority struct {
	// Fixed by Open, read without a lock.
	dir     string
	now     func() time.Time
	cert    *x509.Certificate
	key     crypto.Signer
	pem     []byte
	leafKey *ecdsa.PrivateKey // shared by every leaf of this process (N23)

	// Each guards itself.
	leaves  *leafCache
	minting singleflight.Group // by name, so that a name is signed for once
	minted  prometheus.Counter
}

// Open loads the authority of dir, normally <data>/ca, and makes it if there is
// none: once, however many processes start together (N22). It brings the
// bundles up to date. A CA that is there but cannot be used (expired, damaged,
// a key others can read) is an error that says what to do and is never
// replaced, because clients already trust it.
func Open(dir string, o Options) (*Authority, error) {
	o = o.withDefaults()
	unlock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	cert, key, err := loadOrMake(dir, o.Now())
	if err != nil {
		return nil, err
	}
	return assemble(dir, cert, key, o)
}

// assemble brings the bundles up to date and returns the authority of a CA that
// is in dir. The caller holds the lock.
func assemble(dir string, cert *x509.Certificate, key crypto.Signer, o Options) (*Authority, error) {
	if err := writeBundles(dir, cert, o); err != nil {
		return nil, err
	}
	return newAuthority(dir, cert, key, o)
}

func newAuthority(dir string, cert *x509.Certificate, key crypto.Signer, o Options) (*Authority, error) {
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the leaves: %w", err)
	}
	a := &Authority{
		dir: dir, now: o.Now, cert: cert, key: key, leafKey: leafKey,
		pem:    encodeCert(cert),
		leaves: newLeafCache(o.LeafCache),
		minted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wayleave_leaf_mints_total",
			Help: "Leaf certificates signed for intercepted hosts.",
		}),
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "wayleave_leaf_cache_entries",
		Help: "Leaf certificates held in memory.",
	}, func() float64 { return float64(a.leaves.len()) })
	if o.Metrics == nil {
		return a, nil
	}
	for _, c := range []prometheus.Collector{a.minted, held} {
		if err := o.Metrics.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the leaves: %w", err)
		}
	}
	return a, nil
}

// PEM returns the CA's certificate, without its key. The caller must not change it.
func (a *Authority) PEM() []byte { return a.pem }

// CAFile is the path of the CA's certificate alone, for clients that keep their
// own roots, such as browsers and Node.
func (a *Authority) CAFile() string { return filepath.Join(a.dir, certName) }

// BundleFile is the path of the system's roots and ours in one PEM file, for
// clients whose setting replaces their roots.
func (a *Authority) BundleFile() string { return filepath.Join(a.dir, bundleName) }

// P12File is the path of BundleFile's certificates as a Java trust store, PKCS
// #12 without a password.
func (a *Authority) P12File() string { return filepath.Join(a.dir, storeName) }

func encodeCert(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
