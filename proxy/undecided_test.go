package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// faultyTerms is a book that fails for some paths, as code with a fault would.
type faultyTerms struct{ Terms }

func (f faultyTerms) Rule(ctx context.Context, req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling {
	switch {
	case req.Target == "/boom":
		var nothing *rulings.Policy
		_ = nothing.Digest() // a nil pointer is met
	case req.Origin.Host == "other.test":
		return rulings.Decide(req, *known, policy) // nothing was looked up
	}
	return f.Terms.Rule(ctx, req, known, policy)
}

// A fault while ruling refuses that request and no other: the process, other
// tunnels and even the same one go on.
func TestT4AFaultWhileRulingRefusesThatRequestAlone(t *testing.T) {
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.Terms = faultyTerms{o.Terms} }})
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			o := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
			other := startOrigin(t, "", !w.secure, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "other") })
			first, second := e.by(w), e.by(w)
			get(t, second, other.URL+"/open") // its connection is open and idle meanwhile

			resp, body := get(t, first, o.URL+"/boom")
			if resp.StatusCode != 503 || reasonOf(resp) != "undecided" || resp.Header.Get("Retry-After") != "1" || leaks.MatchString(body) {
				t.Errorf("%s %s", resp.Status, body)
			}
			if !strings.Contains(resp.Header.Get("Proxy-Status"), "error=proxy_internal_error") || !strings.Contains(body, `"whose":"edge"`) {
				t.Errorf("%v %s", resp.Header, body)
			}
			if resp, body := get(t, second, other.URL+"/ok"); resp.StatusCode != 200 || body != "other" {
				t.Errorf("another tunnel: %s %q", resp.Status, body)
			}
			if resp, body := get(t, first, o.URL+"/ok"); resp.StatusCode != 200 || body != "page" {
				t.Errorf("the same tunnel: %s %q", resp.Status, body)
			}
			if n := o.requests.Load(); n != 1 {
				t.Errorf("the origin saw %d requests", n)
			}
			e.crossing(o.URL+"/boom").want(t, map[string]any{"outcome": "refused", "refusal.reason": "undecided", "refusal.whose": "edge",
				"refusal.stage": "before", "requested_at": nil, "told.status": 503})
		})
	}
}

// Terms that say nothing at all, not even that there are none, refuse.
func TestT4TermsThatWereNeverLookedUpRefuse(t *testing.T) {
	e := startEdge(t, edgeSetup{options: func(o *Options) { o.Terms = faultyTerms{o.Terms} }})
	o := startOrigin(t, "", true, nil)
	resp, _ := get(t, e.client("", false), strings.Replace(o.URL, "127.0.0.1", "other.test", 1)+"/")
	if resp.StatusCode != 503 || reasonOf(resp) != "undecided" || o.requests.Load() != 0 {
		t.Errorf("%s, reason %s, %d requests", resp.Status, reasonOf(resp), o.requests.Load())
	}
}

// While no policy loads, everything is refused and nothing is asked, services
// and tunnels too: their host is not known to be one.
func TestO4WithoutAPolicyEverythingIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{noPolicy: true})
	for _, w := range ways {
		o := startOrigin(t, "", !w.secure, nil)
		resp, err := e.by(w).Get(o.URL + "/")
		body := text(t, resp, err)
		if resp.StatusCode != 503 || reasonOf(resp) != "policy_unavailable" || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, `"whose":"operator"`) {
			t.Errorf("%s: %s %s", w.name, resp.Status, body)
		}
		if o.requests.Load()+o.probes.Load() != 0 {
			t.Errorf("%s: the site was asked", w.name)
		}
		r := e.crossing(o.URL)
		r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "policy_unavailable", "policy_digest": nil, "requested_at": nil})
		if r.at("policy_unavailable") == nil {
			t.Errorf("%s: the record does not say why there was no policy", w.name)
		}
	}
}

// So are tunnels in which no request can be read: nobody knows what is listed.
func TestO3WithoutAPolicyEveryTunnelIsRefused(t *testing.T) {
	e := startEdge(t, edgeSetup{noPolicy: true, options: func(o *Options) { o.ConnectPorts = nil }})
	want := map[string]any{"outcome": "refused", "refusal.reason": "policy_unavailable", "refusal.whose": "operator", "grade": "mediated", "class": "source",
		"ruleset": rulings.Ruleset, "policy_digest": nil, "policy_unavailable": "the configured policy does not load"}

	resp := e.dial().send("CONNECT site.test:9000 HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.Status != "503 policy_unavailable" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("answered %q, %v", resp.Status, resp.Header)
	}
	r := e.crossing("site.test:9000")
	r.want(t, want)
	r.want(t, map[string]any{"told.status": 503, "told.reason": "policy_unavailable"})

	conn, err := e.tunnel("site.test:443")
	must(t, err)
	c := e.raw(conn)
	c.WriteString("SSH-2.0-x\r\n")
	c.closed()
	r = e.crossing("site.test:443")
	r.want(t, want)
	r.want(t, map[string]any{"told": nil}) // the tunnel was open by then
}

// A client that leaves while its terms are looked up is gone, not refused.
func TestN13AClientThatLeavesDuringTheLookUpIsRecordedAsGone(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	asked, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	o := startOrigin(t, "", true, nil)
	o.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-goOn
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if _, err := e.client("", false).Do(request(t, "GET", o.URL+"/gone", nil).WithContext(ctx)); err == nil {
		t.Error("the client has an answer")
	}
	e.crossing("/gone").want(t, map[string]any{"outcome": "abandoned", "failure.kind": "client", "refusal": nil, "told": nil, "requested_at": nil})
}
