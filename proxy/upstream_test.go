package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// selfSigned is a certificate nobody vouches for.
func selfSigned(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The edge verifies sites for its agents, who see the edge's certificate only. A
// bad one delivers nothing, and what is bad about it stays in the record.
func TestN17ABadCertificateDeliversNothing(t *testing.T) {
	for name, cert := range map[string]tls.Certificate{
		"expired":         originLeaf(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		"not yet valid":   originLeaf(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }),
		"self-signed":     selfSigned(t),
		"of another name": originLeaf(t, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"elsewhere.test"}, nil }),
		"for clients": originLeaf(t, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			// A service, so that the request itself meets the certificate and not
			// the question for robots.txt before it.
			e := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
			o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secret page") },
				func(c *tls.Config) { c.Certificates = []tls.Certificate{cert} })
			for _, w := range ways[2:] {
				resp, err := e.by(w).Get(o.URL + "/" + w.name[12:])
				body := text(t, resp, err)
				if resp.StatusCode != 502 || reasonOf(resp) != "tls_certificate_error" || strings.Contains(body, "x509") || strings.Contains(body, "page") {
					t.Errorf("%s: %s %s", w.name, resp.Status, body)
				}
			}
			for _, r := range e.waitCrossings(2) {
				r.want(t, map[string]any{"outcome": "unavailable", "failure.kind": "tls_certificate_error", "http_status": nil, "delivered": nil, "class": "service"})
			}
			if n := o.requests.Load(); n != 0 {
				t.Errorf("the site saw %d requests", n)
			}
		})
	}
}

// As a source such a site is refused, since its robots.txt cannot be read either.
func TestN17ASourceWithABadCertificateIsUnreachable(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", false, nil, func(c *tls.Config) { c.Certificates = []tls.Certificate{selfSigned(t)} })
	resp, _ := get(t, e.client("", false), o.URL+"/")
	if resp.StatusCode != 503 || reasonOf(resp) != "robots_unreachable" || o.requests.Load()+o.probes.Load() != 0 {
		t.Errorf("%s, reason %s", resp.Status, reasonOf(resp))
	}
}

// The edge has no key of the agent's to present, and says what was demanded.
func TestN17ASiteThatDemandsAClientCertificate(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: withService("127.0.0.1")})
	var handshakes atomic.Int64
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		handshakes.Store(0)
		o := startOrigin(t, "", false, nil, func(c *tls.Config) {
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, version
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				handshakes.Add(1)
				return nil, nil
			}
		})
		for _, w := range ways[2:] {
			resp, err := e.by(w).Get(o.URL + "/")
			body := text(t, resp, err)
			if resp.StatusCode != 502 || reasonOf(resp) != "tls_alert_received" || !strings.Contains(body, "client certificate") {
				t.Errorf("TLS %x, %s: %s %s", version, w.name, resp.Status, body)
			}
		}
		e.crossing(o.URL).want(t, map[string]any{"outcome": "unavailable", "failure.kind": "tls_alert_received"})
		if n := handshakes.Load(); n != 2 || o.requests.Load() != 0 {
			t.Errorf("TLS %x: %d handshakes for 2 requests, %d requests", version, n, o.requests.Load())
		}
	}
}

// A site that asks for a certificate and does without is served like any other.
func TestN17AClientCertificateThatIsNotNeeded(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") },
		func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert })
	for _, w := range ways[2:] {
		resp, err := e.by(w).Get(o.URL + "/")
		if body := text(t, resp, err); resp.StatusCode != 200 || body != "page" {
			t.Errorf("%s: %s %s", w.name, resp.Status, body)
		}
	}
}

// No option of any kind turns verification off.
func TestN17NothingTurnsVerificationOff(t *testing.T) {
	u, err := NewUpstream(UpstreamOptions{Policy: loopbackPolicyOf(t)})
	must(t, err)
	conns := u.pool(nil)
	for name, tr := range map[string]*http.Transport{"shared": conns.shared, "multi": conns.multi, "single": conns.single, "bound": u.transport(conns.policy, "http/1.1")} {
		if tr.TLSClientConfig.InsecureSkipVerify || tr.TLSClientConfig.VerifyPeerCertificate != nil || tr.DialTLSContext == nil {
			t.Errorf("the transport %s does not verify", name)
		}
		if tr.Proxy != nil || !tr.DisableCompression {
			t.Errorf("the transport %s takes a proxy or codes on its own", name)
		}
	}
	for _, v := range []any{UpstreamOptions{}, Options{}} {
		for i := range reflect.TypeOf(v).NumField() {
			if f := reflect.TypeOf(v).Field(i); strings.Contains(strings.ToLower(f.Name), "secure") || strings.Contains(strings.ToLower(f.Name), "verif") || f.Type == reflect.TypeFor[*tls.Config]() {
				t.Errorf("%T has a switch %s", v, f.Name)
			}
		}
	}
}

func TestN17ACAFileThatCannotBeReadIsAnError(t *testing.T) {
	empty := t.TempDir() + "/empty.pem"
	must(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	for _, name := range []string{empty, empty + ".gone"} {
		if _, err := NewUpstream(UpstreamOptions{CAFile: name}); err == nil || !strings.Contains(err.Error(), "upstream.ca_file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A login that holds for a connection never serves another agent: an origin that
// knows who is there by the connection alone tells nobody else's name.
func TestN17ConnectionBoundLoginsAreNotShared(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	for _, scheme := range []string{"NTLM TlRMTVNT", "Negotiate YII=", "ntlm x"} {
		for _, w := range ways {
			round := func(t *testing.T) (alice string) { // as whom she is served without her login
				var user atomic.Value // of connection number
				users := func(n int64) string { u, _ := user.Load().(map[int64]string); return u[n] }
				s := startSite(t, w.secure, func(v *visit) {
					if v.req.Header.Get("Authorization") != "" {
						user.Store(map[int64]string{v.conn: "alice"})
					}
					v.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n%-8s", users(v.conn)))
				})
				ask := func(c *http.Client, fields ...string) string {
					resp, err := c.Do(request(t, "GET", s.url+"/", nil, fields...))
					return strings.TrimSpace(text(t, resp, err))
				}
				hers, bob := e.by(w), e.by(w)
				if got := ask(hers, "Authorization", scheme); got != "alice" {
					t.Errorf("alice is served as %q", got)
				}
				for range 3 {
					if got := ask(bob); got != "" {
						t.Errorf("bob is served as %q", got)
					}
				}
				return ask(hers)
			}
			t.Run(scheme+" "+w.name, func(t *testing.T) {
				got := round(t)
				for tries := 1; got == "" && tries < 5; tries++ { // net/http keeps no connection that is slow to have written its request
					got = round(t)
				}
				if got != "alice" { // her own connection stays hers
					t.Errorf("alice without her login is served as %q", got)
				}
			})
		}
	}
}

// The edge's environment says nothing about how it reaches sites. Variables are
// read at the start of a process, so it is one of its own.
func TestN17TheEnvironmentNamesNoProxy(t *testing.T) {
	o := startOrigin(t, "", true, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
	secure := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer trap.Close()
	var trapped atomic.Int64
	go func() {
		for {
			c, err := trap.Accept()
			if err != nil {
				return
			}
			trapped.Add(1)
			c.Close()
		}
	}()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEdgeChild$")
	cmd.Env = append(os.Environ(), edgeChild+"="+t.TempDir(), edgeChildCA+"="+originCAFile(t), "NO_PROXY=", "no_proxy=")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		cmd.Env = append(cmd.Env, name+"=http://"+trap.Addr().String())
	}
	addr := startChild(t, cmd)
	// A name, because loopback addresses never go to a proxy of the environment.
	for _, target := range []string{
		strings.Replace(o.URL, "127.0.0.1", "site.test", 1),
		strings.Replace(secure.URL, "127.0.0.1", "site.test", 1),
	} {
		tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr}), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		resp, err := (&http.Client{Transport: tr}).Get(target + "/")
		if body := text(t, resp, err); body != "page" {
			t.Errorf("%s: %s %s", target, resp.Status, body)
		}
		tr.CloseIdleConnections()
	}
	if trapped.Load() != 0 || o.requests.Load() != 1 || secure.requests.Load() != 1 {
		t.Errorf("the proxy of the environment saw %d connections, the sites %d and %d requests", trapped.Load(), o.requests.Load(), secure.requests.Load())
	}
}
