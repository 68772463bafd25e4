package proxy

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// noise is a reader of n octets that no one buffer holds.
func noise(n int64) io.Reader { return io.LimitReader(&counting{}, n) }

type counting struct{ n byte }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.n
		c.n++
	}
	return len(p), nil
}

func TestN14ALongChunkedUploadPassesWhole(t *testing.T) {
	const size = 20 << 20
	want := sha256.New()
	io.Copy(want, noise(size))
	for _, w := range []way{ways[0], ways[2], ways[3]} {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			o := startOrigin(t, "", !w.secure, func(rw http.ResponseWriter, r *http.Request) {
				got := sha256.New()
				n, err := io.Copy(got, r.Body)
				if err != nil || n != size || r.ContentLength != -1 {
					t.Errorf("the origin got %d octets, %v, length %d", n, err, r.ContentLength)
				}
				fmt.Fprintf(rw, "%x", got.Sum(nil))
			})
			resp, err := e.by(w).Post(o.URL+"/push", "application/x-pack", noise(size))
			if body := text(t, resp, err); resp.StatusCode != 200 || body != fmt.Sprintf("%x", want.Sum(nil)) {
				t.Errorf("%s %s", resp.Status, body)
			}
			e.crossing("/push").want(t, map[string]any{"bytes.up": size, "outcome": "delivered"})
		})
	}
}

// An upload streams: what the client has sent is at the origin before it sends on.
func TestN14AnUploadStreams(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			seen := make(chan string)
			o := startOrigin(t, "", !w.secure, func(_ http.ResponseWriter, r *http.Request) {
				br := bufio.NewReader(r.Body)
				for {
					line, err := br.ReadString('\n')
					if err != nil {
						close(seen)
						return
					}
					seen <- line
				}
			})
			pr, pw := io.Pipe()
			go func() {
				for n := range 3 {
					fmt.Fprintf(pw, "line %d\n", n)
					if got := <-seen; got != fmt.Sprintf("line %d\n", n) {
						t.Errorf("the origin got %q", got)
					}
				}
				pw.Close()
			}()
			resp, err := e.by(w).Post(o.URL+"/", "text/plain", pr)
			text(t, resp, err)
		})
	}
}

// An origin may answer before the upload has ended, and the client sees it.
func TestN14AnEarlyAnswerReachesTheClientDuringTheUpload(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			o := startOrigin(t, "", !w.secure, func(rw http.ResponseWriter, r *http.Request) {
				http.NewResponseController(rw).EnableFullDuplex()
				io.CopyN(io.Discard, r.Body, 1000)
				rw.Header().Set("WWW-Authenticate", "Basic")
				rw.Header().Set("Content-Length", "11")
				rw.WriteHeader(http.StatusUnauthorized)
				io.WriteString(rw, "who are you")
				rw.(http.Flusher).Flush()
				if r.ProtoMajor == 1 { // what is left unread resets the connection, and the answer may be lost with it
					io.Copy(io.Discard, r.Body)
				}
			})
			pr, pw := io.Pipe()
			answered := make(chan struct{})
			go func() { // goes on as long as anybody takes it, and waits for the answer at a million
				io.Copy(pw, noise(1<<20))
				<-answered
				pw.CloseWithError(io.ErrUnexpectedEOF)
			}()
			resp, err := e.by(w).Post(o.URL+"/early", "text/plain", pr)
			close(answered)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 401 || string(body) != "who are you" || resp.Header.Get("WWW-Authenticate") != "Basic" {
				t.Errorf("%s %q", resp.Status, body)
			}
			e.crossing("/early").want(t, map[string]any{"http_status": 401, "challenge.status": 401, "outcome": "delivered"})
		})
	}
}

// reach connects to the source at the loopback address addr by way w.
func (e *testEdge) reach(w way, addr string) (net.Conn, error) {
	if !w.secure && !w.connect {
		return e.dial().Conn, nil
	}
	conn, err := e.tunnel(addr)
	if err != nil || !w.secure {
		return conn, err
	}
	c := tls.Client(conn, &tls.Config{RootCAs: e.roots, ServerName: "127.0.0.1"})
	return c, c.Handshake()
}

// A refused upload is answered at once, and the connection then ends: the edge
// does not read the rest of it.
func TestN14ARefusedUploadIsNotRead(t *testing.T) {
	e := startEdge(t, edgeSetup{edge: func(e *Edge) { e.silence = 300 * time.Millisecond }})
	for _, w := range http1 {
		for _, framing := range []string{"Content-Length: 20000000", "Transfer-Encoding: chunked"} {
			o := startOrigin(t, "User-agent: *\nDisallow: /\n", !w.secure, nil)
			addr := o.Listener.Addr().String()
			target := "/up"
			if !w.secure && !w.connect {
				target = o.URL + target
			}
			var c *rawClient
			resp, err := atLength(func() (*http.Response, error) {
				conn, err := e.reach(w, addr)
				if err != nil {
					return nil, err
				}
				c = e.raw(conn)
				c.WriteString("POST " + target + " HTTP/1.1\r\nHost: " + addr + "\r\n" + framing + "\r\n\r\n") // and no body
				return http.ReadResponse(c.Reader, nil)
			})
			must(t, err)
			if resp.StatusCode != 403 || reasonOf(resp) != "robots_disallow" || !resp.Close {
				t.Errorf("%s, %s: %s, closes %v", w.name, framing, resp.Status, resp.Close)
			}
			io.Copy(io.Discard, resp.Body)
			c.closed()
			if o.requests.Load() != 0 {
				t.Error("the origin saw the request")
			}
		}
	}
	e.crossing("/up").want(t, map[string]any{"outcome": "refused", "bytes": nil, "requested_at": nil})
}

// Who is refused for the credentials is not read from either.
func TestN14AnUploadTurnedAwayIsNotRead(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	resp := e.dial().send("POST http://u:p@site.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
	if resp.StatusCode != 400 || !resp.Close {
		t.Errorf("%s, closes %v", resp.Status, resp.Close)
	}
}

// A short refused upload costs no connection.
func TestN14AShortRefusedUploadKeepsTheConnection(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "User-agent: *\nDisallow: /\n", true, nil)
	c := e.dial()
	for range 2 {
		resp, _ := c.ask("POST " + o.URL + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
		if resp.StatusCode != 403 || resp.Close {
			t.Errorf("%s, closes %v", resp.Status, resp.Close)
		}
	}
}

// A client that waits for 100 gets it when the origin wants the body.
func TestN9ExpectContinueIsAnswered(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		t.Run(w.name, func(t *testing.T) {
			s := startSite(t, w.secure, func(v *visit) {
				if v.req.Header.Get("Expect") != "100-continue" {
					t.Errorf("Expect at the origin: %q", v.req.Header.Get("Expect"))
				}
				v.say("HTTP/1.1 100 Continue\r\n\r\n")
				n, _ := io.Copy(io.Discard, v.req.Body)
				v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n%06d", n))
			})
			c, target := e.rawBy(w, s.addr)
			c.WriteString("POST " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n")
			if resp := c.head(false); resp.StatusCode != 100 {
				t.Fatalf("first came %s", resp.Status)
			}
			if resp, body := c.ask(strings.Repeat("x", 100000)); resp.StatusCode != 200 || body != "100000" {
				t.Errorf("then came %s %q", resp.Status, body)
			}
		})
	}
}

// An origin that never says 100, though it waits for the body, gets it all the
// same (RFC 9110 10.1.1).
func TestN9AnOriginThatDoesNotKnowExpectGetsTheBody(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, false, func(v *visit) {
		n, _ := io.Copy(io.Discard, v.req.Body)
		v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n))
	})
	c := e.dial()
	c.WriteString("POST " + s.url + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if resp := c.head(false); resp.StatusCode != 100 {
		t.Fatalf("first came %s", resp.Status)
	}
	if resp, body := c.ask("hello"); resp.StatusCode != 200 || body != "5" {
		t.Errorf("then came %s %q", resp.Status, body)
	}
}

// Nobody asks for a body that would be thrown away: not the edge for a refused
// request, and not for one the origin turns down by its head.
func TestN14ARefusedUploadIsNotAskedFor(t *testing.T) {
	e := startEdge(t, edgeSetup{edge: func(e *Edge) { e.silence = 300 * time.Millisecond }})
	o := startOrigin(t, "User-agent: *\nDisallow: /\n", true, nil)
	s := answering(t, false, "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
	for url, status := range map[string]int{o.URL + "/": 403, s.url + "/": 417, "http://u:p@x/": 400} {
		var c *rawClient
		var resp *http.Response
		for range 5 { // the body is asked for where the origin takes longer than a second to turn it down
			c = e.dial()
			resp = c.send("POST " + url + " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			if status != 417 || resp.StatusCode != 100 {
				break
			}
		}
		if resp.StatusCode != status || !resp.Close {
			t.Errorf("%s (%d): first came %s, closes %v", url, status, resp.Status, resp.Close)
		}
		io.Copy(io.Discard, resp.Body)
		c.closed()
	}
	if o.requests.Load() != 0 {
		t.Error("the origin saw the refused request")
	}
}

// An upload the client breaks off is not whole at the origin.
func TestN13AnUploadThatBreaksOffBreaksOffAtTheOrigin(t *testing.T) {
	for _, w := range ways {
		for _, length := range []int64{-1, 100} {
			e := startEdge(t, edgeSetup{})
			ended, arrived := make(chan error, 1), make(chan struct{})
			o := startOrigin(t, "", !w.secure, func(_ http.ResponseWriter, r *http.Request) {
				io.ReadFull(r.Body, make([]byte, 5))
				close(arrived)
				_, err := io.ReadAll(r.Body)
				ended <- err
			})
			pr, pw := io.Pipe()
			go func() {
				io.WriteString(pw, "hello")
				<-arrived
				pw.CloseWithError(io.ErrUnexpectedEOF)
			}()
			r := request(t, "POST", o.URL+"/", pr)
			r.ContentLength = length
			if _, err := e.by(w).Do(r); err == nil {
				t.Errorf("%s, length %d: the client has an answer", w.name, length)
			}
			if err := <-ended; err == nil {
				t.Errorf("%s, length %d: the upload was whole at the origin", w.name, length)
			}
			e.crossing(o.URL).want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "bytes.up": 5})
		}
	}
}

// An upload whose framing is not valid is the client's fault, and neither told
// nor recorded as one of the site's.
func TestN19AnUploadThatIsNotFramedIsTheClientsFault(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	// A site that waits for the end of the upload, which it is not given.
	waiting := func(secure bool) *site {
		return startSite(t, secure, func(v *visit) {
			if _, err := io.Copy(io.Discard, v.req.Body); err == nil {
				t.Error("the upload was whole at the origin")
			}
			v.Close()
		})
	}
	check := func(s *site, status int) {
		t.Helper()
		if status != 400 {
			t.Errorf("answered %d", status)
		}
		e.crossing(s.url).want(t, map[string]any{"outcome": "refused", "refusal.reason": "request_invalid", "refusal.whose": "edge", "refusal.stage": "before",
			"told.status": 400, "failure": nil, "gaps": nil, "delivered": nil, "bytes.up": 3, "address": s.addr})
	}
	for name, body := range map[string]string{
		"a size that is none":       "3\r\nabc\r\nzz\r\n",
		"a chunk longer than said":  "3\r\nabcXX",
		"a trailer without a colon": "3\r\nabc\r\n0\r\nbroken\r\n\r\n",
	} {
		for _, w := range http1 {
			t.Run(w.name+", "+name, func(t *testing.T) {
				s := waiting(w.secure)
				c, target := e.rawBy(w, s.addr)
				resp, text := c.ask("POST " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
				if !strings.Contains(resp.Header.Get("Proxy-Status"), "error=http_request_error") || leaks.MatchString(text) {
					t.Errorf("%v %s", resp.Header, text)
				}
				check(s, resp.StatusCode)
				c.closed()
			})
		}
	}
	t.Run("intercepted HTTP/2, shorter than its length", func(t *testing.T) {
		s := waiting(true)
		h := e.h2(s.addr)
		h.head(1, false, ":method", "POST", ":scheme", "https", ":authority", s.addr, ":path", "/", "content-length", "10")
		must(t, h.WriteData(1, true, []byte("abc")))
		status, _, _ := h.answer(1)
		check(s, status)
	})
}
