package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// privateTargets are hosts that must not be dialled under the default policy,
// however they are spelled.
var privateTargets = []string{
	"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.0.0.1.",
	"10.0.0.1", "10.1", "172.16.0.1", "192.168.1.1", "192.168.257", "100.64.0.1", "169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376",
	"0.0.0.0", "0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "240.0.0.1", "192.88.99.1",
	"[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd12:3456::1]", "[ff02::1]", "[2001:db8::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:1:1:1:1:80ff:fffe]", "[64:ff9b:1::1]", "[::ffff:0:127.0.0.1]",
	"localhost", "private.test", "metadata.test", "site.test", "six.test", "nat64.test",
}

func TestN18PrivateAddressesAreRefusedHoweverTheyAreSpelled(t *testing.T) {
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n") // on loopback, which is not allowed here
	_, port, err := net.SplitHostPort(s.addr)
	must(t, err)
	e := startEdge(t, edgeSetup{policy: policyAllowing("192.168.77.0/24")})
	for n, host := range privateTargets {
		resp, body := e.dial().ask(fmt.Sprintf("GET http://%s:%s/g%d- HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", host, port, n))
		if resp.StatusCode != 403 || reasonOf(resp) != "private_address" || !strings.Contains(resp.Header.Get("Proxy-Status"), "error=destination_ip_prohibited") {
			t.Errorf("%s: %s %s", host, resp.Status, body)
		}
		for _, internal := range []string{"127.0.0.1", "10.1.2.3", "169.254"} {
			if strings.Contains(body, internal) {
				t.Errorf("%s: the client reads an address: %s", host, body)
			}
		}
		e.crossing(fmt.Sprintf("/g%d-", n)).want(t, map[string]any{"outcome": "refused", "refusal.reason": "private_address", "refusal.whose": "operator",
			"requested_at": nil, "told.status": 403, "delivered": nil})
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// Inside a tunnel the same guard holds, for sources and for services.
func TestN18TheGuardHoldsInsideTunnelsAndForServices(t *testing.T) {
	o := startOrigin(t, "", false, nil)
	p := policyAllowing("192.168.77.0/24")
	p.Services = []string{"site.test", "127.0.0.1"}
	e := startEdge(t, edgeSetup{policy: p})
	for _, host := range []string{"site.test", "127.0.0.1", "other.test", "localhost"} {
		for _, w := range ways[2:] {
			resp, err := e.by(w).Get(strings.Replace(o.URL, "127.0.0.1", host, 1) + "/")
			text(t, resp, err)
			if resp.StatusCode != 403 || reasonOf(resp) != "private_address" {
				t.Errorf("%s %s: %s, reason %s", w.name, host, resp.Status, reasonOf(resp))
			}
		}
	}
	if o.requests.Load()+o.probes.Load() != 0 {
		t.Error("the site was asked")
	}
}

// The operator can let through a prefix, or a name whatever it resolves to.
func TestN18ThePolicyNamesWhatIsLetThrough(t *testing.T) {
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	_, port, err := net.SplitHostPort(s.addr)
	must(t, err)
	for _, c := range []struct {
		allow, host string
		status      int
	}{
		{"127.0.0.1/32", "127.0.0.1", 204},
		{"127.0.0.1/32", "site.test", 204},
		{"127.0.0.1/32", "[::ffff:127.0.0.1]", 204},
		{"site.test", "site.test", 204},
		{"site.test", "SITE.test.", 204},
		{"*.test", "other.test", 204},
		{"127.0.0.1", "127.0.0.1", 204},
		{"site.test", "other.test", 403},
		{"site.test", "127.0.0.1", 403},
		{"127.0.0.2/32", "127.0.0.1", 403},
		{"127.0.0.1", "site.test", 403}, // a host that is an address, not a prefix
	} {
		e := startEdge(t, edgeSetup{policy: policyAllowing(c.allow)})
		resp := e.dial().send("GET http://" + c.host + ":" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp.StatusCode != c.status {
			t.Errorf("%s under %s: %s, want %d", c.host, c.allow, resp.Status, c.status)
		}
	}
}

// The address inside a NAT64 address is what is judged: otherwise a network that
// has only IPv6 would be cut off.
func TestN18NAT64IsJudgedByTheAddressInside(t *testing.T) {
	var d guardedDialer
	for addr, want := range map[string]error{
		"[64:ff9b::5db8:d822]:80": nil, "93.184.216.34:80": nil, "[2606:2800:220:1::]:443": nil, "[2002:5db8:d822::1]:80": nil,
		"[64:ff9b::a00:1]:80": errPrivate, "[::ffff:10.0.0.1]:80": errPrivate, "[fe80::1%eth0]:80": errPrivate, "169.254.169.254:80": errPrivate,
	} {
		if err := d.judge(rulings.DefaultPolicy(), "public.test", "public.test:80", addr); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", addr, err, want)
		}
	}
}

// Without a policy that loads only public addresses are dialled.
func TestN18WithoutAPolicyTheDefaultGuards(t *testing.T) {
	var d guardedDialer
	u, err := NewUpstream(UpstreamOptions{Policy: func() *rulings.Policy { return nil }})
	must(t, err)
	policy := u.pool(nil).policy
	if err := d.judge(policy, "x.test", "x.test:80", "10.0.0.1:80"); !errors.Is(err, errPrivate) {
		t.Errorf("a private address: %v", err)
	}
	if err := d.judge(policy, "x.test", "x.test:80", "93.184.216.34:80"); err != nil {
		t.Errorf("a public address: %v", err)
	}
}

// A redirect is the client's own next request and meets the same guard; the
// edge follows none for the client.
func TestN18ARedirectIntoAPrivateRangeIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: policyAllowing("127.0.0.0/8")})
	for _, target := range []string{"http://169.254.169.254/latest/", "http://10.0.0.1/", "http://metadata.test/", "http://[fe80::1]/"} {
		s := answering(t, false, "HTTP/1.1 302 Found\r\nLocation: "+target+"\r\nContent-Length: 0\r\n\r\n")
		c := e.client("", false)
		resp, _ := get(t, c, s.url+"/")
		if resp.StatusCode != 302 || resp.Header.Get("Location") != target {
			t.Errorf("the redirect did not pass: %s %v", resp.Status, resp.Header)
		}
		c.CheckRedirect = nil
		resp, _ = get(t, c, s.url+"/followed")
		if resp.StatusCode != 403 || reasonOf(resp) != "private_address" {
			t.Errorf("%s was followed: %s", target, resp.Status)
		}
		e.crossing(target).want(t, map[string]any{"outcome": "refused", "refusal.reason": "private_address"})
	}
}

// The edge's own probe does not follow a redirect there either, and says so.
func TestN18AProbeIsNotRedirectedIntoAPrivateRange(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: policyAllowing("127.0.0.0/8")})
	for _, target := range []string{"http://169.254.169.254/robots.txt", "http://metadata.test/robots.txt"} {
		o := startOrigin(t, "", true, func(http.ResponseWriter, *http.Request) { t.Error("the page was asked for") })
		o.Config.Handler = http.RedirectHandler(target, http.StatusFound)
		resp, _ := get(t, e.client("", false), o.URL+"/page")
		if resp.StatusCode != 503 || reasonOf(resp) != "robots_unreachable" {
			t.Errorf("%s: %s, reason %s", target, resp.Status, reasonOf(resp))
		}
		r := e.crossing(o.URL)
		r.want(t, map[string]any{"outcome": "refused", "requested_at": nil})
		probed := false
		for _, p := range e.records() {
			if p.Event == "terms_probed" && strings.Contains(p.raw, o.URL) && strings.Contains(p.raw, target) {
				probed = true
				p.want(t, map[string]any{"failure.kind": "redirect_refused"})
			}
		}
		if !probed {
			t.Errorf("no record of the probe names %s", target)
		}
	}
}

// What a name resolved to is judged at the dial: a check before it could be
// fooled by a second answer.
func TestN18TheAddressDialledIsTheOneJudged(t *testing.T) {
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	_, port, err := net.SplitHostPort(s.addr)
	must(t, err)
	var d guardedDialer
	conn, err := d.dial(t.Context(), loopbackPolicyOf(t)(), "tcp", "site.test:"+port)
	must(t, err)
	defer conn.Close()
	if remote := netip.MustParseAddrPort(conn.RemoteAddr().String()); remote.Addr().String() != "127.0.0.1" {
		t.Errorf("connected to %s", remote)
	}
	if _, err := d.dial(t.Context(), rulings.DefaultPolicy(), "tcp", "site.test:"+port); !errors.Is(err, errPrivate) {
		t.Errorf("under a policy that does not let it through: %v", err)
	}
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	must(t, err)
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || s.connections.Load() != 1 {
		t.Errorf("%d connections were made, error %v", s.connections.Load(), err)
	}
}
