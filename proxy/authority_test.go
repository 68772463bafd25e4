package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
)

// tlsTunnelTo opens a tunnel to target and completes the handshake in it under
// the name sni, or without one when it is empty.
func (e *testEdge) tlsTunnelTo(target, sni string, protocols ...string) *tls.Conn {
	e.t.Helper()
	conn, err := e.tunnel(target)
	must(e.t, err)
	e.t.Cleanup(func() { conn.Close() })
	name := sni
	if name == "" {
		name, _, err = net.SplitHostPort(target)
		must(e.t, err)
	}
	cfg := &tls.Config{RootCAs: e.roots, ServerName: name, NextProtos: protocols}
	if sni == "" { // the name is for verifying only
		cfg.ServerName, cfg.InsecureSkipVerify = "", true
		key, err := hostkey.Key(name)
		must(e.t, err)
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return s.PeerCertificates[0].VerifyHostname(key) }
	}
	tc := tls.Client(conn, cfg)
	must(e.t, tc.Handshake())
	return tc
}

// CONNECT host, SNI and Host are compared in one normalised form.
func TestN4SpellingsOfOneAuthorityAgree(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
	_, port, err := net.SplitHostPort(s.addr)
	must(t, err)
	for _, c := range []struct {
		name, connect, sni, host string // with the site's port behind connect, and for % in host
		status                   int
	}{
		{"all the same", "site.test", "site.test", "site.test:%", 200},
		{"Host in capitals", "site.test", "site.test", "SITE.Test:%", 200},
		{"CONNECT in capitals", "SITE.test", "site.test", "site.test:%", 200},
		{"SNI in capitals", "site.test", "Site.TEST", "site.test:%", 200},
		{"Host with a trailing dot", "site.test", "site.test", "site.test.:%", 200},
		{"CONNECT with a trailing dot", "site.test.", "site.test", "site.test:%", 200},
		{"no SNI", "127.0.0.1", "", "127.0.0.1:%", 200},
		{"SNI of the name and CONNECT of its A-label", "xn--mnchen-3ya.test", "xn--mnchen-3ya.test", "xn--mnchen-3ya.test:%", 200},
		{"an IPv6 address in two spellings", "[::ffff:127.0.0.1]", "", "127.0.0.1:%", 200},
		{"an IPv4 address in octal", "0177.0.0.1", "", "127.0.0.1:%", 200},
		{"Host without the port", "site.test", "site.test", "site.test", 421},
		{"Host with another port", "site.test", "site.test", "site.test:1", 421},
		{"Host of another site", "site.test", "site.test", "other.test:%", 421},
		{"Host of the address of the site", "site.test", "site.test", "127.0.0.1:%", 421},
		{"SNI of another site", "site.test", "other.test", "site.test:%", 421},
		{"SNI and Host of another site", "site.test", "other.test", "other.test:%", 421},
		{"CONNECT to an address, SNI and Host of a name", "127.0.0.1", "site.test", "site.test:%", 421},
		{"Host that is no host", "site.test", "site.test", "site..test:%", 421},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.requests.Load()
			conn := e.raw(e.tlsTunnelTo(c.connect+":"+port, c.sni))
			host := strings.ReplaceAll(c.host, "%", port)
			resp, _ := conn.ask("GET /" + strings.ReplaceAll(c.name, " ", "-") + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
			if resp.StatusCode != c.status {
				t.Errorf("%s, want %d", resp.Status, c.status)
			}
			if n := s.requests.Load() - before; n != int64(btoi(c.status == 200)) {
				t.Errorf("the site saw %d requests", n)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The default port may be left out on either side.
func TestN4TheDefaultPortMayBeLeftOut(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct{ connect, host string }{
		{"blocked.test:443", "blocked.test"}, {"blocked.test:443", "blocked.test:443"}, {"[::1]:443", "[::1]"}, {"[::1]:443", "[0:0::1]:443"},
	} {
		resp, _ := e.raw(e.tlsTunnelTo(c.connect, "")).ask("GET / HTTP/1.1\r\nHost: " + c.host + "\r\n\r\n")
		if resp.StatusCode == 421 {
			t.Errorf("CONNECT %s and Host %s: %s", c.connect, c.host, resp.Status)
		}
	}
}

// A request for another site than its tunnel's reaches neither, over HTTP/1.1
// and HTTP/2, and the record names both.
func TestN4AnotherAuthorityInsideTheTunnelReachesNobody(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			var n int
			o := startOrigin(t, "", false, func(http.ResponseWriter, *http.Request) { n++ })
			addr := o.Listener.Addr().String()
			r := request(t, "GET", "https://"+strings.Replace(addr, "127.0.0.1", "allowed.test", 1)+"/x", nil)
			r.Host = strings.Replace(addr, "127.0.0.1", "blocked.test", 1)
			resp, err := e.client("", http2).Do(r)
			body := text(t, resp, err)
			if resp.StatusCode != 421 || reasonOf(resp) != "authority_mismatch" || strings.Contains(body, "blocked") {
				t.Errorf("%s %s", resp.Status, body)
			}
			if n != 0 || o.probes.Load() != 0 {
				t.Errorf("the site saw %d requests and %d probes", n, o.probes.Load())
			}
			rec := e.crossing("/x")
			rec.want(t, map[string]any{"outcome": "refused", "refusal.reason": "authority_mismatch", "told.status": 421, "requested_at": nil})
			if detail := fmt.Sprint(rec.at("refusal.detail")); !strings.Contains(detail, "allowed.test") || !strings.Contains(detail, "blocked.test") {
				t.Errorf("the record does not name both: %s", detail)
			}
		})
	}
}

// Over HTTP/2 a request may have the field Host beside :authority, and then both
// name its tunnel's.
func TestN4AHostBesideTheAuthorityIsTheSame(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for host, status := range map[string]int{"%": 200, "other.test": 421, "": 421} {
		s := answering(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		host = strings.ReplaceAll(host, "%", s.addr)
		if got, _, _ := e.h2(s.addr).do("GET", "/", "host", host); got != status || s.requests.Load() != int64(btoi(status == 200)) {
			t.Errorf("host %q: %d, want %d; the site saw %d requests", host, got, status, s.requests.Load())
		}
	}
}

// The leaf is for the name the handshake asks for, so that an honest client that
// resolved the name itself does not break before it is told why.
func TestN4TheLeafIsForTheNameOfTheHandshake(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	c := e.raw(e.tlsTunnelTo("192.0.2.10:443", "site.test")) // verified under site.test
	resp, _ := c.ask("GET /pinned HTTP/1.1\r\nHost: site.test\r\n\r\n")
	if resp.StatusCode != 421 {
		t.Errorf("%s", resp.Status)
	}
	rec := e.crossing("/pinned")
	if detail := fmt.Sprint(rec.at("refusal.detail")); !strings.Contains(detail, "192.0.2.10") || !strings.Contains(detail, "site.test") {
		t.Errorf("the record does not name both: %s", detail)
	}
}

func TestN4AbsoluteFormInsideATunnelIsForTheSameAuthorityAndScheme(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
	for target, status := range map[string]int{
		"https://" + s.addr + "/a":         200,
		"HTTPS://" + s.addr + "/b":         200,
		"http://" + s.addr + "/c":          421,
		"https://other.test/d":             421,
		"https://user:pw@" + s.addr + "/e": 400,
		"https://" + s.addr:                200,
		"https://" + s.addr + "?q":         200,
		"ftp://" + s.addr + "/f":           421,
	} {
		c, _ := e.rawBy(ways[2], s.addr)
		if resp := c.send("GET " + target + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"); resp.StatusCode != status {
			t.Errorf("%s: %s, want %d", target, resp.Status, status)
		}
	}
}

func TestN4UserinfoInATargetIsRefusedAndNotRecorded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	resp := e.dial().send("GET http://user:hunter2@" + s.addr + "/u HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != 400 || reasonOf(resp) != "request_invalid" {
		t.Errorf("%s, reason %s", resp.Status, reasonOf(resp))
	}
	if r := e.crossing(s.addr); strings.Contains(r.raw, "hunter2") {
		t.Errorf("the record has the password: %s", r.raw)
	}
	if s.connections.Load() != 0 {
		t.Error("the source was asked")
	}
}

// What is no host and port is no authority, and may hold anything: it stands in
// no record.
func TestE23ATargetOfConnectThatIsNoneIsNotRecorded(t *testing.T) {
	for _, target := range []string{"user:hunter2@site.test:443", "site.test:443/?token=hunter2", "hunter2"} {
		e := startEdge(t, edgeSetup{}) // one each: refusals alike share a record
		resp := e.dial().send("CONNECT " + target + " HTTP/1.1\r\nHost: site.test\r\n\r\n")
		if resp.StatusCode != 400 || reasonOf(resp) != "request_invalid" {
			t.Errorf("%s: %s, reason %s", target, resp.Status, reasonOf(resp))
		}
		r := e.waitCrossings(1)[0]
		r.want(t, map[string]any{"outcome": "refused", "authority": nil, "refusal.reason": "request_invalid"})
		if strings.Contains(r.raw, "hunter2") {
			t.Errorf("%s: the record has the secret: %s", target, r.raw)
		}
	}
}

// A tunnel inside a tunnel would carry requests nobody rules.
func TestN1ConnectInsideATunnelIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	for _, w := range []way{ways[1], ways[2]} {
		c, _ := e.rawBy(w, s.addr)
		resp := c.send("CONNECT " + s.addr + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
		if resp.StatusCode != 400 || reasonOf(resp) != "request_invalid" {
			t.Errorf("%s: %s, reason %s", w.name, resp.Status, reasonOf(resp))
		}
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("the source saw %d connections", n)
	}
	e.waitCrossings(1)[0].want(t, map[string]any{"refusal.reason": "request_invalid", "method": "CONNECT", "url": nil})
}

// HTTP/1.0 need not name the host: it is the tunnel's.
func TestN4HTTP10WithoutAHostIsForTheTunnelsAuthority(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, true, func(v *visit) {
		v.say("HTTP/1.1 200 OK\r\nContent-Length: " + fmt.Sprint(len(v.req.Host)) + "\r\n\r\n" + v.req.Host)
	})
	c, _ := e.rawBy(ways[2], s.addr)
	if resp, body := c.ask("GET / HTTP/1.0\r\n\r\n"); resp.StatusCode != 200 || body != s.addr {
		t.Errorf("%s %q, want the host %s", resp.Status, body, s.addr)
	}
}

// A request that would come back to the edge is refused, whatever names it.
func TestN7ARequestThatLeadsBackIsRefused(t *testing.T) {
	adminListener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer adminListener.Close()
	admin := netip.MustParseAddrPort(adminListener.Addr().String())
	zoneHost := "site.test" // resolves to loopback
	for _, policy := range []string{"127.0.0.0/8", "192.168.77.0/24"} {
		e := startEdge(t, edgeSetup{policy: policyAllowing(policy, "::1/128"), options: func(o *Options) { o.Upstream.Reserve(admin) }})
		_, port, err := net.SplitHostPort(e.addr)
		must(t, err)
		for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0"} {
			for what, p := range map[string]string{"proxy": port, "admin": fmt.Sprint(admin.Port())} {
				c := e.dial()
				resp, body := c.ask("GET http://" + host + ":" + p + "/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				if resp.StatusCode != 508 || reasonOf(resp) != "loop" || strings.Contains(body, "127.0.0.1") {
					t.Errorf("%s of the %s port: %s %s", host, what, resp.Status, body)
				}
				resp = e.dial().send("CONNECT " + host + ":" + p + " HTTP/1.1\r\nHost: x\r\n\r\n")
				if resp.StatusCode != 508 {
					t.Errorf("CONNECT %s of the %s port: %s", host, what, resp.Status)
				}
			}
		}
		if policy == "127.0.0.0/8" { // else the name is refused for its address first
			resp, _ := e.dial().ask("GET http://" + zoneHost + ":" + port + "/named HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if resp.StatusCode != 508 || reasonOf(resp) != "loop" {
				t.Errorf("a name that resolves to the listener: %s", resp.Status)
			}
			e.crossing("/named").want(t, map[string]any{"refusal.reason": "loop", "requested_at": nil})
		}
	}
}

func TestN7ARequestWithOurOwnViaIsALoopAndOthersAreNot(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	for via, status := range map[string]int{
		"1.1 " + e.via:                          508,
		"1.0 other, HTTP/1.1 " + e.via + " (x)": 508,
		"1.1 other":                             200,
		"1.1 " + e.via + "0":                    200,
		"1.1 wayleave-0123456789abcdef":         200,
	} {
		resp := e.dial().send("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\nVia: " + via + "\r\n\r\n")
		if resp.StatusCode != status {
			t.Errorf("Via: %s: %s, want %d", via, resp.Status, status)
		}
		resp = e.dial().send("CONNECT " + s.addr + " HTTP/1.1\r\nHost: x\r\nVia: " + via + "\r\n\r\n")
		if resp.StatusCode != status {
			t.Errorf("CONNECT with Via: %s: %s, want %d", via, resp.Status, status)
		}
	}
}

// Two edges in a row are no loop, and one that leads back to the first is.
func TestN7ALoopOverTwoEdgesIsFoundByItsVia(t *testing.T) {
	first := startEdge(t, edgeSetup{})
	second := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Via")) })
	c := first.raw(mustDial(t, second.addr))
	resp, body := c.ask("GET " + o.URL + "/ HTTP/1.1\r\nHost: x\r\nVia: 1.1 " + first.via + "\r\n\r\n")
	if resp.StatusCode != 200 || body != "1.1 "+first.via+", 1.1 "+second.via {
		t.Errorf("%s, Via at the origin: %s", resp.Status, body)
	}
}

func mustDial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// The leaf for a literal has it as an address, not as a name (RFC 5280 4.2.1.6).
func TestN23TheLeafForAnAddressNamesTheAddress(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite6(t, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
	tc := e.tlsTunnelTo(s, "")
	leaf := tc.ConnectionState().PeerCertificates[0]
	if len(leaf.DNSNames) != 0 || len(leaf.IPAddresses) != 1 || !leaf.IPAddresses[0].Equal(net.IPv6loopback) {
		t.Errorf("names %v, addresses %v", leaf.DNSNames, leaf.IPAddresses)
	}
	c := &rawClient{tc, bufio.NewReader(tc), t}
	if resp, body := c.ask("GET /six HTTP/1.1\r\nHost: " + s + "\r\n\r\n"); resp.StatusCode != 200 || body != "page" {
		t.Errorf("%s %q", resp.Status, body)
	}
	e.crossing("/six").want(t, map[string]any{"url": "https://" + s + "/six", "outcome": "delivered", "address": s})
}
