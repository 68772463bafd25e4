package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
)

// stop stops the edge with so much grace and returns how many connections were
// broken off; harness' down then finds it stopped.
func (e *testEdge) stop(grace time.Duration) int {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return e.Shutdown(ctx)
}

// An exchange under way when the edge is told to stop comes to its end, and
// nobody is let in meanwhile.
func TestN25ExchangesComeToTheirEndWithinTheGrace(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			arrived, goOn := make(chan struct{}), make(chan struct{})
			o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "first ")
				w.(http.Flusher).Flush()
				close(arrived)
				<-goOn
				io.WriteString(w, "second")
			})
			resp, err := e.by(w).Get(o.URL + "/")
			must(t, err)
			<-arrived
			stopped := make(chan int)
			go func() { stopped <- e.stop(time.Minute) }()
			for { // until nobody is let in
				c, err := net.Dial("tcp", e.addr)
				if errors.Is(err, syscall.ECONNREFUSED) {
					break
				}
				if err == nil {
					c.Close()
				}
			}
			select {
			case <-stopped:
				t.Error("the edge stopped before the exchange ended")
			default:
			}
			close(goOn)
			if body := text(t, resp, nil); body != "first second" {
				t.Errorf("%q", body)
			}
			if broken := <-stopped; broken != 0 {
				t.Errorf("%d connections were broken off", broken)
			}
			e.crossing(o.URL).want(t, map[string]any{"outcome": "delivered", "delivered.complete": true})
		})
	}
}

// What has not ended by then is broken off, recorded, and counted.
func TestN25WhatOutlastsTheGraceIsBrokenOffAndRecorded(t *testing.T) {
	for _, w := range ways {
		for _, before := range []bool{true, false} { // the head
			t.Run(fmt.Sprintf("%s, before the head %v", w.name, before), func(t *testing.T) {
				e := startEdge(t, edgeSetup{})
				arrived, begun := make(chan struct{}), make(chan struct{}) // the request, and the answer
				o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, r *http.Request) {
					if !before {
						io.WriteString(w, "first\n")
						w.(http.Flusher).Flush()
					}
					close(arrived)
					<-r.Context().Done()
				})
				failed := make(chan error, 1)
				go func() {
					resp, err := e.by(w).Get(o.URL + "/")
					if err == nil {
						_, err = io.ReadFull(resp.Body, make([]byte, len("first\n")))
						close(begun)
					}
					if err == nil {
						_, err = io.ReadAll(resp.Body)
					}
					failed <- err
				}()
				<-arrived
				if !before {
					<-begun
				}
				if broken := e.stop(10 * time.Millisecond); broken == 0 {
					t.Error("nothing is said to have been broken off")
				}
				if err := <-failed; err == nil {
					t.Error("the client's answer ended properly")
				}
				e.crossing(o.URL).want(t, map[string]any{"outcome": "abandoned", "failure.kind": "edge", "delivered.complete": map[bool]any{true: nil, false: false}[before]})
			})
		}
	}
}

// Each connection that is broken off counts, and those on which nothing was under
// way do not.
func TestN25WhatIsBrokenOffIsCounted(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			const clients = 3
			e := startEdge(t, edgeSetup{})
			arrived := make(chan struct{}, clients)
			o := startOrigin(t, "", !w.secure, func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/idle" {
					return
				}
				arrived <- struct{}{}
				<-r.Context().Done()
			})
			for range clients {
				get(t, e.by(w), o.URL+"/idle") // and the connection stays
			}
			for e.busy() > 0 { // the answer comes a moment before its exchange has ended
				time.Sleep(time.Millisecond)
			}
			for range clients {
				client := e.by(w)
				go func() {
					if resp, err := client.Get(o.URL + "/"); err == nil {
						resp.Body.Close()
					}
				}()
			}
			for range clients {
				<-arrived
			}
			if broken := e.stop(10 * time.Millisecond); broken != clients {
				t.Errorf("%d connections are said to have been broken off, want %d", broken, clients)
			}
		})
	}
}

// A websocket has no end that the edge could wait for; that the edge ended it,
// and not one of its sides, is in the record.
func TestN25AWebsocketIsAbandonedWhenTheEdgeStops(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := echo(t, false)
	c := e.dial()
	c.WriteString(handshake(s.url+"/", s.addr))
	if resp := c.head(false); resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the handshake was answered %s", resp.Status)
	}
	e.stop(10 * time.Millisecond)
	e.crossing(s.url).want(t, map[string]any{"outcome": "abandoned", "failure.kind": "edge", "delivered.complete": nil})
}

// Idle connections and tunnels in which nothing was asked end at once.
func TestN25IdleConnectionsDoNotHoldTheStop(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		o := startOrigin(t, "", !w.secure, func(http.ResponseWriter, *http.Request) {})
		resp, err := e.by(w).Get(o.URL + "/")
		text(t, resp, err)
	}
	if broken := e.stop(time.Minute); broken != 0 {
		t.Errorf("%d connections were broken off", broken)
	}
}

// After a clean stop each log ends with the edge's own last word, and says how
// much was appended.
func TestN25EachLogEndsWithTheStop(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	for _, session := range []string{"one", "two", ""} {
		get(t, e.client(session, false), s.url+"/"+session)
	}
	e.down()
	last := map[string]record{}
	for _, r := range e.records() {
		last[r.session] = r
	}
	if len(last) != 3 {
		t.Errorf("%d logs", len(last))
	}
	for session, r := range last {
		if r.Event != evidence.EventEdgeStopped || r.at("lost") != nil && r.at("lost") != 0.0 {
			t.Errorf("the log of %s ends with %s", session, r.raw)
		}
	}
}

// A request that races the stop is answered or broken off, and is recorded
// whenever it was answered.
func TestN25RequestsThatRaceTheStopAreRecordedWhenAnswered(t *testing.T) {
	for _, w := range []way{ways[0], ways[3]} {
		e := startEdge(t, edgeSetup{})
		o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
		var mu sync.Mutex
		answered := map[string]bool{}
		var wg sync.WaitGroup
		first := make(chan struct{}, 8)
		for n := range 8 {
			wg.Go(func() {
				c := e.by(w)
				for i := 0; ; i++ {
					path := fmt.Sprintf("/%d-%d-", n, i)
					resp, err := c.Get(o.URL + path)
					if err != nil {
						return
					}
					if body, err := io.ReadAll(resp.Body); err == nil && string(body) == "page" {
						mu.Lock()
						answered[path] = true
						mu.Unlock()
					}
					resp.Body.Close()
					if i == 0 {
						first <- struct{}{}
					}
				}
			})
		}
		for range 8 {
			<-first
		}
		e.stop(time.Minute)
		wg.Wait()
		e.down()
		recorded := map[string]int{}
		for _, r := range e.crossings() {
			u, _ := r.at("url").(string)
			recorded[strings.TrimPrefix(u, o.URL)]++
		}
		for path := range answered {
			if recorded[path] != 1 {
				t.Errorf("%s: %s was answered and has %d records", w.name, path, recorded[path])
			}
		}
	}
}

// A client that says nothing in its tunnel is not waited for once the grace is over.
func TestN25AnOpeningTunnelDoesNotOutliveTheStop(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	conn, err := e.tunnel("site.test:443")
	must(t, err)
	if broken := e.stop(10 * time.Millisecond); broken != 1 {
		t.Errorf("%d connections were broken off, want 1", broken)
	}
	if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
		t.Error("the tunnel is still open")
	}
}
