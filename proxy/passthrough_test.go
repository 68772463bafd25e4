package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// tunnelled is a policy under which hosts are passed through unread.
func tunnelled(hosts ...string) rulings.PolicyFile {
	p := withService(hosts...)
	p.Tunnels = hosts
	return p
}

// startTCP serves connections by serve, as a server that speaks no HTTP.
func startTCP(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A listed host is passed through unread: one observed crossing with its gap and
// the octets each way, whatever it speaks and whoever speaks first.
func TestO9AListedTunnelIsPassedThroughUnread(t *testing.T) {
	for _, c := range []struct {
		name         string
		serve        func(net.Conn)
		client       string
		answer       string
		early        bool // sent right behind CONNECT
		clientCloses bool
	}{
		{"the server speaks first", func(c net.Conn) { io.WriteString(c, "SSH-2.0-y\r\n"); io.Copy(io.Discard, c) }, "", "SSH-2.0-y\r\n", false, true},
		{"the client speaks first", func(c net.Conn) { b := make([]byte, 11); io.ReadFull(c, b); c.Write(b) }, "SSH-2.0-x\r\n", "SSH-2.0-x\r\n", false, false},
		{"the client speaks at once", func(c net.Conn) { b := make([]byte, 11); io.ReadFull(c, b); c.Write(b) }, "SSH-2.0-x\r\n", "SSH-2.0-x\r\n", true, false},
		{"the client ends its half first", func(c net.Conn) { b, _ := io.ReadAll(c); c.Write(b) }, "half", "half", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := startTCP(t, c.serve)
			e := startEdge(t, edgeSetup{policy: tunnelled("127.0.0.1")})
			conn := e.dial()
			head := "CONNECT " + addr + " HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic("agent-7", "x") + "\r\n\r\n"
			if c.early {
				head += c.client
			}
			conn.WriteString(head)
			if resp, err := http.ReadResponse(conn.Reader, &http.Request{Method: "CONNECT"}); err != nil || resp.StatusCode != 200 {
				t.Fatalf("%v, %v", resp, err)
			}
			if !c.early {
				conn.WriteString(c.client)
			}
			if c.clientCloses {
				conn.Conn.(*net.TCPConn).CloseWrite()
			}
			if got, err := io.ReadAll(conn); err != nil || string(got) != c.answer {
				t.Errorf("the client read %q, %v", got, err)
			}
			conn.Close()
			r := e.crossing(addr)
			r.want(t, map[string]any{"grade": "observed", "outcome": "delivered", "class": "service", "authority": addr, "address": addr, "method": nil, "url": nil,
				"bytes.up": len(c.client), "bytes.down": len(c.answer), "delivered.bytes": len(c.answer), "delivered.complete": nil, "ruleset": nil,
				"client.session": "agent-7", "client.protocol": "tunnel", "retrieved_hash": nil, "purposes": nil})
			if r.Event != evidence.EventCrossingObserved || !strings.Contains(r.raw, `"capability_unavailable"`) {
				t.Errorf("%s without its gap: %s", r.Event, r.raw)
			}
			if r.at("opened") == nil || r.at("requested_at") == nil {
				t.Errorf("opened %v, requested_at %v", r.at("opened"), r.at("requested_at"))
			}
		})
	}
}

// The client sees the site's own certificate, not ours.
func TestO9NothingIsInterceptedInAListedTunnel(t *testing.T) {
	o := startOrigin(t, "", false, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Via"), "page") })
	e := startEdge(t, edgeSetup{policy: tunnelled("127.0.0.1")})
	conn, err := e.tunnel(o.Listener.Addr().String())
	must(t, err)
	c := tls.Client(conn, &tls.Config{RootCAs: o.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	must(t, c.Handshake())
	if issuer := c.ConnectionState().PeerCertificates[0].Issuer.CommonName; issuer != testCA.cert.Subject.CommonName {
		t.Errorf("the leaf is issued by %s", issuer)
	}
	if _, body := e.raw(c).ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); body != "page" {
		t.Errorf("%q", body)
	}
}

// A tunnel that cannot be had is answered on CONNECT itself, with the reason in
// the status phrase, and has its record.
func TestO9AListedTunnelThatCannotBeHadIsAnsweredOnConnect(t *testing.T) {
	down := closedPort(t)
	p := tunnelled("127.0.0.1", "private.test", "gone.test", "10.0.0.1", "metadata.test")
	p.AllowPrivate = []string{"127.0.0.0/8"}
	e := startEdge(t, edgeSetup{policy: p})
	for _, c := range []struct {
		target, reason, outcome string
		status                  int
	}{
		{down, "connection_refused", "unavailable", 502},
		{"gone.test:443", "dns_error", "unavailable", 502},
		{"private.test:443", "private_address", "refused", 403},
		{"10.0.0.1:443", "private_address", "refused", 403},
		{"metadata.test:80", "private_address", "refused", 403},
	} {
		conn := e.dial()
		resp := conn.send("CONNECT " + c.target + " HTTP/1.1\r\nHost: x\r\n\r\n")
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || resp.Status != fmt.Sprint(c.status, " ", c.reason) || reasonOf(resp) != c.reason || leaks.Match(body) {
			t.Errorf("%s: %s %v %s", c.target, resp.Status, resp.Header, body)
		}
		conn.closed()
		r := e.crossing(c.target)
		grade, event, ruleset := "observed", evidence.EventCrossingObserved, any(nil)
		if c.outcome == "refused" { // ruled before there was anything to be read
			grade, event, ruleset = "mediated", evidence.EventCrossingRefused, rulings.Ruleset
		}
		if r.Event != event {
			t.Errorf("%s: event %s, want %s", c.target, r.Event, event)
		}
		r.want(t, map[string]any{"grade": grade, "class": "service", "ruleset": ruleset, "outcome": c.outcome, "told.status": c.status, "told.reason": c.reason, "delivered": nil, "bytes": nil})
		var gaps []string
		if c.outcome != "refused" {
			gaps = []string{"capability_unavailable", "dependency_unavailable"}
		}
		if got := r.gapReasons(); !slices.Equal(got, gaps) {
			t.Errorf("%s: gaps %v, want %v", c.target, got, gaps)
		}
	}
}

// An edge that stops closes its tunnels, and their records say what passed.
func TestN25AListedTunnelIsClosedByTheStop(t *testing.T) {
	addr := startTCP(t, func(c net.Conn) { io.WriteString(c, "hello"); io.Copy(io.Discard, c) })
	e := startEdge(t, edgeSetup{policy: tunnelled("127.0.0.1")})
	conn, err := e.tunnel(addr)
	must(t, err)
	c := e.raw(conn)
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	e.stop(time.Millisecond)
	c.closed()
	e.crossing(addr).want(t, map[string]any{"grade": "observed", "bytes.down": 5, "bytes.up": 0})
}

// A nextProxy is an ordinary HTTP proxy, as a company has one.
type nextProxy struct {
	url  *url.URL
	mu   sync.Mutex
	seen []string // request lines and credentials
}

func startNextProxy(t *testing.T, refuse bool) *nextProxy {
	t.Helper()
	p := &nextProxy{}
	addr := startTCP(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		if refuse {
			io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		up, err := net.Dial("tcp", r.URL.Host)
		if err != nil {
			return
		}
		defer up.Close()
		if r.Method == http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		} else {
			r.RequestURI, r.Close = "", true
			r.Header.Del("Proxy-Authorization")
			r.Write(up)
		}
		go io.Copy(up, br)
		io.Copy(c, up)
	})
	p.url = &url.URL{Scheme: "http", Host: addr, User: url.UserPassword("edge", "secret")}
	return p
}

func (p *nextProxy) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, "\n")
}

// Behind upstream.proxy everything leaves through it: plain and intercepted
// requests, probes, and tunnels. Its own address needs no leave.
func TestN17EverythingLeavesThroughTheUpstreamProxy(t *testing.T) {
	next := startNextProxy(t, false)
	p := policyAllowing("site.test", "other.test")
	p.Services, p.Tunnels = []string{"other.test"}, []string{"other.test"}
	e := startEdge(t, edgeSetup{policy: p, upstream: func(o *UpstreamOptions) { o.Proxy = next.url }})
	page := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RequestURI+r.Header.Get("Proxy-Authorization"))
	}
	for _, w := range ways {
		o := startOrigin(t, "", !w.secure, page)
		u := strings.Replace(o.URL, "127.0.0.1", "site.test", 1)
		resp, err := e.by(w).Get(u + "//a%2Fb?q=1")
		if body := text(t, resp, err); resp.StatusCode != 200 || body != "//a%2Fb?q=1" && !strings.HasSuffix(body, "//a%2Fb?q=1") {
			t.Errorf("%s: %s %s", w.name, resp.Status, body)
		}
		seen := "GET " + u + "//a%2Fb?q=1 Basic ZWRnZTpzZWNyZXQ="
		if w.secure {
			seen = "CONNECT " + strings.TrimPrefix(u, "https://") + " Basic ZWRnZTpzZWNyZXQ="
		}
		if !strings.Contains(next.requests(), seen) {
			t.Errorf("%s: the next proxy saw no %s, but\n%s", w.name, seen, next.requests())
		}
		if o.requests.Load() != 1 {
			t.Errorf("%s: the origin saw %d requests", w.name, o.requests.Load())
		}
	}
	addr := strings.Replace(startTCP(t, func(c net.Conn) { io.WriteString(c, "hello") }), "127.0.0.1", "other.test", 1)
	conn, err := e.tunnel(addr)
	must(t, err)
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" || !strings.Contains(next.requests(), "CONNECT "+addr) {
		t.Errorf("through the tunnel %q, %v; the next proxy saw\n%s", got, err, next.requests())
	}
	for _, r := range e.records() {
		if strings.Contains(r.raw, "secret") || strings.Contains(r.raw, "ZWRnZTpzZWNyZXQ") {
			t.Errorf("a record has the next proxy's password: %s", r.raw)
		}
	}
}

// Of targets behind upstream.proxy those written as addresses are judged, and
// what it refuses is a failure of the way, not of the site.
func TestN18BehindAnUpstreamProxyAddressesAreJudged(t *testing.T) {
	next := startNextProxy(t, true)
	p := policyAllowing("192.168.77.0/24")
	p.Services, p.Tunnels = []string{"10.0.0.1", "other.test", "third.test"}, []string{"10.0.0.1", "other.test"}
	e := startEdge(t, edgeSetup{policy: p, upstream: func(o *UpstreamOptions) { o.Proxy = next.url }})
	for _, head := range []string{"GET http://10.0.0.1/ HTTP/1.1", "GET http://169.254.169.254/ HTTP/1.1", "CONNECT 10.0.0.1:443 HTTP/1.1", "GET http://[::ffff:10.0.0.1]/ HTTP/1.1"} {
		resp := e.dial().send(head + "\r\nHost: x\r\n\r\n")
		if resp.StatusCode != 403 || reasonOf(resp) != "private_address" {
			t.Errorf("%s: %s, reason %s", head, resp.Status, reasonOf(resp))
		}
	}
	if seen := next.requests(); seen != "" {
		t.Errorf("the next proxy saw\n%s", seen)
	}
	resp := e.dial().send("CONNECT other.test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.Status != "502 destination_unavailable" {
		t.Errorf("a tunnel the next proxy refuses: %s", resp.Status)
	}
	resp = e.raw(e.tlsTunnelTo("third.test:443", "third.test")).send("GET / HTTP/1.1\r\nHost: third.test\r\n\r\n")
	if resp.StatusCode != 502 || reasonOf(resp) != "destination_unavailable" {
		t.Errorf("an intercepted request whose tunnel the next proxy refuses: %s", resp.Status)
	}
}
