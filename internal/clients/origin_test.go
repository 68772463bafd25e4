//go:build clients

package clients

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// An arrival is a request as an origin saw it.
type arrival struct {
	method, path string
	via          string // empty: it did not come through an edge
	length       int64  // -1: unknown
}

// An origin is a site on loopback that notes what arrives.
type origin struct {
	url string // scheme://host:port

	mu       sync.Mutex
	arrivals []arrival
}

// startOrigin serves handler on a free port of the address, under the given
// name: HTTP/1.1 and h2 with the authority's certificate, or plain HTTP without
// one. A request that did not pass the edge fails the test.
func startOrigin(t *testing.T, a *authority, name, address string, handler http.Handler) *origin {
	t.Helper()
	o := startUnwatched(t, a, name, address, handler)
	t.Cleanup(func() {
		for _, a := range o.arrived() {
			// The edge's own question for terms is no crossing.
			if a.via == "" && a.path != "/robots.txt" {
				t.Errorf("%s %s reached the origin without passing the edge", a.method, a.path)
			}
		}
	})
	return o
}

// startUnwatched is startOrigin for requests that may go round the edge.
func startUnwatched(t *testing.T, a *authority, name, address string, handler http.Handler) *origin {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{}
	server := httptest.NewUnstartedServer(o.noting(handler))
	server.Listener.Close()
	server.Listener = listener
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that distrust an origin are part of the tests
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		server.Start()
		o.url = "http://" + net.JoinHostPort(name, port)
	} else {
		server.EnableHTTP2 = true
		server.TLS = &tls.Config{Certificates: []tls.Certificate{a.leaf}}
		server.StartTLS()
		o.url = "https://" + net.JoinHostPort(name, port)
	}
	t.Cleanup(server.Close)
	return o
}

func (o *origin) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.arrivals = append(o.arrivals, arrival{r.Method, r.URL.Path, strings.Join(r.Header.Values("Via"), ", "), r.ContentLength})
		o.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// arrived returns everything that arrived so far.
func (o *origin) arrived() []arrival {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]arrival(nil), o.arrivals...)
}

// at returns what arrived for one path.
func (o *origin) at(path string) []arrival {
	var out []arrival
	for _, a := range o.arrived() {
		if a.path == path {
			out = append(out, a)
		}
	}
	return out
}

// host is the origin's host:port.
func (o *origin) host() string {
	_, host, _ := strings.Cut(o.url, "://")
	return host
}
