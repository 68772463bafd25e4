package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/elazarl/goproxy"
)

// newCarrier returns goproxy's plain-HTTP handler, through which every request
// goes whatever brought it. Nothing of goproxy's own defaults is left: its
// transport and dialers refuse, so that a request can reach a source only by
// the exchange.
func newCarrier(e *Edge) *goproxy.ProxyHttpServer {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errBypass }
	p := &goproxy.ProxyHttpServer{
		Logger:             log.New(io.Discard, "", 0),
		NonproxyHandler:    http.HandlerFunc(e.notProxied),
		KeepHeader:         true, // the exchange filters fields itself (N8)
		KeepAcceptEncoding: true,
		Tr:                 &http.Transport{DialContext: refuse, DialTLSContext: refuse},
		ConnectDialWithReq: func(*http.Request, string, string) (net.Conn, error) { return nil, errBypass },
	}
	p.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		ctx.RoundTripper = goproxy.RoundTripperFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
			return e.exchange(r), nil
		})
		return r, nil
	})
	return p
}

var errBypass = errors.New("proxy: a request tried to leave without an exchange")
