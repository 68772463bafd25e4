package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/elazarl/goproxy"
)

// witnessed are faults seen in goproxy v1.9.4, each with the test by which an
// edge shows that it has none of them.
var witnessed = map[string]string{
	"a broken chunked body is delivered as whole on the plain path":    "TestN12ABodyThatBreaksOffBreaksOffAtTheClient",
	"an upstream failure while intercepting closes without an answer":  "TestN19AFailureInsideATunnelLeavesItUsable",
	"a panic while intercepting ends the process":                      "TestT4AFaultWhileRulingRefusesThatRequestAlone",
	"an answer without a body ends the process":                        "TestGoproxyIsNeverHandedAnAnswerWithoutABody",
	"nothing inside a tunnel has a deadline":                           "TestN3ASilentClientIsGivenUp",
	"heads inside a tunnel have no limit":                              "TestN3HeadsAndTargetsAreLimited",
	"the inner Host replaces the host of CONNECT":                      "TestN4AnotherAuthorityInsideTheTunnelReachesNobody",
	"an absolute URL inside a tunnel replaces the host of CONNECT":     "TestN4AbsoluteFormInsideATunnelIsForTheSameAuthorityAndScheme",
	"CONNECT /x dials the proxy's own port 80":                         "TestN2ConnectTargets",
	"hop-by-hop fields pass to the origin":                             "TestN8N9FieldsOfARequest",
	"hop-by-hop fields pass to the client":                             "TestN8N9FieldsOfAnAnswer",
	"octets right behind CONNECT are lost":                             "TestN3OctetsRightBehindConnectAreKept",
	"streams other than SSE are held up to 4 KiB on the plain path":    "TestN11EachPieceArrivesBeforeTheNextIsSent",
	"Upgrade: websocket on a 426 hangs":                                "TestN15ARefusedHandshakeIsAnOrdinaryAnswer",
	"the client's connection of a websocket is left open":              "TestN15AWebsocketEndsWhenEitherEndCloses",
	"a leaf is valid for 395 days, outside the window of the CA":       "TestN23ALeafIsOfOurOwnCAAndInsideItsWindow",
	"proxies of the environment are used":                              "TestN17TheEnvironmentNamesNoProxy",
	"Accept-Encoding is dropped and the answer's coding with it":       "TestN9CodedOctetsStayAsTheOriginSentThem",
	"certificates of sites are not verified":                           "TestN17ABadCertificateDeliversNothing",
	"leaves are signed with a CA whose key anybody can read":           "TestN23ALeafIsOfOurOwnCAAndInsideItsWindow",
	"requests leave by goproxy's own transport when nobody set theirs": "TestGoproxysOwnWaysOutAreShut",
	"a default of a later version is taken over unseen":                "TestNoDefaultOfGoproxyIsLeft",
}

func TestEachFaultSeenInGoproxyHasATest(t *testing.T) {
	tests := make(map[string]bool)
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	for fault, test := range witnessed {
		if !tests[test] {
			t.Errorf("%s: there is no %s", fault, test)
		}
	}
}

// Every field of goproxy's server has the value newCarrier means it to have; a
// field nobody thought about fails.
func TestNoDefaultOfGoproxyIsLeft(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	carrier := e.carry.(*goproxy.ProxyHttpServer)
	set := map[string]bool{"Logger": true, "NonproxyHandler": true, "KeepHeader": true, "KeepAcceptEncoding": true, "Tr": true, "ConnectDialWithReq": true,
		"reqHandlers": true}
	unset := map[string]bool{"KeepDestinationHeaders": true, "Verbose": true, "ConnectionErrHandler": true, "ConnectDial": true, "CertStore": true,
		"AllowHTTP2": true, "PreventCanonicalization": true, "respHandlers": true, "httpsHandlers": true, "h2Server": true}
	v := reflect.ValueOf(carrier).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch {
		case name == "sess": // a counter
		case !set[name] && !unset[name]:
			t.Errorf("goproxy has a field %s, about which newCarrier decides nothing", name)
		case v.Field(i).IsZero() == set[name]:
			t.Errorf("%s is left at its zero value: %v", name, v.Field(i).IsZero())
		}
	}
	if n := v.FieldByName("reqHandlers").Len(); n != 1 {
		t.Errorf("%d request handlers", n)
	}
	if carrier.Tr.Proxy != nil || carrier.Tr.DialContext == nil || carrier.Tr.DialTLSContext == nil {
		t.Error("the transport can dial or asks the environment for a proxy")
	}
	conns := e.opt.Upstream.pool(nil)
	for _, tr := range []*http.Transport{conns.shared, conns.multi, conns.single} {
		if tr.Proxy != nil || !tr.DisableCompression || tr.TLSClientConfig.InsecureSkipVerify {
			t.Error("the edge's own transport has a default nobody chose")
		}
	}
}

// Whatever goproxy might send by itself goes nowhere.
func TestGoproxysOwnWaysOutAreShut(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	s := answering(t, false, "HTTP/1.1 204 No Content\r\n\r\n")
	carrier := e.carry.(*goproxy.ProxyHttpServer)
	for _, scheme := range []string{"http", "https"} {
		if _, err := carrier.Tr.RoundTrip(request(t, "GET", scheme+"://"+s.addr+"/", nil)); !errors.Is(err, errBypass) {
			t.Errorf("its transport over %s: %v", scheme, err)
		}
	}
	if _, err := carrier.ConnectDialWithReq(nil, "tcp", s.addr); !errors.Is(err, errBypass) {
		t.Errorf("its dialer: %v", err)
	}
	front := httptest.NewServer(carrier) // as if a CONNECT had slipped through to it
	defer front.Close()
	c := e.raw(mustDial(t, front.Listener.Addr().String()))
	if resp := c.send("CONNECT " + s.addr + " HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode < 500 {
		t.Errorf("its CONNECT: %s", resp.Status)
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("the site saw %d connections", n)
	}
}

// However an exchange ends, goproxy gets an answer with a body from it.
func TestGoproxyIsNeverHandedAnAnswerWithoutABody(t *testing.T) {
	e := startEdge(t, edgeSetup{policy: withService("127.0.0.1"), options: func(o *Options) { o.Terms = faultyTerms{o.Terms} }})
	o := startOrigin(t, "User-agent: *\nDisallow: /private\n", true, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bare" {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	named := strings.Replace(o.URL, "127.0.0.1", "site.test", 1) // a source; the address is a service
	for what, c := range map[string]struct {
		url    string
		status int
	}{
		"delivered":           {o.URL + "/", 200},
		"without a body":      {o.URL + "/bare", 204},
		"refused":             {named + "/private", 403},
		"unavailable":         {"http://" + closedPort(t) + "/", 502},
		"a fault of our own":  {named + "/boom", 503},
		"nothing was decided": {strings.Replace(o.URL, "127.0.0.1", "other.test", 1) + "/", 503},
	} {
		r := httptest.NewRequest("GET", c.url, nil)
		x := e.newCrossing(httptest.NewRecorder(), r, agent{log: e.store.Own()})
		if rej := x.settle(r, "http", r.URL.Host, c.url); rej != nil {
			t.Fatalf("%s: %v", what, rej)
		}
		resp := e.exchange(r.WithContext(context.WithValue(r.Context(), crossingKey{}, x)))
		if resp == nil || resp.Body == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %+v", what, resp)
		}
	}
}

// The leaf a client sees is signed by the CA of this edge and no other, and is
// valid no longer than that.
func TestN23ALeafIsOfOurOwnCAAndInsideItsWindow(t *testing.T) {
	e := startEdge(t, edgeSetup{})
	published, err := x509.ParseCertificate(goproxy.GoproxyCa.Certificate[0])
	must(t, err)
	theirs := x509.NewCertPool()
	theirs.AddCert(published)
	for _, host := range []string{"site.test", "192.0.2.1", "2001:db8::1"} {
		chain := e.tlsTunnelTo(joinPort(host), "").ConnectionState().PeerCertificates
		if len(chain) < 2 {
			t.Fatalf("%s: a chain of %d", host, len(chain))
		}
		leaf, ca := chain[0], chain[1]
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: e.roots, DNSName: host}); err != nil {
			t.Errorf("%s: our own CA: %v", host, err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: theirs, DNSName: host}); err == nil {
			t.Errorf("%s: goproxy's published CA signed the leaf", host)
		}
		if leaf.NotBefore.Before(ca.NotBefore) || leaf.NotAfter.After(ca.NotAfter) || leaf.NotAfter.Sub(leaf.NotBefore) > 90*24*time.Hour {
			t.Errorf("%s: the leaf holds from %v to %v, the CA from %v to %v", host, leaf.NotBefore, leaf.NotAfter, ca.NotBefore, ca.NotAfter)
		}
		if leaf.Subject.CommonName != "" || len(leaf.AuthorityKeyId) == 0 || len(leaf.SubjectKeyId) == 0 {
			t.Errorf("%s: subject %q, key ids %x and %x", host, leaf.Subject, leaf.SubjectKeyId, leaf.AuthorityKeyId)
		}
	}
}

// joinPort puts the port of https behind a name or an address.
func joinPort(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:443"
	}
	return host + ":443"
}
