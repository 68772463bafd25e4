package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A publisher is an origin that states terms. It serves documents by their
// target, robots.txt among them, and remembers everything it was asked for.
type publisher struct {
	*httptest.Server
	addr string

	mu     sync.Mutex
	visits []*http.Request // in the order in which they arrived
}

// startPublisher starts one for clients that come by way w. What is none of the
// documents is answered by page; a nil page says "page". A target without a
// document and robots.txt without one are a 404 each, as they are at a site that
// states nothing.
func startPublisher(t *testing.T, w way, documents map[string]string, page http.HandlerFunc) *publisher {
	t.Helper()
	p := &publisher{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.visits = append(p.visits, r.Clone(r.Context()))
		p.mu.Unlock()
		switch text, ok := documents[r.RequestURI]; {
		case ok:
			io.WriteString(rw, text)
		case r.RequestURI == "/robots.txt", strings.HasPrefix(r.RequestURI, "/.well-known/"), strings.HasSuffix(r.RequestURI, ".xml"):
			http.NotFound(rw, r)
		case page != nil:
			page(rw, r)
		default:
			io.WriteString(rw, "page")
		}
	}))
	if w.secure {
		p.EnableHTTP2 = true
		p.TLS = &tls.Config{Certificates: []tls.Certificate{originLeaf(t)}}
		p.StartTLS()
	} else {
		p.Start()
	}
	p.addr = p.Listener.Addr().String()
	t.Cleanup(p.Close)
	return p
}

// asked lists the targets that the publisher was asked for, in order.
func (p *publisher) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var targets []string
	for _, r := range p.visits {
		targets = append(targets, r.RequestURI)
	}
	return targets
}

// count is how often target was asked for.
func (p *publisher) count(target string) (n int) {
	for _, asked := range p.asked() {
		if asked == target {
			n++
		}
	}
	return n
}

// visit returns the first request for target.
func (p *publisher) visit(t *testing.T, target string) *http.Request {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.visits, func(r *http.Request) bool { return r.RequestURI == target })
	if i < 0 {
		t.Fatalf("%s was not asked for", target)
	}
	return p.visits[i]
}

// licence is an RSL document with one entry, for all pages of its origin.
func licence(of string) string {
	return `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>` + of + `</license></content></rsl>`
}

// Licences by what they say.
var (
	licenceFree    = licence(`<permits type="usage">all</permits>`)
	licencePriced  = licence(`<permits type="usage">all</permits><payment type="purchase"><amount currency="EUR">5</amount></payment>`)
	licenceForbids = licence(`<prohibits type="usage">all</prohibits>`)
)

// declaring is the policy of most tests with these purposes declared.
func declaring(purposes ...string) (s edgeSetup) {
	s.policy = loopbackPolicy()
	s.policy.Purposes = purposes
	return s
}

// A received is all that a client got of one answer, as far as the source could
// have had a word in it.
type received struct {
	status int
	reason string // of an answer of the edge's own; empty for the source's
	octets string // status line, fields and body; over HTTP/2 the fields and the body
	body   string
}

// fetch asks for a target of the source at addr by way w, on a connection of its
// own, and returns every octet that came back for it. Fields are given as name,
// value, name, value.
func (e *testEdge) fetch(w way, method, addr, target string, fields ...string) received {
	e.t.Helper()
	if w.http2 {
		lower := make([]string, len(fields))
		for i := range fields {
			lower[i] = fields[i]
			if i%2 == 0 {
				lower[i] = strings.ToLower(fields[i])
			}
		}
		h := e.h2(addr)
		must(e.t, h.SetDeadline(time.Now().Add(30*time.Second))) // a test that hangs fails
		must(e.t, h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24}))
		must(e.t, h.WriteWindowUpdate(0, 1<<24))
		status, header, body := h.do(method, target, lower...)
		resp := &http.Response{Header: header}
		return received{status, reasonOf(resp), fmt.Sprint(status, header, body), body}
	}
	c, at := e.rawBy(w, addr)
	var head strings.Builder
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", fields[i], fields[i+1])
	}
	c.WriteString(method + " " + at(target) + " HTTP/1.1\r\nHost: " + addr + "\r\nConnection: close\r\n" + head.String() + "\r\n")
	octets, err := io.ReadAll(c)
	if err != nil && len(octets) == 0 {
		e.t.Fatalf("%s: nothing came: %v", w.name, err)
	}
	return parseReceived(e.t, method, string(octets))
}

// parseReceived reads the answer to method out of octets.
func parseReceived(t testing.TB, method, octets string) received {
	t.Helper()
	resp, err := http.ReadResponse(newReader(octets), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%v: %q", err, octets)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%v: %q", err, octets)
	}
	return received{resp.StatusCode, reasonOf(resp), octets, string(body)}
}

// recordsOf returns the records of an event whose URL contains part.
func (e *testEdge) recordsOf(event, part string) (found []record) {
	e.t.Helper()
	for _, r := range e.records() {
		if url, _ := r.at("url").(string); r.Event == event && strings.Contains(url, part) {
			found = append(found, r)
		}
	}
	return found
}

// list returns what path names in each item of a list of the payload, such as
// the kinds of the terms.
func (r record) list(path, member string) []string {
	items, _ := r.at(path).([]any)
	var found []string
	for _, item := range items {
		m, _ := item.(map[string]any)
		text, _ := m[member].(string)
		found = append(found, text)
	}
	return found
}

// gapReasons are the reasons of the gaps of r.
func (r record) gapReasons() []string { return r.list("gaps", "reason") }
