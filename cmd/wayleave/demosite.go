package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A demoCA signs for the hosts of the demo and lives as long as the process:
// its key is never written down.
type demoCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newDemoCA(now time.Time) (*demoCA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "wayleave demo sites"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &demoCA{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// leaf makes a certificate for one address.
func (ca *demoCA) leaf(ip net.IP, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: ip.String()}, IPAddresses: []net.IP{ip},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// A demoHost is one site of the demo: what it says in robots.txt and what it serves.
type demoHost struct {
	robots http.HandlerFunc
	extra  map[string]http.HandlerFunc
	fields http.Header // on every page
}

// A demoWeb is the sites of a demo, running.
type demoWeb struct {
	ca      *demoCA
	origins map[string]string // name of a host to its origin, https://127.77.0.n:port
	servers []*http.Server
	loops   sync.WaitGroup
}

// demoBig is what the big file holds: more than is ever kept in memory of a body
// on its way, and nothing that compresses to nothing.
var demoBig = bytes.Repeat([]byte("wayleave carries this line byte for byte\n"), 200_000)

// demoHosts are the sites of the demo by name.
func demoHosts() map[string]demoHost {
	return map[string]demoHost{
		"plain": {
			robots: demoText("User-agent: *\nDisallow: /private/\nAllow: /private/press/\n"),
			extra:  map[string]http.HandlerFunc{"/big": serveDemoBig, "/events": serveDemoEvents},
		},
		"named":   {robots: demoText("User-agent: *\nAllow: /\n\nUser-agent: wayleave\nDisallow: /drafts/\n")},
		"silent":  {robots: demoStatus(http.StatusNotFound)},
		"failing": {robots: demoStatus(http.StatusServiceUnavailable)},
		"moved": {
			robots: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/policies/robots.txt", http.StatusMovedPermanently)
			},
			extra: map[string]http.HandlerFunc{"/policies/robots.txt": demoText("User-agent: *\nDisallow: /old/\n")},
		},
		"usage":   {robots: demoText("User-agent: *\nAllow: /\nContent-Usage: ai-use=y\nContent-Usage: /archive/ ai-use=n\n")},
		"signal":  {robots: demoText("User-agent: *\nContent-Signal: search=yes, ai-input=no\nAllow: /\n")},
		"free":    demoLicensed(`<permits type="usage">ai-input search</permits><payment type="free"/>`),
		"priced":  demoLicensed(`<permits type="usage">ai-input</permits><payment type="use"><amount currency="USD">0.01</amount></payment>`),
		"header":  {robots: demoText("User-agent: *\nAllow: /\n"), fields: http.Header{"X-Robots-Tag": {"noai"}}},
		"inhtml":  {robots: demoText("User-agent: *\nAllow: /\n"), extra: map[string]http.HandlerFunc{"/article": serveDemoArticle}},
		"unclear": {robots: demoText("License: /terms\nUser-agent: *\nAllow: /\n"), extra: map[string]http.HandlerFunc{"/terms": demoText("Ask us for terms.\n")}},
	}
}

func demoText(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, s)
	}
}

func demoStatus(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, http.StatusText(code), code) }
}

// demoLicensed is a site whose pages are under an RSL licence with these terms.
func demoLicensed(terms string) demoHost {
	licence := `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>` + terms + "</license></content></rsl>\n"
	return demoHost{
		robots: demoText("License: /license.xml\nUser-agent: *\nAllow: /\n"),
		extra:  map[string]http.HandlerFunc{"/license.xml": demoText(licence)},
	}
}

// serveDemoArticle is a page whose own head names a licence that prohibits the use.
func serveDemoArticle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<!doctype html><html><head><title>An article</title><script type="application/rsl+xml">`+
		`<rsl xmlns="https://rslstandard.org/rsl"><content url=""><license><prohibits type="usage">ai-input</prohibits></license></content></rsl>`+
		`</script></head><body><p>The article.</p></body></html>`)
}

func serveDemoBig(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "big.txt", time.Time{}, bytes.NewReader(demoBig))
}

// serveDemoEvents sends a few events, each on its own.
func serveDemoEvents(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 3 {
		fmt.Fprintf(w, "data: event %d\n\n", i+1)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
}

// startDemoWeb starts every site on a loopback address of its own.
func startDemoWeb(now time.Time) (*demoWeb, error) {
	ca, err := newDemoCA(now)
	if err != nil {
		return nil, fmt.Errorf("making the demo's CA: %w", err)
	}
	w := &demoWeb{ca: ca, origins: map[string]string{}}
	hosts := demoHosts()
	for i, name := range slices.Sorted(maps.Keys(hosts)) {
		if err := w.start(name, hosts[name], byte(i+1), now); err != nil {
			return nil, errors.Join(fmt.Errorf("starting the demo's sites: %w", err), w.close())
		}
	}
	return w, nil
}

func (w *demoWeb) start(name string, host demoHost, n byte, now time.Time) error {
	l, err := demoListen(n)
	if err != nil {
		return err
	}
	leaf, err := w.ca.leaf(l.Addr().(*net.TCPAddr).IP, now)
	if err != nil {
		l.Close()
		return err
	}
	server := &http.Server{
		Handler:           host.handler(name),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{leaf}},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that gives up is no news here
	}
	w.origins[name] = "https://" + l.Addr().String()
	w.servers = append(w.servers, server)
	w.loops.Go(func() { _ = server.ServeTLS(l, "", "") }) // ends when close closes it
	return nil
}

// demoListen listens on 127.77.0.n, so that each site is a host of its own.
// Where only 127.0.0.1 is configured (macOS) the port alone tells them apart.
func demoListen(n byte) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.77.0.%d:0", n))
	if err != nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return l, nil
}

// handler serves robots.txt, what is special, and a page under every other path.
func (h demoHost) handler(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			h.robots(w, r)
			return
		}
		if serve := h.extra[r.URL.Path]; serve != nil {
			serve(w, r)
			return
		}
		maps.Copy(w.Header(), h.fields)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, demoPage(name, r.URL.Path))
	})
}

// demoPage is what the site name serves under path.
func demoPage(name, path string) string { return "the page " + path + " of the site " + name + "\n" }

// ports lists the ports of the sites, for connect_ports.
func (w *demoWeb) ports() []string {
	var out []string
	for _, origin := range w.origins {
		out = append(out, origin[strings.LastIndexByte(origin, ':')+1:])
	}
	return out
}

func (w *demoWeb) close() error {
	var errs []error
	for _, s := range w.servers {
		errs = append(errs, s.Close())
	}
	w.loops.Wait()
	return errors.Join(errs...)
}
