package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Whoever takes the proxy for a site is told what it is and where its CA lies.
func TestN1AnOriginFormRequestIsToldThatThisIsAProxy(t *testing.T) {
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.CAURL = "http://127.0.0.1:9999/ca.pem" }})
	for _, head := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /ca.pem HTTP/1.0\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"} {
		resp, body := e.dial().ask(head)
		if resp.StatusCode != 400 || reasonOf(resp) != "request_invalid" {
			t.Errorf("%q: %s, reason %s", head, resp.Status, reasonOf(resp))
		}
		if !strings.Contains(body, "proxy") || !strings.Contains(body, "http://127.0.0.1:9999/ca.pem") || strings.Contains(body, "<a ") {
			t.Errorf("%q: told %s", head, body)
		}
	}
}

func TestN1AbsoluteFormIsCarriedOverHTTP10And11(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, false, func(v *visit) {
		if v.req.RequestURI != "/page" || v.req.Proto != "HTTP/1.1" {
			t.Errorf("the site was asked %s %s", v.req.RequestURI, v.req.Proto)
		}
		v.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
	})
	for _, head := range []string{"GET %s/page HTTP/1.0\r\n\r\n", "GET %s/page HTTP/1.1\r\nHost: ignored.test\r\n\r\n"} {
		if resp, body := e.dial().ask(fmt.Sprintf(head, s.url)); resp.StatusCode != 200 || body != "page" {
			t.Errorf("%q: %s %q", head, resp.Status, body)
		}
	}
}

// connectTargets are what CONNECT may name and what it may not.
var connectTargets = []struct {
	name, target string
	status       int
}{
	{"a name and a port", "site.test:443", 200},
	{"a name in capitals with a trailing dot", "SITE.test.:443", 200},
	{"an IPv4 address", "192.0.2.1:443", 200},
	{"an IPv6 address in brackets", "[2001:db8::1]:443", 200},
	{"an A-label", "xn--mnchen-3ya.test:443", 200},
	{"no port", "site.test", 400},
	{"an empty port", "site.test:", 400},
	{"port 0", "site.test:0", 400},
	{"a port beyond 65535", "site.test:65536", 400},
	{"a port by name", "site.test:https", 400},
	{"a path", "/x", 400},
	{"a path behind the authority", "site.test:443/x", 400},
	{"a scheme", "http://site.test:443/", 400},
	{"userinfo", "user:pass@site.test:443", 400},
	{"a query", "site.test:443?x", 400},
	{"no host", ":443", 400},
	{"an empty label", "site..test:443", 400},
	{"only a dot", ".:443", 400},
	{"an IPv6 address without brackets", "2001:db8::1:443", 400},
	{"an IPv6 address with a zone id", "[fe80::1%25eth0]:443", 400},
	{"an IPv6 address with a bare zone id", "[fe80::1%eth0]:443", 400},
	{"a name in brackets", "[site.test]:443", 400},
	{"an IPv4 address in brackets", "[192.0.2.1]:443", 400},
	{"an escape in the name", "site%2etest:443", 400},
	{"more than 64 KiB", strings.Repeat("a", 65<<10) + ":443", 414},
}

func TestN2ConnectTargets(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, c := range connectTargets {
		t.Run(c.name, func(t *testing.T) {
			conn := e.dial()
			resp := conn.send("CONNECT " + c.target + " HTTP/1.1\r\nHost: site.test\r\n\r\n")
			if resp.StatusCode != c.status {
				t.Errorf("%s, want %d", resp.Status, c.status)
			}
			if c.status != 200 {
				conn.closed()
			}
		})
	}
}

// The reason of a refused CONNECT also stands in the status phrase, of which
// many clients show nothing else.
func TestN2PortsThatAreNotListedAreRefusedBeforeAnyDial(t *testing.T) {
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.ConnectPorts = nil }})
	resp := e.dial().send("CONNECT " + s.addr + " HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != 403 || resp.Status != "403 tunnel_not_listed" || reasonOf(resp) != "tunnel_not_listed" {
		t.Errorf("answered %q, %v", resp.Status, resp.Header)
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("the source saw %d connections", n)
	}
	r := e.crossing(s.addr)
	r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "tunnel_not_listed", "refusal.whose": "operator", "refusal.stage": "before",
		"authority": s.addr, "method": nil, "url": nil, "client.protocol": "tunnel", "told.status": 403, "requested_at": nil, "delivered": nil,
		"grade": "mediated", "class": "source", "ruleset": rulings.Ruleset, "policy_unavailable": nil})
	if r.at("policy_digest") == nil {
		t.Errorf("it names no policy: %s", r.raw)
	}
	if r.Event != evidence.EventCrossingRefused {
		t.Errorf("event %s", r.Event)
	}
	for _, port := range []string{"443", "80", "8443", "8080"} {
		if resp := e.dial().send("CONNECT site.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 200 {
			t.Errorf("port %s: %s", port, resp.Status)
		}
	}
}

func TestN2ListedPortsStandInPlaceOfTheDefault(t *testing.T) {
	ports, err := ParsePorts([]string{"443", "9000-9999"})
	must(t, err)
	for port, want := range map[uint16]bool{443: true, 9000: true, 9500: true, 9999: true, 80: false, 8999: false, 10000: false, 0: false} {
		if ports.Has(port) != want {
			t.Errorf("port %d listed: %v", port, !want)
		}
	}
	for _, bad := range []string{"", "0", "65536", "x", "9-1", "1-", "-1", "1-2-3", " 80"} {
		if _, err := ParsePorts([]string{bad}); err == nil {
			t.Errorf("%q was taken for ports", bad)
		}
	}
	var none *PortSet
	if none.Has(443) {
		t.Error("the empty set has 443")
	}
}

// Some libraries tunnel http URLs too; they are the same requests.
func TestN1PlainHTTPInsideConnectIsAnOrdinaryRequest(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "User-agent: *\nDisallow: /private\n", true, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
	addr := o.Listener.Addr().String()
	c, _ := e.rawBy(way{connect: true}, addr)
	if resp, body := c.ask("GET /page HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"); resp.StatusCode != 200 || body != "page" {
		t.Errorf("page: %s %q", resp.Status, body)
	}
	if resp, _ := c.ask("GET /private HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"); resp.StatusCode != 403 || reasonOf(resp) != "robots_disallow" {
		t.Errorf("refused page: %s", resp.Status)
	}
	e.crossing("/page").want(t, map[string]any{"url": "http://" + addr + "/page", "grade": "mediated", "outcome": "delivered", "authority": nil})
	if n := len(e.waitCrossings(2)); n != 2 {
		t.Errorf("%d crossings; CONNECT itself leaves none", n)
	}
}

// A tunnel may carry TLS or HTTP. What else a client says in it goes nowhere.
func TestN2WhatIsNeitherTLSNorHTTPIsRefused(t *testing.T) {
	s := answering(t, false, "")
	e := startEdge(t, edgeSetup{})
	for _, octets := range []string{"SSH-2.0-x\r\n", "\x00\x01\x02", "\x80\x80"} {
		conn, err := e.tunnel(s.addr)
		must(t, err)
		c := e.raw(conn)
		c.WriteString(octets)
		c.closed()
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("the source saw %d connections", n)
	}
	for _, r := range e.waitCrossings(3) {
		r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "tunnel_not_listed", "authority": s.addr, "told": nil,
			"grade": "mediated", "class": "source", "ruleset": rulings.Ruleset, "policy_unavailable": nil})
		if r.at("policy_digest") == nil {
			t.Errorf("it names no policy: %s", r.raw)
		}
	}
}

// A firstWrite sends octets in front of the first write to a connection, in the
// same segment, and drops the answer to them.
type firstWrite struct {
	net.Conn
	before string
	answer int // octets to drop
	once   sync.Once
}

func (c *firstWrite) Write(p []byte) (n int, err error) {
	first := false
	c.once.Do(func() {
		first = true
		n, err = c.Conn.Write(append([]byte(c.before), p...))
		n -= len(c.before)
	})
	if first {
		return n, err
	}
	return c.Conn.Write(p)
}

func (c *firstWrite) Read(p []byte) (int, error) {
	for c.answer > 0 {
		n, err := c.Conn.Read(make([]byte, c.answer))
		if c.answer -= n; err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

func TestN3OctetsRightBehindConnectAreKept(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	const answer = "HTTP/1.1 200 Connection established\r\n\r\n"
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") }
	t.Run("a ClientHello", func(t *testing.T) {
		addr := startOrigin(t, "", false, page).Listener.Addr().String()
		conn := &firstWrite{Conn: e.dial().Conn, before: "CONNECT " + addr + " HTTP/1.1\r\nHost: x\r\n\r\n", answer: len(answer)}
		c := e.raw(tls.Client(conn, &tls.Config{RootCAs: e.roots, ServerName: "127.0.0.1"}))
		if resp, body := c.ask("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"); resp.StatusCode != 200 || body != "page" {
			t.Errorf("%s %q", resp.Status, body)
		}
	})
	t.Run("a request", func(t *testing.T) {
		addr := startOrigin(t, "", true, page).Listener.Addr().String()
		conn := &firstWrite{Conn: e.dial().Conn, before: "CONNECT " + addr + " HTTP/1.1\r\nHost: x\r\n\r\n", answer: len(answer)}
		if resp, body := e.raw(conn).ask("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"); resp.StatusCode != 200 || body != "page" {
			t.Errorf("%s %q", resp.Status, body)
		}
	})
}

func TestN6ANameIsNotResolvedForARequestRefusedWithoutIt(t *testing.T) {
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.ConnectPorts = nil }})
	for name, head := range map[string]string{
		"port.unresolved.test.":  "CONNECT port.unresolved.test:22 HTTP/1.1\r\nHost: x\r\n\r\n",
		"user.unresolved.test.":  "GET http://u:p@user.unresolved.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"via.unresolved.test.":   "GET http://via.unresolved.test/ HTTP/1.1\r\nHost: x\r\nVia: 1.1 " + e.via + "\r\n\r\n",
		"creds.unresolved.test.": "GET http://creds.unresolved.test/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic Li46eA==\r\n\r\n",
		"ftp.unresolved.test.":   "GET ftp://ftp.unresolved.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if resp := e.dial().send(head); resp.StatusCode < 400 || wasAsked(name) {
			t.Errorf("%s: %s, resolved: %v", name, resp.Status, wasAsked(name))
		}
	}
}
