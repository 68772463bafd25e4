package proxy

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// capped is a policy with caps, in bytes; 0 is none.
func capped(mode string, body, context int64) rulings.PolicyFile {
	p := loopbackPolicy()
	p.Mode, p.Caps = mode, rulings.CapsFile{BodyBytes: body, ContextBytes: context}
	return p
}

// whole gets a URL and reports whether the body came to its end.
func (e *testEdge) whole(url string) (resp *http.Response, body string, whole bool) {
	e.t.Helper()
	req := request(e.t, "GET", url, nil)
	req.Header.Set("Accept-Encoding", "gzip") // so that nothing is undone on the way
	resp, err := e.client("s", false).Do(req)
	if err != nil {
		return nil, "", false
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err == nil
}

// contextUsed is what a session has used, once none of it is reserved any more.
func (e *testEdge) contextUsed(session string) int64 {
	e.t.Helper()
	log, err := e.store.Session(session)
	must(e.t, err)
	use := e.contexts.take(e.opt.Evidence, log)
	defer e.contexts.giveBack(use)
	for range 1000 {
		use.mu.Lock()
		used, reserved := use.used, use.reserved
		use.mu.Unlock()
		if reserved == 0 {
			return used
		}
		time.Sleep(5 * time.Millisecond)
	}
	e.t.Fatal("context stays reserved")
	return 0
}

// Nothing over the cap ends cleanly in strict, whatever its origin says of its
// length; the other modes carry it (O35).
func TestO35_ABodyOverTheCap(t *testing.T) {
	const most = 100_000
	over, under := strings.Repeat("x", most+1), strings.Repeat("x", most)
	tests := map[string]struct {
		body pageBody
		over bool
		flow bool // it flows before it is known to be over
	}{
		"announced, at the cap":    {pageBody{kind: "text/plain", octets: under, known: true}, false, false},
		"announced, over":          {pageBody{kind: "text/plain", octets: over, known: true}, true, false},
		"not announced, at it":     {pageBody{kind: "text/plain", octets: under}, false, false},
		"not announced, over":      {pageBody{kind: "text/plain", octets: over}, true, true},
		"coded, short, over":       {pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", over), known: true}, true, false},
		"coded, short, at the cap": {pageBody{kind: "text/plain", coding: "br", octets: codedBy("br", under), known: true}, false, false},
		"coded, flowing, over":     {pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", over)}, true, true},
		"a stream, over":           {pageBody{kind: "text/event-stream", octets: over}, true, true},

		// What cannot be decoded counts as served.
		"of no known coding, over":      {pageBody{kind: "text/plain", coding: "x-rot", octets: over}, true, true},
		"of no known coding, at it":     {pageBody{kind: "text/plain", coding: "x-rot", octets: under}, false, false},
		"no gzip, over":                 {pageBody{kind: "text/plain", coding: "gzip", octets: over}, true, true},
		"gzip and more behind it, over": {pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", "x") + over}, true, true},
	}
	w := startWeb(t)
	for name, tt := range tests {
		w.host(hostFor(name), "User-agent: *\n", tt.body.serve)
	}
	for _, mode := range policyModes {
		e := w.edge(edgeSetup{policy: capped(mode, most, 0)})
		for name, tt := range tests {
			resp, body, whole := e.whole("http://" + hostFor(name) + "/page")
			r := e.final(hostFor(name))
			refused := tt.over && mode == "strict"
			switch {
			case refused && tt.flow:
				if whole || len(body) > most || tt.body.coding == "gzip" && len(body) == len(tt.body.octets) {
					t.Errorf("%s, %s: it ended cleanly, or %d octets came of %d", mode, name, len(body), len(tt.body.octets))
				}
				r.want(t, map[string]any{"refusal.reason": "body_cap", "refusal.stage": "body", "delivered.complete": false})
			case refused:
				if !whole || resp.StatusCode != 403 || reasonOf(resp) != "body_cap" || strings.Contains(body, "xxx") {
					t.Errorf("%s, %s: %v %.80s", mode, name, resp, body)
				}
			case !whole || body != tt.body.octets:
				t.Errorf("%s, %s: %d octets of %d, whole %v", mode, name, len(body), len(tt.body.octets), whole)
			default:
				var want []string
				if tt.over {
					want = []string{"body_cap"}
				}
				if diff := cmp.Diff(want, r.list("breach", "reason")); diff != "" {
					t.Errorf("%s, %s: breaches %s", mode, name, diff)
				}
			}
		}
	}
}

// A breach that is known before the head goes out is told in it (O11).
func TestO11_O35_ACapThatIsPassedByWhatIsHeldIsTold(t *testing.T) {
	w := startWeb(t)
	w.host("coded.test", "User-agent: *\n", pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", strings.Repeat("x", 5000)), known: true}.serve)
	w.host("long.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", 5000)}.serve)
	p := capped("prefer", 1000, 0)
	p.Screens = rulings.ScreensFile{Injection: "on", LimitBytes: 2000}
	for host, want := range map[string]string{"coded.test": "body_cap, unscreened", "long.test": "body_cap, unscreened"} {
		if resp, _, whole := w.edge(edgeSetup{policy: p}).whole("http://" + host + "/page"); !whole || resp.Header.Get(breachField) != want {
			t.Errorf("%s: whole %v, %s: %q", host, whole, breachField, resp.Header.Get(breachField))
		}
	}
	if resp, _, _ := w.edge(edgeSetup{policy: capped("prefer", 1000, 0)}).whole("http://coded.test/page"); resp.Header.Get(breachField) != "body_cap" {
		t.Errorf("%q", resp.Header.Get(breachField))
	}
}

// What is held and known to be over is refused whole, though it is not known by
// how much (O35, O36).
func TestO35_O36_WhatIsHeldAndOverIsRefusedWhole(t *testing.T) {
	w := startWeb(t)
	w.host("long.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", 50_000)}.serve)
	w.host("rot.test", "User-agent: *\n", pageBody{kind: "text/plain", coding: "x-rot", octets: strings.Repeat("x", 50_000)}.serve)
	w.host("bomb.test", "User-agent: *\n", pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", strings.Repeat("x", 50_000))}.serve)
	for reason, caps := range map[string]rulings.CapsFile{"body_cap": {BodyBytes: 5000, ContextBytes: 1 << 20}, "context_budget": {ContextBytes: 5000}} {
		p := capped("strict", 0, 0)
		p.Caps, p.Screens.LimitBytes = caps, 20_000
		e := w.edge(edgeSetup{policy: p})
		for _, host := range []string{"long.test", "rot.test", "bomb.test"} {
			if resp, _, whole := e.whole("http://" + host + "/page"); !whole || resp.StatusCode != 403 || reasonOf(resp) != reason {
				t.Errorf("%s, %s: %v, whole %v", reason, host, resp, whole)
			}
		}
	}
}

// A body that is cut does not look whole to a client of HTTP/1.0 either, which
// knows no other end than that of the connection (O35, N12).
func TestN12_O35_ACutBodyDoesNotLookWholeInHTTP10(t *testing.T) {
	for _, way := range http1 {
		o := startOrigin(t, "User-agent: *\n", !way.secure, pageBody{kind: "text/plain", octets: strings.Repeat("x", 300_000)}.serve)
		e := startEdge(t, edgeSetup{policy: capped("strict", 100_000, 0)})
		c, target := e.rawBy(way, strings.TrimPrefix(strings.TrimPrefix(o.URL, "http://"), "https://"))
		resp := c.send("GET " + target("/page") + " HTTP/1.0\r\nHost: " + strings.TrimPrefix(strings.TrimPrefix(o.URL, "http://"), "https://") + "\r\n\r\n")
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s: %d octets and a clean end", way.name, n)
		}
	}
}

// Bodies of services are not capped and no context.
func TestO35_O36_ServicesAreNotMeasured(t *testing.T) {
	w := startWeb(t)
	w.host("api.test", "", pageBody{kind: "image/png", octets: strings.Repeat("x", 5000), known: true}.serve)
	p := capped("strict", 1000, 1000)
	p.Services = []string{"api.test"}
	e := w.edge(edgeSetup{policy: p})
	if resp, _ := e.gets("s", "http://api.test/v1"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// What a session's sources add up to is bounded in every mode: a body that does
// not fit is left out whole, and a smaller one may still fit (O36).
func TestO36_WhatDoesNotFitIsLeftOutWhole(t *testing.T) {
	w := startWeb(t)
	for _, size := range []int{400, 700, 300, 1} {
		for _, known := range []bool{true, false} {
			w.host(fmt.Sprintf("c%d%v.test", size, known), "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", size), known: known}.serve)
		}
	}
	for _, mode := range policyModes {
		for _, known := range []bool{true, false} {
			e := w.edge(edgeSetup{policy: capped(mode, 0, 1000)})
			for _, step := range []struct{ size, status int }{{400, 200}, {700, 403}, {300, 200}, {300, 200}, {1, 403}} {
				host := fmt.Sprintf("c%d%v.test", step.size, known)
				resp, body, whole := e.whole("http://" + host + "/page")
				if !whole || resp.StatusCode != step.status || step.status == 200 && len(body) != step.size {
					t.Errorf("%s, announced %v, %d octets: %v %s", mode, known, step.size, resp, body)
				}
				if step.status == 403 {
					e.final(host).want(t, map[string]any{"refusal.reason": "context_budget", "refusal.whose": "operator", "gaps": "[map[detail:" + e.final(host).list("gaps", "detail")[0] + " reason:budget_exhausted]]"})
				}
			}
		}
	}
}

// What was used is told by the log to the edge that opens the session next (O36).
func TestO36_TheContextIsReadBackFromTheLog(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", 600), known: true}.serve)
	w.host("cut.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "300")
		io.WriteString(rw, "part")
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	w.host("close.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) { // its end is that of the connection
		conn, out, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		out.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + strings.Repeat("x", 100))
		out.Flush()
	})
	data := t.TempDir()
	first := w.edge(edgeSetup{policy: capped("observe", 0, 1000), data: data})
	for _, host := range []string{"page.test", "close.test"} {
		if resp, _, _ := first.whole("http://" + host + "/page"); resp == nil || resp.StatusCode != 200 {
			t.Fatal(host, resp)
		}
	}
	first.whole("http://cut.test/page") // which was not delivered whole, and does not count
	first.down()
	second := w.edge(edgeSetup{policy: capped("observe", 0, 1000), data: data})
	if resp, _, _ := second.whole("http://page.test/page"); resp.StatusCode != 403 || reasonOf(resp) != "context_budget" {
		t.Error(resp.Status)
	}
	if used := second.contextUsed("s"); used != 700 {
		t.Errorf("%d octets were used", used)
	}
}

// Crossings at once do not overrun the budget together (O36).
func TestO36_CrossingsAtOnceDoNotOverrunTogether(t *testing.T) {
	const each, most, n = 1000, 10_500, 40
	w := startWeb(t)
	for i, known := range []bool{true, false} {
		host := fmt.Sprintf("at-once-%d.test", i)
		w.host(host, "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", each), known: known}.serve)
		e := w.edge(edgeSetup{policy: capped("observe", 0, most)})
		var delivered atomic.Int64
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if resp, body, whole := e.whole("http://" + host + "/page"); whole && resp.StatusCode == 200 {
					delivered.Add(int64(len(body)))
				}
			})
		}
		all.Wait()
		if got := delivered.Load(); got != 10*each {
			t.Errorf("announced %v: %d octets were delivered of %d", known, got, most)
		}
	}
}

// A stream that is still flowing when the budget ends is broken off (O36).
func TestO36_AStreamIsBrokenOffWhereTheBudgetEnds(t *testing.T) {
	w := startWeb(t)
	w.host("stream.test", "User-agent: *\n", pageBody{kind: "text/event-stream", octets: strings.Repeat("data: x\n\n", 50_000)}.serve)
	for _, mode := range policyModes {
		e := w.edge(edgeSetup{policy: capped(mode, 0, 100_000)})
		if _, body, whole := e.whole("http://stream.test/page"); whole || len(body) > 100_000 {
			t.Errorf("%s: %d octets, whole %v", mode, len(body), whole)
		}
		e.final("stream.test").want(t, map[string]any{"refusal.reason": "context_budget", "delivered.complete": false})
		if used := e.contextUsed("s"); used != 0 {
			t.Errorf("%s: %d octets of context were used", mode, used)
		}
	}
}

// Where context is counted, an answer without text grounds nothing (O37).
func TestO37_AnAnswerWithoutText(t *testing.T) {
	w := startWeb(t)
	e := w.edge(edgeSetup{policy: capped("observe", 0, 1<<20)})
	for name, tt := range map[string]struct {
		body   pageBody
		method string
		status int
	}{
		"a picture":          {pageBody{kind: "image/png", octets: "png", known: true}, "GET", 403},
		"a font":             {pageBody{kind: "font/woff2", octets: "font"}, "GET", 403},
		"octets":             {pageBody{kind: "application/octet-stream", octets: "x", known: true}, "GET", 403},
		"an archive":         {pageBody{kind: "application/zip", octets: "PK", known: true}, "GET", 403},
		"nothing, announced": {pageBody{kind: "text/html", known: true}, "GET", 403},
		"nothing, chunked":   {pageBody{kind: "text/html"}, "GET", 403},
		"white space":        {pageBody{kind: "text/plain", octets: " \r\n\t\n", known: true}, "GET", 403},
		"white space, coded": {pageBody{kind: "text/plain", coding: "gzip", octets: codedBy("gzip", "  \n")}, "GET", 403},
		"a PDF of nothing":   {pageBody{kind: "application/pdf"}, "GET", 403},
		"a PDF of blanks":    {pageBody{kind: "application/pdf", octets: " \n", known: true}, "GET", 403},
		"any type, blanks":   {pageBody{kind: "application/x-foo", octets: " \n"}, "GET", 403},
		"nothing, coded":     {pageBody{kind: "text/plain", coding: "gzip"}, "GET", 403},
		"nothing, as if so":  {pageBody{kind: "text/plain", coding: "x-rot"}, "GET", 403},
		"any type":           {pageBody{kind: "application/x-foo", octets: " x"}, "GET", 200},
		"text":               {pageBody{kind: "text/plain", octets: "word", known: true}, "GET", 200},
		"a PDF":              {pageBody{kind: "application/pdf", octets: "%PDF", known: true}, "GET", 200},
		"SVG":                {pageBody{kind: "image/svg+xml", octets: "<svg>word</svg>", known: true}, "GET", 200},
		"a picture, posted":  {pageBody{kind: "image/png", octets: "png", known: true}, "POST", 200},
	} {
		w.host(hostFor(name), "User-agent: *\n", tt.body.serve)
		req := request(t, tt.method, "http://"+hostFor(name)+"/page", nil)
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := e.client("s", false).Do(req)
		body := text(t, resp, err)
		if resp.StatusCode != tt.status || tt.status == 403 && (reasonOf(resp) != "no_text" || !strings.Contains(body, `"whose":"edge"`)) {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
		if r := e.final(hostFor(name)); tt.status == 403 && r.at("retrieved_hash") == nil {
			t.Errorf("%s: no hash is on record: %s", name, r.raw)
		}
	}
	if resp, _ := w.edge(edgeSetup{policy: capped("strict", 0, 0)}).gets("s", "http://a-picture.test/page"); resp.StatusCode != 200 {
		t.Errorf("where nothing is counted: %s", resp.Status)
	}
}

// A body that flows, and has no text when it ends, is broken off (O37).
func TestO37_WhatFlowedAndHadNoText(t *testing.T) {
	const blanks = " \n\t\r\n"
	w := startWeb(t)
	e := w.edge(edgeSetup{policy: capped("observe", 0, 1<<20)})
	for name, tt := range map[string]struct {
		body pageBody
		text bool
	}{
		"nothing":              {pageBody{kind: "application/x-ndjson"}, false},
		"blanks":               {pageBody{kind: "application/x-ndjson", octets: blanks}, false},
		"nothing when decoded": {pageBody{kind: "application/x-ndjson", coding: "gzip", octets: codedBy("gzip", "")}, false},
		"many blanks":          {pageBody{kind: "application/pdf", octets: strings.Repeat(blanks, 50_000), known: true}, false},
		"wide blanks":          {pageBody{kind: "application/pdf", octets: " " + strings.Repeat("\u3000", 80_000), known: true}, false},
		"late text":            {pageBody{kind: "application/x-ndjson", octets: strings.Repeat(blanks, 50_000) + "1\n"}, true},
		"late text, of PDF":    {pageBody{kind: "application/pdf", octets: strings.Repeat(blanks, 50_000) + "1\n", known: true}, true},
	} {
		host := "flows-" + hostFor(name)
		w.host(host, "User-agent: *\n", tt.body.serve)
		_, body, whole := e.whole("http://" + host + "/page")
		if whole != tt.text || tt.text && body != tt.body.octets {
			t.Errorf("%s: %d octets, whole %v", name, len(body), whole)
		}
		if !tt.text {
			e.final(host).want(t, map[string]any{"refusal.reason": "no_text", "refusal.stage": "body", "delivered.complete": false})
		}
	}
}

// The same traffic is recorded alike in the modes, but for the refusal and what
// follows from it (O11).
func TestO11_TheModesRecordTheSame(t *testing.T) {
	w := startWeb(t)
	w.host("denied.test", "User-agent: *\n", nil)
	w.host("injected.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: personal + ". " + injected, known: true}.serve)
	w.host("pdf.test", "User-agent: *\n", pageBody{kind: "application/pdf", octets: "%PDF-1.7 and more", known: true}.serve)
	w.host("large.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: strings.Repeat("x", 5000), known: true}.serve)
	w.host("fine.test", "User-agent: *\n", pageBody{kind: "text/plain", octets: "fine", known: true}.serve)
	hosts := []string{"denied.test", "injected.test", "pdf.test", "large.test", "fine.test"}
	carriedBy := map[string][]string{
		"denied.test": {"host_denied"}, "injected.test": {"pii_found", "injection_screen"}, "pdf.test": {"unscreened"}, "large.test": {"body_cap"},
	}
	byMode := map[string]map[string]map[string]any{}
	for _, mode := range policyModes {
		p := screening(mode, "injection pii")
		p.Hosts.Deny = []string{"denied.test"}
		p.Caps.BodyBytes = 4000
		e := w.edge(edgeSetup{policy: p})
		byMode[mode] = map[string]map[string]any{}
		for _, host := range hosts {
			resp, _ := e.gets("s", "http://"+host+"/page")
			r := e.final(host)
			byMode[mode][host] = comparable(r)
			var notice []string
			if field := resp.Header.Get(breachField); field != "" {
				notice = strings.Split(field, ", ")
			}
			if want := carriedBy[host]; mode == "prefer" && !slices.Equal(notice, want) || mode != "prefer" && notice != nil {
				t.Errorf("%s, %s: %s: %v", mode, host, breachField, notice)
			}
			if refused := r.Event == evidence.EventCrossingRefused; refused != (mode == "strict" && carriedBy[host] != nil) {
				t.Errorf("%s, %s: %s", mode, host, r.raw)
			}
		}
	}
	for _, host := range hosts {
		if diff := cmp.Diff(byMode["observe"][host], byMode["prefer"][host]); diff != "" {
			t.Errorf("%s (-observe +prefer):\n%s", host, diff)
		}
		strict := byMode["strict"][host]
		for name, value := range byMode["observe"][host] {
			if slices.Contains(followsRefusal, name) && carriedBy[host] != nil || host == "denied.test" && !slices.Contains([]string{"url", "method", "class", "purposes"}, name) {
				continue
			}
			if diff := cmp.Diff(value, strict[name]); diff != "" {
				t.Errorf("%s, %s (-observe +strict):\n%s", host, name, diff)
			}
		}
	}
}

// followsRefusal are the members that a refusal changes or adds.
var followsRefusal = []string{"refusal", "breach", "told", "grounded", "delivered", "outcome", "opened"}

// comparable is a record without what every crossing has of its own.
func comparable(r record) map[string]any {
	out := map[string]any{}
	for name, value := range r.Payload {
		if !slices.Contains([]string{"edge", "policy_digest", "client", "timings", "requested_at", "address", "processors"}, name) {
			out[name] = value
		}
	}
	if d, ok := out["declarations"].(map[string]any); ok {
		for _, term := range listOf(d["terms"]) {
			for _, own := range []string{"fetched_at", "expires_at", "cache"} {
				delete(term, own)
			}
		}
	}
	return out
}

// An origin's own field of the name is no verdict of the edge's (O11).
func TestO11_AnOriginsOwnNoticeIsTakenOff(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set(breachField, "host_denied")
		rw.Header().Set("Link", "</style.css>; rel=preload")
		rw.WriteHeader(http.StatusEarlyHints)
		rw.Header().Set("Trailer", breachField)
		io.WriteString(rw, "page")
		rw.(http.Flusher).Flush()
		rw.Header().Set(breachField, "host_denied")
		rw.Header().Set(http.TrailerPrefix+breachField, "host_denied")
	})
	for _, mode := range policyModes {
		p := loopbackPolicy()
		p.Mode = mode
		c := w.edge(edgeSetup{policy: p}).dial()
		io.WriteString(c.Conn, "GET http://page.test/ HTTP/1.1\r\nHost: page.test\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n")
		octets, err := io.ReadAll(c.Reader)
		if must(t, err); !strings.Contains(string(octets), "103 Early Hints") || strings.Contains(string(octets), breachField) {
			t.Errorf("%s: %s", mode, octets)
		}
	}
}

// A robots.txt or licence that leads to a denied host is not asked for there in
// strict, and breaks policy on account of the crossing otherwise (O14, step 2).
func TestO14_HopsOfRequestsForTermsMeetTheLists(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(rw, r, "http://denied.test/robots.txt", http.StatusFound)
			return
		}
		io.WriteString(rw, "page")
	})
	w.host("denied.test", "User-agent: *\n", nil)
	for _, mode := range policyModes {
		p := loopbackPolicy()
		p.Mode, p.Hosts.Deny = mode, []string{"denied.test"}
		before := len(w.asked("denied.test"))
		e := w.edge(edgeSetup{policy: p})
		resp, _ := e.gets("s", "http://page.test/")
		r, asked := e.final("page.test/"), len(w.asked("denied.test")) > before
		switch mode {
		case "strict":
			if asked || reasonOf(resp) != "robots_unreachable" {
				t.Errorf("strict: asked %v, %s %s", asked, resp.Status, r.raw)
			}
		default:
			if !asked || resp.StatusCode != 200 || !slices.Equal(r.list("breach", "reason"), []string{"host_denied"}) {
				t.Errorf("%s: asked %v, %s %s", mode, asked, resp.Status, r.raw)
			}
		}
	}
}

// Sessions under different policies share what is held of a site's terms, and each
// crossing is ruled by its own on the way by which they were had (O14, step 2).
func TestO14_HopsOfSharedTermsMeetTheListsOfEachCrossing(t *testing.T) {
	w := startWeb(t)
	leads := func(path string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				http.Redirect(rw, r, "http://denied.test"+path, http.StatusFound)
				return
			}
			io.WriteString(rw, "page")
		}
	}
	w.host("robots.test", "", leads("/robots.txt"))
	w.host("licence.test", "User-agent: *\nLicense: http://named.test/l.xml\n", nil)
	w.host("named.test", "User-agent: *\n", leads("/l.xml"))
	w.host("denied.test", "User-agent: *\n", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`)
	})
	p := loopbackPolicy()
	p.Mode, p.Hosts.Deny = "prefer", []string{"denied.test"}
	p.Sessions = []rulings.SessionFile{{User: "alice", Mode: "strict"}}
	for host, reason := range map[string]string{"robots.test": "robots_unreachable", "licence.test": "licence_unread"} {
		for _, order := range [][]string{{"bob", "alice", "bob", "alice"}, {"alice", "alice", "bob", "carol", "alice"}} {
			e := w.edge(edgeSetup{policy: p, files: hurried()})
			known := false
			for n, session := range order {
				before := len(w.asked("denied.test"))
				resp, body := e.gets(session, fmt.Sprintf("http://%s/%d", host, n))
				r, asked := e.final(fmt.Sprintf("%s/%d", host, n)), len(w.asked("denied.test")) > before
				switch session {
				case "alice":
					after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
					if asked || reasonOf(resp) != reason || r.at("breach") != nil || err != nil || after > 300 {
						t.Errorf("%s, %v, %d: asked %v, %s %s", host, order, n, asked, resp.Status, r.raw)
					}
				default:
					if asked == known || resp.StatusCode != 200 || resp.Header.Get(breachField) != "host_denied" || !slices.Equal(r.list("breach", "reason"), []string{"host_denied"}) {
						t.Errorf("%s, %v, %d: asked %v, %s %s %s", host, order, n, asked, resp.Status, body, r.raw)
					}
					known = true
				}
			}
		}
	}
}

// What the lists of two sessions both bar, at different hops, is asked for once.
func TestO14_TwoListsThatBarAFileDoNotHaveItAskedForInTurns(t *testing.T) {
	w := startWeb(t)
	to := func(next string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://"+next+"/robots.txt", http.StatusFound)
		}
	}
	w.host("robots.test", "", to("one.test"))
	w.host("one.test", "", to("two.test"))
	w.host("two.test", "User-agent: *\n", nil)
	p := loopbackPolicy()
	p.Mode = "strict"
	p.Sessions = []rulings.SessionFile{
		{User: "alice", Hosts: &rulings.HostsFile{Deny: []string{"one.test"}}},
		{User: "bob", Hosts: &rulings.HostsFile{Deny: []string{"two.test"}}},
	}
	e := w.edge(edgeSetup{policy: p})
	for n := range 6 {
		resp, body := e.gets([]string{"bob", "alice"}[n%2], "http://robots.test/page")
		if reasonOf(resp) != "robots_unreachable" {
			t.Errorf("%d: %s %s", n, resp.Status, body)
		}
	}
	w.wantAsked(t, "robots.test", "/robots.txt")
}

// Steps 1 and 2 ask the origin for nothing (O15).
func TestO15_NothingIsAskedOfAHostThatIsRefusedAtOnce(t *testing.T) {
	w := startWeb(t)
	for name, change := range map[string]func(*rulings.PolicyFile){
		"denied.test":      func(p *rulings.PolicyFile) { p.Hosts.Deny = []string{"*.test"} },
		"not-allowed.test": func(p *rulings.PolicyFile) { p.Hosts.Allow = []string{"other.test"} },
		"ruled.test":       func(p *rulings.PolicyFile) { p.Hosts.Rules = []rulings.HostRuleFile{{Host: "*", Action: "refuse"}} },
	} {
		p := loopbackPolicy()
		p.Mode = "strict"
		change(&p)
		e := w.edge(edgeSetup{policy: p})
		if resp, body := e.gets("s", "http://"+name+"/"); resp.StatusCode != 403 || resp.Header.Get("Retry-After") != "" || strings.Contains(body, "*.test") {
			t.Errorf("%s: %s %v %s", name, resp.Status, resp.Header, body)
		}
		w.wantAsked(t, name)
	}
}

// An overlay rules the sessions of its users, whole (O6).
func TestO6_AnOverlayRulesItsSessions(t *testing.T) {
	w := startWeb(t)
	p := loopbackPolicy()
	p.Sessions = []rulings.SessionFile{
		{User: "careful-*", Mode: "strict", Hosts: &rulings.HostsFile{Deny: []string{"page.test"}}},
		{User: "careful-one", Mode: "observe"},
	}
	e := w.edge(edgeSetup{policy: p})
	for session, status := range map[string]int{"careful-one": 403, "other": 200} {
		if resp, _ := e.gets(session, "http://page.test/"); resp.StatusCode != status {
			t.Errorf("%s: %s", session, resp.Status)
		}
	}
	digests := map[any]bool{}
	for _, r := range e.crossings() {
		digests[r.at("policy_digest")] = true
	}
	if len(digests) != 2 {
		t.Errorf("policies on record: %v", digests)
	}
}

// What the edge lacks is said, with a gap, and nothing weaker is done in its place
// (O61): a site that is not there, a screen that cannot run.
func TestO61_WhatIsMissingIsSaid(t *testing.T) {
	w := startWeb(t)
	w.host("page.test", "User-agent: *\n", nil)
	down := closedPort(t)
	p := screening("strict", "injection")
	p.Services = []string{"127.0.0.1"}
	e := startEdge(t, edgeSetup{policy: p})
	if resp, body := e.gets("s", "http://"+down+"/"); resp.StatusCode != 502 || reasonOf(resp) != "connection_refused" {
		t.Errorf("%s %s", resp.Status, body)
	}
	r := e.final(down)
	r.want(t, map[string]any{"outcome": "unavailable", "delivered": nil})
	if gaps := r.gapReasons(); !slices.Equal(gaps, []string{evidence.DependencyUnavailable}) {
		t.Errorf("gaps %v", gaps)
	}
	e = w.edge(edgeSetup{policy: screening("strict", "injection"), edge: func(e *Edge) {
		e.tools.injection.scan = func([]byte) ([]evidence.Match, bool) { panic("it is not there") }
	}})
	if resp, body := e.gets("s", "http://page.test/"); resp.StatusCode != 403 || reasonOf(resp) != "unscreened" {
		t.Errorf("%s %s", resp.Status, body)
	}
	if gaps := e.final("page.test").gapReasons(); !slices.Equal(gaps, []string{evidence.DependencyUnavailable}) {
		t.Errorf("gaps %v", gaps)
	}
}

// Offline, nothing outside is resolved or dialled (O60).
func TestO60_OfflineAsksOnlyWhatIsNamed(t *testing.T) {
	w := startWeb(t)
	p := rulings.PolicyFile{AllowPrivate: []string{"corpus.test", "127.0.0.0/8"}}
	for _, mode := range policyModes {
		p.Mode = mode
		next, url := w.URL, "http://page.test/"
		e := startEdge(t, edgeSetup{policy: p, upstream: func(o *UpstreamOptions) { o.Offline = true }})
		resp, body := e.gets("s", url)
		if resp.StatusCode != 403 || reasonOf(resp) != "offline" || !strings.Contains(body, `"whose":"operator"`) {
			t.Errorf("%s: %s %s", mode, resp.Status, body)
		}
		if resp, _ := e.gets("s", next+"/page"); resp.StatusCode != 200 { // an address that is named
			t.Errorf("%s: %s", mode, resp.Status)
		}
		if n := len(e.probes("robots")); n != 1 {
			t.Errorf("%s: %d files were asked for", mode, n)
		}
	}
}

// What sessions have used is remembered of so many, and of those that crossings
// hold; the rest is read back from the logs.
func TestO36_WhatIsRememberedOfSessionsIsBounded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	session := func(i int) *evidence.Log {
		log, err := e.store.Session(fmt.Sprint("s", i))
		must(t, err)
		return log
	}
	held := e.contexts.take(e.store, session(0))
	for i := range 2 * maxContextUses {
		e.contexts.giveBack(e.contexts.take(e.store, session(i)))
	}
	if n := len(e.contexts.ids); n > maxContextUses+1 {
		t.Errorf("%d sessions are remembered", n)
	}
	if e.contexts.take(e.store, session(0)) != held {
		t.Error("what a crossing holds was forgotten")
	}
}
