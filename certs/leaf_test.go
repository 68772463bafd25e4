package certs_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/certs"
)

func leaf(t testing.TB, a *certs.Authority, host string) (*tls.Certificate, *x509.Certificate) {
	t.Helper()
	served, err := a.Leaf(host)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return served, c
}

func TestN23_ALeafNamesItsHostAndNothingElse(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	long := strings.Repeat(strings.Repeat("a", 62)+".", 4) + "b" // 253 octets
	for name, test := range map[string]struct{ host, dns, ip string }{
		"a name":                            {host: "www.example.test", dns: "www.example.test"},
		"a name in capitals":                {host: "WWW.Example.Test", dns: "www.example.test"},
		"a name with the root's dot":        {host: "example.test.", dns: "example.test"},
		"a name of one label":               {host: "localhost", dns: "localhost"},
		"a name with an underscore":         {host: "_dmarc.a_b.test", dns: "_dmarc.a_b.test"},
		"a name in A-labels":                {host: "xn--bcher-kva.example", dns: "xn--bcher-kva.example"},
		"a label of 63 octets":              {host: strings.Repeat("a", 63) + ".test", dns: strings.Repeat("a", 63) + ".test"},
		"a name of 253 octets":              {host: long, dns: long},
		"an IPv4 address":                   {host: "192.0.2.10", ip: "192.0.2.10"},
		"an address with the root's dot":    {host: "192.0.2.10.", ip: "192.0.2.10"},
		"an IPv6 address (P11)":             {host: "::1", ip: "::1"},
		"an IPv6 address in another form":   {host: "2001:DB8:0:0::1", ip: "2001:db8::1"},
		"an IPv4 address written as mapped": {host: "::ffff:192.0.2.10", ip: "192.0.2.10"},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := leaf(t, a, test.host)
			var dns, ips []string
			if test.dns != "" {
				dns = []string{test.dns}
			} else {
				ips = []string{test.ip}
			}
			if !slices.Equal(c.DNSNames, dns) {
				t.Errorf("DNS names %q, want %q", c.DNSNames, dns)
			}
			var got []string
			for _, ip := range c.IPAddresses {
				got = append(got, ip.String())
			}
			if !slices.Equal(got, ips) {
				t.Errorf("addresses %q, want %q", got, ips)
			}
			if c.Subject.String() != "" {
				t.Errorf("subject %q, want an empty one", c.Subject)
			}
		})
	}
}

func TestN23_AHostThatNoCertificateCanNameIsAnError(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	for name, host := range map[string]string{
		"empty": "", "only a dot": ".", "an empty label": "a..test", "a leading dot": ".a.test", "two dots at the end": "a.test..",
		"a label of 64 octets": strings.Repeat("a", 64) + ".test", "a name of 254 octets": strings.Repeat("a.", 126) + "bb",
		"a very long name": strings.Repeat("a.", 1<<16) + "b",
		"a wildcard":       "*.example.test", "a space": "a b.test", "a NUL": "a\x00.test", "a line break": "a.test\n", "letters above ASCII": "bücher.test", "a letter whose lower case is ASCII": "\u212aelvin.test",
		"a port": "a.test:443", "brackets": "[::1]", "a zone": "fe80::1%eth0", "userinfo": "u@a.test", "a path": "a.test/x", "a percent escape": "%61.test",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := a.Leaf(host)
			if !errors.Is(err, certs.ErrName) || c != nil {
				t.Fatalf("got %v, %v; want ErrName", c, err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the error has %d octets", len(err.Error()))
			}
		})
	}
}

// Case P09: what openssl verify -x509_strict and Python 3.13 look at.
func TestN23_P09_ALeafIsWhatStrictClientsAskFor(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	ca := parsePEM(t, a.PEM())
	served, c := leaf(t, a, "www.example.test")

	if len(served.Certificate) != 2 || string(served.Certificate[1]) != string(ca.Raw) {
		t.Error("the chain served is not the leaf and the CA")
	}
	if string(c.AuthorityKeyId) != string(ca.SubjectKeyId) || len(c.SubjectKeyId) == 0 {
		t.Errorf("authority key %x, subject key %x; want the CA's %x and one of its own", c.AuthorityKeyId, c.SubjectKeyId, ca.SubjectKeyId)
	}
	if !isCritical(c, "2.5.29.17") {
		t.Error("the alternative name is not critical although the subject is empty (RFC 5280 section 4.2.1.6)")
	}
	if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature || !slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("CA %v, key usage %b, extended %v; want a TLS server's", c.IsCA, c.KeyUsage, c.ExtKeyUsage)
	}
	if c.NotAfter.Sub(c.NotBefore) > 90*24*time.Hour || time.Since(c.NotBefore) < 0 {
		t.Errorf("valid %s to %s, want at most 90 days from a little ago", c.NotBefore, c.NotAfter)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	if _, err := c.Verify(x509.VerifyOptions{DNSName: "www.example.test", Roots: roots}); err != nil {
		t.Error(err)
	}
}

func TestN23_LeavesShareOneKeyAndNoSerialNumber(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	_, one := leaf(t, a, "one.test")
	_, two := leaf(t, a, "two.test")
	if !one.PublicKey.(*ecdsa.PublicKey).Equal(two.PublicKey) {
		t.Error("two leaves have two keys")
	}
	ca := parsePEM(t, a.PEM())
	if one.PublicKey.(*ecdsa.PublicKey).Equal(ca.PublicKey) {
		t.Error("leaves are served with the CA's key")
	}
	for _, c := range []*x509.Certificate{one, two} {
		if c.SerialNumber.Sign() <= 0 || c.SerialNumber.BitLen() < 100 || c.SerialNumber.BitLen() > 159 {
			t.Errorf("serial number of %d bits, want a positive random one of at most 20 octets", c.SerialNumber.BitLen())
		}
	}
	if one.SerialNumber.Cmp(two.SerialNumber) == 0 {
		t.Error("two leaves have one serial number")
	}
}

func TestN23_ALeafStaysInsideTheWindowOfTheCA(t *testing.T) {
	dir := t.TempDir()
	made := time.Now()
	ca := parsePEM(t, open(t, dir, certs.Options{}).PEM())
	for name, now := range map[string]time.Time{
		"in the CA's first minute": made.Add(time.Minute),
		"before its last day":      ca.NotAfter.Add(-24 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			_, c := leaf(t, open(t, dir, certs.Options{Now: func() time.Time { return now }}), "a.test")
			if c.NotBefore.Before(ca.NotBefore) || c.NotAfter.After(ca.NotAfter) {
				t.Errorf("leaf %s to %s leaves the CA's %s to %s", c.NotBefore, c.NotAfter, ca.NotBefore, ca.NotAfter)
			}
			if now.Before(c.NotBefore) || now.After(c.NotAfter) {
				t.Errorf("leaf %s to %s is not valid at %s", c.NotBefore, c.NotAfter, now)
			}
		})
	}
}

func TestN23_ACAThatExpiresWhileTheEdgeRunsMintsNothing(t *testing.T) {
	now := time.Now()
	a := open(t, t.TempDir(), certs.Options{Now: func() time.Time { return now }})
	now = now.AddDate(10, 0, 1)
	if _, err := a.Leaf("a.test"); !errors.Is(err, certs.ErrExpired) {
		t.Errorf("got %v, want ErrExpired", err)
	}
}

func TestN23_ALeafIsRenewedTwoThirdsThroughItsLife(t *testing.T) {
	now := time.Now()
	a := open(t, t.TempDir(), certs.Options{Now: func() time.Time { return now }})
	first, _ := leaf(t, a, "a.test")
	const day = 24 * time.Hour
	start := now
	now = start.Add(59 * day)
	if same, _ := leaf(t, a, "a.test"); same != first {
		t.Error("replaced after 59 of 90 days")
	}
	now = start.Add(61 * day)
	renewed, c := leaf(t, a, "a.test")
	if renewed == first {
		t.Error("not replaced after 61 of 90 days")
	}
	if c.NotAfter.Sub(now) < 89*day {
		t.Errorf("the new leaf ends at %s", c.NotAfter)
	}
	if again, _ := leaf(t, a, "a.test"); again != renewed {
		t.Error("replaced again at once")
	}
}

func TestN23_ANameIsSignedForOnceHoweverManyAsk(t *testing.T) {
	metrics := prometheus.NewPedanticRegistry()
	a := open(t, t.TempDir(), certs.Options{Metrics: metrics})
	const callers, names = 64, 4
	got := make([]*tls.Certificate, callers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			<-start
			c, err := a.Leaf(fmt.Sprintf("n%d.test", i%names))
			if err != nil {
				t.Error(err)
			}
			got[i] = c
		})
	}
	close(start)
	wg.Wait()
	for i := range callers {
		if got[i] != got[i%names] {
			t.Errorf("caller %d has another leaf than caller %d", i, i%names)
		}
	}
	if n := value(t, metrics, "wayleave_leaf_mints_total"); n != names {
		t.Errorf("%v leaves were signed for %d names", n, names)
	}
	// Spellings of one name are one name.
	if same, err := a.Leaf("N0.TEST."); err != nil || same != got[0] {
		t.Errorf("N0.TEST. has another leaf than n0.test (%v)", err)
	}
}

func value(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// Case P07. The heap is compared with what 20,000 leaves would weigh, half a
// kilobyte of DER each, and not with a number of this machine.
func TestN23_P07_TwentyThousandNamesDoNotGrowMemory(t *testing.T) {
	const names, size = 20_000, 512
	metrics := prometheus.NewPedanticRegistry()
	a := open(t, t.TempDir(), certs.Options{LeafCache: size, Metrics: metrics})
	visit := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := a.Leaf(fmt.Sprintf("n%d.example.test", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	visit(0, 2*size) // the cache is full now
	full := heap()
	visit(2*size, names)
	if grown := int64(heap()) - int64(full); grown > (names-2*size)*512/4 {
		t.Errorf("the heap grew by %d bytes after the cache was full", grown)
	}
	if held := value(t, metrics, "wayleave_leaf_cache_entries"); held > size || held < size/2 {
		t.Errorf("%v leaves are held, want at most %d and most of them", held, size)
	}
	before := value(t, metrics, "wayleave_leaf_mints_total")
	handshake(t, a, "n0.example.test")
	if value(t, metrics, "wayleave_leaf_mints_total") != before+1 {
		t.Error("the name seen first was not dropped")
	}
	handshake(t, a, fmt.Sprintf("n%d.example.test", names-1))
	if value(t, metrics, "wayleave_leaf_mints_total") != before+1 {
		t.Error("the name seen last was dropped")
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestN23_TheNamesAskedForLastAreKept(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{LeafCache: 1})
	first, _ := leaf(t, a, "a.test")
	if same, _ := leaf(t, a, "a.test"); same != first {
		t.Error("a cache of one leaf held none")
	}
	leaf(t, a, "b.test")
	if again, _ := leaf(t, a, "a.test"); again == first {
		t.Error("a cache of one leaf held two")
	}
}

// handshake lets a client that trusts only the CA meet the leaf of host.
func handshake(t *testing.T, a *certs.Authority, host string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	near, far := net.Pipe()
	server := tls.Server(far, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if h.ServerName != "" {
			return a.Leaf(h.ServerName)
		}
		return a.Leaf(host) // RFC 6066 section 3: no SNI for addresses
	}})
	served := make(chan error, 1)
	go func() { served <- server.Handshake(); far.Close() }()
	client := tls.Client(near, &tls.Config{ServerName: host, RootCAs: roots})
	if err := client.Handshake(); err != nil {
		t.Errorf("%s: %v", host, err)
	}
	near.Close()
	<-served
}

func TestN23_ClientsThatTrustTheCAAcceptTheLeaf(t *testing.T) {
	a := open(t, t.TempDir(), certs.Options{})
	for _, host := range []string{"www.example.test", "192.0.2.10", "::1", "xn--bcher-kva.example"} {
		handshake(t, a, host)
	}
}
