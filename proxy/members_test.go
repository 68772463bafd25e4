package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// Members every final record of a ruled crossing of a source has here.
const ofAlways = "edge grade class outcome client.session client.protocol client.address client.user_agent method url purposes identity.product_tokens " +
	"policy_digest ruleset licence.state timings.ruling "

// Members of one whose source was asked over a new connection, and had no robots.txt.
const ofAsked = ofAlways + "identity.user_agent address requested_at declarations.effective.ai-input declarations.robots.wayleave.token declarations.terms " +
	"timings.terms timings.connect "

// Members of one that was answered.
const ofAnswered = ofAsked + "http_status http_version timings.first_byte timings.body "

// Members of one whose body was read to its end, and of one that passed it on.
const ofWhole = ofAnswered + "retrieved_hash retrieved_bytes content_hash content_bytes bytes.down delivered.bytes "

// A member that does not apply is absent, and one that applies is there: the
// exact sets for each kind of crossing (E9, E14, E15, E16).
func TestE9TheExactMembersOfEachKindOfCrossing(t *testing.T) {
	coded := func(n string) string { return "Content-Encoding: " + n + "\r\nContent-Length: 4\r\n\r\npage" }
	for _, c := range []struct {
		name, method, path, answer, want string
	}{
		{"delivered whole", "GET", "/", "200 OK\r\nContent-Length: 4\r\n\r\npage", ofWhole + "delivered.complete"},
		{"an empty 200", "GET", "/", "200 OK\r\nContent-Length: 0\r\n\r\n", ofWhole + "delivered.complete"},
		{"with a type and a range", "GET", "/", "206 X\r\nContent-Type: A/B\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\npage",
			ofWhole + "delivered.complete content_type content_range"},
		{"HEAD", "HEAD", "/", "200 OK\r\nContent-Length: 4\r\n\r\n", ofAnswered + "delivered.bytes delivered.complete"},
		{"204", "GET", "/", "204 No Content\r\n\r\n", ofAnswered + "delivered.bytes delivered.complete"},
		{"304", "GET", "/", "304 Not Modified\r\n\r\n", ofAnswered + "delivered.bytes delivered.complete"},
		{"a bare 401", "GET", "/", "401 X\r\nContent-Length: 0\r\n\r\n", ofWhole + "delivered.complete challenge.status"},
		{"404", "GET", "/", "404 X\r\nContent-Length: 0\r\n\r\n", ofWhole + "delivered.complete"},
		{"an unknown coding", "GET", "/", "200 OK\r\n" + coded("x-odd"),
			strings.ReplaceAll(ofWhole, "content_hash content_bytes ", "") + "delivered.complete content_coding gaps"},
		{"chunks", "GET", "/", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", ofWhole + "delivered.complete opened timings.durable"},
		{"close-delimited", "GET", "/", "200 OK\r\nConnection: close\r\n\r\npage", ofWhole + "opened timings.durable"},
		{"cut after some", "GET", "/", "200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\npage\r\n",
			ofAnswered + "opened timings.durable failure.kind failure.detail bytes.down delivered.bytes delivered.complete delivered.hash"},
		{"cut before any", "GET", "/", "200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
			ofAnswered + "opened timings.durable failure.kind failure.detail bytes.down delivered.bytes delivered.complete"},
		{"cut while held", "GET", "/", "200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\npage",
			ofAnswered + "failure.kind failure.detail bytes.down"}, // no head went out either
		{"no answer", "GET", "/", "Connection: close", ofAsked + "failure.kind failure.detail gaps told.status told.reason told.detail"},
		{"refused", "GET", "/private", "", strings.ReplaceAll(ofAsked, "identity.user_agent address requested_at ", "") +
			"refusal.reason refusal.whose refusal.stage refusal.detail refusal.term.object refusal.term.line grounded told.status told.reason told.detail " +
			"declarations.robots.wayleave.group declarations.robots.wayleave.wildcard declarations.robots.wayleave.rule declarations.robots.wayleave.line"},
		{"refused for its address", "GET", "http://10.0.0.1/", "", ofAlways + "refusal.reason refusal.whose refusal.stage refusal.detail grounded told.status told.reason told.detail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			s := startSite(t, false, func(v *visit) {
				v.say("HTTP/1.1 " + c.answer)
				if strings.Contains(c.answer, "Connection: close") {
					v.Close()
				}
			})
			url := s.url + c.path
			if c.name == "refused" {
				s.robots = "User-agent: *\nDisallow: /private\n"
			}
			if strings.HasPrefix(c.path, "http:") {
				url = c.path
			}
			resp, err := e.client("", false).Do(request(t, c.method, url, nil))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			want := strings.Fields(c.want)
			if c.name == "refused" { // the connection is the probe's
				want = slices.DeleteFunc(want, func(m string) bool { return m == "timings.connect" })
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, e.crossing(url).members()); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

// members are the paths of the leaves of the payload; a list is one leaf.
func (r record) members() []string {
	var paths []string
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		for name, v := range m {
			if inner, ok := v.(map[string]any); ok {
				walk(prefix+name+".", inner)
				continue
			}
			paths = append(paths, prefix+name)
		}
	}
	walk("", r.Payload)
	slices.Sort(paths)
	return paths
}

// A leg that did not run is absent: a reused connection was not made anew.
func TestE9AReusedConnectionHasNoLegsOfItsOwn(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	c := e.client("", false)
	get(t, c, s.url+"/first")
	first := e.crossing("/first")
	var second record
	for n := range 5 { // net/http keeps no connection that is slow to have written its request
		path := fmt.Sprintf("/second-%d", n)
		get(t, c, s.url+path)
		if second = e.crossing(path); second.at("timings.connect") == nil {
			break
		}
	}
	for _, leg := range []string{"timings.connect", "timings.tls"} {
		if first.at(leg) == nil || second.at(leg) != nil {
			t.Errorf("%s: first %v, second %v", leg, first.at(leg), second.at(leg))
		}
	}
	if second.at("timings.terms") != nil || second.at("address") != s.addr {
		t.Errorf("second: terms %v, address %v", second.at("timings.terms"), second.at("address"))
	}
}

func sum(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

// encode codes page as Content-Encoding values say (RFC 9110 8.4.1).
var encode = map[string]func(page string) string{
	"gzip":    through(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
	"br":      through(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }),
	"deflate": through(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
	"zstd": through(func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	}),
}

func through(coder func(io.Writer) io.WriteCloser) func(string) string {
	return func(page string) string {
		var b bytes.Buffer
		w := coder(&b)
		io.WriteString(w, page)
		w.Close()
		return b.String()
	}
}

// rawDeflate is "deflate" as some servers send it, against RFC 9110 8.4.1.2.
var rawDeflate = through(func(w io.Writer) io.WriteCloser {
	z, err := flate.NewWriter(w, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	return z
})

// The coded octets pass on unchanged; the record has the hash of them and of
// what they decode to, for short bodies and for those that flow by.
func TestE16TheHashesOfACodedBody(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	page := strings.Repeat("a page of text. ", 500)
	for _, c := range []struct {
		name, coding, body string
		decodes            bool
	}{
		{"no coding", "", page, true},
		{"identity", "identity", page, true},
		{"gzip", "gzip", encode["gzip"](page), true},
		{"gzip in capitals", "GZIP", encode["gzip"](page), true},
		{"x-gzip", "x-gzip", encode["gzip"](page), true},
		{"br", "br", encode["br"](page), true},
		{"zstd", "zstd", encode["zstd"](page), true},
		{"deflate", "deflate", encode["deflate"](page), true},
		{"deflate without its zlib frame", "deflate", rawDeflate(page), true},
		{"gzip within br", "gzip, br", encode["br"](encode["gzip"](page)), true},
		{"two members of gzip", "gzip", encode["gzip"](page[:100]) + encode["gzip"](page[100:]), true},
		{"a coding nobody knows", "x-odd", page, false},
		{"gzip that is none", "gzip", page, false},
		{"gzip cut short", "gzip", encode["gzip"](page)[:50], false},
		{"an unknown coding under gzip", "x-odd, gzip", encode["gzip"](page), false},
	} {
		for framing, head := range map[string]string{"held": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(c.body), c.body),
			"flowing": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(c.body), c.body)} {
			t.Run(c.name+", "+framing, func(t *testing.T) {
				fields := ""
				if c.coding != "" {
					fields = "Content-Encoding: " + c.coding + "\r\n"
				}
				s := answering(t, false, "HTTP/1.1 200 OK\r\n"+fields+head)
				resp, body := get(t, e.client("", false), s.url+"/")
				if body != c.body || resp.Header.Get("Content-Encoding") != c.coding {
					t.Errorf("%d octets arrived, coded %s", len(body), resp.Header.Get("Content-Encoding"))
				}
				r := e.crossing(s.url)
				want := map[string]any{"outcome": "delivered", "retrieved_hash": sum(c.body), "retrieved_bytes": len(c.body), "delivered.complete": true,
					"content_hash": sum(page), "content_bytes": len(page), "gaps": nil, "content_coding": orNil(strings.ToLower(c.coding))}
				if !c.decodes {
					want["content_hash"], want["content_bytes"] = nil, nil
					delete(want, "gaps")
					if !strings.Contains(r.raw, `"capability_unavailable"`) {
						t.Errorf("no gap: %s", r.raw)
					}
				}
				r.want(t, want)
			})
		}
	}
}

// A body without octets that ended properly has the hash of none.
func TestE14AnEmptyBodyHasTheHashOfNothing(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, head := range []string{"Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		s := answering(t, false, "HTTP/1.1 200 OK\r\n"+head)
		get(t, e.client("", false), s.url+"/")
		e.crossing(s.url).want(t, map[string]any{"retrieved_hash": sum(""), "retrieved_bytes": 0, "content_hash": sum(""), "content_bytes": 0,
			"delivered.bytes": 0, "delivered.complete": true, "bytes.down": 0})
	}
}

// Hashes are over the content, not over its framing: one page has one hash
// however it comes.
func TestE14TheHashDoesNotDependOnTheFraming(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	framings := map[string]string{
		"a length":       "Content-Length: 4\r\n\r\npage",
		"one chunk":      "Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n",
		"four chunks":    "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\np\r\n1\r\na\r\n1\r\ng\r\n1\r\ne\r\n0\r\nX-Trailer: 1\r\n\r\n",
		"the connection": "Connection: close\r\n\r\npage",
	}
	for _, w := range ways {
		for _, name := range slices.Sorted(maps.Keys(framings)) {
			s := answering(t, w.secure, "HTTP/1.1 200 OK\r\n"+framings[name])
			resp, err := e.by(w).Get(s.url + "/")
			text(t, resp, err)
			e.crossing(s.url).want(t, map[string]any{"retrieved_hash": sum("page"), "retrieved_bytes": 4, "content_hash": sum("page")})
		}
	}
}
