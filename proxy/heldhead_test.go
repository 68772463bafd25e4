package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/htmlhead"
)

// A flusher is a coder that can be made to hand over what it has.
type flusher interface {
	io.WriteCloser
	Flush() error
}

var flushers = map[string]func(w io.Writer) flusher{
	"gzip": func(w io.Writer) flusher { return gzip.NewWriter(w) },
	"br":   func(w io.Writer) flusher { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) flusher {
		z, err := zstd.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	},
}

// A head that ends early releases what came at once, while the origin says
// nothing more until the client has it.
func TestT113_AHeadThatEndsReleasesAtOnce(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct{ name, first string }{
		{"by its end tag", "<html><head><title>t</title></head>"},
		{"by its end tag that has no end", "<html><head></head "},
		{"by a body", "<html><head><title>t</title><body"},
		{"by text", "<title>t</title> t"},
		{"by a paragraph", "<p"},
		{"because there is none", "data: 1\n\n"},
		{"by its length", "<title>" + strings.Repeat("x", htmlhead.MaxBytes)},
	} {
		for n, coding := range []string{"", "gzip", "br", "zstd"} {
			for m, w := range ways {
				if coding != "" && m != n {
					continue
				}
				t.Run(c.name+", "+coding+", "+w.name, func(t *testing.T) {
					first, rest, field := c.first, "<p>the rest", ""
					if coding != "" {
						var b bytes.Buffer
						z := flushers[coding](&b)
						io.WriteString(z, c.first)
						must(t, z.Flush())
						first = b.String()
						io.WriteString(z, rest)
						must(t, z.Close())
						rest, field = b.String()[len(first):], "Content-Encoding: "+coding+"\r\n"
					}
					seen := make(chan struct{})
					s := startSite(whole, w.secure, func(v *visit) {
						v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", field, len(first), first))
						<-seen
						v.say(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(rest), rest))
					})
					resp, err := e.by(w).Get(s.url + "/")
					must(t, err)
					got := make([]byte, len(first))
					if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != first {
						t.Errorf("%q, %v", got, err)
					}
					close(seen)
					if got := text(t, resp, nil); got != rest {
						t.Errorf("the rest: %q", got)
					}
					e.crossing(s.url).want(t, map[string]any{"outcome": "delivered", "delivered.complete": true, "gaps": nil, "retrieved_hash": sum(first + rest)})
				})
			}
		}
	}
}

// No other body waits for anything: its head is at the client before an octet of
// it came. So is that of a page whose head cannot be seen, and of one of a
// service.
func TestT113_NoOtherBodyIsHeld(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	service := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
	source := startEdge(t, edgeSetup{})
	for _, c := range []struct {
		name, head string
		e          *testEdge
	}{
		{"a text", "200 OK\r\nContent-Type: text/plain", source},
		{"a stream of events", "200 OK\r\nContent-Type: text/event-stream", source},
		{"lines of JSON", "200 OK\r\nContent-Type: application/x-ndjson", source},
		{"no type", "200 OK\r\nX-Own: 1", source},
		{"XML", "200 OK\r\nContent-Type: text/xml", source},
		{"an answer with terms that allow", "200 OK\r\nContent-Usage: ai-use=y\r\nContent-Type: text/plain", source},
		{"a page of an error", "404 X\r\nContent-Type: text/html", source},
		{"a demand for payment", "402 X\r\nContent-Type: application/json", source},
		{"a part from the middle of a page", "206 P\r\nContent-Range: bytes 5-9/99\r\nContent-Type: text/html", source},
		{"a page in UTF-16", "200 OK\r\nContent-Type: text/html; charset=utf-16", source},
		{"a page in a coding nobody knows", "200 OK\r\nContent-Encoding: x-odd\r\nContent-Type: text/html", source},
		{"a page of a service", "200 OK\r\nContent-Type: text/html", service},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				seen := make(chan struct{})
				s := startSite(whole, w.secure, func(v *visit) {
					v.say("HTTP/1.1 " + c.head + "\r\nTransfer-Encoding: chunked\r\n\r\n")
					<-seen
					v.say("4\r\npage\r\n0\r\n\r\n")
				})
				resp, err := c.e.by(w).Get(s.url + "/")
				close(seen)
				if body := text(t, resp, err); body != "page" {
					t.Errorf("%s: %q", w.name, body)
				}
			}
		})
	}
}

// A body that breaks off inside its head breaks off at the client as any other.
func TestT113_ABodyThatBreaksOffInsideItsHead(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	gz := encode["gzip"]("<html><head><title>t</title>")
	for _, c := range []struct{ name, fields, framing, body string }{
		{"of known length", "", "Content-Length: 100\r\n\r\n%s", "<html><head><title>"},
		{"of a long known length", "", "Content-Length: 100000\r\n\r\n%s", "<html><head><title>"},
		{"in a chunk", "", "Transfer-Encoding: chunked\r\n\r\nff\r\n%s", "<html><head>"},
		{"behind a chunk", "", "Transfer-Encoding: chunked\r\n\r\n6\r\n%s\r\n", "<head>"},
		{"before anything", "", "Transfer-Encoding: chunked\r\n\r\n%s", ""},
		{"in a coding", "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n\r\nff\r\n%s", gz[:20]},
		{"in the beginning of a coding", "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n\r\nff\r\n%s", gz[:5]},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				s := startSite(whole, w.secure, func(v *visit) {
					v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + c.fields + fmt.Sprintf(c.framing, c.body))
					v.Close()
				})
				resp, err := e.by(w).Get(s.url + "/")
				var body []byte
				if err == nil {
					body, err = io.ReadAll(resp.Body)
				}
				if err == nil || !strings.HasPrefix(c.body, string(body)) {
					t.Errorf("%s: the client got %q, %v", w.name, body, err)
				}
				var complete any = false
				if c.name == "of known length" { // held whole
					complete = nil
				}
				e.crossing(s.url).want(t, map[string]any{"outcome": "cut", "failure.kind": "http_response_incomplete", "http_status": 200, "retrieved_hash": nil,
					"delivered.complete": complete, "refusal": nil, "told": nil})
			}
		})
	}
}

// Terms that a broken head has shown refuse all the same: nothing of it goes out.
func TestT113_TermsInABrokenHeadWithhold(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		s := startSite(t, w.secure, func(v *visit) {
			v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<head>" + metaNoAI)
			v.Close()
		})
		if got := e.fetch(w, "GET", s.addr, "/"); got.status != 451 || got.reason != "noai" {
			t.Errorf("%s: %d %q", w.name, got.status, got.octets)
		}
		r := e.crossing(s.url)
		r.want(t, map[string]any{"outcome": "refused", "refusal.stage": "body", "withheld.hash": sum("<head>" + metaNoAI), "retrieved_hash": nil})
		if diff := cmp.Diff([]string{"withheld_partial"}, r.gapReasons()); diff != "" {
			t.Errorf("%s: %s", w.name, diff)
		}
	}
}

// A client that leaves while the head of its page is awaited was sent nothing.
func TestT113_AClientThatLeavesWhileTheHeadIsAwaited(t *testing.T) {
	for _, framing := range []string{"Transfer-Encoding: chunked\r\n\r\n6\r\n<head>\r\n", "Content-Length: 100\r\n\r\n<head>", "Content-Length: 100000\r\n\r\n<head>"} {
		for _, w := range ways {
			e := startEdge(t, edgeSetup{})
			arrived, ended := make(chan struct{}), make(chan struct{})
			s := startSite(t, w.secure, func(v *visit) {
				v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + framing)
				close(arrived)
				io.Copy(io.Discard, v.Conn)
				close(ended)
			})
			other := answering(t, w.secure, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-arrived
				resp, err := e.by(w).Get(other.url + "/") // meanwhile the edge comes to wait
				if err == nil {
					resp.Body.Close()
				}
				leave()
			}()
			if _, err := e.by(w).Do(request(t, "GET", s.url+"/", nil).WithContext(ctx)); err == nil {
				t.Errorf("%s: the client has an answer", w.name)
			}
			<-ended
			e.crossing(s.url).want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "delivered": nil, "opened": nil, "told": nil,
				"refusal": nil, "retrieved_hash": nil})
		}
	}
}

// What a coding makes of few octets, or does not make of many, is bounded: a
// head that no coding yields within 128 KiB is not seen.
func TestT66_ACodingThatYieldsNoHeadIsBounded(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	page := "<head>" + metaNoAI + "</head>" + strings.Repeat("<p>", 100)
	empty := encode["gzip"]("")
	var blocks bytes.Buffer
	z := gzip.NewWriter(&blocks)
	for range 40_000 {
		z.Flush() // an empty block of five octets
	}
	io.WriteString(z, page)
	z.Close()
	header := "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\xff\xff" + strings.Repeat("x", 65535)
	for _, c := range []struct{ name, body, outcome string }{
		{"a few empty members", strings.Repeat(empty, 100) + encode["gzip"](page), "refused"},
		{"thousands of empty members", strings.Repeat(empty, 20_000) + encode["gzip"](page), "delivered"},
		{"thousands of empty blocks", blocks.String(), "delivered"},
		{"a field of 64 KiB in its header", header + encode["gzip"](page)[10:], "refused"},
		{"members with fields of 64 KiB", strings.Repeat(header+empty[10:], 3) + encode["gzip"](page), "delivered"},
		{"a name without end", "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff" + strings.Repeat("x", 300_000), "delivered"},
		{"a bomb of white space", encode["gzip"](strings.Repeat(" ", 20<<20)), "delivered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"a known length", "one chunk"} {
				frame := framings[name]
				s := answering(whole, false, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"+frame(c.body))
				resp, err := e.by(ways[0]).Get(s.url + "/")
				body := text(t, resp, err)
				if (body == c.body) != (c.outcome == "delivered") {
					t.Errorf("%s: %s, %d octets", name, resp.Status, len(body))
				}
				r := e.crossing(s.url)
				r.want(t, map[string]any{"outcome": c.outcome, "retrieved_hash": sum(c.body)})
				if unseen := strings.Contains(r.raw, rulings.GapHTMLTermsUnseen); unseen != (c.outcome == "delivered" && !strings.Contains(c.name, "bomb")) {
					t.Errorf("%s: unseen %v: %v", name, unseen, r.gapReasons())
				}
			}
		})
	}
}

// A stream that calls itself a page flows: its first event ends what would be
// its head.
func TestT113_AStreamThatCallsItselfAPageFlows(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		seen := make(chan struct{})
		s := startSite(t, w.secure, func(v *visit) {
			v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
			for n := range 3 {
				v.say(fmt.Sprintf("data: %d\n", n))
				<-seen
			}
			v.Close()
		})
		resp, err := e.by(w).Get(s.url + "/")
		must(t, err)
		br := bufio.NewReader(resp.Body)
		for n := range 3 {
			if got, err := br.ReadString('\n'); err != nil || got != fmt.Sprintf("data: %d\n", n) {
				t.Fatalf("%s: %q, %v", w.name, got, err)
			}
			seen <- struct{}{}
		}
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("%s: %v", w.name, err)
		}
		resp.Body.Close()
		r := e.crossing(s.url)
		r.want(t, map[string]any{"outcome": "delivered", "delivered.bytes": 24, "delivered.complete": nil})
		if r.Event != evidence.EventCrossingMediated {
			t.Error(r.raw)
		}
	}
}
