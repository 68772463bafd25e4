package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// An origin is a site under test that counts what reaches it, robots.txt apart.
type origin struct {
	*httptest.Server
	robots   string // served as robots.txt; a 404 when empty
	requests atomic.Int64
	probes   atomic.Int64
}

// offeringOnlyHTTP2 makes an origin turn HTTP/1.1 down in the handshake.
func offeringOnlyHTTP2(cfg *tls.Config) {
	none := cfg.Clone()
	none.NextProtos = []string{"none"}
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, "h2") {
			return nil, nil
		}
		return none, nil
	}
}

// startOrigin starts an HTTPS origin (HTTP when plain) that the edge trusts.
func startOrigin(t *testing.T, robots string, plain bool, h http.HandlerFunc, edit ...func(*tls.Config)) *origin {
	t.Helper()
	o := &origin{robots: robots}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			o.probes.Add(1)
			if o.robots == "" {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, o.robots)
			return
		}
		o.requests.Add(1)
		h(w, r)
	}))
	if plain {
		o.Start()
	} else {
		o.EnableHTTP2 = true
		o.TLS = &tls.Config{Certificates: []tls.Certificate{originLeaf(t)}}
		for _, f := range edit {
			f(o.TLS)
		}
		o.StartTLS()
	}
	t.Cleanup(o.Close)
	return o
}

var testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func TestMain(m *testing.M) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "origins under test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour * 24), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		panic(err)
	}
	testCA.cert, _ = x509.ParseCertificate(der)
	testCA.key = key
	testCA.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	os.Exit(m.Run())
}

func originCAFile(t testing.TB) string {
	name := filepath.Join(t.TempDir(), "origins.pem")
	must(t, os.WriteFile(name, testCA.pem, 0o600))
	return name
}

// originLeaf is a certificate for every loopback spelling; edit changes it.
func originLeaf(t testing.TB, edit ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost", "*.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, f := range edit {
		f(tmpl)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, testCA.cert, key.Public(), testCA.key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
