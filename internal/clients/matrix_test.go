//go:build clients

package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
)

// A bench is an edge between clients and a site.
type bench struct {
	*edge
	site   *site
	secure *origin // the site over HTTPS
	plain  *origin // and without
}

func newBench(t *testing.T, auth string) bench {
	t.Helper()
	a, s := newAuthority(t), newSite()
	secure := startOrigin(t, &a, "localhost", "127.0.0.1", s)
	plain := startOrigin(t, nil, "localhost", "127.0.0.1", s)
	return bench{startEdgeWith(t, a, auth), s, secure, plain}
}

func TestN5EveryClientWorksAsTheEnvironmentSetsItUp(t *testing.T) {
	b := newBench(t, "open")
	for _, c := range httpClients(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Run("gets a page as it is", func(t *testing.T) { b.page(t, c) })
			t.Run("gets a page over plain HTTP", func(t *testing.T) { b.plainPage(t, c) })
			t.Run("reads why it was refused", func(t *testing.T) { b.refusal(t, c) })
			t.Run("gets a large file whole", func(t *testing.T) { b.download(t, c) })
			for form := range forms {
				t.Run("has each of the "+form+" of a stream before the next is sent", func(t *testing.T) { b.stream(t, c, form) })
			}
		})
	}
}

// Every client has to send the token with its first request: some never ask
// twice, and a CONNECT that was answered 407 is a failure to most.
func TestN20ClientsThatSendCredentialsWorkUnderTokens(t *testing.T) {
	b := newBench(t, "token")
	for _, c := range httpClients(t) {
		if !c.sends {
			continue // what an edge answers it is tested with the edge
		}
		t.Run(c.name, func(t *testing.T) {
			t.Run("gets a page as it is", func(t *testing.T) { b.page(t, c) })
			t.Run("gets a page over plain HTTP", func(t *testing.T) { b.plainPage(t, c) })
		})
	}
}

func (b bench) page(t *testing.T, c client) {
	got := c.get(t, b.edge, sessionName(t), b.secure.url+"/page", nil)
	got.expect(t, "200", c.proto)
	if string(got.body) != pageText {
		t.Errorf("the page is %q, want %q", got.body, pageText)
	}
	if got.header.Get("Via") == "" {
		t.Error("the answer has no Via (N7)")
	}
}

// plainPage shows C01 too: Node sends plain requests through a CONNECT tunnel,
// the others in absolute form.
func (b bench) plainPage(t *testing.T, c client) {
	got := c.get(t, b.edge, sessionName(t), b.plain.url+"/page", nil)
	got.expect(t, "200", "HTTP/1.1")
	if string(got.body) != pageText {
		t.Errorf("the page is %q, want %q", got.body, pageText)
	}
	if got.header.Get("Via") == "" {
		t.Error("the answer has no Via (N7)")
	}
}

func (b bench) refusal(t *testing.T, c client) {
	session := sessionName(t)
	for _, o := range []struct {
		*origin
		proto string
	}{{b.secure, c.proto}, {b.plain, "HTTP/1.1"}} {
		got := c.get(t, b.edge, session, o.url+"/private/page", nil)
		got.expect(t, "403", o.proto)
		checkRefusal(t, got)
		if c.sends && !strings.HasPrefix(problemOf(t, got).Crossing, session+"/") {
			t.Errorf("the crossing is %q, want one of session %s", problemOf(t, got).Crossing, session)
		}
		if n := len(o.at("/private/page")); n > 0 {
			t.Errorf("%s/private/page reached the origin %d times", o.url, n)
		}
	}
}

// A problem is the body of a refusal (RFC 9457).
type problem struct {
	Type, Title, Detail, Reason, Whose, Crossing string
	Status                                       int
}

func problemOf(t *testing.T, a answer) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Errorf("the body of the refusal is %q: %v", a.body, err)
	}
	return p
}

// checkRefusal says whether a program can tell from the answer that the site's
// robots.txt refused it, by body and by field (RFC 9209).
func checkRefusal(t *testing.T, a answer) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("the refusal is %s, want application/problem+json", got)
	}
	for _, want := range []string{"error=http_request_denied", "robots_disallow"} {
		if got := a.header.Get("Proxy-Status"); !strings.Contains(got, want) {
			t.Errorf("Proxy-Status is %q, without %s", got, want)
		}
	}
	p := problemOf(t, a)
	if p.Status != 403 || p.Reason != "robots_disallow" || p.Whose != "source" || !strings.HasSuffix(p.Type, "/robots_disallow.md") {
		t.Errorf("the problem is %+v", p)
	}
	if p.Title == "" || p.Detail == "" {
		t.Errorf("the problem has no words for a model: %+v", p)
	}
}

func (b bench) download(t *testing.T, c client) {
	got := c.get(t, b.edge, sessionName(t), b.secure.url+"/download", nil)
	got.expect(t, "200", c.proto)
	if sha256.Sum256(got.body) != sha256.Sum256(downloadBytes()) {
		t.Errorf("%d bytes came, want %d; the first that differs is at %d", len(got.body), downloadSize, firstDifference(got.body, downloadBytes()))
	}
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// stream lets the origin go on only when the client has printed what came so
// far, so whoever holds bytes back is caught by a standstill, not by a clock.
func (b bench) stream(t *testing.T, c client, form string) {
	id := sessionName(t)
	seen, next := b.site.newStream(id), 0
	got := c.get(t, b.edge, id, b.secure.url+"/stream/"+form+"/"+id, func(line string) {
		if next < eventCount && line == eventLine(form, next) {
			next++
			seen()
		}
	})
	got.expect(t, "200", c.proto)
	if next != eventCount {
		t.Errorf("the client printed %d of %d events in order:\n%s", next, eventCount, got.body)
	}
	if got := bytes.Count(got.body, []byte("event ")); got != eventCount {
		t.Errorf("the body has %d events, want %d", got, eventCount)
	}
}
