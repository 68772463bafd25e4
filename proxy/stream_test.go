package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// streams are bodies that come piece by piece: what the origin says before the
// first piece, how it writes one, and what it says behind the last.
var streams = []struct {
	name, head, last string
	piece            func(n int) string
}{
	{"server-sent events", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", "0\r\n\r\n", chunk("data: %d\n\n")},
	{"server-sent events that end with the connection", "Content-Type: text/event-stream\r\nConnection: close", "", line("data: %d\n\n")},
	{"lines of JSON", "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked", "0\r\n\r\n", chunk("{\"token\": %06d}\n")},
	{"a type nobody knows", "Content-Type: x/y\r\nTransfer-Encoding: chunked", "0\r\n\r\n", chunk("%d\n")},
	{"no type", "Transfer-Encoding: chunked", "0\r\n\r\n", chunk("%d\n")},
	{"HTML that ends with the connection", "Content-Type: text/html\r\nConnection: close", "", line("<p>%d</p>\n")},
	{"coded octets", "Content-Encoding: x-odd\r\nTransfer-Encoding: chunked", "0\r\n\r\n", chunk("%d\n")},
	{"a known length over 64 KiB", "Content-Length: 180000", "", line("%059999d\n")},
}

func line(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, n) }
}

func chunk(format string) func(int) string {
	return func(n int) string {
		s := fmt.Sprintf(format, n)
		return fmt.Sprintf("%x\r\n%s\r\n", len(s), s)
	}
}

// Each piece is at the client before the origin writes the next one, whatever
// the type of the body and the way it is fetched.
func TestN11EachPieceArrivesBeforeTheNextIsSent(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	const pieces = 3
	for _, st := range streams {
		t.Run(st.name, func(t *testing.T) {
			html := strings.Contains(st.head, "text/html") // its own head is read first (T66)
			for _, w := range ways {
				seen := make(chan struct{})
				s := startSite(t, w.secure, func(v *visit) {
					v.say("HTTP/1.1 200 OK\r\n" + st.head + "\r\n\r\n")
					if !html {
						<-seen // the head alone
					}
					for n := range pieces {
						v.say(st.piece(n))
						<-seen
					}
					v.say(st.last)
					if strings.Contains(st.head, "close") {
						v.Close()
					}
				})
				resp, err := e.by(w).Get(s.url + "/")
				must(t, err)
				if !html {
					seen <- struct{}{}
				}
				br := bufio.NewReaderSize(resp.Body, 128<<10)
				for n := range pieces {
					got, err := br.ReadString('\n')
					if got == "\n" { // the end of the event before
						got, err = br.ReadString('\n')
					}
					if err != nil || !strings.Contains(got, fmt.Sprint(n)) {
						t.Fatalf("%s: piece %d: %q, %v", w.name, n, got[:min(len(got), 20)], err)
					}
					if strings.Contains(st.head, "180000") && n == pieces-1 {
						break // the last one comes after its record, and not before it was sent whole
					}
					seen <- struct{}{}
				}
				close(seen)
				if _, err := io.Copy(io.Discard, br); err != nil {
					t.Errorf("%s: the end: %v", w.name, err)
				}
				resp.Body.Close()
			}
		})
	}
}

// An origin over HTTP/2 streams as well.
func TestN11AnHTTP2OriginStreams(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways[2:] {
		seen := make(chan struct{})
		o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) {
			for n := range 3 {
				fmt.Fprintf(w, "%d\n", n)
				w.(http.Flusher).Flush()
				<-seen
			}
		}, offeringOnlyHTTP2)
		resp, err := e.by(w).Get(o.URL + "/")
		must(t, err)
		br := bufio.NewReader(resp.Body)
		for n := range 3 {
			if got, err := br.ReadString('\n'); err != nil || got != fmt.Sprintf("%d\n", n) {
				t.Fatalf("%s: %q, %v", w.name, got, err)
			}
			seen <- struct{}{}
		}
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("%s: the end: %v", w.name, err)
		}
		resp.Body.Close()
	}
}

// A body that breaks off upstream breaks off at the client. It is never ended
// as if it were whole, and never turned into an answer of the edge's own.
func TestN12ABodyThatBreaksOffBreaksOffAtTheClient(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		reset        bool
		sent         string // what of it reaches the client at most
	}{
		{"chunked, without a last chunk", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false, "hello"},
		{"chunked, within a chunk", "Transfer-Encoding: chunked\r\n\r\nff\r\nhello", false, "hello"},
		{"chunked, before the first chunk", "Transfer-Encoding: chunked\r\n\r\n", false, ""},
		{"chunked, with a size that is none", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", false, "hello"},
		{"chunked, reset", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, "hello"},
		{"a long body of known length", "Content-Length: 70000\r\n\r\nhello", false, "hello"},
		{"a long body of known length, one octet short", "Content-Length: 70000\r\n\r\n" + strings.Repeat("x", 69999), false, strings.Repeat("x", 69999)},
		{"a short body, of which all was still held", "Content-Length: 9\r\n\r\nhello", false, ""},
		{"a short body of which nothing came", "Content-Length: 9\r\n\r\n", false, ""},
		{"a short body, reset", "Content-Length: 9\r\n\r\nhello", true, ""},
		{"a coded body", "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false, "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			for _, w := range ways {
				s := startSite(t, w.secure, func(v *visit) {
					v.say("HTTP/1.1 200 OK\r\n" + c.answer)
					if c.reset {
						reset(v.Conn)
					} else {
						v.Close()
					}
				})
				resp, err := e.by(w).Get(s.url + "/")
				var body []byte
				if err == nil {
					body, err = io.ReadAll(resp.Body)
					if resp.StatusCode != 200 || reasonOf(resp) != "" {
						t.Errorf("%s: an answer of the edge's own: %s", w.name, resp.Status)
					}
				}
				if err == nil || !strings.HasPrefix(c.sent, string(body)) {
					t.Errorf("%s: the client got %d octets and %v", w.name, len(body), err)
				}
				delivered := map[string]any{"delivered.complete": false}
				if strings.HasPrefix(c.answer, "Content-Length: 9\r\n") { // held whole: not even its head went out
					delivered = map[string]any{"delivered": nil}
					if resp != nil {
						t.Errorf("%s: the client got a head: %s", w.name, resp.Status)
					}
				}
				r := e.crossing(s.url)
				r.want(t, delivered)
				r.want(t, map[string]any{"outcome": "cut", "failure.kind": "http_response_incomplete", "http_status": 200, "retrieved_hash": nil,
					"content_hash": nil, "told": nil})
				if n := s.requests.Load(); n != 1 {
					t.Errorf("%s: the origin saw %d requests", w.name, n)
				}
			}
		})
	}
}

func TestN12AStreamResetByAnHTTP2OriginBreaksOffAtTheClient(t *testing.T) {
	for _, length := range []string{"", "9", "70000"} {
		for _, w := range ways[2:] {
			e := startEdge(t, edgeSetup{})
			o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				io.WriteString(w, "hello")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}, offeringOnlyHTTP2)
			resp, err := e.by(w).Get(o.URL + "/")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil {
				t.Errorf("%s, length %q: the body ended properly", w.name, length)
			}
			var complete any = false
			if length == "9" { // not even its head went out
				complete = nil
			}
			e.crossing(o.URL).want(t, map[string]any{"outcome": "cut", "delivered.complete": complete, "retrieved_hash": nil})
		}
	}
}

// When only the end of the connection ends a body, nobody can tell whether it
// was whole: it is delivered, and not said to be complete.
func TestN12WhetherACloseDelimitedBodyIsWholeIsUnknown(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		s := answering(t, w.secure, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"a\":[1,2")
		resp, err := e.by(w).Get(s.url + "/")
		if body := text(t, resp, err); body != `{"a":[1,2` {
			t.Errorf("%s: %q", w.name, body)
		}
		r := e.crossing(s.url)
		r.want(t, map[string]any{"outcome": "delivered", "delivered.bytes": 9, "retrieved_bytes": 9})
		if r.at("delivered.complete") != nil {
			t.Errorf("%s: complete is %v", w.name, r.at("delivered.complete"))
		}
	}
}

// When the client goes, the origin's request ends and the record says how far
// it had come.
func TestN13WhenTheClientGoesTheUpstreamIsCancelled(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrote string // before the client goes
		want  map[string]any
	}{
		{"before the head", "", map[string]any{"http_status": nil, "delivered": nil, "opened": nil, "bytes": nil}},
		{"after the head", "\n", map[string]any{"http_status": 200, "delivered.complete": false, "delivered.bytes": 1, "bytes.down": 1}},
		{"within the body", strings.Repeat("x", 4999) + "\n", map[string]any{"http_status": 200, "delivered.complete": false, "delivered.bytes": 5000}},
	} {
		for _, w := range ways {
			t.Run(c.name+" "+w.name, func(t *testing.T) {
				e := startEdge(t, edgeSetup{})
				arrived, ended := make(chan struct{}), make(chan struct{})
				o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/other" {
						return
					}
					if c.wrote != "" {
						io.WriteString(w, c.wrote)
						w.(http.Flusher).Flush()
					}
					close(arrived)
					<-r.Context().Done()
					close(ended)
				})
				ctx, leave := context.WithCancel(context.Background())
				go func() {
					<-arrived
					if c.wrote == "" {
						leave()
					}
				}()
				client := e.by(w)
				resp, err := client.Do(request(t, "GET", o.URL+"/page", nil).WithContext(ctx))
				if c.wrote != "" {
					must(t, err)
					_, err = bufio.NewReader(resp.Body).ReadString('\n')
					must(t, err)
					// Over HTTP/2 a write that was done counts as failed when the reset comes
					// before the server took note. It did once another answer follows.
					get(t, client, o.URL+"/other")
					leave()
				}
				<-ended
				r := e.crossing(o.URL + "/page")
				r.want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "retrieved_hash": nil, "told": nil, "refusal": nil})
				r.want(t, c.want)
				leave()
			})
		}
	}
}
