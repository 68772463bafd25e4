package proxy

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// Terms are ruled on what the agent would take for the page: other answers are
// the source's own word and pass untouched.
func TestT65_OtherStatusesPassUntouched(t *testing.T) {
	whole := t // sites last as long as the edge, so that none has the address of another
	e := startEdge(t, edgeSetup{files: hurried()})
	const fields = "Content-Usage: ai-use=n\r\nX-Robots-Tag: noai\r\nContent-Signal: ai-input=no\r\nTdm-Reservation: 1\r\n" +
		"Link: </terms.xml>; rel=license; type=\"application/rsl+xml\"\r\nContent-Type: text/html\r\n"
	const html = `<html><head><meta name="robots" content="noai"></head>` + canary
	for _, c := range []struct {
		status  int
		ruled   bool
		headers string
	}{
		{200, true, ""}, {201, true, ""}, {203, true, ""}, {206, true, "Content-Range: bytes 5-9/99\r\n"}, {226, true, ""}, {299, true, ""},
		{300, false, ""}, {301, false, "Location: /x\r\n"}, {302, false, "Location: /x\r\n"}, {303, false, "Location: /x\r\n"}, {307, false, "Location: /x\r\n"},
		{308, false, "Location: /x\r\n"}, {400, false, ""}, {401, false, "WWW-Authenticate: Basic\r\n"}, {402, false, ""}, {403, false, ""}, {404, false, ""},
		{410, false, ""}, {429, false, "Retry-After: 5\r\n"}, {451, false, ""}, {500, false, ""}, {503, false, ""}, {599, false, ""},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			for _, w := range []way{ways[0], ways[3]} {
				s := answering(whole, w.secure, fmt.Sprintf("HTTP/1.1 %d X\r\n%s%sContent-Length: %d\r\n\r\n%s", c.status, fields, c.headers, len(html), html))
				resp, err := e.by(w).Get(s.url + "/")
				body := text(t, resp, err)
				if c.ruled {
					if resp.StatusCode != 451 || reasonOf(resp) != "content_usage" || strings.Contains(body, canary) {
						t.Errorf("%s: %s %q", w.name, resp.Status, body)
					}
					continue
				}
				if resp.StatusCode != c.status || body != html || reasonOf(resp) != "" || resp.Header.Get("Content-Usage") != "ai-use=n" ||
					resp.Header.Get("Link") == "" || resp.ContentLength != int64(len(html)) {
					t.Errorf("%s: %s %q %v", w.name, resp.Status, body, resp.Header)
				}
				r := e.crossing(s.url)
				r.want(t, map[string]any{"outcome": "delivered", "http_status": c.status, "refusal": nil, "gaps": nil})
				if kinds := r.list("declarations.terms", "kind"); len(kinds) != 1 {
					t.Errorf("%s: terms %v", w.name, kinds)
				}
			}
		})
	}
}

// A websocket is no page: its handshake is not ruled.
func TestT65_AWebsocketPassesUntouched(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := startSite(t, false, func(v *visit) {
		v.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Usage: ai-use=n\r\nContent-Type: text/html\r\n\r\n")
		io.Copy(v.Conn, v.body)
	})
	c := e.dial()
	resp := c.send(handshake(s.url+"/", s.addr))
	if resp.StatusCode != 101 || resp.Header.Get("Content-Usage") != "ai-use=n" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	c.WriteString("ping")
	echoed := make([]byte, 4)
	if _, err := io.ReadFull(bufio.NewReader(c), echoed); err != nil || string(echoed) != "ping" {
		t.Errorf("%q, %v", echoed, err)
	}
}

// Every vocabulary of the head withholds what it forbids, for the purposes it
// speaks of and for no other.
func TestT98_T107_TheVocabulariesOfAHead(t *testing.T) {
	edges := make(map[string]*testEdge) // by the purposes declared
	whole := t                          // sites last as long as the edges, so that none has the address of another
	for _, c := range []struct {
		name, fields string
		purposes     []string
		reason       rulings.Reason // empty when the page is delivered
	}{
		{"noai", "X-Robots-Tag: noai\r\n", nil, rulings.NoAI},
		{"noai among others, in capitals, in the second line", "X-Robots-Tag: noindex\r\nX-Robots-Tag: nofollow, NOAI\r\n", nil, rulings.NoAI},
		{"noai behind a name with a blank", "X-Robots-Tag : noai\r\n", nil, rulings.NoAI},
		{"noai behind a name with blanks, in the second line", "X-Robots-Tag: noindex\r\nx-robots-tag  : noai\r\n", nil, rulings.NoAI},
		{"noimageai of a type behind a name with a blank", "X-Robots-Tag: noimageai\r\nContent-Type : image/png\r\n", nil, rulings.NoAI},
		{"noai for a search", "X-Robots-Tag: noai\r\n", []string{"search"}, ""},
		{"noai for another agent", "X-Robots-Tag: otherbot: noai\r\n", nil, ""},
		{"noai for us", "X-Robots-Tag: wayleave: noai\r\n", nil, rulings.NoAI},
		{"noimageai of an image", "X-Robots-Tag: noimageai\r\nContent-Type: image/png\r\n", nil, rulings.NoAI},
		{"noimageai of a text", "X-Robots-Tag: noimageai\r\nContent-Type: text/plain\r\n", nil, ""},
		{"noimageai without a type", "X-Robots-Tag: noimageai\r\n", nil, ""},
		{"search directives", "X-Robots-Tag: noindex, nofollow, max-snippet: 0\r\n", []string{"search", "ai-input"}, ""},
		{"disallowaitraining", "X-Robots-Tag: disallowaitraining\r\n", []string{"ai-train"}, rulings.AITrainingRule},
		{"disallowaitraining for an input", "X-Robots-Tag: disallowaitraining\r\n", nil, ""},
		{"a Content-Signal", "Content-Signal: search=yes, ai-input=no\r\n", nil, rulings.ContentSignal},
		{"a Content-Signal about training", "Content-Signal: ai-train=no\r\n", nil, ""},
		{"a Content-Signal for an index", "Content-Signal: use=immediate\r\n", []string{"ai-index"}, rulings.ContentSignal},
		{"a Content-Usage in two lines", "Content-Usage: search=y\r\nContent-Usage: train-ai=n\r\n", []string{"ai-input", "ai-train"}, rulings.ContentUsage},
		{"a Content-Usage that does not parse", "Content-Usage: ai-use=n,,\r\n", nil, ""},
		{"a reservation", "TDM-Reservation: 1\r\n", []string{"ai-train"}, rulings.TDMReserved},
		{"a reservation for an input", "TDM-Reservation: 1\r\nTDM-Policy: https://" + canary + ".example/\r\n", nil, ""},
		{"a reservation of 0", "TDM-Reservation: 0\r\n", []string{"ai-train"}, ""},
		{"allowed by one and forbidden by another", "Content-Usage: ai-use=y\r\nContent-Signal: ai-input=no\r\n", nil, rulings.ContentSignal},
		{"a licence that cannot be read", "Link: <ht tp://>; rel=license; type=\"application/rsl+xml\"\r\n", nil, rulings.LicenceUnread},
		{"a licence of another kind", "Link: </cc>; rel=license\r\n", nil, ""},
		{"a licence of another page", "Link: </terms.xml>; rel=license; type=\"application/rsl+xml\"; anchor=\"/other\"\r\n", nil, ""},
		{"a licence that is not there", "Link: </none.xml>; rel=license; type=\"application/rsl+xml\"\r\n", nil, ""},
	} {
		shared := strings.Join(c.purposes, " ")
		if edges[shared] == nil {
			edges[shared] = startEdge(t, declaring(c.purposes...))
		}
		e := edges[shared]
		t.Run(c.name, func(t *testing.T) {
			for _, w := range []way{ways[0], ways[3]} {
				s := startSite(whole, w.secure, func(v *visit) {
					if v.req.URL.Path != "/page" {
						v.say("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
						return
					}
					v.say("HTTP/1.1 200 OK\r\n" + c.fields + "Content-Length: 11\r\n\r\n" + canary)
				})
				got := e.fetch(w, "GET", s.addr, "/page")
				if c.reason == "" {
					if got.status != 200 || got.body != canary {
						t.Errorf("%s: %d %s", w.name, got.status, got.octets)
					}
					continue
				}
				got.told(t, w.name, 451, c.reason, rulings.WhoseSource)
				e.crossing(s.url+"/page").want(t, map[string]any{"refusal.reason": c.reason, "refusal.stage": "head", "http_status": 200, "retrieved_hash": sum(canary)})
			}
		})
	}
}
