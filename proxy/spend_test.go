package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// spendAnywhere lets every session send fields that spend to any host.
func spendAnywhere() []rulings.SpendFile {
	return []rulings.SpendFile{{User: "*", Hosts: []string{"*"}}}
}

// spendingFields are request fields that spend or accept terms, with a value
// that nobody but the origin may read.
var spendingFields = []struct{ name, value, recorded string }{
	{"Crawler-Exact-Price", "USD " + canary, "crawler-exact-price"},
	{"Crawler-Max-Price", "USD " + canary, "crawler-max-price"},
	{"PAYMENT-SIGNATURE", canary, "payment-signature"},
	{"X-PAYMENT", canary, "x-payment"},
	{"x-payment", canary, "x-payment"},
	{"Authorization", "L402 " + canary + ":" + canary, "authorization"},
	{"Authorization", "LSAT " + canary, "authorization"},
	{"Authorization", "License " + canary, "authorization"},
	{"Authorization", "Payment " + canary, "authorization"},
	{"Authorization", "pAyMeNt " + canary, "authorization"},
}

// A lockedBuffer collects what goroutines log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// loggingAll makes an edge log everything, and count, into what it returns.
func loggingAll(s *edgeSetup) (logged *lockedBuffer, reg *prometheus.Registry) {
	logged, reg = &lockedBuffer{}, prometheus.NewRegistry()
	s.options = func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Metrics = reg
	}
	return logged, reg
}

// onDisk is everything that an edge has put into its data directory.
func (e *testEdge) onDisk() string {
	var all strings.Builder
	must(e.t, filepath.WalkDir(e.data, func(name string, d os.DirEntry, err error) error {
		var octets []byte
		if err == nil && d.Type().IsRegular() {
			octets, err = os.ReadFile(name)
			fmt.Fprintf(&all, "%s\n%s\n", name, octets)
		}
		if errors.Is(err, fs.ErrNotExist) { // a running edge renames what it has written
			return nil
		}
		return err
	}))
	return all.String()
}

// Each field that spends is refused before anything is asked for, at sources and
// at services, and its value is nowhere afterwards.
func TestT105_AFieldThatSpendsIsRefusedBeforeAnythingIsAskedFor(t *testing.T) {
	for _, policy := range []rulings.PolicyFile{loopbackPolicy(), withService("127.0.0.1")} {
		s := edgeSetup{policy: policy}
		logged, reg := loggingAll(&s)
		e := startEdge(t, s)
		for _, w := range ways {
			p := startPublisher(t, w, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /\n"}, nil)
			for n, field := range spendingFields {
				for _, method := range []string{"GET", "POST"} {
					target := fmt.Sprintf("/%s/%d", method, n)
					got := e.fetch(w, method, p.addr, target, field.name, field.value, "Content-Length", "0")
					got.told(t, w.name+" "+field.name, 403, rulings.SpendNotAllowed, rulings.WhoseOperator)
					e.crossing(p.URL+target).want(t, map[string]any{"outcome": "refused", "refusal.stage": "before", "declarations": nil, "requested_at": nil,
						"spending": "[" + field.recorded + "]"})
				}
			}
			if asked := p.asked(); len(asked) != 0 {
				t.Errorf("%s: the origin saw %v", w.name, asked)
			}
		}
		e.down()
		metrics, err := reg.Gather()
		must(t, err)
		for where, text := range map[string]string{"the data directory": e.onDisk(), "the process log": logged.String(), "the metrics": fmt.Sprint(metrics)} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(canary)) {
				t.Errorf("the value is in %s", where)
			}
		}
	}
}

// What is announced behind a body spends as what stands in front of it.
func TestT105_ATrailerThatIsAnnouncedAndSpendsIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, w := range ways {
		p := startPublisher(t, w, nil, nil)
		for _, name := range []string{"Crawler-Exact-Price", "Crawler-Max-Price", "Payment-Signature", "X-Payment"} {
			r := request(t, "POST", p.URL+"/"+name, io.MultiReader(strings.NewReader("upload"))) // of unknown length
			r.Trailer = http.Header{name: {canary}}
			resp, err := e.by(w).Do(r)
			if text(t, resp, err); resp.StatusCode != 403 || reasonOf(resp) != "spend_not_allowed" {
				t.Errorf("%s, %s: %s", w.name, name, resp.Status)
			}
			e.crossing(p.URL+"/"+name).want(t, map[string]any{"outcome": "refused", "requested_at": nil, "spending": "[" + strings.ToLower(name) + "]"})
		}
		if asked := p.asked(); len(asked) != 0 {
			t.Errorf("%s: the origin saw %v", w.name, asked)
		}
	}
}

// A trailer nobody announced is seen when the body has passed: the upload then
// never comes to its end, unless policy lets the session spend.
func TestT105_ATrailerThatSpendsUnannouncedNeverReachesTheOrigin(t *testing.T) {
	spender := edgeSetup{policy: loopbackPolicy()}
	spender.policy.Spend = spendAnywhere()
	s := edgeSetup{}
	logged, _ := loggingAll(&s)
	e, free := startEdge(t, s), startEdge(t, spender)
	const upload = "Transfer-Encoding: chunked\r\n\r\n6\r\nupload\r\n0\r\n%s: Payment " + canary + "\r\n\r\n"
	for _, c := range []struct {
		name string
		w    way
		edit []func(*tls.Config)
	}{
		{"HTTP", http1[0], nil}, {"HTTP inside CONNECT", http1[1], nil}, {"HTTPS", http1[2], nil},
		{"HTTPS to a site that speaks HTTP/2 alone", http1[2], []func(*tls.Config){offeringOnlyHTTP2}},
	} {
		var ended http.Header // of an upload that came to its end
		o := startOrigin(t, "", !c.w.secure, func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				ended = r.Trailer
			}
		}, c.edit...)
		addr := o.Listener.Addr().String()
		for _, field := range []string{"x-payment", "authorization"} {
			client, target := e.rawBy(c.w, addr)
			resp, body := client.ask(fmt.Sprintf("POST "+target("/"+field)+" HTTP/1.1\r\nHost: "+addr+"\r\n"+upload, field))
			if resp.StatusCode != 403 || reasonOf(resp) != "spend_not_allowed" || strings.Contains(body, canary) || ended != nil {
				t.Errorf("%s, %s: %s, %v", c.name, field, resp.Status, ended)
			}
			e.crossing(o.URL+"/"+field).want(t, map[string]any{"outcome": "refused", "refusal.stage": "before",
				"refusal.detail": "the request carries " + field + ", and policy.spend does not let this agent spend at 127.0.0.1"})
		}
		if c.w.secure || c.w.connect {
			continue
		}
		resp, _ := free.dial().ask(fmt.Sprintf("POST "+o.URL+"/ HTTP/1.1\r\nHost: "+addr+"\r\nProxy-Authorization: "+basic("buyer", "")+"\r\n"+upload, "X-Payment"))
		if resp.StatusCode != 200 || ended.Get("X-Payment") != "Payment "+canary {
			t.Errorf("%s, where it may spend: %s, %v", c.name, resp.Status, ended)
		}
	}
	e.down()
	if strings.Contains(e.onDisk()+logged.String(), canary) {
		t.Error("the value is on disk or in the process log")
	}
}

// An answer that came before the end of such an upload breaks off with it, and the
// record says why.
func TestT105_AnAnswerBeforeATrailerThatSpendsBreaksOff(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", true, func(rw http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(rw)
		if err := rc.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		io.WriteString(rw, "early")
		rc.Flush()
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Errorf("the upload ended with %v", r.Trailer)
		}
	})
	c := e.dial()
	resp := c.send("POST " + o.URL + "/early HTTP/1.1\r\nHost: " + o.Listener.Addr().String() + "\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nupload\r\n")
	if _, err := c.WriteString("0\r\nX-Payment: " + canary + "\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || err == nil {
		t.Errorf("%s, %q", resp.Status, body)
	}
	e.crossing("/early").want(t, map[string]any{"outcome": "cut", "failure.kind": "spend_not_allowed", "delivered.complete": false,
		"failure.detail": "behind the body stands x-payment, and this agent may not spend here"})
}

// A websocket's handshake spends as any request does.
func TestT105_AHandshakeThatSpendsIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := echo(t, false)
	c := e.dial()
	resp := c.send(strings.Replace(handshake(s.url+"/", s.addr), "\r\n\r\n", "\r\nX-Payment: "+canary+"\r\n\r\n", 1))
	if resp.StatusCode != 403 || reasonOf(resp) != "spend_not_allowed" || s.connections.Load() != 0 {
		t.Errorf("%s, %d connections", resp.Status, s.connections.Load())
	}
}

// What spends nothing passes, a field of the name in an answer included.
func TestT105_OtherFieldsSpendNothing(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	p := startPublisher(t, ways[0], nil, func(rw http.ResponseWriter, r *http.Request) { rw.Header().Set("X-Payment", "1") })
	for _, fields := range [][]string{{"Authorization", "Basic L402"}, {"Authorization", "Bearer Payment"}, {"Crawler-Price", "USD 1"}, {"X-Payment-Response", "1"},
		{"Payment-Required", "1"}, {"Cookie", "x-payment=1"}} {
		if got := e.fetch(ways[0], "GET", p.addr, "/", fields...); got.status != 200 || got.reason != "" {
			t.Errorf("%v: %d %s", fields, got.status, got.octets)
		}
	}
}

// Policy lets named sessions spend at named hosts: the field reaches the origin
// as it was, source terms still bind, and no other session or host is let.
func TestT105_PolicyLetsASessionSpendAtAHost(t *testing.T) {
	s := edgeSetup{policy: withService("other.test")}
	s.policy.Spend = []rulings.SpendFile{{User: "buyer-*", Hosts: []string{"127.0.0.1", "other.test"}}, {User: "exact", Hosts: []string{"site.test"}},
		{User: "edge*", Hosts: []string{"127.0.0.1"}}} // which an agent without a name is not, wherever it is recorded
	logged, _ := loggingAll(&s)
	e := startEdge(t, s)
	for _, w := range []way{ways[0], ways[2], ways[3]} {
		p := startPublisher(t, w, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /private\n"}, nil)
		at := func(host string) string { return strings.Replace(p.URL, "127.0.0.1", host, 1) }
		for n, c := range []struct {
			session, url, reason string
			asked                []string
		}{
			{"buyer-1", at("127.0.0.1") + "/page", "", []string{"/robots.txt", "/page"}},
			{"buyer-2", at("127.0.0.1") + "/private", "robots_disallow", nil},
			{"buyer-1", at("other.test") + "/service", "", []string{"/service"}},
			{"buyer-1", at("site.test") + "/page", "spend_not_allowed", nil},
			{"exact", at("site.test") + "/exact", "", []string{"/robots.txt", "/exact"}},
			{"exact2", at("site.test") + "/exact", "spend_not_allowed", nil},
			{"stranger", at("127.0.0.1") + "/page", "spend_not_allowed", nil},
			{"", at("127.0.0.1") + "/page", "spend_not_allowed", nil},
		} {
			for _, field := range spendingFields {
				before := len(p.asked())
				resp, err := e.client(c.session, w.http2).Do(request(t, "GET", c.url, nil, field.name, field.value))
				text(t, resp, err)
				if reasonOf(resp) != c.reason {
					t.Fatalf("%s, case %d, %s: %s, reason %s", w.name, n, field.name, resp.Status, reasonOf(resp))
				}
				asked := p.asked()[before:]
				if c.reason != "" {
					if len(asked) != 0 {
						t.Errorf("%s, case %d: asked for %v", w.name, n, asked)
					}
					continue
				}
				if len(asked) == len(c.asked)-1 { // robots.txt is known by now
					asked = append([]string{"/robots.txt"}, asked...)
				}
				if diff := cmp.Diff(c.asked, asked); diff != "" {
					t.Errorf("%s, case %d (-want +got):\n%s", w.name, n, diff)
				}
				p.mu.Lock()
				last := p.visits[len(p.visits)-1]
				p.mu.Unlock()
				if got := last.Header.Get(field.name); got != field.value {
					t.Errorf("%s: at the origin %s is %q", w.name, field.name, got)
				}
			}
		}
		probe := p.visit(t, "/robots.txt")
		for _, field := range spendingFields {
			if probe.Header.Get(field.name) != "" {
				t.Errorf("the probe carries %s", field.name)
			}
		}
	}
	e.down()
	if strings.Contains(e.onDisk()+logged.String(), canary) {
		t.Error("the value is on disk or in the process log")
	}
	users := make(map[string]bool)
	var mu sync.Mutex
	_, err := evidence.Verify(t.Context(), e.data, evidence.VerifyOptions{Decide: func(c *evidence.RuledCrossing) (evidence.Redone, error) {
		mu.Lock()
		defer mu.Unlock()
		users[c.User] = true
		return evidence.Redone{Ruling: rulings.Ruling{Outcome: rulings.Proceed}}, nil
	}})
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"": true, "buyer-1": true, "buyer-2": true, "exact": true, "exact2": true, "stranger": true}, users); diff != "" {
		t.Errorf("what is ruled again is of the users (-want +got):\n%s", diff)
	}
	delivered := 0
	for _, r := range e.crossings() {
		if r.at("outcome") == "delivered" {
			delivered++
			if names, _ := r.at("spending").([]any); len(names) != 1 {
				t.Errorf("the record names %v: %s", names, r.raw)
			}
		}
	}
	if delivered == 0 {
		t.Error("nothing was delivered")
	}
}
