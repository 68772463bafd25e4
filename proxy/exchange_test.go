package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/evidence"
)

// Every way to the edge gets the page, the same ruling, and the same record (N5).
func TestN5EachWayInGetsTheSameRulingAndRecord(t *testing.T) {
	const robots = "User-agent: *\nDisallow: /private\n"
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "Text/Plain")
		io.WriteString(w, "the page\n")
	}
	for _, way := range []struct {
		name         string
		plain, http2 bool
		protocol     string
	}{
		{"plain HTTP", true, false, "HTTP/1.1"},
		{"intercepted HTTP/1.1", false, false, "HTTP/1.1"},
		{"intercepted HTTP/2", false, true, "h2"},
	} {
		t.Run(way.name, func(t *testing.T) {
			e := startEdge(t, edgeSetup{})
			o := startOrigin(t, robots, way.plain, page)
			c := e.client("agent-7", way.http2)

			resp, body := get(t, c, o.URL+"/page?q=1")
			if resp.StatusCode != 200 || body != "the page\n" {
				t.Errorf("page: %s %q", resp.Status, body)
			}
			resp, body = get(t, c, o.URL+"/private/x")
			if resp.StatusCode != 403 || !strings.Contains(body, `"reason":"robots_disallow"`) || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("refused: %s %q", resp.Status, body)
			}
			if ps := resp.Header.Get("Proxy-Status"); !strings.Contains(ps, "error=http_request_denied") || !strings.Contains(ps, `details="robots_disallow"`) {
				t.Errorf("Proxy-Status: %s", ps)
			}
			if n := o.requests.Load(); n != 1 {
				t.Errorf("the origin saw %d requests, want 1", n)
			}
			got := e.crossings()
			if len(got) != 2 {
				t.Fatalf("%d crossings, want 2", len(got))
			}
			got[0].want(t, map[string]any{"outcome": "delivered", "grade": "mediated", "class": "source", "method": "GET", "url": o.URL + "/page?q=1",
				"client.session": "agent-7", "client.protocol": way.protocol, "http_status": 200, "delivered.complete": true, "delivered.bytes": 9,
				"retrieved_bytes": 9, "content_type": "text/plain", "address": o.Listener.Addr()})
			got[1].want(t, map[string]any{"outcome": "refused", "refusal.reason": "robots_disallow", "refusal.whose": "source", "refusal.stage": "before",
				"refusal.term.line": 2, "told.status": 403, "delivered": nil, "requested_at": nil})
			if got[0].Event != evidence.EventCrossingMediated || got[1].Event != evidence.EventCrossingRefused {
				t.Errorf("events %s, %s", got[0].Event, got[1].Event)
			}
		})
	}
}
