package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
)

// A client that trusts nobody but its own site ends the handshake with an alert.
// It is not passed through: one record names host and alert, and it is counted.
func TestE12APinnedClientLeavesOneRecordWithItsAlert(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.Metrics = reg }})
	s := answering(t, true, "HTTP/1.1 204 No Content\r\n\r\n")
	for version, alerts := range map[uint16][]string{tls.VersionTLS12: {"42", "48"}, tls.VersionTLS13: {"42", "48"}} {
		before := len(e.crossings())
		conn, err := e.tunnel(s.addr)
		must(t, err)
		c := tls.Client(conn, &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MaxVersion: version}) // trusts nobody
		if err := c.Handshake(); err == nil {
			t.Fatal("the client took the leaf")
		}
		e.raw(conn).closed()
		records := e.waitCrossings(before + 1)
		r := records[len(records)-1]
		r.want(t, map[string]any{"authority": s.addr, "outcome": "abandoned", "failure.kind": "tls_alert_received", "client.protocol": "tunnel",
			"method": nil, "url": nil, "delivered": nil, "refusal": nil, "grade": "mediated"})
		detail := fmt.Sprint(r.at("failure.detail"))
		if !strings.Contains(detail, "alert "+alerts[0]) && !strings.Contains(detail, "alert "+alerts[1]) {
			t.Errorf("TLS %x: no alert is named in %q", version, detail)
		}
		if !strings.Contains(r.raw, `"capability_unavailable"`) {
			t.Errorf("no gap: %s", r.raw)
		}
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("the site saw %d connections", n)
	}
	if v := counted(t, reg, "wayleave_interception_failures_total"); v != 2 {
		t.Errorf("%v handshakes were counted as failed, want 2", v)
	}
}

// counted returns the value of a counter without labels.
func counted(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// What is no handshake, though it begins as one, is recorded as well.
func TestE12AHandshakeThatFailsIsRecorded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for name, octets := range map[string]string{
		"garbage behind the record type": "\x16garbage that is no record at all",
		"an empty handshake record":      "\x16\x03\x01\x00\x00",
		"a record of another type":       "\x16\x03\x01\x00\x04\x02\x00\x00\x00",
	} {
		before := len(e.crossings())
		conn, err := e.tunnel("site.test:443")
		must(t, err)
		c := e.raw(conn)
		c.WriteString(octets)
		if name == "an empty handshake record" {
			c.WriteString(octets + octets + strings.Repeat(octets, 40))
		}
		c.closed()
		records := e.waitCrossings(before + 1)
		records[len(records)-1].want(t, map[string]any{"authority": "site.test:443", "outcome": "abandoned", "failure.kind": "tls_protocol_error"})
	}
}

// A tunnel the client closed itself before it asked for anything leaves none:
// browsers open many in advance.
func TestE12ATunnelTheClientClosesUnusedLeavesNoRecord(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	close := map[string]func(*rawClient){
		"at once":                func(*rawClient) {},
		"within a ClientHello":   func(c *rawClient) { c.WriteString("\x16\x03\x01\x02") },
		"within a method":        func(c *rawClient) { c.WriteString("GE") },
		"within a request head":  func(c *rawClient) { c.WriteString("GET / HTTP/1.1\r\nX: a") },
		"behind the handshake":   func(c *rawClient) { e.clientTLS(c.Conn) },
		"behind it, within HTTP": func(c *rawClient) { io.WriteString(e.clientTLS(c.Conn), "GET /") },
	}
	for name, do := range close {
		conn, err := e.tunnel("127.0.0.1:443")
		must(t, err)
		c := e.raw(conn)
		do(c)
		if name == "at once" {
			reset(conn)
		}
		c.Close()
	}
	// A tunnel that is used afterwards shows that the edge has come past the others.
	o := startOrigin(t, "", false, nil)
	get(t, e.client("", false), o.URL+"/robots.txt")
	e.down()
	for _, r := range e.crossings() {
		if r.at("url") == nil {
			t.Errorf("recorded: %s", r.raw)
		}
	}
}

// Who cannot be ruled is recorded once, and those alike from the same address
// together once a second, so that nobody without credentials fills the disk.
func TestE13RefusalsAlikeShareARecord(t *testing.T) {
	_, option := withCredentials(t)
	e := startEdge(t, edgeSetup{options: option})
	const asked = 200
	c := e.dial()
	for n := range asked {
		resp, _ := c.ask(fmt.Sprintf("GET http://site.test/%d HTTP/1.1\r\nHost: x\r\n\r\n", n))
		if resp.StatusCode != 407 {
			t.Fatalf("%s", resp.Status)
		}
		if n%10 == 0 {
			if resp := e.dial().send("CONNECT site.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 407 {
				t.Fatalf("%s", resp.Status)
			}
		}
	}
	c.ask("GET http://site.test/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic("..", "x") + "\r\n\r\n")
	e.down() // writes what is folded
	told := map[string]int{}
	records := 0
	for _, r := range e.crossings() {
		if r.Event != evidence.EventCrossingRefused {
			t.Errorf("event %s", r.Event)
		}
		n := 1
		if many, ok := r.at("repeated").(float64); ok {
			n = int(many)
		}
		told[fmt.Sprint(r.at("refusal.reason"))] += n
		records++
	}
	if told["credentials_required"] != asked+asked/10 || told["session_invalid"] != 1 {
		t.Errorf("the records tell of %v", told)
	}
	if records > asked/4 {
		t.Errorf("%d refusals left %d records", asked, records)
	}
}

// What one session asked for stands in its own log, and is not counted in that of
// another from the same address.
func TestE12RefusalsOfTwoSessionsAreNotFolded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	asked := map[string]int{"one": 3, "two": 5}
	for session, n := range asked {
		for range n {
			resp := e.dial().send("GET http://u:p@site.test/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " + basic(session, "x") + "\r\n\r\n")
			if resp.StatusCode != 400 {
				t.Fatalf("%s", resp.Status)
			}
		}
	}
	e.down() // writes what is folded
	told := map[string]int{}
	for _, r := range e.crossings() {
		r.want(t, map[string]any{"client.session": r.session})
		n := 1
		if many, ok := r.at("repeated").(float64); ok {
			n = int(many)
		}
		told[r.session] += n
	}
	if diff := cmp.Diff(asked, told); diff != "" {
		t.Errorf("refusals by session (-want +got):\n%s", diff)
	}
}

// A refusal that rules a request is never folded: each is a decision on a page
// or a host of its own.
func TestE13RuledRefusalsAreNotFolded(t *testing.T) {
	p := policyAllowing("192.168.77.0/24")
	p.Services, p.Tunnels = []string{"private.test", "metadata.test"}, []string{"private.test", "metadata.test"}
	e := startEdge(t, edgeSetup{policy: p, options: func(o *Options) { o.ConnectPorts = nil }})
	const each = 3
	for n := range each {
		e.dial().send(fmt.Sprintf("CONNECT site.test:%d HTTP/1.1\r\nHost: x\r\n\r\n", 9000+n))
		e.dial().send("CONNECT private.test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
		e.dial().send(fmt.Sprintf("GET http://10.0.0.1/%d HTTP/1.1\r\nHost: x\r\n\r\n", n))
	}
	e.down()
	told := map[string]int{}
	for _, r := range e.crossings() {
		told[fmt.Sprint(r.at("refusal.reason"), " ", r.at("method") != nil)]++
		if r.at("repeated") != nil {
			t.Errorf("folded: %s", r.raw)
		}
	}
	for _, kind := range []string{"tunnel_not_listed false", "private_address false", "private_address true"} {
		if told[kind] != each {
			t.Errorf("%s: %d records, want %d", kind, told[kind], each)
		}
	}
}
