package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// trickle writes one octet after another until the other end closes, so that no
// single wait is long and only a limit on the whole can end it.
func trickle(c *rawClient, octets string) {
	for i := 0; ; i++ {
		if _, err := c.WriteString(octets[i%len(octets) : i%len(octets)+1]); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// atLength does what an edge with little patience may have broken off because a
// busy machine kept it waiting, until it comes to an end.
func atLength[T any](do func() (T, error)) (got T, err error) {
	for range 50 {
		if got, err = do(); err == nil {
			break
		}
	}
	return got, err
}

// A client that keeps the edge waiting in its tunnel is given up, with a record
// that says so.
func TestN3ASilentClientIsGivenUp(t *testing.T) {
	const hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // the start of a ClientHello
	for _, c := range []struct {
		name   string
		secure bool // behind a finished handshake
		after  func(*rawClient)
	}{
		{"says nothing in its tunnel", false, func(*rawClient) {}},
		{"sends a ClientHello by the octet", false, func(c *rawClient) { go trickle(c, hello+strings.Repeat("\x00", 4096)) }},
		{"stops within a ClientHello", false, func(c *rawClient) { c.WriteString(hello) }},
		{"sends a request head by the octet", false, func(c *rawClient) { go trickle(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("a", 4096)) }},
		{"stops within a request head", false, func(c *rawClient) { c.WriteString("GET / HTTP/1.1\r\nX: a") }},
		{"stops within a method", false, func(c *rawClient) { c.WriteString("GE") }},
		{"says nothing behind the handshake", true, func(*rawClient) {}},
		{"stops within a request head behind the handshake", true, func(c *rawClient) { c.WriteString("GET / HTTP/1.1\r\nX: a") }},
		{"sends a request head by the octet behind the handshake", true, func(c *rawClient) { go trickle(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("a", 4096)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			patience := soon
			if c.secure { // with the head alone: the handshake takes the time it takes
				patience = func(e *Edge) { e.inner.ReadHeaderTimeout = 300 * time.Millisecond }
			}
			e := startEdge(t, edgeSetup{edge: patience})
			conn, err := atLength(func() (net.Conn, error) { return e.tunnel("site.test:443") })
			must(t, err)
			if c.secure {
				conn = tls.Client(conn, &tls.Config{RootCAs: e.roots, ServerName: "site.test"})
				must(t, conn.(*tls.Conn).Handshake())
			}
			raw := e.raw(conn)
			c.after(raw)
			raw.closed()
			r := e.crossing("site.test:443")
			r.want(t, map[string]any{"authority": "site.test:443", "outcome": "abandoned", "failure.kind": "client_silent", "client.protocol": "tunnel",
				"method": nil, "url": nil, "delivered": nil, "grade": "mediated"})
			if !strings.Contains(r.raw, `"capability_unavailable"`) {
				t.Errorf("no gap: %s", r.raw)
			}
		})
	}
}

// A slow client does not keep others waiting.
func TestN3OtherTunnelsGoOnBesideASilentOne(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 204 No Content\r\n\r\n")
	for range 3 {
		_, err := e.tunnel("site.test:443") // and nothing more
		must(t, err)
	}
	c, _ := e.rawBy(ways[2], s.addr)
	if resp := c.send("GET / HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"); resp.StatusCode != 204 {
		t.Errorf("%s", resp.Status)
	}
}

// On the proxy port itself a slow head ends the connection, and leaves no record.
func TestN3ASlowHeadOnTheProxyPortIsGivenUp(t *testing.T) {
	e := startEdge(t, edgeSetup{edge: soon})
	for _, octets := range []string{"GET http://site.test/ HTTP/1.1\r\nX: a", "CONNECT site.test:443 HTTP/1.1\r\nX: a", "G"} {
		c := e.dial()
		c.WriteString(octets)
		c.closed()
	}
	e.down()
	if n := len(e.crossings()); n != 0 {
		t.Errorf("%d crossings of requests that were never made", n)
	}
}

func status(either bool, one, other int) int {
	if either {
		return one
	}
	return other
}

// A head over 1 MiB is 431 and a target over 64 KiB 414, inside tunnels as well.
func TestN3HeadsAndTargetsAreLimited(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		t.Run(w.name, func(t *testing.T) {
			s := answering(t, w.secure, "HTTP/1.1 204 No Content\r\n\r\n")
			ask := func(path, fields string) int {
				c, target := e.rawBy(w, s.addr)
				go c.WriteString("GET " + target(path) + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + fields + "\r\n")
				resp := c.head(false)
				io.Copy(io.Discard, resp.Body)
				return resp.StatusCode
			}
			field := func(n int) string { return "X: " + strings.Repeat("x", n) + "\r\n" }
			for _, c := range []struct {
				name         string
				path, fields string
				status       int
			}{
				{"a field of 900 KiB", "/", field(900 << 10), 204},
				{"a field of 1,200 KiB", "/", field(1200 << 10), 431},
				{"many fields of 1,200 KiB together", "/", strings.Repeat(field(1<<10), 1200), 431},
				{"a target of 60 KiB", "/" + strings.Repeat("x", 60<<10), "", 204},
				{"a target of 64 KiB, or longer by its authority", "/" + strings.Repeat("x", 64<<10-1), "", status(w == ways[0], 414, 204)},
				{"a target of 64 KiB and an octet", "/" + strings.Repeat("x", 64<<10), "", 414},
				{"a target of 70 KiB", "/" + strings.Repeat("x", 70<<10), "", 414},
				{"a query of 70 KiB", "/?" + strings.Repeat("x", 70<<10), "", 414},
			} {
				before := s.requests.Load()
				if status := ask(c.path, c.fields); status != c.status || s.requests.Load()-before != int64(btoi(c.status == 204)) {
					t.Errorf("%s: %d, want %d; the origin saw %d requests", c.name, status, c.status, s.requests.Load()-before)
				}
			}
		})
	}
	t.Run("intercepted HTTP/2", func(t *testing.T) {
		s := answering(t, true, "HTTP/1.1 204 No Content\r\n\r\n")
		if status, header, _ := e.h2(s.addr).do("GET", "/"+strings.Repeat("x", 70<<10)); status != 414 {
			t.Errorf("a target of 70 KiB: %d %v", status, header)
		}
		if status, _, _ := e.h2(s.addr).do("GET", "/", "x", strings.Repeat("x", 1200<<10)); status == 204 {
			t.Errorf("a head of 1,200 KiB passed")
		}
		if n := s.requests.Load(); n != 0 {
			t.Errorf("the origin saw %d requests", n)
		}
	})
}

// What the parser turns away never becomes a request: it leaves no record, in a
// tunnel as on the proxy port (E13).
func TestE13WhatIsNoRequestLeavesNoRecord(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.Metrics = reg }})
	want := 0.0
	for _, w := range http1 {
		for head, status := range map[string]int{
			"broken\r\n\r\n":                                   400,
			"X: " + strings.Repeat("x", 1200<<10):              431,
			"Host: 127.0.0.1:443\r\nExpect: x\r\n\r\n":         417,
			"Host: x\r\nTransfer-Encoding: odd\r\n\r\n":        501,
			"Host: x\r\nX\x01: y\r\nContent-Length: 4\r\n\r\n": 400,
		} {
			c, target := e.rawBy(w, "127.0.0.1:443")
			go c.WriteString("GET " + target("/") + " HTTP/1.1\r\n" + head)
			if resp := c.head(false); resp.StatusCode != status {
				t.Errorf("%s, %.20q: %s", w.name, head, resp.Status)
			}
			c.closed()
			want++
		}
	}
	e.dial().Close() // who says nothing asks for nothing
	if resp := e.dial().send("GET /origin-form HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); resp.StatusCode != 400 {
		t.Errorf("%s", resp.Status)
	}
	for range 1000 { // the last is counted when its connection is given up
		if counted(t, reg, "wayleave_unread_heads_total") == want {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got := counted(t, reg, "wayleave_unread_heads_total"); got != want {
		t.Errorf("%v heads are counted, want %v", got, want)
	}
	e.down()
	for _, r := range e.crossings() {
		if r.at("refusal.detail") != "origin-form request to the proxy port" {
			t.Errorf("recorded: %s", r.raw)
		}
	}
}

// A stream may be silent for longer than any limit on clients.
func TestN11ASilentStreamIsNotGivenUp(t *testing.T) {
	e := startEdge(t, edgeSetup{edge: soon})
	for _, w := range ways {
		goOn := make(chan struct{})
		o := startOrigin(t, "", !w.secure, func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(rw, "first")
			rw.(http.Flusher).Flush()
			<-goOn
			fmt.Fprintln(rw, "second")
		})
		resp, err := atLength(func() (*http.Response, error) { return e.by(w).Get(o.URL + "/") })
		must(t, err)
		io.ReadFull(resp.Body, make([]byte, 6))
		time.Sleep(3 * e.silence)
		close(goOn)
		if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second\n" {
			t.Errorf("%s: %q, %v", w.name, rest, err)
		}
		resp.Body.Close()
	}
}
