package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
)

// leftOut are the paths that a recording does not hold, with the reason.
func leftOut(s recording.Summary) (all []string) {
	for _, l := range s.LeftOut {
		_, path, _ := strings.Cut(strings.TrimPrefix(l.URL, "http://"), "/")
		all = append(all, l.Method+" /"+path+": "+l.Why)
	}
	return all
}

func TestO62_WhatNoReplayCouldServeIsLeftOutWithItsReason(t *testing.T) {
	released := make(chan struct{})
	o := startOrigin(t, "", true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/broken":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "part")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/endless":
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
					close(released)
					return
				}
			}
		case "/early":
			http.NewResponseController(w).EnableFullDuplex()
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "no")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	ws := echo(t, false)
	p := newTape(t)
	e := p.edge(withService("127.0.0.1"))
	if _, err := e.client("s", false).Get(o.URL + "/broken"); err == nil {
		t.Log("the head came")
	}
	resp, err := e.client("s", false).Get(o.URL + "/endless")
	must(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 100))
	must(t, err)
	resp.Body.Close()
	<-released
	e.waitCrossings(2)
	get(t, e.client("s", false), "http://127.0.0.1:1/nobody")
	c := e.openWebsocket(ways[0], ws)
	c.WriteString(frame(true, closeFrame, ""))
	readFrame(c.Reader)
	c.Close()
	e.waitCrossings(4)
	get(t, e.client("s", false), o.URL+"/page")
	s := p.end(e)
	want := []string{
		"GET /broken: its body did not come to its end",
		"GET /endless: its body did not come to its end",
		"GET /nobody: no answer came: connection_refused",
		"GET /chat: a websocket is not recorded",
	}
	if diff := cmp.Diff(want, leftOut(s)); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(s.Exchanges) != 1 || s.Exchanges[0].Kind != recording.Other || !strings.HasSuffix(s.Exchanges[0].URL, "/page") {
		t.Errorf("recorded %+v", s.Exchanges)
	}
}

// What an answer that did not wait for the request was an answer to is not known.
func TestO62_AnAnswerBeforeTheWholeRequestIsLeftOut(t *testing.T) {
	s := startSite(t, false, func(v *visit) {
		v.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
	})
	p := newTape(t)
	e := p.edge(withService("127.0.0.1"))
	c := e.dial()
	fmt.Fprintf(c, "POST http://%s/early HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: 100\r\n\r\nthe first part", s.addr)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	if body, err := io.ReadAll(resp.Body); string(body) != "no" {
		t.Errorf("%q, %v", body, err)
	}
	c.Close()
	e.waitCrossings(1)
	if diff := cmp.Diff([]string{"POST /early: the answer came before the request's body was sent"}, leftOut(p.end(e))); diff != "" {
		t.Error(diff)
	}
}

// Of a robots.txt that is not there the edge reads no body; the recording has it all
// the same, and nobody waits for it.
func TestO62_WhatTheEdgeDoesNotReadOfTermsIsRecorded(t *testing.T) {
	robots := strings.Repeat("# not here\n", 20_000)
	rest := make(chan struct{})
	o := startOrigin(t, "", true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") })
	o.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, robots[:10])
			w.(http.Flusher).Flush()
			<-rest // until the agent has its page
			io.WriteString(w, robots[10:])
			return
		}
		io.WriteString(w, "page")
	})
	p := newTape(t)
	e := p.edge(rulings.PolicyFile{})
	if _, body := e.gets("s", o.URL+"/page"); body != "page" {
		t.Errorf("%q", body)
	}
	close(rest)
	s := p.end(e)
	if len(s.Exchanges) != 2 || s.Exchanges[0].Kind != recording.Robots || s.Exchanges[0].BodyBytes != int64(len(robots)) || len(s.LeftOut) > 0 {
		t.Errorf("recorded %+v, left out %v", s.Exchanges, s.LeftOut)
	}
}

// A disk that fails costs the recording, and the agent nothing (O62).
func TestO62_ARecordingThatFailsBreaksNoAgent(t *testing.T) {
	o := startOrigin(t, "", true, variety)
	p := newTape(t)
	e := p.edge(rulings.PolicyFile{})
	get(t, e.client("s", false), o.URL+"/short")
	must(t, os.Rename(p.dir, p.dir+".gone"))
	for path, want := range map[string]int{"/short": 5, "/long": 300_000, "/unannounced": 150_000} {
		if resp, body := e.gets("s", o.URL+path); resp.StatusCode != 200 || len(body) != want {
			t.Errorf("%s: %s, %d octets", path, resp.Status, len(body))
		}
	}
	e.down()
	_, err := p.w.Close()
	if _, incomplete := errors.AsType[*recording.IncompleteError](err); !incomplete {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(p.dir + "/recording.json"); err == nil {
		t.Error("there is a manifest")
	}
	for _, r := range e.crossings() {
		r.want(t, map[string]any{"outcome": "delivered", "gaps": nil})
	}
}
