package proxy

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/payment"
)

// A source's demand for payment or a login is the source's own word: it reaches
// the client octet for octet, nothing is paid or sent again, and the record says
// what was asked.
func TestT101_T102_DemandsPassUntouchedAndAreRecorded(t *testing.T) {
	edges := []*testEdge{startEdge(t, edgeSetup{}), startEdge(t, edgeSetup{policy: withService("127.0.0.1")})}
	whole, turn := t, 0 // sites last as long as the edges, so that none has the address of another
	x402 := `{"x402Version":1,"accepts":[{"scheme":"exact","maxAmountRequired":"10000"}],"error":"X-PAYMENT header is required"}`
	field := base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"accepts":[]}`))
	const json, html = "Content-Type: application/json\r\n", "Content-Type: text/html\r\nContent-Usage: ai-use=n\r\n"
	for _, c := range []struct {
		name, status, fields, body string
		mark, price, currency      string
	}{
		{"x402 in a body", "402 X", json, x402, "x402", "", ""},
		{"x402 in a body of another type", "402 X", "Content-Type: text/plain\r\n", x402, "x402", "", ""},
		{"x402 in a coded body", "402 X", json + "Content-Encoding: gzip\r\n", encode["gzip"](x402), "x402", "", ""},
		{"x402 in a body that is as long as may be", "402 X", json, x402 + strings.Repeat(" ", payment.MaxBody-len(x402)), "x402", "", ""},
		{"x402 in a body that is longer", "402 X", json, x402 + strings.Repeat(" ", payment.MaxBody-len(x402)+1), "unknown", "", ""},
		{"x402 in a field", "402 X", "PAYMENT-REQUIRED: " + field + "\r\n", "pay", "x402", "", ""},
		{"x402 before the price of a crawler", "402 X", json + "crawler-price: USD 0.01\r\n", x402, "x402", "", ""},
		{"the price of a crawler", "402 X", "crawler-price: USD 0.01\r\n", "pay", "crawler-price", "0.01", "USD"},
		{"the price of a crawler, with another body", "402 X", json + "crawler-price: USD 0.01\r\n", `{"error":"pay"}`, "crawler-price", "0.01", "USD"},
		{"a price that is none", "402 X", "crawler-price: 0.01 USD\r\n", "pay", "crawler-price", "", ""},
		{"L402", "402 X", "WWW-Authenticate: L402 macaroon=\"abc\", invoice=\"lnbc\"\r\n", "pay", "l402", "", ""},
		{"LSAT", "402 X", "WWW-Authenticate: LSAT macaroon=\"abc\"\r\n", "pay", "l402", "", ""},
		{"Payment", "402 X", "WWW-Authenticate: Payment id=\"x\", method=\"card\"\r\n", "pay", "payment", "", ""},
		{"a licence", "401 X", "WWW-Authenticate: License error=\"none\"\r\n", "ask", "licence", "", ""},
		{"a licence, before x402", "402 X", json + "WWW-Authenticate: License\r\n", x402, "licence", "", ""},
		{"nothing that is known", "402 X", html, "<p>pay", "unknown", "", ""},
		{"nothing at all", "402 X", "", "", "unknown", "", ""},
		{"a login", "401 X", "WWW-Authenticate: Basic realm=x\r\n", "who", "", "", ""},
		{"a bare 403", "403 X", html, "no", "", "", ""},
		{"a signature that is wanted", "403 X", "Accept-Signature: sig=()\r\n", "sign", "accept-signature", "", ""},
		{"a login, beside a price that asks nothing", "401 X", "crawler-price: USD 0.01\r\n", "who", "", "", ""},
	} {
		turn++
		t.Run(c.name, func(t *testing.T) {
			for n, e := range edges {
				for m, name := range slices.Sorted(maps.Keys(framings)) {
					if (m+n+turn)%2 == 0 { // two framings at sources, the other two at services
						continue
					}
					w, frame := ways[(m+turn)%len(ways)], framings[name]
					s := startSite(whole, w.secure, func(v *visit) {
						v.say("HTTP/1.1 " + c.status + "\r\n" + c.fields + frame(c.body))
						if name == "the connection" {
							v.Close()
						}
					})
					resp, err := e.by(w).Get(s.url + "/")
					body := text(t, resp, err)
					if fmt.Sprint(resp.StatusCode) != c.status[:3] || body != c.body || reasonOf(resp) != "" {
						t.Errorf("%s, %s: %s, %d octets", w.name, name, resp.Status, len(body))
					}
					for line := range strings.Lines(c.fields) {
						name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
						if resp.Header.Get(name) != value {
							t.Errorf("%s: %s is %q at the client", w.name, name, resp.Header.Get(name))
						}
					}
					if s.requests.Load() != 1 {
						t.Errorf("the origin saw %d requests", s.requests.Load())
					}
					e.crossing(s.url).want(t, map[string]any{"outcome": "delivered", "challenge.status": c.status[:3], "challenge.mark": orNil(c.mark),
						"challenge.price": orNil(c.price), "challenge.currency": orNil(c.currency), "refusal": nil, "retrieved_hash": sum(c.body)})
				}
			}
		})
	}
}

// What is no refusal of the fetcher is no challenge.
func TestT102_OtherStatusesAreNoChallenge(t *testing.T) {
	e := startEdge(t, edgeSetup{files: hurried()})
	for _, status := range []int{200, 404, 429, 451, 500, 503} {
		s := answering(t, false, fmt.Sprintf("HTTP/1.1 %d X\r\ncrawler-price: USD 0.01\r\nWWW-Authenticate: Payment\r\nContent-Length: 0\r\n\r\n", status))
		resp, _ := get(t, e.client("", false), s.url+"/")
		if resp.StatusCode != status || resp.Header.Get("Crawler-Price") != "USD 0.01" {
			t.Errorf("%d: %s %v", status, resp.Status, resp.Header)
		}
		e.crossing(s.url).want(t, map[string]any{"http_status": status, "challenge": nil, "noted": "[crawler-price]", "outcome": "delivered"})
	}
}

// What an answer says of payment or identity beside its challenge, or without one,
// is noted whatever its status.
func TestT102_T106_WhatAsksNothingIsNoted(t *testing.T) {
	e := startEdge(t, edgeSetup{files: hurried()})
	const price, signature = "crawler-price: USD 0.01\r\n", "Accept-Signature: sig=()\r\n"
	for _, c := range []struct{ answer, challenge, mark, noted string }{
		{"200 OK\r\n", "", "", ""},
		{"200 OK\r\n" + signature, "", "", "[accept-signature]"},
		{"404 X\r\n" + price + signature, "", "", "[accept-signature crawler-price]"},
		{"200 OK\r\nContent-Usage: ai-use=n\r\n" + price, "", "", "[crawler-price]"},
		{"401 X\r\n" + price, "401", "", "[crawler-price]"},
		{"402 X\r\n" + price + signature, "402", "crawler-price", "[accept-signature]"},
		{"403 X\r\n" + price + signature, "403", "accept-signature", "[accept-signature crawler-price]"},
	} {
		s := answering(t, false, "HTTP/1.1 "+c.answer+"Content-Length: 4\r\n\r\npage")
		get(t, e.client("", false), s.url+"/")
		e.crossing(s.url).want(t, map[string]any{"challenge.status": orNil(c.challenge), "challenge.mark": orNil(c.mark), "noted": orNil(c.noted)})
	}
}

// What an answer says was charged is recorded whatever became of it.
func TestT104_AChargeIsRecorded(t *testing.T) {
	e := startEdge(t, edgeSetup{files: hurried()})
	receipt := func(s string) string {
		return "PAYMENT-RESPONSE: " + base64.StdEncoding.EncodeToString([]byte(s)) + "\r\n"
	}
	for _, c := range []struct{ name, answer, charge, outcome string }{
		{"of a crawler", "200 OK\r\ncrawler-charged: USD 0.01\r\n", "USD 0.01", "delivered"},
		{"of a crawler, with an error", "500 X\r\ncrawler-charged: USD 0.01\r\n", "USD 0.01", "delivered"},
		{"of a crawler, for a page that is withheld", "200 OK\r\ncrawler-charged: USD 0.01\r\nContent-Usage: ai-use=n\r\n", "USD 0.01", "refused"},
		{"of x402", "200 OK\r\n" + receipt(`{"success":true,"transaction":"0x1"}`), "payment-response", "delivered"},
		{"of x402 that failed", "402 X\r\n" + receipt(`{"success":false}`), "", "delivered"},
		{"none", "200 OK\r\n", "", "delivered"},
	} {
		s := answering(t, false, "HTTP/1.1 "+c.answer+"Content-Length: 4\r\n\r\npage")
		get(t, e.client("", false), s.url+"/")
		t.Run(c.name, func(t *testing.T) {
			breach := ""
			if c.charge != "" {
				breach = "spend_not_allowed"
			}
			r := e.crossing(s.url)
			r.want(t, map[string]any{"charge": orNil(c.charge), "outcome": c.outcome})
			if got := strings.Join(r.list("breach", "reason"), " "); got != breach {
				t.Errorf("breaches: %s", got)
			}
		})
	}
}

// A charge has happened, so every mode carries it: a breach, unless the policy lets
// the session spend there or says that the host costs something.
func TestT104_AChargeThatPolicyDoesNotAllowIsABreachInEveryMode(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy func(*rulings.PolicyFile)
		breach string
	}{
		{"a source", func(*rulings.PolicyFile) {}, "spend_not_allowed"},
		{"a source where others may spend", func(p *rulings.PolicyFile) { p.Spend = []rulings.SpendFile{{User: "other", Hosts: []string{"*"}}} }, "spend_not_allowed"},
		{"a source where it may spend", func(p *rulings.PolicyFile) {
			p.Spend = []rulings.SpendFile{{User: "buyer", Hosts: []string{"127.0.0.1"}}}
		}, ""},
		{"a service that costs nothing", func(p *rulings.PolicyFile) { p.Services = []string{"127.0.0.1"} }, "spend_not_allowed"},
		{"a service with a price", func(p *rulings.PolicyFile) {
			p.Services, p.ServiceTerms = []string{"127.0.0.1"}, []rulings.ServiceFile{{Price: rulings.PriceFile{Word: "reported"}, ChargeHeader: "X-Charge"}}
		}, ""},
	} {
		for _, mode := range []string{"observe", "prefer", "strict"} {
			policy := loopbackPolicy()
			policy.Mode = mode
			c.policy(&policy)
			e := startEdge(t, edgeSetup{policy: policy})
			s := answering(t, false, "HTTP/1.1 404 X\r\ncrawler-charged: USD 0.01\r\nContent-Length: 4\r\n\r\npage")
			resp, body := get(t, e.client("buyer", false), s.url+"/")
			want := ""
			if mode == "prefer" {
				want = c.breach
			}
			if resp.StatusCode != 404 || body != "page" || resp.Header.Get(breachField) != want {
				t.Errorf("%s, %s: %s, %v", c.name, mode, resp.Status, resp.Header)
			}
			r := e.crossing(s.url)
			r.want(t, map[string]any{"charge": "USD 0.01", "outcome": "delivered", "refusal": nil, "gaps": nil})
			if got := strings.Join(r.list("breach", "reason"), " "); got != c.breach {
				t.Errorf("%s, %s: breaches %q", c.name, mode, got)
			}
		}
	}
}

// An agent that signs its requests (RFC 9421) is believed by the origin: what
// the signature covers is there as it was signed, and the signature as well.
func TestT106_ASignedRequestVerifiesAtTheOrigin(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	const agent, directory, parameters = "signed/1.0 (+https://agents.example)", `"https://agents.example"`,
		`("@method" "@authority" "@path" "@query" "signature-agent" "user-agent" "content-digest" "accept");created=1700000000;keyid="k";alg="ed25519";tag="web-bot-auth"`
	base := func(r *http.Request) []byte {
		path, query, _ := strings.Cut(r.RequestURI, "?")
		return fmt.Appendf(nil, "\"@method\": %s\n\"@authority\": %s\n\"@path\": %s\n\"@query\": ?%s\n\"signature-agent\": %s\n\"user-agent\": %s\n"+
			"\"content-digest\": %s\n\"accept\": %s\n\"@signature-params\": %s", r.Method, r.Host, path, query, r.Header.Get("Signature-Agent"), r.UserAgent(),
			r.Header.Get("Content-Digest"), strings.Join(r.Header["Accept"], ", "), parameters)
	}
	e := startEdge(t, edgeSetup{}) // which appends its name to an agent's that is not signed
	for _, w := range ways {
		p := startPublisher(t, w, nil, func(rw http.ResponseWriter, r *http.Request) {
			signature, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(r.Header.Get("Signature"), "sig1="), ":"))
			if err != nil || !ed25519.Verify(public, base(r), signature) {
				t.Errorf("%s: not verified: %v over\n%s", w.name, r.Header, base(r))
			}
			if r.Header.Get("Signature-Input") != "sig1="+parameters {
				t.Errorf("%s: %v", w.name, r.Header)
			}
			rw.Header().Set("Accept-Signature", `sig1=("@authority")`)
			io.Copy(rw, r.Body)
		})
		r := request(t, "POST", p.URL+"/a%2Fb//c?x=%41&y", strings.NewReader("body"), "Signature-Agent", directory, "User-Agent", agent, "Content-Digest", "sha-256=:x:",
			"Accept", "text/html", "Accept", "text/plain;q=0.5")
		asSent := r.Clone(t.Context())
		asSent.RequestURI, asSent.Host = "/a%2Fb//c?x=%41&y", p.addr
		r.URL.Opaque = "" // the path is sent as it was written
		r.Header.Set("Signature-Input", "sig1="+parameters)
		r.Header.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(private, base(asSent)))+":")
		resp, err := e.by(w).Do(r)
		if body := text(t, resp, err); resp.StatusCode != 200 || body != "body" || resp.Header.Get("Accept-Signature") == "" {
			t.Errorf("%s: %s %q", w.name, resp.Status, body)
		}
		e.crossing(p.URL+"/a").want(t, map[string]any{"outcome": "delivered", "identity.user_agent": agent})
	}
}

// Being signed meets no term: a signed request is ruled as any other.
func TestT106_IdentityMeetsNoTerm(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	p := startPublisher(t, ways[0], map[string]string{"/robots.txt": "User-agent: *\nDisallow: /\n"}, nil)
	got := e.fetch(ways[0], "GET", p.addr, "/page", "Signature", "sig1=:AA==:", "Signature-Input", `sig1=("@authority")`, "Signature-Agent", `"https://x.example"`)
	if got.status != 403 || got.reason != "robots_disallow" {
		t.Errorf("%d %s", got.status, got.octets)
	}
	if diff := cmp.Diff([]string{"/robots.txt"}, p.asked()); diff != "" {
		t.Error(diff)
	}
}
