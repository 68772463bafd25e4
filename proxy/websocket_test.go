package proxy

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
)

// A frame of RFC 6455 5.2 with a payload under 126 octets.
func frame(masked bool, opcode byte, payload string) string {
	b := []byte{0x80 | opcode, byte(len(payload))}
	if masked {
		b[1] |= 0x80
		b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	}
	return string(b) + payload
}

const (
	textFrame  = 1
	closeFrame = 8
)

// readFrame reads one such frame and returns its payload.
func readFrame(br *bufio.Reader) (opcode byte, payload string, err error) {
	var head [2]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return 0, "", err
	}
	n := int(head[1] & 0x7f)
	if head[1]&0x80 != 0 {
		n += 4
	}
	body := make([]byte, n)
	_, err = io.ReadFull(br, body)
	return head[0] & 0x0f, string(body[n-int(head[1]&0x7f):]), err
}

const handshakeKey = "dGhlIHNhbXBsZSBub25jZQ=="

// handshake is a client's opening handshake (RFC 6455 4.1).
func handshake(target, host string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Key: " + handshakeKey + "\r\n\r\n"
}

// accept answers a handshake at the origin (RFC 6455 4.2.2).
func (v *visit) accept() {
	sum := sha1.Sum([]byte(v.req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	v.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n")
}

// echo is an origin that sends back what it gets until a close frame.
func echo(t *testing.T, secure bool) *site {
	return startSite(t, secure, func(v *visit) {
		h := v.req.Header
		if h.Get("Upgrade") != "websocket" || h.Get("Connection") != "Upgrade" || h.Get("Sec-WebSocket-Version") != "13" || h.Get("Keep-Alive") != "" {
			t.Errorf("the origin was asked with %v", h)
		}
		v.accept()
		for {
			opcode, payload, err := readFrame(v.body)
			if err != nil {
				v.Close()
				return
			}
			v.say(frame(false, opcode, payload))
			if opcode == closeFrame {
				v.Close()
				return
			}
		}
	})
}

// open performs the handshake by way w and checks the answer.
func (e *testEdge) openWebsocket(w way, s *site) *rawClient {
	e.t.Helper()
	c, target := e.rawBy(w, s.addr)
	resp := c.send(handshake(target("/chat"), s.addr))
	h := resp.Header
	if resp.StatusCode != 101 || !strings.EqualFold(h.Get("Upgrade"), "websocket") || !strings.EqualFold(h.Get("Connection"), "Upgrade") ||
		h.Get("Sec-WebSocket-Protocol") != "chat" || h.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		e.t.Fatalf("%s: %s %v", w.name, resp.Status, h)
	}
	return c
}

func TestN15AWebsocketIsOneCrossingWithByteCounts(t *testing.T) {
	for _, w := range http1 {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			s := echo(t, w.secure)
			c := e.openWebsocket(w, s)
			up := 0
			for n := range 3 {
				sent := fmt.Sprint("message ", n)
				c.WriteString(frame(true, textFrame, sent))
				if opcode, got, err := readFrame(c.Reader); err != nil || opcode != textFrame || got != sent {
					t.Fatalf("echoed %d %q, %v", opcode, got, err)
				}
				up += len(frame(true, textFrame, sent))
			}
			if n := len(e.crossings()); n != 0 {
				t.Errorf("%d final records while it is open", n)
			}
			c.WriteString(frame(true, closeFrame, ""))
			if opcode, _, err := readFrame(c.Reader); err != nil || opcode != closeFrame {
				t.Errorf("the closing frame: %d, %v", opcode, err)
			}
			c.closed()
			up += len(frame(true, closeFrame, ""))
			r := e.crossing("/chat")
			r.want(t, map[string]any{"outcome": "delivered", "client.protocol": "websocket", "http_status": 101, "bytes.up": up, "bytes.down": up - 4*4,
				"delivered.bytes": up - 4*4, "delivered.complete": nil, "retrieved_hash": nil, "content_hash": nil})
			if r.Event != evidence.EventCrossingMediated || !strings.Contains(r.raw, `"capability_unavailable"`) {
				t.Errorf("a %s without the gap of an unread websocket: %s", r.Event, r.raw)
			}
			opened := 0
			for _, o := range e.records() {
				if o.Event == evidence.EventCrossingOpened {
					opened = int(o.Seq)
				}
			}
			if int(r.at("opened").(float64)) != opened || opened == 0 {
				t.Errorf("opened is %v, crossing_opened is %d", r.at("opened"), opened)
			}
		})
	}
}

// The client's first frame may come in the same segment as its handshake.
func TestN15AFrameRightBehindTheHandshakeIsKept(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		s := echo(t, w.secure)
		c, target := e.rawBy(w, s.addr)
		if resp := c.send(handshake(target("/"), s.addr) + frame(true, textFrame, "early")); resp.StatusCode != 101 {
			t.Fatalf("%s: %s", w.name, resp.Status)
		}
		if _, got, err := readFrame(c.Reader); err != nil || got != "early" {
			t.Errorf("%s: echoed %q, %v", w.name, got, err)
		}
	}
}

// So may the origin's first frame with its answer.
func TestN15AFrameRightBehindTheAnswerIsKept(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		s := startSite(t, w.secure, func(v *visit) {
			v.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + frame(false, textFrame, "first"))
			io.Copy(io.Discard, v.body)
			v.Close()
		})
		c, target := e.rawBy(w, s.addr)
		c.send(handshake(target("/"), s.addr))
		if _, got, err := readFrame(c.Reader); err != nil || got != "first" {
			t.Errorf("%s: %q, %v", w.name, got, err)
		}
	}
}

// When one end closes, so does the other, and the record is written.
func TestN15AWebsocketEndsWhenEitherEndCloses(t *testing.T) {
	for _, w := range http1 {
		for _, end := range []string{"the client closes", "the client resets", "the origin closes", "the origin resets"} {
			t.Run(w.name+", "+end, func(t *testing.T) {
				e := startEdge(t, edgeSetup{})
				ended := make(chan struct{})
				s := startSite(t, w.secure, func(v *visit) {
					v.accept()
					if _, _, err := readFrame(v.body); err != nil {
						t.Error(err)
					}
					switch end {
					case "the origin closes":
						v.Close()
					case "the origin resets":
						reset(v.Conn)
					default:
						io.Copy(io.Discard, v.body)
						v.Close()
					}
					close(ended)
				})
				c := e.openWebsocket(w, s)
				c.WriteString(frame(true, textFrame, "hello"))
				switch end {
				case "the client closes":
					c.Close()
				case "the client resets":
					reset(c.Conn)
				default:
					c.closed()
				}
				<-ended
				e.crossing("/chat").want(t, map[string]any{"bytes.up": len(frame(true, textFrame, "hello")), "bytes.down": 0})
			})
		}
	}
}

// A refused handshake is an ordinary answer, whatever its fields say, and the
// connection serves on.
func TestN15ARefusedHandshakeIsAnOrdinaryAnswer(t *testing.T) {
	e := startEdge(t, edgeSetup{files: hurried()})
	for _, status := range []int{200, 401, 426, 503} {
		for _, w := range http1 {
			s := answering(t, w.secure, fmt.Sprintf("HTTP/1.1 %d X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nnope", status))
			c, target := e.rawBy(w, s.addr)
			for range 2 {
				resp, body := c.ask(handshake(target("/"), s.addr))
				if resp.StatusCode != status || body != "nope" || resp.Header.Get("Upgrade") != "" {
					t.Errorf("%s: %s %q %v", w.name, resp.Status, body, resp.Header)
				}
			}
			e.crossing(s.url).want(t, map[string]any{"outcome": "delivered", "http_status": status, "delivered.complete": true, "gaps": nil})
		}
	}
}

// Any other protocol behind a 101 is not carried.
func TestN15AnotherProtocolIsA502(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, answer := range map[string]string{
		"another protocol":    "Connection: Upgrade\r\nUpgrade: foo\r\n",
		"no protocol":         "",
		"no connection field": "Upgrade: websocket\r\n",
	} {
		for _, w := range http1 {
			s := answering(t, w.secure, "HTTP/1.1 101 Switching Protocols\r\n"+answer+"\r\n")
			c, target := e.rawBy(w, s.addr)
			resp, _ := c.ask(handshake(target("/"), s.addr))
			if resp.StatusCode != 502 || reasonOf(resp) != "http_upgrade_failed" {
				t.Errorf("%s, %s: %s, reason %s", w.name, name, resp.Status, reasonOf(resp))
			}
			e.crossing(s.url).want(t, map[string]any{"outcome": "unavailable", "http_status": 101, "failure.kind": "http_upgrade_failed", "delivered": nil})
		}
	}
}

// Only a bodiless GET over HTTP/1.1 asks for a websocket (RFC 6455 4.1, RFC 9110
// 7.8): any other request is sent on without its Upgrade, and a 101 to it not used.
func TestN15WhatIsNoHandshakeIsNotUpgraded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, edit := range map[string]*strings.Replacer{
		"HTTP/1.0":    strings.NewReplacer("HTTP/1.1", "HTTP/1.0"),
		"POST":        strings.NewReplacer("GET ", "POST "),
		"with a body": strings.NewReplacer("\r\n\r\n", "\r\nContent-Length: 4\r\n\r\nbody"),
	} {
		for _, w := range http1 {
			s := startSite(t, w.secure, func(v *visit) {
				if h := v.req.Header; h.Get("Upgrade") != "" || h.Get("Connection") != "" {
					t.Errorf("%s, %s: the origin was asked with %v", w.name, name, h)
				}
				v.accept()
			})
			c, target := e.rawBy(w, s.addr)
			resp, _ := c.ask(edit.Replace(handshake(target("/"), s.addr)))
			if resp.StatusCode != 502 || reasonOf(resp) != "http_upgrade_failed" {
				t.Errorf("%s, %s: %s, reason %s", w.name, name, resp.Status, reasonOf(resp))
			}
			if r := e.crossing(s.url); r.at("client.protocol") == "websocket" {
				t.Errorf("%s, %s: recorded as a websocket: %s", w.name, name, r.raw)
			}
		}
	}
}

// Terms rule a websocket as any other request.
func TestN15AWebsocketIsRuled(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "User-agent: *\nDisallow: /chat\n", true, nil)
	resp := e.dial().send(handshake(o.URL+"/chat", "x"))
	if resp.StatusCode != 403 || reasonOf(resp) != "robots_disallow" || o.requests.Load() != 0 {
		t.Errorf("%s, %d requests", resp.Status, o.requests.Load())
	}
}

// A site that offers HTTP/2 is asked over HTTP/1.1, where websockets are.
func TestN15AWebsocketToASiteThatOffersHTTP2(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", false, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("asked over %s: %v", r.Proto, err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, payload, _ := readFrame(rw.Reader)
		io.WriteString(conn, frame(false, textFrame, payload))
	})
	addr := o.Listener.Addr().String()
	c, _ := e.rawBy(ways[2], addr)
	if resp := c.send(handshake("/", addr)); resp.StatusCode != 101 {
		t.Fatalf("%s", resp.Status)
	}
	c.WriteString(frame(true, textFrame, "over"))
	if _, got, err := readFrame(c.Reader); err != nil || got != "over" {
		t.Errorf("echoed %q, %v", got, err)
	}
}

// A stopping edge ends websockets and records how far they came.
func TestN25AWebsocketIsEndedByTheStop(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := echo(t, false)
	c := e.openWebsocket(ways[0], s)
	c.WriteString(frame(true, textFrame, "x"))
	_, _, err := readFrame(c.Reader)
	must(t, err)
	e.stop(time.Millisecond)
	c.closed()
	e.crossing("/chat").want(t, map[string]any{"bytes.up": 7, "bytes.down": 3})
}
