package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// Upstream time limits (N17). What a body takes is the source's own affair: a
// stream may be silent for hours.
const (
	connectTimeout     = 10 * time.Second // name resolution and TCP connect
	tlsTimeout         = 10 * time.Second
	defaultHeadTimeout = 30 * time.Second
	continueTimeout    = time.Second
	keepIdle           = 90 * time.Second
	maxIdle            = 4096
	maxIdlePerHost     = 1024
)

// UpstreamOptions say how requests leave the edge.
type UpstreamOptions struct {
	// Policy returns the policy under which the edge asks for terms on account of
	// no crossing, or nil while none loads; then only public addresses are
	// dialled. A crossing brings its own.
	Policy func() *rulings.Policy

	CAFile      string        // PEM file added to the system's roots; empty for none
	Offline     bool          // only what policy.allow_private names is asked (specs: policy O60)
	Proxy       *url.URL      // a further proxy all requests go through; nil for none
	HeadTimeout time.Duration // from the request's end to the answer's head; 0 means 30 s

	Record *recording.Writer    // gets what is exchanged; the caller closes it after the Upstream; nil records nothing
	Replay *recording.Recording // answers every request, and nothing is dialled; nil: the network does
}

// Upstream sends requests to sources: own transport, verified TLS, no
// environment proxy, and a guard on every address it dials. Its methods are safe
// for concurrent use.
type Upstream struct {
	opt    UpstreamOptions
	dialer guardedDialer
	roots  *x509.CertPool
	pools  pools
	only2  onlyHTTP2

	recorder *recorder // nil: nothing is recorded
	replay   *replayer // nil: it is no replay
}

// NewUpstream makes the transport. It fails when CAFile cannot be read or holds
// no certificate.
func NewUpstream(o UpstreamOptions) (*Upstream, error) {
	if o.HeadTimeout == 0 {
		o.HeadTimeout = defaultHeadTimeout
	}
	u := &Upstream{opt: o}
	u.dialer.offline, u.dialer.shut = o.Offline, o.Replay != nil
	if o.Record != nil {
		u.recorder = &recorder{w: o.Record}
	}
	if o.Replay != nil {
		u.replay = &replayer{rec: o.Replay}
	}
	if o.Proxy != nil {
		u.dialer.exempt = proxyAddress(o.Proxy)
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading upstream.ca_file: %w", err)
		}
		if u.roots, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("reading the system's roots: %w", err)
		}
		if !u.roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("upstream.ca_file %s holds no PEM certificate", o.CAFile)
		}
	}
	return u, nil
}

// proxyAddress is the host:port that a proxy URL stands for.
func proxyAddress(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// transport returns a transport that offers protocols by ALPN, and dials what
// policy's guard lets through.
func (u *Upstream) transport(policy *rulings.Policy, protocols ...string) *http.Transport {
	cfg := &tls.Config{RootCAs: u.roots, MinVersion: tls.VersionTLS12, NextProtos: protocols,
		ClientSessionCache: tls.NewLRUClientSessionCache(maxIdle)}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return u.dialer.dial(ctx, policy, network, addr)
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return u.dialTLS(ctx, policy, network, addr, cfg)
		},
		TLSClientConfig:        cfg.Clone(), // used behind upstream.proxy; net/http edits its copy
		TLSHandshakeTimeout:    tlsTimeout,
		DisableCompression:     true, // the agent's Accept-Encoding passes, the answer's coding stays
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        keepIdle,
		ResponseHeaderTimeout:  u.opt.HeadTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(slices.Contains(protocols, "h2"))
	if u.opt.Proxy != nil {
		t.Proxy = http.ProxyURL(u.opt.Proxy)
		t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode != http.StatusOK {
				return &legError{legConnect, refusedTunnel(resp)}
			}
			return nil
		}
	}
	return t
}

// dialTLS connects and completes the handshake, so that its fault and its time
// are known apart from those of the connect.
func (u *Upstream) dialTLS(ctx context.Context, policy *rulings.Policy, network, addr string, cfg *tls.Config) (net.Conn, error) {
	raw, err := u.dialer.dial(ctx, policy, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		raw.Close()
		return nil, err
	}
	cfg = cfg.Clone()
	cfg.ServerName = host
	demanded := false
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		demanded = true
		return &tls.Certificate{}, nil // none
	}
	conn := tls.Client(raw, cfg)
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	start := time.Now()
	d := dialledOf(raw)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		facts := d.facts
		facts.tls = time.Since(start)
		if demanded && !isTimeout(err) {
			err = fmt.Errorf("%w: %w", errDemanded, err)
		}
		return nil, &dialError{facts, &legError{leg: legTLS, err: err}}
	}
	d.facts.tls, d.facts.demanded = time.Since(start), demanded
	d.shaken, d.http2 = true, speaksHTTP2(conn)
	return conn, nil
}

// Reserve declares addr one of the edge's own listeners, which no request may
// reach through the edge (N7).
func (u *Upstream) Reserve(addr netip.AddrPort) { u.dialer.reserve(addr) }

// LeadsBack reports whether o is one of the addresses given to Reserve, told
// without resolving a name.
func (u *Upstream) LeadsBack(o hostkey.Origin) bool { return u.dialer.leadsBack(o) }

// Get makes the edge's own request for terms. It follows no redirect and sends
// nothing of an agent's. Every error is a *terms.FetchError.
func (u *Upstream) Get(ctx context.Context, target string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, probeTrace), http.MethodGet, target, nil)
	if err != nil {
		return nil, &terms.FetchError{Kind: terms.FailureConnect, Err: err}
	}
	req.Header = header
	noResend(req)
	if o, err := hostkey.ParseOrigin(req.URL.Scheme, req.URL.Host); err == nil {
		if err := u.hop(ctx, o); err != nil {
			return nil, err
		}
	}
	switch {
	case u.replay != nil:
		return u.replay.probe(req)
	case u.recorder != nil:
		return u.recorder.probe(req, u.fetch)
	}
	return u.fetch(req)
}

// fetch sends the edge's own request.
func (u *Upstream) fetch(req *http.Request) (*http.Response, error) {
	conns := u.pool(u.policyOf(req.Context()))
	t, authority := conns.shared, req.URL.Host
	if o, err := hostkey.ParseOrigin(req.URL.Scheme, req.URL.Host); err == nil {
		authority = o.Authority()
	}
	// The page comes over the same connection then, if it comes next.
	if x := crossingOf(req.Context()); u.only2.has(authority) || x != nil && x.rec.Client.Protocol == "h2" {
		t = conns.multi
	}
	resp, err := t.RoundTrip(req)
	if err != nil && u.only2.learn(authority, err) {
		resp, err = conns.multi.RoundTrip(req) // nothing was sent: see crossing.roundTrip
	}
	if resp, err = taken(resp, err); err != nil {
		return nil, fetchError(err)
	}
	resp.Body = unquotingBody{resp.Body}
	return resp, nil
}

// probeTrace keeps what it took to connect from being told of the page that comes
// over the same connection: for that crossing it was part of the look-up.
var probeTrace = &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
	if d := dialledOf(info.Conn); d != nil {
		d.told.Store(true)
	}
}}

// fetchError sorts a transport's error into the kinds the book knows.
func fetchError(err error) *terms.FetchError {
	f := failureOf(err)
	out := &terms.FetchError{Kind: terms.FailureConnect, Err: errors.New(f.detail)}
	if outOfResources(err) {
		out.Kind = terms.FailureInternal // nothing the host did (T17)
		return out
	}
	switch f.reason {
	case rulings.PrivateAddress, rulings.Loop, rulings.Offline:
		out.Kind, out.Barred = terms.FailureProhibited, f.reason
	case rulings.DNSError, rulings.DNSTimeout:
		out.Kind = terms.FailureDNS
	case rulings.TLSCertificateError, rulings.TLSProtocolError, rulings.TLSAlertReceived:
		out.Kind = terms.FailureTLS
	case rulings.ConnectionTimeout, rulings.ResponseTimeout, rulings.ReadTimeout:
		out.Kind = terms.FailureTimeout
	}
	return out
}

// outOfResources reports whether this process or machine could not even open a
// socket.
func outOfResources(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// Close ends idle connections, and returns when every exchange that has ended is in
// the recording. Requests under way go on.
func (u *Upstream) Close() {
	if u.recorder != nil {
		u.recorder.pending.Wait()
	}
	u.pools.close()
}

// A client is one connection of an agent. It owns the upstream connections that
// must not serve anybody else.
type client struct {
	conn net.Conn // as it was accepted; nil in tests of parts

	busy         atomic.Bool  // a request is under way
	begun, asked atomic.Int64 // requests of which an octet came, and those whose head was read

	mu     sync.Mutex
	bound  *http.Transport
	policy *rulings.Policy // whose guard bound dials under
}

type clientKey struct{}

// transportFor picks the connections a request ruled on policy may use.
func (u *Upstream) transportFor(c *client, policy *rulings.Policy, r *http.Request, authority string) *http.Transport {
	conns := u.pool(policy)
	if r.Method == http.MethodTrace {
		// net/http sends a TRACE again when a reused connection died, and a
		// TRACE can carry no body that would keep it from that.
		return conns.single
	}
	if t := u.boundTo(c, conns.policy, r); t != nil {
		return t
	}
	if r.ProtoMajor == 2 || u.only2.has(authority) {
		return conns.multi
	}
	return conns.shared
}

// boundTo returns the transport that is c's alone, if it has or now needs one. A
// login ends with the guard it was made under, as connections do.
func (u *Upstream) boundTo(c *client, policy *rulings.Policy, r *http.Request) *http.Transport {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bound == nil && !bindsConnection(r.Header) {
		return nil
	}
	if c.bound == nil || !c.policy.SameGuard(policy) {
		if c.bound != nil {
			c.bound.CloseIdleConnections()
		}
		c.bound, c.policy = u.transport(policy, "http/1.1"), policy // the only version such a login is defined for (RFC 4559)
	}
	return c.bound
}

// alertNoApplicationProtocol is the alert of a server that speaks none of the
// protocols offered to it (RFC 7301 3.2).
const alertNoApplicationProtocol = tls.AlertError(120)

// maxOnlyHTTP2 bounds how many hosts are remembered; more are found out anew.
const maxOnlyHTTP2 = 1024

// onlyHTTP2 remembers the hosts that turned HTTP/1.1 down in the handshake.
type onlyHTTP2 struct {
	mu    sync.RWMutex
	hosts map[string]bool
}

func (o *onlyHTTP2) has(authority string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.hosts[authority]
}

// learn notes authority if err says so, and reports whether it did. The request
// had not been sent then: there was no connection to send it on.
func (o *onlyHTTP2) learn(authority string, err error) bool {
	if alert, ok := alertOf(err); !ok || alert != alertNoApplicationProtocol {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hosts == nil || len(o.hosts) >= maxOnlyHTTP2 {
		o.hosts = make(map[string]bool)
	}
	known := o.hosts[authority]
	o.hosts[authority] = true
	return !known
}
