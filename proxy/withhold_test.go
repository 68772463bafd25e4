package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// canary is text that a source chose. None of it may reach an agent that is
// refused (T111, T116).
const canary = "CANARY-7f3a"

// canaryFields are fields of an answer, each with the canary in it.
const canaryFields = "Server: " + canary + "\r\nSet-Cookie: a=" + canary + "\r\nETag: \"" + canary + "\"\r\nX-" + canary + ": 1\r\nLocation: /" + canary +
	"\r\nWWW-Authenticate: Basic realm=\"" + canary + "\"\r\nContent-Disposition: attachment; filename=" + canary + "\r\nVia: 1.1 " + canary +
	"\r\nProxy-Status: " + canary + "\r\nRetry-After: " + canary + "\r\nContent-Language: " + canary + "\r\n"

// withheldBy is a field that refuses ai-input.
const withheldBy = "Content-Usage: ai-use=n;why=\"" + canary + "\"\r\n"

// noCanary checks that nothing of the source's is in what a client got.
func noCanary(t testing.TB, what string, got received) {
	t.Helper()
	if strings.Contains(strings.ToLower(got.octets), strings.ToLower(canary)) {
		t.Errorf("%s: the agent reads the source's words: %q", what, got.octets)
	}
}

// told checks the problem that a client got (RFC 9457) and that nothing of the
// source's came with it.
func (g received) told(t testing.TB, what string, status int, reason rulings.Reason, whose rulings.Whose) {
	t.Helper()
	noCanary(t, what, g)
	var p problem
	if err := json.Unmarshal([]byte(g.body), &p); err != nil {
		t.Errorf("%s: %v: %q", what, err, g.octets)
		return
	}
	want := problem{Type: RefusalDocs + string(reason) + ".md", Title: reason.Facts().Title, Status: status, Detail: p.Detail, Reason: reason, Whose: whose,
		RetryAt: p.RetryAt, Crossing: p.Crossing}
	if diff := cmp.Diff(want, p); diff != "" || g.status != status || g.reason != string(reason) || p.Detail == "" || p.Crossing == "" {
		t.Errorf("%s: %d, reason %q (-want +got):\n%s", what, g.status, g.reason, diff)
	}
	if !strings.Contains(g.octets, "application/problem+json") {
		t.Errorf("%s: %q", what, g.octets)
	}
}

// A field that refuses: the client gets 451 and no octet of the answer, and the
// record has the hash of the body, however that came.
func TestT46_T111_AFieldThatRefusesWithholdsTheAnswer(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	short, long := canary+" page", strings.Repeat(canary+" page\n", 20_000)
	chunks := func(body string) string {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\nX-Trailer: %s\r\n\r\n", len(body), body, canary)
	}
	for _, c := range []struct{ name, framing, body, fields, coding string }{
		{"a short body of known length", "Content-Length: %d\r\n\r\n%s", short, "", ""},
		{"a long body of known length", "Content-Length: %d\r\n\r\n%s", long, "", ""},
		{"no octets", "Content-Length: %d\r\n\r\n%s", "", "", ""},
		{"chunks and trailers", "Trailer: X-Trailer\r\nTransfer-Encoding: chunked\r\n\r\n%[2]s", short, "", ""},
		{"many chunks", "Transfer-Encoding: chunked\r\n\r\n%[2]s", long, "", ""},
		{"a body that ends with the connection", "Connection: close\r\n\r\n%[2]s", long, "", ""},
		{"an HTML page", "Content-Length: %d\r\n\r\n%s", "<html><head></head>" + long, "Content-Type: text/html\r\n", ""},
		{"a stream of events", "Transfer-Encoding: chunked\r\n\r\n%[2]s", "data: " + short + "\n\n", "Content-Type: text/event-stream\r\n", ""},
		{"a short coded body", "Content-Length: %d\r\n\r\n%s", short, "Content-Encoding: gzip\r\n", "gzip"},
		{"a long coded body", "Transfer-Encoding: chunked\r\n\r\n%[2]s", long, "Content-Encoding: br\r\n", "br"},
		{"a part", "Content-Length: %d\r\n\r\n%s", short, "Content-Range: bytes 0-15/99\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			served, status := c.body, "200 OK"
			if c.coding != "" {
				served = encode[c.coding](c.body)
			}
			if strings.Contains(c.fields, "Range") {
				status = "206 " + canary
			}
			framed := served
			if strings.Contains(c.framing, "chunked") {
				framed = chunks(served)
			}
			head := "HTTP/1.1 " + status + "\r\n" + withheldBy + canaryFields + c.fields
			for _, w := range ways {
				s := answering(whole, w.secure, head+fmt.Sprintf(c.framing, len(served), framed))
				got := e.fetch(w, "GET", s.addr, "/")
				got.told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
				r := e.crossing(s.url)
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "content_usage", "refusal.whose": "source", "refusal.stage": "head",
					"http_status": status[:3], "http_version": "HTTP/1.1", "retrieved_hash": sum(served), "retrieved_bytes": len(served), "bytes.down": len(served),
					"content_hash": sum(c.body), "content_bytes": len(c.body), "content_coding": orNil(c.coding), "delivered": nil, "withheld": nil, "gaps": nil,
					"opened": nil, "grounded": false, "told.status": 451, "told.reason": "content_usage", "declarations.effective.ai-input": "disallow"})
				if r.Event != "crossing_refused" || !strings.Contains(r.raw, `"timings"`) || r.at("timings.body") == nil {
					t.Errorf("%s: %s", w.name, r.raw)
				}
				if n := s.requests.Load(); n != 1 {
					t.Errorf("%s: the origin saw %d requests", w.name, n)
				}
			}
		})
	}
}

// The same of an origin that speaks HTTP/2.
func TestT111_AnHTTP2OriginsAnswerIsWithheld(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	body := strings.Repeat(canary, 10_000)
	for _, w := range ways[2:] {
		o := startOrigin(t, "", false, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Usage", "ai-use=n")
			rw.Header().Set("X-Own", canary)
			rw.Header().Set("Trailer", "X-Trailer")
			io.WriteString(rw, body)
			rw.Header().Set("X-Trailer", canary)
		}, offeringOnlyHTTP2)
		got := e.fetch(w, "GET", o.Listener.Addr().String(), "/")
		got.told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
		e.crossing(o.URL).want(t, map[string]any{"http_version": "h2", "retrieved_hash": sum(body), "retrieved_bytes": len(body), "refusal.stage": "head"})
	}
}

// The connections to the client and to the origin go on serving after an answer
// was withheld that was read to its end.
func TestT111_ConnectionsOutliveAWithheldAnswer(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	serves := func(w way) (connections int64) {
		s := startSite(t, w.secure, func(v *visit) {
			head := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
			if v.req.URL.Path == "/no" {
				head += withheldBy
			}
			v.say(head + "\r\npage")
		})
		c := e.by(w)
		for n, path := range []string{"/no", "/yes", "/no", "/yes"} {
			resp, err := c.Get(s.url + path)
			body := text(t, resp, err)
			if want := []int{451, 200}[n%2]; resp.StatusCode != want || (body == "page") != (want == 200) || resp.Close {
				t.Errorf("%s: %s: %s %q, closes %v", w.name, path, resp.Status, body, resp.Close)
			}
		}
		return s.connections.Load()
	}
	for _, w := range ways {
		n := serves(w)
		for tries := 1; n > 1 && tries < 5; tries++ { // net/http keeps no connection that is slow to have written its request
			n = serves(w)
		}
		if n != 1 {
			t.Errorf("%s: the origin saw %d connections", w.name, n)
		}
	}
}

// An answer without a body is withheld the same way; there is nothing to hash.
func TestT112_AnAnswerWithoutABodyIsWithheldToo(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct{ name, method, answer string }{
		{"304", "GET", "304 Not Modified\r\nETag: \"x\"\r\n"},
		{"304 with a length", "GET", "304 Not Modified\r\nContent-Length: 4\r\n"},
		{"HEAD", "HEAD", "200 OK\r\nContent-Length: 70000\r\n"},
		{"HEAD of an HTML page", "HEAD", "200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n"},
		{"204", "GET", "204 No Content\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				s := answering(whole, w.secure, "HTTP/1.1 "+c.answer+withheldBy+canaryFields+"\r\n")
				got := e.fetch(w, c.method, s.addr, "/", "If-None-Match", `"x"`)
				if c.method == "HEAD" {
					noCanary(t, w.name, got)
					if got.status != 451 || got.reason != "content_usage" || got.body != "" {
						t.Errorf("%s: %d %q", w.name, got.status, got.octets)
					}
				} else {
					got.told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
				}
				e.crossing(s.url).want(t, map[string]any{"outcome": "refused", "refusal.reason": "content_usage", "refusal.stage": "head", "http_status": c.answer[:3],
					"retrieved_hash": nil, "content_hash": nil, "delivered": nil, "withheld": nil, "gaps": nil, "bytes": nil})
			}
		})
	}
}

// endless is a site whose answer begins like that and goes on with pieces, limit
// octets of them, for as long as somebody takes it, and then without a word. It
// tells how much of the pieces was taken when the edge has closed.
func endless(t *testing.T, w way, answer string, limit int, piece []byte) (s *site, taken chan int) {
	taken = make(chan int, 1)
	return startSite(t, w.secure, func(v *visit) {
		v.say("HTTP/1.1 200 OK\r\n" + answer)
		n := 0
		for n < limit {
			wrote, err := v.Write(piece)
			if n += wrote; err != nil {
				break
			}
		}
		io.Copy(io.Discard, v.Conn) // until the edge closes
		taken <- n
		v.Close()
	}), taken
}

// A body of 100 MiB is read up to the bound, in constant memory, and the
// upstream is closed then: the record has the hash of that much.
func TestT111_AHugeBodyIsReadToTheBoundInConstantMemory(t *testing.T) {
	const size = 100 << 20
	piece := []byte(strings.Repeat(canary, 6000))
	for _, c := range []struct{ name, framing string }{
		{"of known length", fmt.Sprintf("Content-Length: %d\r\n", size)},
		{"that ends with the connection", "Connection: close\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			w := ways[0]
			s, taken := endless(t, w, withheldBy+c.framing+"\r\n", size, piece)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := e.fetch(w, "GET", s.addr, "/")
			runtime.ReadMemStats(&after)
			got.told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
			if n := <-taken; n >= size {
				t.Errorf("all %d octets were taken", n)
			}
			if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 8<<20 {
				t.Errorf("%d octets of memory were asked for", grown)
			}
			r := e.crossing(s.url)
			r.want(t, map[string]any{"outcome": "refused", "http_status": 200, "retrieved_hash": nil, "content_hash": nil, "withheld.bytes": withholdLimit,
				"withheld.hash": sum(strings.Repeat(canary, withholdLimit/len(canary)+1)[:withholdLimit]), "bytes.down": withholdLimit})
			if diff := cmp.Diff([]string{"withheld_partial"}, r.gapReasons()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A body exactly as long as the bound was read whole.
func TestT111_ABodyAsLongAsTheBoundIsWhole(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	body := strings.Repeat(canary, withholdLimit/len(canary)+1)[:withholdLimit]
	for _, framing := range []string{fmt.Sprintf("Content-Length: %d\r\n", withholdLimit), "Connection: close\r\n"} {
		s := answering(t, false, "HTTP/1.1 200 OK\r\n"+withheldBy+framing+"\r\n"+body)
		e.fetch(ways[0], "GET", s.addr, "/").told(t, framing, 451, rulings.ContentUsage, rulings.WhoseSource)
		e.crossing(s.url).want(t, map[string]any{"retrieved_hash": sum(body), "retrieved_bytes": withholdLimit, "withheld": nil, "gaps": nil})
	}
}

// A body that never ends is given up after a time, whatever of it came by then.
func TestT111_ABodyThatNeverEndsIsGivenUp(t *testing.T) {
	whole := t                 // sites last as long as the edge, so that none has the address of another
	var patience time.Duration // of an edge as it is made
	e := startEdge(t, edgeSetup{edge: func(e *Edge) { patience, e.withholdTime = e.withholdTime, 500*time.Millisecond }})
	coded := encode["gzip"](canary)[:20]
	for _, c := range []struct{ name, framing, came, body string }{
		{"after a chunk", "Transfer-Encoding: chunked\r\n", "b\r\n" + canary + "\r\n", canary},
		{"before the first octet", "Content-Length: 100\r\n", "", ""},
		{"in the middle of a known length", "Content-Length: 100000\r\n", canary, canary},
		{"a coded one", "Content-Encoding: gzip\r\nConnection: close\r\n", coded, coded},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range ways {
				s, taken := endless(whole, w, withheldBy+c.framing+"\r\n"+c.came, 0, nil)
				got := e.fetch(w, "GET", s.addr, "/")
				got.told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
				<-taken // the edge has closed
				r := e.crossing(s.url)
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "content_usage", "http_status": 200, "withheld.bytes": len(c.body),
					"withheld.hash": sum(c.body), "bytes.down": len(c.body), "retrieved_hash": nil, "content_hash": nil, "failure": nil})
				if diff := cmp.Diff([]string{"withheld_partial"}, r.gapReasons()); diff != "" || !strings.Contains(r.raw, "still coming") {
					t.Errorf("%s: %s%s", w.name, diff, r.raw)
				}
			}
		})
	}
	if patience != 10*time.Second {
		t.Errorf("an edge waits %v by itself", patience)
	}
}

// A body that breaks off has no hash of the whole; the refusal stands.
func TestT111_AWithheldBodyThatBreaksOff(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, framing := range []string{"Content-Length: 100\r\n\r\npage", "Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n"} {
		for _, w := range ways {
			s := startSite(t, w.secure, func(v *visit) {
				v.say("HTTP/1.1 200 OK\r\n" + withheldBy + framing)
				v.Close()
			})
			e.fetch(w, "GET", s.addr, "/").told(t, w.name, 451, rulings.ContentUsage, rulings.WhoseSource)
			r := e.crossing(s.url)
			r.want(t, map[string]any{"outcome": "refused", "retrieved_hash": nil, "withheld.bytes": 4, "withheld.hash": sum("page")})
			if diff := cmp.Diff([]string{"withheld_partial"}, r.gapReasons()); diff != "" {
				t.Errorf("%s: %s", w.name, diff)
			}
		}
	}
}

// A client that leaves while the body is hashed gets nothing, and the record
// says both what refused and that nobody was there to be told.
func TestT111_AClientThatLeavesWhileTheBodyIsHashed(t *testing.T) {
	for _, w := range ways {
		e := startEdge(t, edgeSetup{})
		arrived := make(chan struct{})
		ended := make(chan struct{})
		s := startSite(t, w.secure, func(v *visit) {
			v.say("HTTP/1.1 200 OK\r\n" + withheldBy + "Connection: close\r\n\r\n")
			for range 16 { // more than the connection holds, so that the edge has to have read of it
				v.Write(make([]byte, 1<<20))
			}
			close(arrived)
			io.Copy(io.Discard, v.Conn)
			close(ended)
		})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-arrived
			leave()
		}()
		if _, err := e.by(w).Do(request(t, "GET", s.url+"/", nil).WithContext(ctx)); err == nil {
			t.Errorf("%s: the client has an answer", w.name)
		}
		<-ended
		r := e.crossing(s.url)
		r.want(t, map[string]any{"outcome": "abandoned", "refusal.reason": "content_usage", "failure.kind": "client", "told": nil, "delivered": nil,
			"retrieved_hash": nil})
		if r.Event != "crossing_refused" || r.at("withheld.bytes") == nil || !strings.Contains(r.raw, "the crossing ended while") {
			t.Errorf("%s: %s", w.name, r.raw)
		}
	}
}

// An upload is answered too when the answer to it is withheld, before its end
// or behind it, and nobody asks for a body that the origin does not want.
func TestT111_TheAnswerToAnUploadIsWithheld(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	const answer = "HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 11\r\n"
	for _, w := range http1 {
		t.Run(w.name, func(t *testing.T) {
			s := startSite(whole, w.secure, func(v *visit) {
				switch v.req.URL.Path {
				case "/unwanted", "/early":
					v.say(answer + "Connection: close\r\n\r\n" + canary)
					v.Close()
				default:
					if v.req.Header.Get("Expect") != "" {
						v.say("HTTP/1.1 100 Continue\r\n\r\n")
					}
					io.Copy(io.Discard, v.req.Body)
					v.say(answer + "\r\n" + canary)
				}
			})
			send := func(path, fields, body string) (c *rawClient, got received, closes bool) {
				c, target := e.rawBy(w, s.addr)
				resp := c.send("POST " + target(path) + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + fields + "\r\n" + body)
				if resp.StatusCode == 100 {
					resp = c.send(strings.Repeat("x", 100_000))
				}
				problem, err := io.ReadAll(resp.Body)
				must(t, err)
				return c, received{resp.StatusCode, reasonOf(resp), fmt.Sprint(resp.Status, resp.Header, string(problem)), string(problem)}, resp.Close
			}
			whole := strings.Repeat("x", 100_000)
			c, got, _ := send("/whole", "Content-Length: 100000\r\n", whole)
			got.told(t, "whole", 451, rulings.ContentUsage, rulings.WhoseSource)
			if resp, _ := c.ask("GET " + map[bool]string{true: s.url, false: ""}[!w.secure && !w.connect] + "/whole HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"); resp.StatusCode != 451 {
				t.Errorf("the next request on the connection: %s", resp.Status)
			}
			_, got, _ = send("/expect", "Content-Length: 100000\r\nExpect: 100-continue\r\n", "")
			got.told(t, "expected", 451, rulings.ContentUsage, rulings.WhoseSource)
			e.crossing(s.url+"/expect").want(t, map[string]any{"bytes.up": 100_000, "bytes.down": 11, "retrieved_hash": sum(canary)})
			for _, path := range []string{"/unwanted", "/early"} {
				fields, body := "Content-Length: 100000\r\nExpect: 100-continue\r\n", ""
				if path == "/early" {
					fields, body = "Content-Length: 100000\r\n", "x" // and no more of it
				}
				_, got, closes := send(path, fields, body)
				got.told(t, path, 451, rulings.ContentUsage, rulings.WhoseSource)
				if !closes {
					t.Errorf("%s: the connection is not said to close: %s", path, got.octets)
				}
				e.crossing(s.url+path).want(t, map[string]any{"outcome": "refused", "http_status": 200, "retrieved_hash": sum(canary)})
			}
		})
	}
}
