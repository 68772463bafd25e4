package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// Fields that never pass in a head do not pass behind a body either, announced
// or not: an origin that merges trailers would read them as if they had.
func TestN8TrailersOfARequestHoldNothingThatEndsHere(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	var trailer http.Header
	o := startOrigin(t, "", true, func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != "upload" {
			t.Errorf("at the origin %q, %v", body, err)
		}
		trailer = r.Trailer
	})
	addr := strings.TrimPrefix(o.URL, "http://")
	resp, _ := e.dial().ask("POST " + o.URL + "/ HTTP/1.1\r\nHost: " + addr + "\r\nTransfer-Encoding: chunked\r\n" +
		"Trailer: Proxy-Authorization, X-Sum\r\n\r\n6\r\nupload\r\n0\r\n" +
		"Proxy-Authorization: Basic c2Vzc2lvbjpodW50ZXIy\r\nX-Sum: abc\r\nHost: elsewhere\r\nAuthorization: hunter2\r\nConnection: X-Own\r\nX-Own: 1\r\n\r\n")
	if want := (http.Header{"X-Sum": {"abc"}}); resp.StatusCode != 200 || !cmp.Equal(trailer, want) {
		t.Errorf("%s, the origin read the trailer %v", resp.Status, trailer)
	}
}

func TestN8TrailersOfAnAnswerHoldNothingThatEndsHere(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, announced := range []string{"Trailer: Alt-Svc, Proxy-Authenticate, X-Sum\r\n", "Trailer: X-Sum\r\n", ""} {
		for _, w := range ways {
			s := answering(t, w.secure, "HTTP/1.1 200 OK\r\n"+announced+"Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n"+
				"Alt-Svc: h3=\":443\"\r\nX-Sum: abc\r\nProxy-Authenticate: Basic\r\nKeep-Alive: 9\r\n\r\n")
			resp, err := e.by(w).Do(request(t, "GET", s.url+"/", nil))
			body := text(t, resp, err)
			if want := (http.Header{"X-Sum": {"abc"}}); body != "page" || !cmp.Equal(resp.Trailer, want) {
				t.Errorf("%s, %q: %q, trailer %v", w.name, announced, body, resp.Trailer)
			}
		}
	}
}

// Codings over one another may decode to nothing and yet never end: all that
// comes out of any of them counts, and who leaves ends it.
func TestE16CodingsOverOneAnotherAreBounded(t *testing.T) {
	empty := gzipped(t, nil)
	members := gzipped(t, bytes.Repeat(empty, 1<<16))
	for _, c := range []struct {
		name, coding string
		data         []byte
		left         bool
		fault        error
	}{
		{"two codings", "gzip, gzip", gzipped(t, gzipped(t, []byte("page"))), false, nil},
		{"a coding of nothing, many times", "gzip, gzip", members, false, nil},
		{"the same for a client that left", "gzip, gzip", members, true, context.Canceled},
		{"five codings", "gzip, gzip, gzip, gzip, gzip", empty, false, errManyCodings},
		{"a list of commas", strings.Repeat(",", 1<<16), empty, false, errManyCodings},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		if c.left {
			cancel()
		}
		if _, _, err := decodedSum(ctx, bytes.NewReader(c.data), c.coding, new(atomic.Int64)); !errors.Is(err, c.fault) {
			t.Errorf("%s: %v", c.name, err)
		}
		cancel()
	}
	left := int64(10)
	inner := &boundedReader{context.Background(), strings.NewReader("octets"), &left}
	outer := &boundedReader{context.Background(), io.MultiReader(inner, strings.NewReader("more octets")), &left}
	if b, err := io.ReadAll(outer); err != errExpands {
		t.Errorf("read %q, %v", b, err)
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	must(t, err)
	must(t, z.Close())
	return b.Bytes()
}

// The edges' own logs hold what belongs to no session; an agent that could name
// one would hide its crossings there. An id that only begins like theirs is anybody's (E2).
func TestN20TheLogsOfEdgesAreNobodysSession(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	for _, name := range []string{"edge-" + e.opt.ID, "edge-20261130T101500Z-0123456789abcdef"} {
		resp, _ := e.dial().ask("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic(name, "x") + "\r\n\r\n")
		if resp.StatusCode != 400 || s.requests.Load() != 0 {
			t.Errorf("%s: %s, %d requests at the site", name, resp.Status, s.requests.Load())
		}
	}
	for _, name := range []string{"edge-", "edge-1", "edge-20261130T101500Z-0123456789abcde"} {
		resp, _ := e.dial().ask("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic(name, "x") + "\r\n\r\n")
		if resp.StatusCode != 204 {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
}

// What is no method goes to no site: the preface of HTTP/2 inside a tunnel
// where HTTP/2 is not spoken, and text that a request line would break at.
func TestN1AMethodThatIsNoneIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	tunnel, err := e.tunnel(s.addr)
	must(t, err)
	resp, _ := e.raw(tunnel).ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	if resp.StatusCode != 400 || s.requests.Load() != 0 {
		t.Errorf("%s, %d requests at the site", resp.Status, s.requests.Load())
	}
	for _, method := range []string{"GET /x", "G\xc3\xa9T", "GET\tx"} {
		r := request(t, "GET", s.url+"/", nil)
		r.Method = method
		x := e.newCrossing(httptest.NewRecorder(), r, agent{log: e.store.Own()})
		if rej := x.settle(r, "http", s.addr, s.url+"/"); rej == nil || rej.reason != rulings.RequestInvalid {
			t.Errorf("%q: %v", method, rej)
		}
	}
}

// HTTP/2 has no request line that a blank or a control octet would break, and the
// site's may be one of HTTP/1.1.
func TestN5ATargetThatNoRequestLineHoldsIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 204 No Content\r\n\r\n")
	c := e.h2(s.addr)
	for _, target := range []string{"/secret x", "/secret ", "/a?b c", "/a? HTTP/1.1", "//a b"} {
		if status, header, _ := c.do("GET", target); status != 400 || !strings.Contains(header.Get("Proxy-Status"), "request_invalid") {
			t.Errorf("%q: %d %s", target, status, header.Get("Proxy-Status"))
		}
	}
	if n := s.requests.Load(); n != 0 {
		t.Errorf("%d requests at the site", n)
	}
}
