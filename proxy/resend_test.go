package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// bare are requests without a body, each of which some HTTP stack sends again
// by itself when a connection dies under it.
var bare = []struct{ method, fields string }{
	{"GET", ""}, {"HEAD", ""}, {"OPTIONS", ""}, {"TRACE", ""}, {"POST", ""}, {"PUT", ""}, {"DELETE", ""}, {"PATCH", ""}, {"PROPFIND", ""}, {"FROB", ""},
	{"POST", "Idempotency-Key: k\r\n"}, {"PUT", "X-Idempotency-Key: k\r\n"}, {"DELETE", "idempotency-key: k\r\n"}, {"GET", "Idempotency-Key: k\r\n"},
	{"TRACE", "Idempotency-Key: k\r\n"},
}

// An origin never counts more requests than the client sent, however its
// connection dies under the second.
func TestN16ARequestIsSentOnceOverAReusedConnection(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, die := range map[string]func(*visit){
		"closes before any octet": func(v *visit) { v.Close() },
		"resets before any octet": func(v *visit) { reset(v.Conn) },
		"closes within the head":  func(v *visit) { v.say("HTTP/1.1 200 OK\r\nConte"); v.Close() },
		"resets within the head":  func(v *visit) { v.say("HTTP/1.1 200 OK\r\nConte"); reset(v.Conn) },
		"closes behind a 103":     func(v *visit) { v.say("HTTP/1.1 103 Early Hints\r\n\r\n"); v.Close() },
		"says 408 and closes": func(v *visit) {
			v.say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			v.Close()
		},
		"answers with what is no HTTP": func(v *visit) { v.say("\x00\x00\x00\r\n\r\n"); v.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range []way{ways[0], ways[2]} {
				for _, b := range bare {
					s := startSite(t, w.secure, func(v *visit) {
						if v.n == 1 {
							v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
							return
						}
						die(v)
					})
					c, target := e.rawBy(w, s.addr)
					send := func() *http.Response {
						resp := c.send(b.method + " " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + b.fields + "\r\n")
						for resp.StatusCode == 103 {
							resp = c.head(b.method == "HEAD")
						}
						io.Copy(io.Discard, resp.Body)
						return resp
					}
					if resp := send(); resp.StatusCode != 200 {
						t.Fatalf("%s %s: first %s", w.name, b.method, resp.Status)
					}
					resp := send()
					if told := reasonOf(resp); resp.StatusCode != 408 && (resp.StatusCode != 502 || told != "connection_terminated" && told != "http_protocol_error") {
						t.Errorf("%s %s%s: then %s, reason %s", w.name, b.method, b.fields, resp.Status, told)
					}
					if n := s.requests.Load(); n != 2 {
						t.Errorf("%s %s %s: the client sent 2 requests, the origin counted %d", w.name, b.method, b.fields, n)
					}
				}
			}
		})
	}
	for _, r := range e.crossings() {
		if r.at("outcome") == "unavailable" {
			r.want(t, map[string]any{"http_status": nil})
			if !strings.Contains(r.raw, `"dependency_unavailable"`) {
				t.Errorf("a crossing without an answer has no gap: %s", r.raw)
			}
		}
	}
}

// A request with a body is not sent again either.
func TestN16AnUploadIsSentOnceOverAReusedConnection(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			s := startSite(t, w.secure, func(v *visit) {
				io.Copy(io.Discard, v.req.Body)
				if v.n > 1 {
					v.Close()
					return
				}
				v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			})
			client := e.by(w)
			for n := 1; n <= 2; n++ {
				resp, err := client.Do(request(t, method, s.url+"/", strings.NewReader("upload"), "Idempotency-Key", "k"))
				text(t, resp, err)
				if (n == 1) != (resp.StatusCode == 200) {
					t.Errorf("%s %s %d: %s", w.name, method, n, resp.Status)
				}
			}
			if n := s.requests.Load(); n != 2 {
				t.Errorf("%s %s: the origin counted %d", w.name, method, n)
			}
		}
	}
}

// A connection that ends while idle costs at most the next request, and never a
// second one.
func TestN16AnIdleConnectionThatEndsSendsNothingTwice(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, false, func(v *visit) {
		v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		v.Close() // unannounced
	})
	const sent = 50
	c := e.dial()
	for range sent {
		if resp, _ := c.ask("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 200 && resp.StatusCode != 502 {
			t.Errorf("%s", resp.Status)
		}
	}
	if n := s.requests.Load(); n > sent {
		t.Errorf("the client sent %d requests, the origin counted %d", sent, n)
	}
}

// An h2Site is an origin that speaks HTTP/2 frame by frame.
type h2Site struct {
	addr     string
	requests atomic.Int64 // robots.txt apart
}

// startH2Site answers each request by serve, which gets the stream and how many
// requests came before, and serves on unless that returns false.
func startH2Site(t *testing.T, serve func(h *h2Conn, stream uint32, before int64) bool) *h2Site {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{originLeaf(t)}, NextProtos: []string{"h2"}})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	s := &h2Site{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(t, c, serve)
		}
	}()
	return s
}

func (s *h2Site) serve(t testing.TB, c net.Conn, serve func(h *h2Conn, stream uint32, before int64) bool) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	h := newH2(t, c)
	if h.WriteSettings() != nil {
		return
	}
	for {
		f, err := h.ReadFrame()
		if err != nil {
			return
		}
		head, ok := f.(*http2.MetaHeadersFrame)
		switch {
		case !ok:
			if settings, ok := f.(*http2.SettingsFrame); ok && !settings.IsAck() {
				h.WriteSettingsAck()
			}
		case head.PseudoValue("path") == "/robots.txt":
			h.head(head.StreamID, true, ":status", "404")
		case !serve(h, head.StreamID, s.requests.Add(1)-1):
			return
		}
	}
}

// An origin over HTTP/2 that turns a request away is asked once, though the
// protocol would allow to ask again.
func TestN16ARequestIsSentOnceOverHTTP2(t *testing.T) {
	for name, refuse := range map[string]func(h *h2Conn, stream uint32) bool{
		"refuses the stream": func(h *h2Conn, stream uint32) bool {
			h.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
			return true
		},
		"resets the stream": func(h *h2Conn, stream uint32) bool {
			h.WriteRSTStream(stream, http2.ErrCodeProtocol)
			return true
		},
		"goes away without having processed it": func(h *h2Conn, stream uint32) bool {
			h.WriteGoAway(max(stream, 2)-2, http2.ErrCodeNo, nil)
			return true
		},
		"goes away with an error": func(h *h2Conn, stream uint32) bool {
			h.WriteGoAway(max(stream, 2)-2, http2.ErrCodeEnhanceYourCalm, nil)
			return false
		},
		"closes the connection": func(h *h2Conn, _ uint32) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			for _, after := range []int64{0, 1} { // on the first request, and on a reused connection
				for _, b := range bare {
					s := startH2Site(t, func(h *h2Conn, stream uint32, before int64) bool {
						if before >= after {
							return refuse(h, stream)
						}
						h.head(stream, true, ":status", "200")
						return true
					})
					c := e.h2(s.addr)
					field, value, _ := strings.Cut(strings.TrimSpace(b.fields), ": ")
					var fields []string
					if field != "" {
						fields = []string{strings.ToLower(field), value}
					}
					for n := range after + 1 {
						status, header, _ := c.do(b.method, fmt.Sprint("/", n), fields...)
						if (n < after) != (status == 200) || n == after && status != 502 {
							t.Errorf("%s %s, request %d: %d %v", b.method, b.fields, n, status, header)
						}
					}
					if n := s.requests.Load(); n != after+1 {
						t.Errorf("%s %s: the client sent %d, the origin counted %d", b.method, b.fields, after+1, n)
					}
				}
			}
		})
	}
}

// The edge's own question for robots.txt is sent once as well.
func TestN16TheProbeIsSentOnce(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	var probes atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			probes.Add(1)
			c.Read(make([]byte, 1024))
			c.Close()
		}
	}()
	resp := e.dial().send("GET http://" + l.Addr().String() + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != 503 || reasonOf(resp) != "robots_unreachable" || probes.Load() != 1 {
		t.Errorf("%s, reason %s, %d probes", resp.Status, reasonOf(resp), probes.Load())
	}
}
