package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A site is an origin on a bare socket, which says whatever octets a test gives
// it. It counts what it reads, robots.txt apart.
type site struct {
	addr, url   string
	robots      string // served as robots.txt; a 404 when empty
	own         bool   // robots.txt is asked for like any page
	requests    atomic.Int64
	connections atomic.Int64
}

// A visit is one request at a site. What serve reads and writes is the octets of
// the connection; when it returns, the next request is read unless it closed.
type visit struct {
	net.Conn
	req  *http.Request
	body *bufio.Reader // what follows the head
	n    int64         // which request of the site this is, from 1
	conn int64         // which connection of the site it came on, from 1
}

// say writes octets to the client.
func (v *visit) say(octets string) { io.WriteString(v.Conn, octets) }

// startSite serves requests by serve, over TLS when secure.
func startSite(t *testing.T, secure bool, serve func(*visit)) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &site{addr: l.Addr().String(), url: "http://" + l.Addr().String()}
	if secure {
		s.url = "https://" + s.addr
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{originLeaf(t)}, NextProtos: []string{"http/1.1"}})
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c, serve)
		}
	}()
	return s
}

func (s *site) serve(c net.Conn, serve func(*visit)) {
	defer c.Close()
	br := bufio.NewReaderSize(c, 128<<10)
	conn := s.connections.Add(1)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if r.URL.Path == "/robots.txt" && !s.own {
			s.connections.Add(-1)
			status := "200 OK"
			if s.robots == "" {
				status = "404 Not Found"
			}
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(s.robots), s.robots)
			return
		}
		serve(&visit{c, r, br, s.requests.Add(1), conn})
	}
}

// answering is a site that gives every request the same octets and then goes on
// listening, or closes when they end the connection.
func answering(t *testing.T, secure bool, octets string) *site {
	return startSite(t, secure, func(v *visit) {
		v.say(octets)
		if strings.Contains(octets, "Connection: close") {
			v.Close()
		}
	})
}

// reset closes a TCP connection so that the peer sees it reset.
func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// A rawClient writes octets to the edge, or into a tunnel, and reads answers.
type rawClient struct {
	net.Conn
	*bufio.Reader
	t testing.TB
}

func (c *rawClient) Read(p []byte) (int, error)        { return c.Reader.Read(p) }
func (c *rawClient) WriteString(s string) (int, error) { return io.WriteString(c.Conn, s) }

// dial connects to the proxy port.
func (e *testEdge) dial() *rawClient {
	e.t.Helper()
	c, err := net.Dial("tcp", e.addr)
	must(e.t, err)
	e.t.Cleanup(func() { c.Close() })
	return e.raw(c)
}

func (e *testEdge) raw(c net.Conn) *rawClient {
	must(e.t, c.SetDeadline(time.Now().Add(30*time.Second))) // a test that hangs fails
	return &rawClient{c, bufio.NewReader(c), e.t}
}

// send writes a request and reads the head of its answer.
func (c *rawClient) send(octets string) *http.Response {
	c.t.Helper()
	if _, err := c.WriteString(octets); err != nil {
		c.t.Fatal(err)
	}
	return c.head(strings.HasPrefix(octets, "HEAD "))
}

func (c *rawClient) head(afterHEAD bool) *http.Response {
	c.t.Helper()
	method := http.MethodGet
	if afterHEAD {
		method = http.MethodHead
	}
	resp, err := http.ReadResponse(c.Reader, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading an answer: %v", err)
	}
	return resp
}

// ask is send with the whole body of the answer.
func (c *rawClient) ask(octets string) (*http.Response, string) {
	c.t.Helper()
	resp := c.send(octets)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("reading a body: %v", err)
	}
	return resp, string(body)
}

// closed waits until the edge has closed the connection.
func (c *rawClient) closed() {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.Reader)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Error("the edge left the connection open")
	}
}

// clientTLS completes the handshake in a tunnel to a loopback address.
func (e *testEdge) clientTLS(tunnel net.Conn) *tls.Conn {
	e.t.Helper()
	c := tls.Client(tunnel, &tls.Config{RootCAs: e.roots, ServerName: "127.0.0.1"})
	must(e.t, c.Handshake())
	return c
}

// A way is how a client comes to a source through the edge.
type way struct {
	name    string
	secure  bool // https
	http2   bool
	connect bool // CONNECT although the scheme is http
}

var ways = []way{
	{name: "plain HTTP"},
	{name: "plain HTTP inside CONNECT", connect: true},
	{name: "intercepted HTTP/1.1", secure: true},
	{name: "intercepted HTTP/2", secure: true, http2: true},
}

// http1 are the ways on which a test can write the octets itself.
var http1 = ways[:3]

// by returns an HTTP client that goes through the edge by way w.
func (e *testEdge) by(w way) *http.Client {
	c := e.client("", w.http2)
	if w.connect {
		tr := c.Transport.(*http.Transport)
		tr.Proxy = nil
		tr.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) { return e.tunnel(addr) }
	}
	return c
}

// rawBy connects to the source at addr by way w. target returns the request
// target to write for a path.
func (e *testEdge) rawBy(w way, addr string) (c *rawClient, target func(path string) string) {
	e.t.Helper()
	asIs := func(path string) string { return path }
	switch {
	case w.secure:
		host, _, err := net.SplitHostPort(addr)
		must(e.t, err)
		return e.raw(e.tlsTunnel(addr, host)), asIs
	case w.connect:
		conn, err := e.tunnel(addr)
		must(e.t, err)
		return e.raw(conn), asIs
	}
	return e.dial(), func(path string) string { return "http://" + addr + path }
}

// tunnel opens a tunnel to addr and returns it when the edge said 200.
func (e *testEdge) tunnel(addr string) (net.Conn, error) {
	c, err := net.Dial("tcp", e.addr)
	if err != nil {
		return nil, err
	}
	e.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", addr)
	// By the octet, so that nothing the other end says behind it is taken.
	resp, err := http.ReadResponse(bufio.NewReaderSize(&oneByteReader{c}, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CONNECT %s: %s", addr, resp.Status)
	}
	return c, nil
}

// crossing waits for the final record of the one crossing whose URL or authority
// contains part.
func (e *testEdge) crossing(part string) record {
	e.t.Helper()
	for range 15000 {
		for _, r := range e.crossings() {
			if strings.Contains(fmt.Sprint(r.at("url"), " ", r.at("authority")), part) {
				return r
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	e.t.Fatalf("no crossing of %q ended; there are %d", part, len(e.crossings()))
	return record{}
}

// text reads a response's body, and fails when it does not end properly.
func text(t testing.TB, resp *http.Response, err error) string {
	t.Helper()
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(body)
}

// request makes a request with fields given as name, value, name, value.
func request(t testing.TB, method, url string, body io.Reader, fields ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	must(t, err)
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

// reasonOf is the reason code of an answer of the edge's own, from the field
// that says so (RFC 9209); an answer of the origin has none.
func reasonOf(resp *http.Response) string {
	_, details, _ := strings.Cut(resp.Header.Get("Proxy-Status"), "details=")
	return strings.Trim(details, `"`)
}

// startSite6 is an answering site over TLS on the IPv6 loopback address.
func startSite6(t *testing.T, octets string) (addr string) {
	t.Helper()
	l, err := tls.Listen("tcp", "[::1]:0", &tls.Config{Certificates: []tls.Certificate{originLeaf(t)}})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	s := &site{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c, func(v *visit) { v.say(octets) })
		}
	}()
	return l.Addr().String()
}
