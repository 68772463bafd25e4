package terms

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A world is a network in memory with HTTP origins on it, and the Client that
// reaches them. Its servers and its transport are net/http's own, so it runs
// within a synctest bubble and still speaks the protocol.
type world struct {
	t *testing.T

	mu       sync.Mutex
	origins  map[string]*memListener
	dialing  map[string]error          // by host:port: what a dial meets
	barred   map[string]rulings.Reason // by host: what the guard says
	edge     FailureKind               // the edge's own inability to ask
	requests []*http.Request           // in order of arrival at any origin
	conns    []net.Conn                // both ends of every connection made
	opened   int                       // bodies that the client handed out
	closed   int                       // and that were closed

	transport *http.Transport
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, origins: map[string]*memListener{}, dialing: map[string]error{}, barred: map[string]rulings.Reason{}}
	w.transport = &http.Transport{
		DialContext:       w.dial,
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // trust is the client's business, not the book's
	}
	t.Cleanup(func() {
		// A pipe has no buffer, so whoever says goodbye last would wait for ever.
		for _, c := range w.conns {
			c.Close()
		}
		if w.opened != w.closed {
			t.Errorf("%d of %d response bodies were closed", w.closed, w.opened)
		}
	})
	return w
}

// serve has h answer on host:port; TLS is spoken on port 443.
func (w *world) serve(address string, h http.Handler) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		w.t.Fatal(err)
	}
	l := w.listen(address)
	counted := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r)
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	})
	srv := &http.Server{Handler: counted, ErrorLog: quiet}
	var listener net.Listener = l
	if port == "443" {
		listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate()}})
	}
	w.run(srv, listener)
}

// quiet drops what servers say about connections that tests break.
var quiet = log.New(io.Discard, "", 0)

// remove takes away what answers on address; a dial meets fault, or, when that is
// nil, a name that does not resolve.
func (w *world) remove(address string, fault error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.origins, address)
	w.dialing[address] = fault
}

// speakNoTLS puts a server on address that answers a ClientHello in plain HTTP.
func (w *world) speakNoTLS(address string) {
	l := w.listen(address)
	srv := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: quiet}
	w.run(srv, l)
}

// run serves until the test ends.
func (w *world) run(srv *http.Server, l net.Listener) {
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(l)
	}()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			w.t.Error("an origin is still answering")
		}
		<-served
	})
}

// listen registers address without a server behind it.
func (w *world) listen(address string) *memListener {
	l := &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.origins[address] = l
	return l
}

func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	w.mu.Lock()
	l, fault := w.origins[address], w.dialing[address]
	w.mu.Unlock()
	switch {
	case fault != nil:
		return nil, fault
	case l == nil:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	ours, theirs := net.Pipe()
	w.mu.Lock()
	w.conns = append(w.conns, ours, theirs)
	w.mu.Unlock()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Get implements Client as the edge's upstream does: one round trip, no
// redirects, no decoding, the guard in front and causes kept apart.
func (w *world) Get(ctx context.Context, url string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, &FetchError{Kind: FailureInternal, Err: err}
	}
	req.Header = header
	w.mu.Lock()
	edge, barred := w.edge, w.barred[req.URL.Hostname()]
	w.mu.Unlock()
	switch {
	case edge != "":
		return nil, &FetchError{Kind: edge}
	case barred != "":
		return nil, &FetchError{Kind: FailureProhibited, Barred: barred}
	}
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		return nil, &FetchError{Kind: kindOf(err), Err: err}
	}
	w.mu.Lock()
	w.opened++
	w.mu.Unlock()
	resp.Body = &countedBody{resp.Body, w}
	return resp, nil
}

func kindOf(err error) FailureKind {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		return FailureDNS
	case errors.As(err, &record):
		return FailureTLS
	case errors.Is(err, context.DeadlineExceeded):
		return FailureTimeout
	}
	return FailureConnect
}

type countedBody struct {
	io.ReadCloser
	w *world
}

func (c *countedBody) Close() error {
	c.w.mu.Lock()
	c.w.closed++
	c.w.mu.Unlock()
	return c.ReadCloser.Close()
}

// setEdge makes every request end with kind, the edge's own; "" ends that.
func (w *world) setEdge(kind FailureKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edge = kind
}

// asked returns how many requests reached an origin.
func (w *world) asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests)
}

// seen returns the requests that reached an origin.
func (w *world) seen() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// open returns a book on dir that asks the world, closed when the test ends.
func (w *world) open(dir string, change ...func(*Options)) *Book {
	w.t.Helper()
	o := Options{Client: w, UserAgent: func() string { return "wayleave/1.0" }}
	for _, f := range change {
		f(&o)
	}
	b, err := Open(dir, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { closeBook(w.t, b) })
	return b
}

// closeBook waits for everything the book has going on.
func closeBook(t testing.TB, b *Book) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
}

// origin parses scheme://authority.
func origin(t testing.TB, scheme, authority string) hostkey.Origin {
	t.Helper()
	o, err := hostkey.ParseOrigin(scheme, authority)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// text answers every request with one robots.txt.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

// memListener accepts the connections that dial hands over.
type memListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memListener) Addr() net.Addr { return &net.TCPAddr{} }

// certificate is one self-signed certificate for all origins of a test binary.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"site.test"}, NotAfter: time.Now().AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// lines returns n octets of comment lines.
func lines(n int) []byte {
	line := []byte("# nothing to see here\n")
	return bytes.Repeat(line, n/len(line)+1)[:n]
}
