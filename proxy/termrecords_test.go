package proxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// A page whose answer has every kind of term, and what is kept of it (T118).
const (
	statedFields = "X-Robots-Tag: noindex\r\nLink: </link.xml>; rel=license; type=\"application/rsl+xml\"\r\nContent-Usage: search=y\r\nContent-Type: text/html; charset=utf-8\r\n" +
		"Link: </style.css>; rel=preload\r\nContent-Usage: ai-use=y\r\nX-Own: 1\r\nTDM-Reservation: 0\r\n"
	statedHead = "content-usage: search=y\ncontent-usage: ai-use=y\nlink: </link.xml>; rel=license; type=\"application/rsl+xml\"\nlink: </style.css>; rel=preload\n" +
		"tdm-reservation: 0\nx-robots-tag: noindex\ncontent-type: text/html; charset=utf-8\n"
	statedPage = "<!doctype html>\n<html><head>\n<title>t</title><meta charset=utf-8><META NAME=robots CONTENT=\"noindex\">\n" +
		"<link rel=\"license\" type=\"application/rsl+xml\" href=\"/html.xml\">\n</head><body>page</body></html>\n"
	statedHTML = "<META NAME=robots CONTENT=\"noindex\">\n<link rel=\"license\" type=\"application/rsl+xml\" href=\"/html.xml\">\n"
)

// startStating starts a site that has every kind of term. Its licences say what
// the map has, and are free otherwise.
func startStating(t *testing.T, w way, documents map[string]string) *site {
	t.Helper()
	s := startSite(t, w.secure, func(v *visit) {
		document, ok := documents[v.req.URL.Path]
		switch path := v.req.URL.Path; {
		case ok:
			v.say(answerOf(200, "", document))
		case path == "/robots.txt":
			v.say(answerOf(200, "", "User-agent: *\nLicense: /robots.xml\n"))
		case path == "/.well-known/tdmrep.json":
			v.say(answerOf(200, "", `[{"location": "/", "tdm-reservation": 0}]`))
		case strings.HasSuffix(path, ".xml"):
			v.say(answerOf(200, "", licenceFree))
		default:
			v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", statedFields, len(statedPage), statedPage))
		}
	})
	s.own = true
	return s
}

// A crossing lists its terms in the order in which they were ruled, each with
// what came of it, and the octets of each are kept as they were served.
func TestT118_T119_TheRecordListsTheTermsInTheOrderRuled(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			e := startEdge(t, declaring("ai-input", "ai-train"))
			s := startStating(t, w, nil)
			type term struct{ Kind, URL, Mechanism, Outcome, Cache, Octets string }
			want := []term{
				{"robots", s.url + "/robots.txt", "", "read", "fetched", "User-agent: *\nLicense: /robots.xml\n"},
				{"licence", s.url + "/robots.xml", "robots", "read", "fetched", licenceFree},
				{"tdmrep", s.url + "/.well-known/tdmrep.json", "", "read", "fetched", `[{"location": "/", "tdm-reservation": 0}]`},
				{"head", s.url + "/page", "", "read", "", statedHead},
				{"licence", s.url + "/link.xml", "link", "read", "fetched", licenceFree},
				{"html", s.url + "/page", "", "read", "", statedHTML},
				{"licence", s.url + "/html.xml", "html", "read", "fetched", licenceFree},
			}
			for n, path := range []string{"/page", "/page?again"} {
				if got := e.fetch(w, "GET", s.addr, path); got.status != 200 || got.body != statedPage {
					t.Fatalf("%d %q", got.status, got.octets)
				}
				r := e.crossing(s.url + path)
				var got []term
				items, _ := r.at("declarations.terms").([]any)
				for _, item := range items {
					m := item.(map[string]any)
					member := func(name string) string { v, _ := m[name].(string); return v }
					octets, err := os.ReadFile(filepath.Join(e.data, "terms", "objects", strings.TrimPrefix(member("object"), "sha256:")))
					must(t, err)
					got = append(got, term{member("kind"), member("url"), member("mechanism"), member("outcome"), member("cache"), string(octets)})
					if m["status"] != 200.0 || sum(string(octets)) != member("object") {
						t.Errorf("%v", m)
					}
				}
				for i := range want {
					if n > 0 && want[i].Cache != "" {
						want[i].Cache = "reused"
					}
					if n > 0 && want[i].Cache == "" {
						want[i].URL = s.url + path
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("terms of %s (-want +got):\n%s", path, diff)
				}
				r.want(t, map[string]any{"outcome": "delivered", "licence.state": "declared", "licence.reference": s.url + "/robots.xml",
					"declarations.effective.ai-input": "allow", "declarations.effective.ai-train": "allow"})
				if diff := cmp.Diff([]string{"robots", "link", "html"}, r.list("declarations.licences", "mechanism")); diff != "" {
					t.Error(diff)
				}
			}
			e.down() // what a crossing looked up is in the log before it (E11)
			var events []string
			for _, r := range e.records() {
				if url, _ := r.at("url").(string); strings.HasPrefix(url, s.url) {
					events = append(events, r.Event)
				}
			}
			if want := slices.Repeat([]string{evidence.EventTermsProbed}, 5); !slices.Equal(events, append(want, evidence.EventCrossingMediated, evidence.EventCrossingMediated)) {
				t.Errorf("%v", events)
			}
		})
	}
}

// What an answer said is on disk as an object before a record names it, whatever
// kind of record that is.
func TestT117_E5_WhatAnAnswerSaidIsKeptBeforeItsRecord(t *testing.T) {
	long := strings.Repeat("<p>page</p>\n", 10_000)
	for _, c := range []struct {
		name, fields, page, html string
		records                  []string
	}{
		{"of a short page", "", "<meta name=robots content=noindex><p>", "<meta name=robots content=noindex>\n", []string{evidence.EventCrossingMediated}},
		{"of a long page", "", "<meta name=robots content=noindex>" + long, "<meta name=robots content=noindex>\n",
			[]string{evidence.EventCrossingOpened, evidence.EventCrossingMediated}},
		{"of a page whose head refuses", "Content-Signal: ai-input=no\r\n", long, "", []string{evidence.EventCrossingRefused}},
		{"of a page that refuses itself", "", metaNoAI + long, metaNoAI + "\n", []string{evidence.EventCrossingRefused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var setup edgeSetup
			w := watch(t, &setup)
			head := "content-usage: search=y\n"
			if c.fields != "" {
				head += "content-signal: ai-input=no\n"
			}
			objects := []string{head + "content-type: text/html\n"}
			if c.html != "" {
				objects = append(objects, c.html)
			}
			var mu sync.Mutex
			var missing, seen []string
			w.onSync = func(event string) {
				mu.Lock()
				defer mu.Unlock()
				if !strings.HasPrefix(event, "crossing_") {
					return
				}
				seen = append(seen, event)
				for _, o := range objects {
					if _, err := os.Stat(filepath.Join(setup.data, "terms", "objects", fmt.Sprintf("%x", sha256.Sum256([]byte(o))))); err != nil {
						missing = append(missing, event+": "+err.Error())
					}
				}
			}
			e := startEdge(t, setup)
			s := answering(t, false, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Usage: search=y\r\n%sContent-Length: %d\r\n\r\n%s", c.fields, len(c.page), c.page))
			e.fetch(ways[0], "GET", s.addr, "/")
			e.down()
			mu.Lock()
			defer mu.Unlock()
			if len(missing) > 0 || !slices.Equal(seen, c.records) {
				t.Errorf("records %v, missing before them: %v", seen, missing)
			}
		})
	}
}

// What was held of a page while its head was read is released no sooner than
// octets of other bodies: none before the crossing is on disk as opened, and not
// the end before it is as ended.
func TestE47_E48_AHeldPageIsReleasedNoSooner(t *testing.T) {
	page := "<head><!-- " + strings.Repeat("x", 64_000) + " --><title>t</title></head><p>" + strings.Repeat("y", 4000) + "the end"
	for _, framing := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(page), page), "Transfer-Encoding: chunked\r\n\r\n" + chunked(page, 50_000)} {
		var setup edgeSetup
		w := watch(t, &setup)
		e := startEdge(t, setup)
		s := answering(t, false, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+framing)
		if got := e.fetch(ways[0], "GET", s.addr, "/"); got.body != page {
			t.Fatalf("%d, %d octets", got.status, len(got.body))
		}
		if said := w.at(t, evidence.EventCrossingOpened).said; said != "" {
			t.Errorf("%d octets went out before the crossing was opened", len(said))
		}
		said := w.at(t, evidence.EventCrossingMediated).said
		if known := strings.HasPrefix(framing, "Content-Length"); known && strings.HasSuffix(said, "the end") || strings.HasSuffix(said, "0\r\n\r\n") {
			t.Errorf("the end went out before the crossing had ended")
		}
	}
}

// unkept is a book that cannot keep what an answer said.
type unkept struct{ Terms }

func (unkept) PutObject([]byte) (rulings.Digest, error) {
	return rulings.Digest{}, errors.New("no space left on the device")
}

// An object that cannot be written is a gap, and the ruling stands.
func TestT121_AnObjectThatCannotBeKeptIsAGap(t *testing.T) {
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.Terms = unkept{o.Terms} }})
	for page, want := range map[string]map[string]any{
		metaNoAI: {"outcome": "refused", "refusal.reason": "noai", "refusal.stage": "body", "refusal.term": nil},
		"<p>":    {"outcome": "delivered"},
	} {
		s := answering(t, false, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Usage: search=y\r\nContent-Length: %d\r\n\r\n%s", len(page), page))
		e.fetch(ways[0], "GET", s.addr, "/")
		r := e.crossing(s.url)
		r.want(t, want)
		want := []string{evidence.TermObjectUnwritten} // of the head
		if page == metaNoAI {
			want = append(want, evidence.TermObjectUnwritten) // of the page
		}
		if diff := cmp.Diff(want, r.gapReasons()); diff != "" {
			t.Errorf("%q: gaps (-want +got):\n%s", page, diff)
		}
	}
}

// A client that leaves while a licence is read that its answer names: its
// crossing is abandoned, the probe goes on to its end, and what it brought
// serves the next one.
func TestT114_AProbeOutlivesTheClientThatLeft(t *testing.T) {
	for _, where := range []string{"Link", "page"} {
		for _, w := range ways {
			t.Run(where+", "+w.name, func(t *testing.T) {
				e := startEdge(t, edgeSetup{})
				asked, goOn := make(chan struct{}), make(chan struct{})
				once := sync.OnceFunc(func() { close(asked) })
				p := startPublisher(t, w, nil, func(rw http.ResponseWriter, r *http.Request) {
					switch {
					case r.URL.Path == "/terms":
						once()
						<-goOn
						io.WriteString(rw, licenceFree)
						return
					case where == "Link":
						rw.Header().Set("Link", `</terms>; rel=license; type="application/rsl+xml"`)
					default:
						rw.Header().Set("Content-Type", "text/html")
						io.WriteString(rw, `<link rel=license type=application/rsl+xml href=/terms>`)
					}
					io.WriteString(rw, "<p>page")
				})
				ctx, leave := context.WithCancel(t.Context())
				go func() {
					<-asked
					leave()
				}()
				if _, err := e.by(w).Do(request(t, "GET", p.URL+"/first", nil).WithContext(ctx)); err == nil {
					t.Error("the client has an answer")
				}
				r := e.crossing(p.URL + "/first")
				r.want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "http_status": 200, "refusal": nil, "told": nil, "delivered": nil,
					"opened": nil, "retrieved_hash": nil, "withheld": nil})
				close(goOn)
				if got := e.fetch(w, "GET", p.addr, "/second"); got.status != 200 || !strings.HasSuffix(got.body, "<p>page") {
					t.Errorf("the next one: %d %s", got.status, got.octets)
				}
				if n := p.count("/terms"); n != 1 {
					t.Errorf("the licence was asked for %d times", n)
				}
				if n := len(e.recordsOf(evidence.EventTermsProbed, "/terms")); n != 1 {
					t.Errorf("%d records of the probe", n)
				}
			})
		}
	}
}

// The legs of a crossing do not overlap: what looking up terms took is no part of
// what the body took, so that all of them together take no longer than the
// crossing did.
func TestE9_TheLegsOfACrossingDoNotOverlap(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	work := strings.Repeat("x", 8<<20)
	for _, page := range []string{"<link rel=license type=application/rsl+xml href=/html>", "<link rel=license type=application/rsl+xml href=/html>" + strings.Repeat("<p>", 40_000)} {
		for _, w := range ways {
			p := startPublisher(t, w, nil, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/page" {
					sum(work) // which takes its time
					io.WriteString(rw, licenceFree)
					return
				}
				rw.Header().Set("Link", `</link>; rel=license; type="application/rsl+xml"`)
				rw.Header().Set("Content-Type", "text/html")
				io.WriteString(rw, page)
			})
			start := time.Now()
			if got := e.fetch(w, "GET", p.addr, "/page"); got.status != 200 || got.body != page {
				t.Fatalf("%s: %d, %d octets", w.name, got.status, len(got.body))
			}
			r := e.crossing(p.URL + "/page")
			took := time.Since(start)
			var total float64
			legs, _ := r.at("timings").(map[string]any)
			for leg, ms := range legs {
				if total += ms.(float64); ms.(float64) < 0 {
					t.Errorf("%s: %s is %v", w.name, leg, ms)
				}
			}
			if whole := float64(took) / float64(time.Millisecond); total > whole || legs["terms"] == nil || legs["body"] == nil || legs["ruling"] == nil {
				t.Errorf("%s: the legs take %v ms of %v: %v", w.name, total, whole, legs)
			}
		}
	}
}

// What a connection took that a probe opened is part of the look-up alone.
func TestE9_AProbesConnectionIsNotToldAgain(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		// The transport gives the probe's connection back when it comes to it, so
		// now and then the page has one of its own; a fault would give it the
		// probe's figures every time.
		told := 0
		const tries = 20
		for range tries {
			p := startPublisher(t, w, map[string]string{"/robots.txt": "User-agent: *\nAllow: /\n"}, nil)
			e.fetch(w, "GET", p.addr, "/page")
			r := e.crossing(p.URL + "/page")
			r.want(t, map[string]any{"outcome": "delivered"})
			if r.at("timings.connect") == nil && r.at("timings.tls") == nil && r.at("timings.dns") == nil {
				break
			}
			told++
		}
		if told == tries {
			t.Errorf("%s: the page has a connect each time, though it came over the probe's connection", w.name)
		}
	}
}

// Crossings are counted by their reason, whether it was met before the request
// or in the answer; no label has anything that a source chose.
func TestA16_RefusalsAreCountedByReason(t *testing.T) {
	var setup edgeSetup
	_, reg := loggingAll(&setup)
	e := startEdge(t, setup)
	for answer, n := range map[string]int{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage":                                               1,
		"HTTP/1.1 200 OK\r\n" + withheldBy + "Content-Length: 4\r\n\r\npage":                             2,
		"HTTP/1.1 200 OK\r\nX-Robots-Tag: noai, " + canary + "\r\nContent-Length: 4\r\n\r\npage":         3,
		"HTTP/1.1 402 X\r\ncrawler-price: USD 1\r\nContent-Length: 4\r\n\r\npage":                        1,
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 35\r\n\r\n" + metaNoAI + "":       1,
		"HTTP/1.1 200 OK\r\nLink: </" + canary + "; rel=license\r\nContent-Length: 4\r\n\r\npage":        1,
		"HTTP/1.1 304 X\r\n" + withheldBy + "\r\n":                                                       1,
		"HTTP/1.1 200 OK\r\n" + withheldBy + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz": 1,
	} {
		s := answering(t, false, answer)
		for range n {
			e.fetch(ways[0], "GET", s.addr, "/")
		}
	}
	got := make(map[string]float64)
	families, err := reg.Gather()
	must(t, err)
	for _, f := range families {
		if strings.Contains(f.String(), canary) {
			t.Errorf("%s has the source's words", f.GetName())
		}
		if f.GetName() != "wayleave_crossings_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := make(prometheus.Labels)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			got[labels["outcome"]+" "+labels["reason"]] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{"delivered ": 2, "refused content_usage": 4, "refused noai": 4, "refused licence_unread": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("crossings (-want +got):\n%s", diff)
	}
}
