package proxy

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// keepAgent is a policy under which nothing of a request is changed.
func keepAgent() rulings.PolicyFile {
	return rulings.PolicyFile{Identity: rulings.IdentityFile{UserAgent: "keep"}}
}

// hopFields are the fields of a request that concern one connection, and ours.
const hopFields = "Connection: keep-alive, X-Nominated\r\n" +
	"Connection: x-second , close\r\n" +
	"X-Nominated: 1\r\nX-Second: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n" +
	"Proxy-Authorization: Basic cTpx\r\nProxy-Foo: 1\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nTE: gzip, trailers\r\n"

// endFields are for the origin and arrive as they are.
const endFields = "Accept: a\r\nAccept: b, c\r\nAccept-Encoding: br;q=0.5, x-odd\r\nRange: bytes=0-3\r\nIf-None-Match: \"x\"\r\nIf-Range: \"y\"\r\n" +
	"Authorization: Bearer t\r\nCookie: a=1; b=2\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Empty:\r\nIdempotency-Key: \"k\"\r\n" +
	"User-Agent: curl/8\r\nVia: 1.0 before\r\n"

// Whatever way a request comes, the origin gets every field that is for it, as
// it was, and none besides but Via.
func TestN8N9FieldsOfARequest(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: keepAgent()})
	want := http.Header{
		"Accept": {"a", "b, c"}, "Accept-Encoding": {"br;q=0.5, x-odd"}, "Range": {"bytes=0-3"}, "If-None-Match": {`"x"`}, "If-Range": {`"y"`},
		"Authorization": {"Bearer t"}, "Cookie": {"a=1; b=2"}, "X-Forwarded-For": {"1.2.3.4"}, "Forwarded": {"for=1.2.3.4"}, "X-Empty": {""},
		"Idempotency-Key": {`"k"`}, "User-Agent": {"curl/8"}, "Te": {"trailers"}, "Via": {"1.0 before, 1.1 " + e.via},
	}
	for _, w := range http1 {
		t.Run(w.name, func(t *testing.T) {
			var got http.Header
			s := startSite(t, w.secure, func(v *visit) {
				got = v.req.Header
				v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			})
			c, target := e.rawBy(w, s.addr)
			c.ask("GET " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + hopFields + endFields + "\r\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("at the origin (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("intercepted HTTP/2", func(t *testing.T) {
		var got http.Header
		s := startSite(t, true, func(v *visit) {
			got = v.req.Header
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		})
		r := request(t, "GET", s.url+"/", nil)
		for line := range strings.SplitSeq(endFields, "\r\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				r.Header.Add(name, strings.TrimSpace(value))
			}
		}
		r.Header.Add("Te", "trailers")
		resp, err := e.client("", true).Do(r)
		text(t, resp, err)
		want := want.Clone()
		want["Via"] = []string{"1.0 before, 2.0 " + e.via}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at the origin (-want +got):\n%s", diff)
		}
	})
}

// OPTIONS and TRACE go as many hops as they say (RFC 9110 7.6.2), and the last does
// not send them on.
func TestN9MaxForwardsIsCountedDown(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, c := range []struct {
		method, hops string
		want         string // what the origin reads; empty: it is not asked
	}{
		{"OPTIONS", "5", "4"}, {"TRACE", "1", "0"}, {"OPTIONS", "0", ""}, {"TRACE", "00", ""}, {"GET", "5", "5"}, {"GET", "0", "0"}, {"OPTIONS", "-1", "-1"}, {"OPTIONS", "x", "x"},
	} {
		for _, w := range ways {
			got := ""
			s := startSite(t, w.secure, func(v *visit) {
				got = v.req.Header.Get("Max-Forwards")
				v.say("HTTP/1.1 204 No Content\r\n\r\n")
			})
			r := request(t, c.method, s.url+"/", nil)
			r.Header.Set("Max-Forwards", c.hops)
			resp, err := e.by(w).Do(r)
			text(t, resp, err)
			if passed := c.want != ""; got != c.want || passed != (resp.StatusCode == 204) || !passed && reasonOf(resp) != "request_invalid" {
				t.Errorf("%s, %s with %s: %s, the origin read %q", w.name, c.method, c.hops, resp.Status, got)
			}
		}
	}
}

func TestN9NothingIsAddedToABareRequest(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: keepAgent()})
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "FROB"} {
		s := startSite(t, false, func(v *visit) {
			want := http.Header{"Via": {"1.1 " + e.via}}
			if method == "TRACE" { // its connection serves no other request (N16)
				want["Connection"] = []string{"close"}
			}
			if v.req.Method != method || !cmp.Equal(v.req.Header, want) || len(v.req.TransferEncoding) > 0 {
				t.Errorf("%s: at the origin %s %v %v", method, v.req.Method, v.req.Header, v.req.TransferEncoding)
			}
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		})
		if resp := e.dial().send(method + " " + s.url + "/ HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 200 || s.requests.Load() != 1 {
			t.Errorf("%s: %s, %d requests", method, resp.Status, s.requests.Load())
		}
	}
}

// Of an answer the client gets every field that is for it, and none that
// concerns the edge's connection or leads round the edge. Names HTTP/2 forbids
// would make its client drop the stream (RFC 9113 8.2.2).
func TestN8N9FieldsOfAnAnswer(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	const answer = "HTTP/1.1 200 Fine\r\nConnection: keep-alive, X-Nominated\r\nX-Nominated: 1\r\nKeep-Alive: timeout=5\r\n" +
		"Proxy-Connection: keep-alive\r\nProxy-Authenticate: Basic\r\nProxy-Status: fake; error=loop; details=\"loop\"\r\nUpgrade: h2\r\nTE: x\r\n" +
		"Alt-Svc: h3=\":443\"\r\n" +
		"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nVary: a, b\r\nETag: \"x\"\r\nX-Empty:\r\nRetry-After: 7\r\nVia: 1.1 front\r\nServer: \r\nContent-Length: 2\r\n\r\nok"
	want := http.Header{"Set-Cookie": {"a=1", "b=2"}, "Vary": {"a, b"}, "Etag": {`"x"`}, "X-Empty": {""}, "Retry-After": {"7"}, "Server": {""},
		"Via": {"1.1 front, 1.1 " + e.via}, "Content-Length": {"2"}}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			s := answering(t, w.secure, answer)
			resp, err := e.by(w).Get(s.url + "/")
			if body := text(t, resp, err); body != "ok" || resp.StatusCode != 200 {
				t.Errorf("%s %q", resp.Status, body)
			}
			if diff := cmp.Diff(want, resp.Header); diff != "" {
				t.Errorf("at the client (-want +got):\n%s", diff)
			}
		})
	}
}

// A request goes on in the version it came in, and Via names the version of
// each side (RFC 9110 7.6.3). A site that speaks HTTP/2 alone is asked in that.
func TestN8TheViaNamesTheVersionOfEachSide(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	var asked, via string
	page := func(_ http.ResponseWriter, r *http.Request) { asked, via = r.Proto, r.Header.Get("Via") }
	both := startOrigin(t, "", false, page)
	only2 := startOrigin(t, "", false, page, offeringOnlyHTTP2)
	for _, c := range []struct {
		name                     string
		origin                   *origin
		http2                    bool
		asked, version, up, down string
	}{
		{"HTTP/1.1 through", both, false, "HTTP/1.1", "HTTP/1.1", "1.1", "1.1"},
		{"HTTP/2 through", both, true, "HTTP/2.0", "h2", "2.0", "2.0"},
		{"HTTP/1.1 to a site that speaks HTTP/2 alone", only2, false, "HTTP/2.0", "h2", "1.1", "2.0"},
		{"HTTP/1.1 to it again", only2, false, "HTTP/2.0", "h2", "1.1", "2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "/" + url.PathEscape(c.name)
			resp, _ := get(t, e.client("", c.http2), c.origin.URL+path)
			if asked != c.asked || via != c.up+" "+e.via || resp.Header.Get("Via") != c.down+" "+e.via {
				t.Errorf("asked over %s with Via %q, answered with Via %q", asked, via, resp.Header.Get("Via"))
			}
			e.crossing(path).want(t, map[string]any{"http_version": c.version})
		})
	}
	if n := only2.requests.Load(); n != 2 {
		t.Errorf("the site that speaks HTTP/2 alone saw %d requests, want 2", n)
	}
}

// What policy.identity says of User-Agent holds for sources. A field a message
// signature covers is never altered, and a service gets the agent's own.
func TestO12TheUserAgentOnItsWay(t *testing.T) {
	const ours = "mybot/test (ops@example.test)"
	for _, c := range []struct {
		name, mode, agent, signed, want string
		service                         bool
	}{
		{"keep leaves it", "keep", "curl/8", "", "curl/8", false},
		{"keep adds none", "keep", "", "", "", false},
		{"append puts ours behind it", "append", "curl/8", "", "curl/8 " + ours, false},
		{"append without one is ours alone", "append", "", "", ours, false},
		{"replace is ours alone", "replace", "curl/8", "", ours, false},
		{"append leaves one that is signed", "append", "curl/8", `s=("@method" "user-agent");created=1`, "curl/8", false},
		{"replace leaves one that is signed", "replace", "curl/8", `s=("@method" "User-Agent");created=1`, "curl/8", false},
		{"a service gets the agent's own", "replace", "curl/8", "", "curl/8", true},
		{"a service gets none if the agent has none", "append", "", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := rulings.PolicyFile{Identity: rulings.IdentityFile{ProductToken: []string{"mybot"}, UserAgent: c.mode, Contact: "ops@example.test"}}
			if c.service {
				p.Services = []string{"127.0.0.1"}
			}
			e := startEdge(t, edgeSetup{policy: p})
			var got []string
			s := startSite(t, false, func(v *visit) {
				got = v.req.Header["User-Agent"]
				v.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			})
			head := "GET " + s.url + "/ua HTTP/1.1\r\nHost: x\r\n"
			if c.agent != "" {
				head += "User-Agent: " + c.agent + "\r\n"
			}
			if c.signed != "" {
				head += "Signature-Input: " + c.signed + "\r\n"
			}
			e.dial().send(head + "\r\n")
			if strings.Join(got, "|") != c.want || len(got) > 1 {
				t.Errorf("at the origin %q, want %q", got, c.want)
			}
			identity := any(c.want)
			if c.service || c.want == "" {
				identity = nil
			}
			e.crossing("/ua").want(t, map[string]any{"identity.user_agent": identity, "client.user_agent": orNil(c.agent)})
		})
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Statuses, and what goes with a part of a page, pass as the origin chose them.
func TestN9AnOriginsOwnAnswersPassUntouched(t *testing.T) {
	e := startEdge(t, edgeSetup{files: hurried()})
	statuses := []int{200, 201, 206, 226, 299, 300, 301, 302, 307, 308, 400, 401, 403, 404, 407, 416, 418, 421, 429, 451, 500, 502, 503, 504, 508, 599, 777}
	for _, w := range []way{ways[0], ways[3]} {
		c := e.by(w)
		s := startSite(t, w.secure, func(v *visit) {
			v.say("HTTP/1.1 " + strings.TrimPrefix(v.req.RequestURI, "/") + " Phrase\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nok")
		})
		for _, status := range statuses {
			path := "/" + strconv.Itoa(status)
			resp, err := c.Get(s.url + path)
			if body := text(t, resp, err); resp.StatusCode != status || body != "ok" || resp.Header.Get("Proxy-Status") != "" {
				t.Errorf("%s: %d arrived as %s %q", w.name, status, resp.Status, body)
			}
		}
	}
	challenged := []int{401, 403}
	for _, r := range e.waitCrossings(2 * len(statuses)) {
		status := int(r.at("http_status").(float64))
		r.want(t, map[string]any{"outcome": "delivered", "content_range": "bytes 0-1/9", "refusal": nil, "told": nil, "failure": nil})
		if got := r.at("challenge.status"); slices.Contains(challenged, status) != (got != nil) {
			t.Errorf("status %d: challenge %v", status, got)
		}
	}
}

// The letter case of names and the reason phrase are not kept; a field given
// twice stays two.
func TestN9RepeatedFieldsStayApart(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 200 OK\r\nlink: <a>\r\nLink: <b>, <c>\r\nLINK: <d>\r\nContent-Length: 0\r\n\r\n")
	c := e.dial()
	c.WriteString("GET " + s.url + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	raw, err := io.ReadAll(c)
	must(t, err)
	if n := strings.Count(string(raw), "\r\nLink: "); n != 3 || !strings.Contains(string(raw), "Link: <a>\r\nLink: <b>, <c>\r\nLink: <d>\r\n") {
		t.Errorf("the client read\n%s", raw)
	}
}

// A blank between a name and its colon goes, and the field is what it is without it
// (RFC 9112 5.1), in the head and behind the body.
func TestN8ABlankBehindANameOfAnAnswerGoes(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		s := answering(t, w.secure, "HTTP/1.1 200 OK\r\nx-own  : c\r\nX-Own : b\r\nX-Own: a\r\nAlt-Svc : h3=\":443\"\r\nConnection : X-Hop\r\nX-Hop: 1\r\n"+
			"Content-Length : 9\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nX-Sum : abc\r\nAlt-Svc : h3=\":443\"\r\n\r\n")
		resp, err := e.by(w).Do(request(t, "GET", s.url+"/", nil))
		body := text(t, resp, err)
		if diff := cmp.Diff([]string{"a", "b", "c"}, resp.Header["X-Own"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.name, diff)
		}
		if body != "page" || resp.Header.Get("Alt-Svc")+resp.Header.Get("X-Hop")+resp.Header.Get("Content-Length") != "" {
			t.Errorf("%s: %q %v", w.name, body, resp.Header)
		}
		if want := (http.Header{"X-Sum": {"abc"}}); !cmp.Equal(resp.Trailer, want) {
			t.Errorf("%s: trailer %v", w.name, resp.Trailer)
		}
	}
}

// What the edge asks for itself is read no other way.
func TestN8ABlankBehindANameOfAnAnswerToTheEdgeGoes(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, false, func(v *visit) {
		switch v.req.URL.Path {
		case "/robots.txt":
			v.say("HTTP/1.1 301 Moved\r\nLocation : /rules\r\nContent-Length: 0\r\n\r\n")
		case "/rules":
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\nUser-agent: *\nDisallow: /private/\n")
		default:
			v.say("HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	s.own = true
	for path, status := range map[string]int{"/page": 204, "/private/x": 403} {
		if resp, body := get(t, e.client("", false), s.url+path); resp.StatusCode != status {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}
