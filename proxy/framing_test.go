package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The length an origin announces survives, also where no body follows.
func TestN10LengthsOfAnswersSurvive(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct {
		name, method, answer string
		length, body         string // Content-Length at the client, "" for none
	}{
		{"GET with a length", "GET", "200 OK\r\nContent-Length: 4\r\n\r\npage", "4", "page"},
		{"GET with a length of 0", "GET", "200 OK\r\nContent-Length: 0\r\n\r\n", "0", ""},
		{"GET with the same length twice", "GET", "200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\npage", "4", "page"},
		{"HEAD with a length", "HEAD", "200 OK\r\nContent-Length: 123456\r\n\r\n", "123456", ""},
		{"HEAD without a length", "HEAD", "200 OK\r\n\r\n", "", ""},
		{"HEAD of a chunked page", "HEAD", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "", ""},
		{"204", "GET", "204 No Content\r\n\r\n", "", ""},
		{"204 with a length", "GET", "204 No Content\r\nContent-Length: 4\r\n\r\n", "", ""},
		{"304", "GET", "304 Not Modified\r\nETag: \"x\"\r\n\r\n", "", ""},
		{"304 with the length of the page", "GET", "304 Not Modified\r\nContent-Length: 4\r\n\r\n", "", ""},
		{"length and chunking, where chunking holds", "GET", "200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", "", "page"},
		{"a page over 64 KiB", "GET", "200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000), "100000", strings.Repeat("x", 100000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				s := answering(t, w.secure, "HTTP/1.1 "+c.answer)
				client := e.by(w)
				for range 2 { // the second shows that the connections stayed in step
					resp, err := client.Do(request(t, c.method, s.url+"/", nil))
					body := text(t, resp, err)
					if got := resp.Header.Get("Content-Length"); got != c.length || body != c.body {
						t.Errorf("%s: %s, length %q, body of %d", w.name, resp.Status, got, len(body))
					}
				}
				if n := s.requests.Load(); n != 2 {
					t.Errorf("%s: the origin saw %d requests", w.name, n)
				}
			}
		})
	}
}

// Nothing follows the head of an answer that has no body: octets there would be
// read as the next answer.
func TestN10NoStrayOctetsFollowAHead(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct{ method, answer string }{
		{"HEAD", "200 OK\r\nContent-Length: 4\r\n\r\npage"},
		{"GET", "204 No Content\r\n\r\npage"},
		{"GET", "304 Not Modified\r\nContent-Length: 4\r\n\r\npage"},
		{"HEAD", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"},
	} {
		s := answering(t, false, "HTTP/1.1 "+c.answer)
		conn := e.dial()
		conn.WriteString(c.method + " " + s.url + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		raw, err := io.ReadAll(conn)
		must(t, err)
		if _, after, _ := strings.Cut(string(raw), "\r\n\r\n"); after != "" {
			t.Errorf("%s %q: %q follows the head", c.method, c.answer, after)
		}
	}
}

// What is no valid message is not passed on (RFC 9112 6.3).
func TestN10AnInvalidAnswerIsA502(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, answer := range map[string]string{
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\npage5",
		"a list of two lengths":  "HTTP/1.1 200 OK\r\nContent-Length: 4, 5\r\n\r\npage5",
		"a length that is none":  "HTTP/1.1 200 OK\r\nContent-Length: four\r\n\r\npage",
		"a negative length":      "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\npage",
		"a status below 100":     "HTTP/1.1 099 Low\r\nContent-Length: 4\r\n\r\npage",
		"a status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
		"a coding nobody knows":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\npage",
		"a coding and a blank":   "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n",
		"a field without a name": "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
		"no HTTP":                "SSH-2.0-OpenSSH\r\n\r\n",
		"101 nobody asked for":   "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/3.0":               "HTTP/3.0 200 OK\r\n\r\n",
		"HTTP/2.0 as a line":     "HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\npage",
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range []way{ways[0], ways[3]} {
				s := startSite(t, w.secure, func(v *visit) {
					v.say(answer)
					v.Close()
				})
				resp, err := e.by(w).Get(s.url + "/")
				body := text(t, resp, err)
				if resp.StatusCode != 502 || !strings.HasPrefix(reasonOf(resp), "http_") || strings.Contains(body, "page") || s.requests.Load() != 1 {
					t.Errorf("%s: %s, reason %s, %d requests", w.name, resp.Status, reasonOf(resp), s.requests.Load())
				}
				e.crossing(s.url).want(t, map[string]any{"outcome": "unavailable", "told.status": 502, "delivered": nil})
			}
		})
	}
}

// A body without a length ends for an HTTP/1.1 client that keeps its connection,
// also when it came over HTTP/2.
func TestN10ABodyOfUnknownLengthEndsOnAKeptConnection(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // no length
		io.WriteString(w, "page")
	}, offeringOnlyHTTP2)
	c, _ := e.rawBy(ways[2], o.Listener.Addr().String())
	for range 2 {
		resp, body := c.ask("GET / HTTP/1.1\r\nHost: " + o.Listener.Addr().String() + "\r\n\r\n")
		if body != "page" || resp.ContentLength != -1 || len(resp.TransferEncoding) != 1 {
			t.Errorf("%q, length %d, %v", body, resp.ContentLength, resp.TransferEncoding)
		}
	}
}

// The answer to HTTP/1.0 ends by its length or with the connection: such a
// client would read chunk sizes as content.
func TestN10AnHTTP10ClientGetsNoChunks(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n")
	conn, _, resp := e.dialTunnel(s.addr)
	if resp.StatusCode != 200 || resp.Proto != "HTTP/1.1" {
		t.Errorf("CONNECT: %s %s", resp.Proto, resp.Status)
	}
	c := e.raw(e.clientTLS(conn))
	c.WriteString("GET / HTTP/1.0\r\nHost: " + s.addr + "\r\n\r\n")
	raw, err := io.ReadAll(c)
	must(t, err)
	head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
	if body != "page" || strings.Contains(head, "Transfer-Encoding") || !strings.HasPrefix(head, "HTTP/1.") {
		t.Errorf("%q", raw)
	}
}

// Two readers that disagree on where a request ends would let one agent slip a
// request past the rules: the connection is not read on behind such a request,
// nor behind any of HTTP/1.0, in which nobody can say whether a coding was named
// that it does not have (RFC 9112 6.1).
func TestN10ALengthBesideChunkingEndsTheConnection(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		for _, c := range []struct{ version, path, fields string }{
			{"1.1", "/first", ""},
			{"1.0", "/first", "Connection: keep-alive\r\n"},
			{"1.0", "/refused", "Connection: keep-alive\r\n"},
		} {
			t.Run(w.name+", HTTP/"+c.version+c.path, func(t *testing.T) {
				o := startOrigin(t, "User-agent: *\nDisallow: /refused\n", !w.secure, func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/first" || r.ContentLength > 0 && c.version == "1.1" {
						t.Errorf("the origin saw %s with length %d", r.URL.Path, r.ContentLength)
					}
					io.Copy(io.Discard, r.Body)
					io.WriteString(rw, "page")
				})
				addr := o.Listener.Addr().String()
				conn, target := e.rawBy(w, addr)
				conn.WriteString("POST " + target(c.path) + " HTTP/" + c.version + "\r\nHost: " + addr + "\r\n" + c.fields +
					"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
					"GET " + target("/smuggled") + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
				resp, err := http.ReadResponse(conn.Reader, nil)
				body := text(t, resp, err)
				if refused := c.path == "/refused"; refused != (resp.StatusCode == 403) || !refused && body != "page" {
					t.Errorf("%s %q", resp.Status, body)
				}
				if rest, _ := io.ReadAll(conn); len(rest) > 0 {
					t.Errorf("the connection went on: %q", rest)
				}
				if n := o.requests.Load(); n != int64(btoi(c.path == "/first")) {
					t.Errorf("the origin saw %d requests", n)
				}
			})
		}
	}
}

func TestN10ARequestThatCannotBeFramedIsA400(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, fields := range map[string]string{
		"two lengths":               "Content-Length: 4\r\nContent-Length: 5\r\n\r\npage5",
		"a length that is none":     "Content-Length: x\r\n\r\n",
		"a negative length":         "Content-Length: -1\r\n\r\n",
		"a coding nobody knows":     "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"chunked twice":             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a space behind a name":     "X : y\r\n\r\n",
		"a line without a colon":    "X\r\n\r\n",
		"two hosts":                 "Host: y\r\n\r\n",
		"a folded first line":       " folded\r\n\r\n",
		"a control octet in a name": "X\x01: y\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range http1 {
				s := answering(t, w.secure, "HTTP/1.1 204 No Content\r\n\r\n")
				c, target := e.rawBy(w, s.addr)
				resp := c.send("POST " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + fields)
				if resp.StatusCode/100 != 4 && resp.StatusCode != 501 || s.requests.Load() != 0 {
					t.Errorf("%s: %s, %d requests", w.name, resp.Status, s.requests.Load())
				}
				io.Copy(io.Discard, resp.Body)
				c.closed()
			}
		})
	}
}

// A request that says it has an empty body says so at the origin, and one that says
// nothing does not.
func TestN9ALengthOfZeroPasses(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, method := range []string{"DELETE", "PROPFIND", "POST"} {
		for _, w := range http1 {
			var got []string
			s := startSite(t, w.secure, func(v *visit) {
				got = append(got, fmt.Sprint(v.req.Header["Content-Length"], v.req.TransferEncoding))
				v.say("HTTP/1.1 204 No Content\r\n\r\n")
			})
			c, target := e.rawBy(w, s.addr)
			head := method + " " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n"
			c.send(head + "Content-Length: 0\r\n\r\n")
			c.send(head + "\r\n")
			want := []string{"[0] []", "[] []"}
			if method == "POST" {
				want[1] = "[0] []" // net/http says it of those that usually have one
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %s: lengths at the origin (-want +got):\n%s", method, w.name, diff)
			}
		}
	}
}

// A body sent with any method arrives whole and framed as it was.
func TestN9BodiesOfRequestsPassWhateverTheMethod(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FROB"} {
		for _, w := range http1 {
			var lengths []int64
			s := startSite(t, w.secure, func(v *visit) {
				body, err := io.ReadAll(v.req.Body)
				if err != nil || string(body) != "upload" {
					t.Errorf("%s by %s: the origin got %q, %v", method, w.name, body, err)
				}
				lengths = append(lengths, v.req.ContentLength)
				v.say("HTTP/1.1 204 No Content\r\n\r\n")
			})
			c, target := e.rawBy(w, s.addr)
			head := method + " " + target("/up") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n"
			c.send(head + "Content-Length: 6\r\n\r\nupload")
			c.send(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nupl\r\n3\r\noad\r\n0\r\n\r\n")
			if fmt.Sprint(lengths) != "[6 -1]" {
				t.Errorf("%s by %s: lengths at the origin %v", method, w.name, lengths)
			}
		}
	}
	// Over HTTP/2 a request without a body is not one with an empty body.
	for _, method := range []string{"GET", "POST", "DELETE"} {
		s := startSite(t, true, func(v *visit) {
			if want := v.req.Method == "POST"; v.req.ContentLength != 0 || (v.req.Header.Get("Content-Length") == "0") != want || len(v.req.TransferEncoding) > 0 {
				t.Errorf("%s over HTTP/2: the origin saw length %d, %v, %v", method, v.req.ContentLength, v.req.Header, v.req.TransferEncoding)
			}
			v.say("HTTP/1.1 204 No Content\r\n\r\n")
		})
		if status, _, _ := e.h2(s.addr).do(method, "/bare"); status != 204 {
			t.Errorf("%s over HTTP/2: %d", method, status)
		}
		e.crossing(s.url).want(t, map[string]any{"bytes.up": nil})
	}
	e.crossing("/up").want(t, map[string]any{"bytes.up": 6})
}
