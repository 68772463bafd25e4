package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

const (
	linksLicence = `<link rel="license" type="application/rsl+xml" href="/terms.xml">`
	metaNoAI     = `<meta name="robots" content="noai">`
)

// framings put a body into a message, each in its own way.
var framings = map[string]func(body string) string{
	"a known length": func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) },
	"one chunk": func(body string) string {
		return "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, max(len(body), 1))
	},
	"small chunks":   func(body string) string { return "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 1000) },
	"the connection": func(body string) string { return "Connection: close\r\n\r\n" + body },
}

// chunked is body in chunks of at most size octets (RFC 9112 7.1), with a trailer.
func chunked(body string, size int) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\nX-Sum: abc\r\n\r\n"
}

// coded is a body and its Content-Encoding field line.
func coded(coding, body string) (field, octets string) {
	if coding == "" {
		return "", body
	}
	return "Content-Encoding: " + coding + "\r\n", encode[coding](body)
}

// A licence that the first 64 KiB of an HTML head name, or hold, or a meta there,
// withholds the page. What stands behind the head, or in what only looks like
// one, does not: the page is released as it was served, whatever its coding and
// its framing.
func TestT66_T67_TermsInTheHeadOfAPageWithhold(t *testing.T) {
	e, turn := startEdge(t, edgeSetup{}), 0
	whole := t                                                            // sites last as long as the edge, so that none has the address of another
	filler := strings.Repeat("<!-- "+strings.Repeat("x", 90)+" -->", 600) // 60,000 octets
	for _, c := range []struct {
		name, contentType, page string
		reason                  rulings.Reason // empty when the page is released
		status                  int
	}{
		{"a licence", "text/html", "<!doctype html><html><head><title>t</title>" + linksLicence + "</head><p>", rulings.LicencePayment, 402},
		{"a licence far down the head", "text/html; charset=utf-8", "<head>" + filler + linksLicence + "<p>", rulings.LicencePayment, 402},
		{"a meta", "TEXT/HTML", "<head>" + metaNoAI + "<p>", rulings.NoAI, 451},
		{"a meta for us", "text/html", `<meta name="Wayleave" content="noai">`, rulings.NoAI, 451},
		{"XHTML", "application/xhtml+xml", `<?xml version="1.0"?><html><head><title/>` + metaNoAI + "</head>", rulings.NoAI, 451},
		{"a document", "text/html", `<script type="application/rsl+xml">` + licenceForbids + "</script>", rulings.LicenceProhibits, 451},
		{"a document that does not end within the bound", "text/html", `<script type="application/rsl+xml">` + strings.Repeat(" ", 70_000) + licenceFree + "</script>",
			rulings.LicenceUnread, 451},
		{"a licence that cannot be asked for", "text/html", `<link rel=license type=application/rsl+xml href="ftp://x/">`, rulings.LicenceUnread, 451},

		{"a licence behind the head", "text/html", "<head></head><body>" + linksLicence + metaNoAI, "", 200},
		{"a licence behind text", "text/html", "text" + linksLicence + metaNoAI, "", 200},
		{"a licence behind a paragraph", "text/html", "<p>" + linksLicence, "", 200},
		{"a licence beyond the first 64 KiB", "text/html", "<head>" + filler + filler[:5600] + linksLicence + metaNoAI, "", 200},
		{"a licence in a comment", "text/html", "<head><!-- " + linksLicence + " --></head>", "", 200},
		{"a licence in a script", "text/html", "<head><script>'" + linksLicence + "'</script></head>", "", 200},
		{"a meta for others", "text/html", `<meta name="otherbot" content="noai">`, "", 200},
		{"a meta that says nothing of AI", "text/html", `<meta name="robots" content="noindex">`, "", 200},
		{"text that is no HTML by its type", "text/plain", linksLicence + metaNoAI, "", 200},
		{"no type", "", linksLicence + metaNoAI, "", 200},
		{"XML", "application/xml", linksLicence + metaNoAI, "", 200},
		{"nothing", "text/html", "", "", 200},
		{"a head without a term, and a long page", "text/html", "<html><head><title>t</title></head>" + strings.Repeat("<p>page</p>\n", 20_000), "", 200},
	} {
		turn++
		t.Run(c.name, func(t *testing.T) {
			for n, coding := range []string{"", "gzip", "br", "zstd", "deflate"} {
				for m, name := range slices.Sorted(maps.Keys(framings)) {
					if m != (n+turn)%len(framings) { // each page in the one or other framing, each framing with every coding
						continue
					}
					w, frame := ways[(n+m+turn)%len(ways)], framings[name]
					field, served := coded(coding, c.page)
					if c.contentType != "" {
						field += "Content-Type: " + c.contentType + "\r\n"
					}
					s := startSite(whole, w.secure, func(v *visit) {
						if v.req.URL.Path == "/terms.xml" {
							v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(licencePriced), licencePriced))
							return
						}
						v.say("HTTP/1.1 200 OK\r\n" + field + frame(served))
						if name == "the connection" {
							v.Close()
						}
					})
					what := fmt.Sprintf("%s, %s, %s", w.name, coding, name)
					resp, err := e.by(w).Do(request(t, "GET", s.url+"/page", nil, "Accept-Encoding", "gzip, br, zstd, deflate"))
					body := text(t, resp, err)
					r := e.crossing(s.url + "/page")
					r.want(t, map[string]any{"retrieved_hash": sum(served), "retrieved_bytes": len(served), "bytes.down": len(served)})
					if c.page != "" {
						r.want(t, map[string]any{"content_hash": sum(c.page), "content_bytes": len(c.page)})
					}
					if c.reason != "" {
						if resp.StatusCode != c.status || reasonOf(resp) != string(c.reason) || strings.Contains(body, "<head>") {
							t.Errorf("%s: %s %q", what, resp.Status, body)
						}
						r.want(t, map[string]any{"outcome": "refused", "refusal.reason": c.reason, "refusal.stage": "body", "http_status": 200, "delivered": nil,
							"opened": nil, "gaps": nil})
						continue
					}
					if resp.StatusCode != 200 || body != served || reasonOf(resp) != "" {
						t.Errorf("%s: %s, %d octets, want %d", what, resp.Status, len(body), len(served))
					}
					if want := strings.Contains(name, "chunk"); (resp.Trailer.Get("X-Sum") == "abc") != want {
						t.Errorf("%s: trailer %v", what, resp.Trailer)
					}
					if want := int64(len(served)); name == "a known length" && resp.ContentLength != want {
						t.Errorf("%s: length %d, want %d", what, resp.ContentLength, want)
					}
					r.want(t, map[string]any{"outcome": "delivered", "delivered.bytes": len(served), "refusal": nil})
					if c.page != "" { // of which nothing is a stream of any coding
						r.want(t, map[string]any{"gaps": nil})
					}
				}
			}
		})
	}
}

// The same of pages over HTTP/2, with trailers, to clients of both versions.
func TestT66_AnHTTP2OriginsPageIsReleasedAsServed(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	page := "<html><head><title>t</title></head>" + strings.Repeat("<p>page</p>", 10_000)
	for _, length := range []int{0, 20, 100, len(page)} { // 0: unknown, and all of it
		body := page[:length]
		if length == 0 {
			body = page
		}
		for _, w := range ways[2:] {
			o := startOrigin(t, "", false, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				if length > 0 {
					rw.Header().Set("Content-Length", fmt.Sprint(length))
				}
				rw.Header().Set("Trailer", "X-Sum")
				io.WriteString(rw, body)
				rw.Header().Set("X-Sum", "abc")
			}, offeringOnlyHTTP2)
			resp, err := e.by(w).Do(request(t, "GET", o.URL+"/page", nil, "TE", "trailers"))
			if got := text(t, resp, err); got != body || resp.Trailer.Get("X-Sum") != "abc" {
				t.Errorf("%s, length %d: %d octets, trailer %v", w.name, length, len(got), resp.Trailer)
			}
			e.crossing(o.URL+"/page").want(t, map[string]any{"outcome": "delivered", "delivered.complete": true, "retrieved_hash": sum(body), "gaps": nil})
		}
	}
}

// A part that begins with the page is read as the page is; what is a part of
// something else, or cannot be read, is released and leaves a gap.
func TestT68_AHeadThatCannotBeSeenIsAGapAndReleased(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{})
	page := "<html><head>" + metaNoAI + "</head><p>" + strings.Repeat("page ", 100)
	utf16 := "\xff\xfe" + strings.Join(strings.Split(page, ""), "\x00") + "\x00"
	zipped := encode["gzip"](page)
	for _, c := range []struct{ name, status, fields, body, outcome, gaps string }{
		{"a part from the beginning", "206 P", "Content-Range: bytes 0-99/999\r\n", page, "refused", ""},
		{"a part from the middle", "206 P", "Content-Range: bytes 100-199/999\r\n", page, "delivered", "html_terms_unseen"},
		{"a part from the tenth octet on", "206 P", "Content-Range: bytes 10-99/999\r\n", page, "delivered", "html_terms_unseen"},
		{"a part that says not of what", "206 P", "", page, "delivered", "html_terms_unseen"},
		{"all of it, with the field of a part", "200 OK", "Content-Range: bytes 100-199/999\r\n", page, "refused", ""},
		{"a coding nobody knows", "200 OK", "Content-Encoding: x-odd\r\n", page, "delivered", "html_terms_unseen capability_unavailable"},
		{"codings without end", "200 OK", "Content-Encoding: gzip, gzip, gzip, gzip, gzip\r\n", page, "delivered", "html_terms_unseen capability_unavailable"},
		{"a coding that it does not have", "200 OK", "Content-Encoding: gzip\r\n", page, "delivered", "html_terms_unseen capability_unavailable"},
		{"a coding that ends too early", "200 OK", "Content-Encoding: gzip\r\n", zipped[:12], "delivered", "html_terms_unseen capability_unavailable"},
		{"a coding that ends behind the terms", "200 OK", "Content-Encoding: gzip\r\n", zipped[:len(zipped)-10], "refused", "capability_unavailable"},
		{"UTF-16 by its type", "200 OK", "Content-Type: text/html; charset=utf-16le\r\n", page, "delivered", "html_terms_unseen"},
		{"UTF-16 by its mark", "200 OK", "", utf16, "delivered", "html_terms_unseen"},
		{"UTF-16 without a mark", "200 OK", "", utf16[2:], "delivered", "html_terms_unseen"},
		{"another charset", "200 OK", "Content-Type: text/html; charset=shift_jis\r\n", page, "refused", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.fields, "Content-Type") {
				c.fields += "Content-Type: text/html\r\n"
			}
			for name, frame := range framings {
				w := ways[len(name)%len(ways)]
				s := startSite(whole, w.secure, func(v *visit) {
					v.say("HTTP/1.1 " + c.status + "\r\n" + c.fields + frame(c.body))
					if name == "the connection" {
						v.Close()
					}
				})
				resp, err := e.by(w).Get(s.url + "/")
				body := text(t, resp, err)
				if (body == c.body) != (c.outcome == "delivered") {
					t.Errorf("%s, %s: %s, %d octets", w.name, name, resp.Status, len(body))
				}
				r := e.crossing(s.url)
				r.want(t, map[string]any{"outcome": c.outcome, "retrieved_hash": sum(c.body)})
				if diff := cmp.Diff(strings.Fields(c.gaps), r.gapReasons(), sortedWords); diff != "" {
					t.Errorf("%s, %s: gaps (-want +got):\n%s", w.name, name, diff)
				}
			}
		})
	}
}

// A coding that breaks behind the first terms of a head that goes on: what was
// seen binds, and that not all was seen is a gap.
func TestT68_WhatWasSeenOfAHeadBinds(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, "<head>"+metaNoAI)
	z.Flush()
	broken := b.String() + "\xff\xff\xff\xff this is no deflate"
	for name, frame := range framings {
		s := startSite(t, false, func(v *visit) {
			v.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n" + frame(broken))
			v.Close()
		})
		if got := e.fetch(ways[0], "GET", s.addr, "/"); got.status != 451 || got.reason != "noai" {
			t.Errorf("%s: %d %q", name, got.status, got.octets)
		}
		r := e.crossing(s.url)
		if diff := cmp.Diff([]string{"capability_unavailable", "html_terms_unseen"}, r.gapReasons(), sortedWords); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", name, diff)
		}
	}
}

var sortedWords = cmp.Transformer("sorted", func(words []string) map[string]int {
	m := make(map[string]int)
	for _, w := range words {
		m[w]++
	}
	return m
})
