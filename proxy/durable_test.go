package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
)

// A crossing that is one record is on disk before any octet of its answer is
// released.
func TestE45E46AShortAnswerIsOnDiskBeforeItsFirstOctet(t *testing.T) {
	for _, c := range []struct {
		name, method, path, answer string
		event                      string
	}{
		{"a refusal", "GET", "/private", "", evidence.EventCrossingRefused},
		{"a short body", "GET", "/", "200 OK\r\nContent-Length: 4\r\n\r\npage", evidence.EventCrossingMediated},
		{"a body of 64 KiB", "GET", "/", "200 OK\r\nContent-Length: 65536\r\n\r\n" + strings.Repeat("x", 65536), evidence.EventCrossingMediated},
		{"an empty body", "GET", "/", "200 OK\r\nContent-Length: 0\r\n\r\n", evidence.EventCrossingMediated},
		{"an answer to HEAD", "HEAD", "/", "200 OK\r\nContent-Length: 99999999\r\n\r\n", evidence.EventCrossingMediated},
		{"204", "GET", "/", "204 No Content\r\n\r\n", evidence.EventCrossingMediated},
		{"304", "GET", "/", "304 Not Modified\r\n\r\n", evidence.EventCrossingMediated},
		{"an answer that is not HTTP", "GET", "/", "20 OK\r\n\r\n", evidence.EventCrossingMediated},
	} {
		t.Run(c.name, func(t *testing.T) {
			setup := edgeSetup{}
			saw := watch(t, &setup)
			e := startEdge(t, setup)
			for _, w := range http1 {
				s := startSite(t, w.secure, func(v *visit) { v.say("HTTP/1.1 " + c.answer) })
				s.robots = "User-agent: *\nDisallow: /private\n"
				conn, target := e.rawBy(w, s.addr)
				conn.ask(c.method + " " + target(c.path) + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
				m := saw.at(t, c.event)
				if _, before := saw.soFar(); m.said != before {
					t.Errorf("%s: %d octets were released before the record", w.name, len(m.said)-len(before))
				}
				saw.none(t, evidence.EventCrossingOpened)
				saw.forget()
			}
		})
	}
}

// What is turned away before it is ruled is on disk first as well.
func TestE45ARequestTurnedAwayIsOnDiskBeforeItsFirstOctet(t *testing.T) {
	for _, head := range []string{
		"GET http://user@site.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT /x HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		setup := edgeSetup{}
		saw := watch(t, &setup)
		e := startEdge(t, setup)
		if resp := e.dial().send(head); resp.StatusCode != 400 {
			t.Errorf("%q: %s", head, resp.Status)
		}
		if m := saw.at(t, evidence.EventCrossingRefused); m.said != "" {
			t.Errorf("%q: %q was released before the record", head, m.said)
		}
	}
}

// A longer body, or one of unknown length, is announced on disk before its first
// octet, and on disk as whole before its end.
func TestE47E48ALongAnswerIsOnDiskBeforeItsFirstOctetAndBeforeItsEnd(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n"
	for _, c := range []struct {
		name, answer string
		version      string // of HTTP, of the client
		end          string // what is released only after the final record
		complete     any
	}{
		{"a known length over 64 KiB", "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 99_999) + "!", "1.1", "!", true},
		{"chunks", chunked + "\r\n", "1.1", "0\r\n\r\n", true},
		{"chunks and trailers", "Trailer: X-Sum\r\n" + chunked + "X-Sum: abc\r\n\r\n", "1.1", "0\r\nX-Sum: abc\r\n\r\n", true},
		{"no chunk at all", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "1.1", "0\r\n\r\n", true},
		{"server-sent events", "Content-Type: text/event-stream\r\n" + chunked + "\r\n", "1.1", "0\r\n\r\n", true},
		{"a body that ends with the connection", "Connection: close\r\n\r\npage", "1.1", "0\r\n\r\n", nil},
		{"chunks for an HTTP/1.0 client, which has the end by the close", chunked + "\r\n", "1.0", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			setup := edgeSetup{}
			saw := watch(t, &setup)
			e := startEdge(t, setup)
			for _, w := range http1 {
				s := answering(t, w.secure, "HTTP/1.1 200 OK\r\n"+c.answer)
				conn, target := e.rawBy(w, s.addr)
				conn.WriteString("GET " + target("/") + " HTTP/" + c.version + "\r\nHost: " + s.addr + "\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n")
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Fatal(err)
				}
				all, before := saw.soFar()
				if m := saw.at(t, evidence.EventCrossingOpened); m.said != before {
					t.Errorf("%s: %d octets were released before crossing_opened", w.name, len(m.said)-len(before))
				}
				m := saw.at(t, evidence.EventCrossingMediated)
				if m.ended {
					t.Errorf("%s: the connection was closed before the final record", w.name)
				}
				if after := all[len(m.said):]; !w.secure && (!strings.HasSuffix(after, c.end) || len(after) > flowBuffer) {
					t.Errorf("%s: %d octets, ending in %.40q, were released after the final record", w.name, len(after), after[max(0, len(after)-40):])
				}
				e.crossing(s.url).want(t, map[string]any{"outcome": "delivered", "delivered.complete": c.complete, "opened": e.onlyOpened(s.url).Seq})
				saw.forget()
			}
		})
	}
}

// Wherever in a body the origin pauses, the client has everything that came, the
// log has the opening, and nothing says that the crossing ended. A client that
// has the end of a body finds its final record in the files.
func TestE48OnlyTheEndOfABodyIsHeldBack(t *testing.T) {
	const size = 70_000
	body := strings.Repeat("0123456789", size/10)
	for _, c := range []struct {
		name, head string
		known      bool // the length: then the last octet is the end
	}{
		{"a known length", fmt.Sprintf("Content-Length: %d", size), true},
		{"chunks", "Transfer-Encoding: chunked", false},
		{"server-sent events", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", false},
		{"a body that ends with the connection", "Connection: close", false},
	} {
		for _, w := range ways {
			t.Run(c.name+" by "+w.name, func(t *testing.T) {
				e := startEdge(t, edgeSetup{})
				next := make(chan struct{})
				s := startSite(t, w.secure, func(v *visit) {
					v.say("HTTP/1.1 200 OK\r\n" + c.head + "\r\n\r\n")
					for _, piece := range []string{body[:1], body[1 : size-1], body[size-1:]} {
						<-next
						if strings.Contains(c.head, "chunked") {
							piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
						}
						v.say(piece)
					}
					<-next
					if strings.Contains(c.head, "chunked") {
						v.say("0\r\n\r\n")
					} else if !c.known {
						v.Close()
					}
				})
				resp, err := e.by(w).Get(s.url + "/")
				must(t, err)
				defer resp.Body.Close()
				for at, piece := range []int{0, 1, size - 2, 1} {
					if at > 0 {
						next <- struct{}{}
					}
					if _, err := io.ReadFull(resp.Body, make([]byte, piece)); err != nil {
						t.Fatal(err)
					}
					whole := c.known && at == 3
					if opened, final := e.logged(s.url); len(opened) != 1 || (len(final) == 1) != whole {
						t.Errorf("after piece %d: %d records crossing_opened and %d final ones", at, len(opened), len(final))
					}
				}
				close(next)
				if n, err := io.Copy(io.Discard, resp.Body); n > 0 || err != nil {
					t.Errorf("behind the body: %d octets, %v", n, err)
				}
				if _, final := e.logged(s.url); len(final) != 1 {
					t.Errorf("%d final records after the end", len(final))
				}
			})
		}
	}
}

// A client that is gone when the end is to be released has a record that says
// so, behind the one that said complete.
func TestE49AnEndTheClientDidNotGetIsRecorded(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		bytes        any // handed over
	}{
		{"a short body", "200 OK\r\nContent-Length: 4\r\n\r\npage", 0},
		{"a long body", "200 OK\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70_000), nil},
		{"chunks", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", 4},
	} {
		for _, w := range ways {
			t.Run(c.name+" by "+w.name, func(t *testing.T) {
				setup := edgeSetup{}
				saw := watch(t, &setup)
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				saw.onSync = func(event string) {
					if event == evidence.EventCrossingMediated {
						leave()
						<-saw.request().Done() // the edge knows
					}
				}
				e := startEdge(t, setup)
				s := answering(t, w.secure, "HTTP/1.1 "+c.answer)
				resp, err := e.by(w).Do(request(t, "GET", s.url+"/", nil).WithContext(ctx))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if err == nil {
					t.Error("the client has a whole body")
				}
				for range 6000 { // longer than the grace of the stop
					if len(e.recordsOf(evidence.EventCrossingUndelivered, "")) > 0 {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				e.down()
				final := e.crossing(s.url)
				final.want(t, map[string]any{"outcome": "delivered", "delivered.complete": true})
				number := final.Seq
				if opened, _ := e.logged(s.url); len(opened) == 1 {
					number = opened[0].Seq
				}
				r := e.only(evidence.EventCrossingUndelivered)
				r.want(t, map[string]any{"crossing": number, "failure.kind": "client"})
				if r.Seq < final.Seq || r.at("bytes") == nil || c.bytes != nil && r.at("bytes") != float64(c.bytes.(int)) {
					t.Errorf("the client got %v octets: %s", c.bytes, r.raw)
				}
			})
		}
	}
}

// When the upstream breaks off, the record stands before the client sees it.
func TestE50ACutIsOnDiskBeforeTheClientIsBrokenOff(t *testing.T) {
	for name, answer := range map[string]string{
		"a short body": "Content-Length: 9\r\nConnection: close\r\n\r\nhello",
		"a long body":  "Content-Length: 70000\r\nConnection: close\r\n\r\nhello",
		"chunks":       "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			setup := edgeSetup{}
			saw := watch(t, &setup)
			e := startEdge(t, setup)
			for _, w := range http1 {
				s := answering(t, w.secure, "HTTP/1.1 200 OK\r\n"+answer)
				conn, target := e.rawBy(w, s.addr)
				conn.WriteString("GET " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
				got, _ := io.ReadAll(conn)
				m := saw.at(t, evidence.EventCrossingMediated)
				if all, _ := saw.soFar(); m.ended || m.outcome != "cut" || !w.secure && m.said != all {
					t.Errorf("%s: outcome %s, the connection was closed first: %v, released behind the record: %q", w.name, m.outcome, m.ended, all[len(m.said):])
				}
				r := e.crossing(s.url)
				var complete any = false
				if name == "a short body" { // not even its head went out
					complete = nil
				}
				r.want(t, map[string]any{"outcome": "cut", "retrieved_hash": nil, "content_hash": nil, "delivered.complete": complete, "bytes.down": 5})
				sent := strings.Contains(string(got), "hello")
				if hash := r.at("delivered.hash"); sent != (hash == sum("hello")) || !sent && hash != nil {
					t.Errorf("%s: the client got %q and the record says %v", w.name, got, hash)
				}
				saw.forget()
			}
		})
	}
}

// When the client leaves, the record says what was handed over.
func TestE50AnAbandonedBodyHasTheHashOfWhatWentOut(t *testing.T) {
	const sent = "as far as it came\n"
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, sent)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			resp, err := e.by(w).Do(request(t, "GET", o.URL+"/", nil).WithContext(ctx))
			must(t, err)
			if _, err := io.ReadFull(resp.Body, make([]byte, len(sent))); err != nil {
				t.Fatal(err)
			}
			leave()
			e.crossing(o.URL).want(t, map[string]any{"outcome": "abandoned", "opened": e.onlyOpened(o.URL).Seq, "delivered.bytes": len(sent),
				"delivered.hash": sum(sent), "delivered.complete": false, "retrieved_hash": nil, "content_hash": nil})
		})
	}
}
