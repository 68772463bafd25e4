package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// targets are request targets that a parser could rewrite. Each reaches the
// origin octet for octet.
var targets = []string{
	"/", "/a", "/a/", "//x", "//x/y", "/a//b", "/./a", "/../a", "/a/../b/.", "/a?", "/?", "/?q", "/a?b=c&b=d", "/a?b=%20+x", "/a??b", "/a?b?c=//d",
	"/%2F", "/%2f", "/a%2Fb", "/%2e%2e/a", "/%41", "/%7Euser", "/~user", "/a;b=c;d", "/;", "/a,b", "/a:b", "/a@b", "/!$&'()*+,;=:@", "/%00", "/%C3%A9",
	"/%e9", "/a|b", "/a^b", "/a\"b", "/a<b>", "/a{b}", "/a\\b", "/a`b", "/[x]", "/a?x=\"|^`{}<>\\", "/a#b", "/é", "/a?é", "/http://x/y", "/a%20b", "/a.", "/...", "//a/[x]%2f!$", "//", "//?//",
}

func TestN9TheTargetPassesOctetForOctet(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			got := ""
			s := startSite(t, w.secure, func(v *visit) {
				got = v.req.RequestURI
				v.say("HTTP/1.1 204 No Content\r\n\r\n")
			})
			send := sender(t, e, w, s)
			for _, target := range targets {
				got = ""
				if status := send("GET", target); status != 204 || got != target {
					t.Errorf("%s: %d, the origin was asked for %s", target, status, got)
				}
			}
			// Absolute-form may leave the path empty (RFC 9112 3.2.1).
			if w == ways[0] {
				for _, c := range [][2]string{{"", "/"}, {"?q", "/?q"}} {
					if e.dial().send("GET " + s.url + c[0] + " HTTP/1.1\r\nHost: x\r\n\r\n"); got != c[1] {
						t.Errorf("%q behind the authority: the origin was asked for %s", c[0], got)
					}
				}
			}
		})
	}
}

// Where the octets could not be kept the request is refused: what is asked for
// must be what was ruled.
func TestN9ATargetThatWouldBeRewrittenIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		s := answering(t, w.secure, "HTTP/1.1 204 No Content\r\n\r\n")
		send := sender(t, e, w, s)
		for _, target := range []string{"//a\"b", "//a|b", "//\u00e9", "///<x>"} {
			if status := send("GET", target); status != 400 || s.requests.Load() != 0 {
				t.Errorf("%s: %s: %d, the origin saw %d requests", w.name, target, status, s.requests.Load())
			}
		}
	}
}

// sender returns a function that asks for a target by way w, on one connection,
// without any client library in between that could rewrite it.
func sender(t *testing.T, e *testEdge, w way, s *site) func(method, target string) int {
	if w.http2 {
		c := e.h2(s.addr)
		return func(method, target string) int {
			status, _, _ := c.do(method, target)
			return status
		}
	}
	c, abs := e.rawBy(w, s.addr)
	return func(method, target string) int {
		resp, _ := c.ask(method + " " + abs(target) + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
		return resp.StatusCode
	}
}

func TestN9UnknownMethodsPass(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		got := ""
		s := startSite(t, w.secure, func(v *visit) {
			got = v.req.Method
			v.say("HTTP/1.1 204 No Content\r\n\r\n")
		})
		send := sender(t, e, w, s)
		for _, method := range []string{"FROB", "get", "M-SEARCH", "PROPFIND", "QUERY", "!#$%&'*+-.^_`|~09azAZ"} {
			if status := send(method, "/"); status != 204 || got != method {
				t.Errorf("%s: %s: %d, the origin saw %s", w.name, method, status, got)
			}
		}
	}
}

// OPTIONS * is the origin's to answer. In absolute-form it has no path (RFC 9112
// 3.2.4), and behind a further proxy it goes on so.
func TestN9TheAsteriskFormPasses(t *testing.T) {
	next := startNextProxy(t, false)
	direct, behind := startEdge(t, edgeSetup{}), startEdge(t, edgeSetup{upstream: func(o *UpstreamOptions) { o.Proxy = next.url }})
	for _, e := range []*testEdge{direct, behind} {
		for _, w := range ways {
			s := startSite(t, w.secure, func(v *visit) {
				if v.req.RequestURI != "*" && (e == direct || w.secure) || v.req.Method != "OPTIONS" {
					t.Errorf("%s: the origin was asked %s %s", w.name, v.req.Method, v.req.RequestURI)
				}
				v.say("HTTP/1.1 200 OK\r\nAllow: GET, FROB\r\nContent-Length: 0\r\n\r\n")
			})
			if w.http2 {
				if status, header, _ := e.h2(s.addr).do("OPTIONS", "*"); status != 200 || header.Get("Allow") != "GET, FROB" {
					t.Errorf("%s: %d %v", w.name, status, header)
				}
				continue
			}
			c, target := e.rawBy(w, s.addr)
			asterisk := target("*")
			if w == ways[0] {
				asterisk = s.url
			}
			resp := c.send("OPTIONS " + asterisk + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n")
			if resp.StatusCode != 200 || resp.Header.Get("Allow") != "GET, FROB" || s.requests.Load() != 1 {
				t.Errorf("%s: %s %v", w.name, resp.Status, resp.Header)
			}
			if seen := "OPTIONS " + s.url + " "; e == behind && !w.secure && !strings.Contains(next.requests(), seen) {
				t.Errorf("%s: the next proxy saw no %s, but\n%s", w.name, seen, next.requests())
			}
		}
	}
}

// The asterisk stands for no page: only OPTIONS has it (RFC 9112 3.2.4).
func TestN1TheAsteriskFormIsForOptionsAlone(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways[1:] {
		s := answering(t, w.secure, "HTTP/1.1 204 No Content\r\n\r\n")
		send := sender(t, e, w, s)
		if status := send("GET", "*"); status != 400 || s.requests.Load() != 0 {
			t.Errorf("%s: %d, the origin saw %d requests", w.name, status, s.requests.Load())
		}
	}
}

// 103 and other interim answers come through, at once and without the fields of
// a hop; the final head is the origin's own.
func TestN9InterimAnswersPass(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			goOn := make(chan struct{})
			s := startSite(t, w.secure, func(v *visit) {
				v.say("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\nAlt-Svc: h3\r\nKeep-Alive: x\r\n\r\n")
				<-goOn
				v.say("HTTP/1.1 200 OK\r\nX-Final: 1\r\nContent-Length: 0\r\n\r\n")
			})
			var interim []string
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				interim = append(interim, fmt.Sprint(code, h["Link"], h["Alt-Svc"], h["Keep-Alive"], h["Via"]))
				if code == 103 {
					close(goOn)
				}
				return nil
			}}
			r := request(t, "GET", s.url+"/", nil)
			resp, err := e.by(w).Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
			text(t, resp, err)
			if diff := cmp.Diff([]string{"102 [] [] [] [1.1 " + e.via + "]", "103 [</a> </b>] [] [] [1.1 " + e.via + "]"}, interim); diff != "" {
				t.Errorf("interim answers (-want +got):\n%s", diff)
			}
			if resp.StatusCode != 200 || resp.Header.Get("X-Final") != "1" || resp.Header["Link"] != nil {
				t.Errorf("final head: %s %v", resp.Status, resp.Header)
			}
		})
	}
}

// HTTP/1.0 knows no interim answers (RFC 9110 15.2).
func TestN9AnHTTP10ClientGetsNoInterimAnswer(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	if resp := e.dial().send("GET " + s.url + "/ HTTP/1.0\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("%s", resp.Status)
	}
}

func TestN9TrailersOfAnAnswerArriveBehindTheBody(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	const announced = "HTTP/1.1 200 OK\r\nTrailer: X-Sum, X-Late\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nX-Sum: abc\r\nX-Late: 1\r\n\r\n"
	const unannounced = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nX-Sum: abc\r\nX-Late: 1\r\n\r\n"
	want := http.Header{"X-Sum": {"abc"}, "X-Late": {"1"}}
	check := func(t *testing.T, c *http.Client, url string) {
		t.Helper()
		r := request(t, "GET", url, nil, "TE", "trailers")
		resp, err := c.Do(r)
		if body := text(t, resp, err); body != "page" || !cmp.Equal(resp.Trailer, want) || resp.Header.Get("X-Sum") != "" {
			t.Errorf("%q, trailer %v, head %v", body, resp.Trailer, resp.Header)
		}
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			check(t, e.by(w), answering(t, w.secure, announced).url+"/")
			check(t, e.by(w), answering(t, w.secure, unannounced).url+"/")
		})
	}
	t.Run("from an HTTP/2 origin that did not announce them", func(t *testing.T) {
		o := startOrigin(t, "", false, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "page")
			w.Header().Set(http.TrailerPrefix+"X-Sum", "abc")
			w.Header().Set(http.TrailerPrefix+"X-Late", "1")
		}, offeringOnlyHTTP2)
		check(t, e.client("", false), o.URL+"/1")
		check(t, e.client("", true), o.URL+"/2")
	})
}

func TestN9TrailersOfARequestArriveBehindTheBody(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			o := startOrigin(t, "", !w.secure, func(_ http.ResponseWriter, r *http.Request) {
				if _, announced := r.Trailer["X-Sum"]; !announced {
					t.Errorf("announced at the origin: %v", r.Trailer)
				}
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != "upload" || r.Trailer.Get("X-Sum") != "abc" {
					t.Errorf("at the origin %q, %v, trailer %v", body, err, r.Trailer)
				}
			})
			r := request(t, "POST", o.URL+"/", io.MultiReader(strings.NewReader("upload"))) // of unknown length
			r.Trailer = http.Header{"X-Sum": {"abc"}}
			resp, err := e.by(w).Do(r)
			text(t, resp, err)
			if resp.StatusCode != 200 {
				t.Errorf("%s", resp.Status)
			}
		})
	}
}

// Trailers nobody announced arrive too, where HTTP/1.1 is spoken on both sides:
// over HTTP/2 net/http drops them.
func TestN9TrailersOfARequestThatWereNotAnnounced(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range http1 {
		s := startSite(t, w.secure, func(v *visit) {
			body, err := io.ReadAll(v.req.Body)
			if err != nil || string(body) != "upload" || !cmp.Equal(v.req.Trailer, http.Header{"X-Sum": {"abc"}}) {
				t.Errorf("%s: at the origin %q, %v, trailer %v", w.name, body, err, v.req.Trailer)
			}
			v.say("HTTP/1.1 204 No Content\r\n\r\n")
		})
		c, target := e.rawBy(w, s.addr)
		c.send("POST " + target("/") + " HTTP/1.1\r\nHost: " + s.addr + "\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nupload\r\n0\r\nX-Sum: abc\r\n\r\n")
	}
}

// A coded page passes as it is, and who asked for none gets it plain.
func TestN9CodedOctetsStayAsTheOriginSentThem(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	page := strings.Repeat("page ", 1000)
	var coded bytes.Buffer
	z := gzip.NewWriter(&coded)
	io.WriteString(z, page)
	must(t, z.Close())
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			s := startSite(t, w.secure, func(v *visit) {
				body := page
				head := "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n"
				if v.req.Header.Get("Accept-Encoding") == "gzip" {
					body = coded.String()
					head += "Content-Encoding: gzip\r\n"
				} else if v.req.Header["Accept-Encoding"] != nil {
					t.Errorf("the origin was offered %q", v.req.Header["Accept-Encoding"])
				}
				v.say(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
			})
			resp, err := e.by(w).Do(request(t, "GET", s.url+"/coded", nil, "Accept-Encoding", "gzip"))
			body := text(t, resp, err)
			if body != coded.String() || resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("ETag") != `"v1"` || resp.ContentLength != int64(coded.Len()) {
				t.Errorf("%d octets, %v", len(body), resp.Header)
			}
			resp, err = e.by(w).Get(s.url + "/plain")
			if body := text(t, resp, err); body != page || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%d octets, %v", len(body), resp.Header)
			}
		})
	}
}
