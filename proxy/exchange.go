package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// exchange carries one request to its end and returns the answer, which is
// never nil: each failure is a response whose record is already written. The
// whole flow stands here, step by step.
func (e *Edge) exchange(r *http.Request) (resp *http.Response) {
	x := crossingOf(r.Context())
	defer func() {
		if p := recover(); p != nil {
			resp = x.panicked(r, p)
		}
	}()
	ruling := x.rule(r.Context(), r)
	if r.Context().Err() != nil { // what was to be looked up may be missing for that reason alone
		x.gone(r)
	}
	if ruling.Refused() {
		x.barredTerms(&ruling)
		x.leftAlone(r.Context(), &ruling)
		return x.refuse(r, ruling)
	}
	if ruling := x.unlessGone(r, x.afford(r.Context())); ruling.Refused() {
		return x.refuse(r, ruling)
	}
	if refused := x.pace(r); refused != nil {
		return x.refuse(r, *refused)
	}
	resp, err := x.send(r)
	if err != nil {
		return x.unavailable(r, err)
	}
	x.charged(resp)
	x.challenged(resp)
	if err := x.arrived(r.Context(), resp.StatusCode); err != nil {
		resp.Body.Close()
		return x.notUsed(r, err)
	}
	x.paceBody(r, resp)
	if ruling := x.ruleAnswer(r, resp); ruling.Refused() {
		return x.withhold(r, resp, ruling)
	}
	if ruling := x.measure(r, resp); ruling.Refused() {
		return x.withhold(r, resp, ruling)
	}
	return x.deliver(r, resp)
}

// panicked turns a fault of ours into an answer: undecided, recorded, and the
// process goes on. net/http would drop the connection without a word.
func (x *crossing) panicked(r *http.Request, p any) *http.Response {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	x.edge.log.Error("a crossing panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	x.rec.Opened = x.number
	return x.refuse(r, rulings.CouldNotDecide("the edge met a fault of its own"))
}

// aborted sees to it that a fault of ours behind the head leaves a record too,
// and that the client's connection breaks off: deferred by cross.
func (x *crossing) aborted() {
	p := recover()
	if p == nil {
		return
	}
	if p != http.ErrAbortHandler {
		x.edge.log.Error("a delivery panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
	if !x.ended {
		x.rec.Failure = evidence.Failure{Kind: "edge", Detail: "the edge met a fault of its own"}
		x.end(evidence.Cut)
	}
	x.breakConnection()
	panic(http.ErrAbortHandler)
}

// breakConnection resets the connection of a client that would take the mere end
// of it for the end of the body: HTTP/1.0 has no other sign (RFC 9112, section 8).
func (x *crossing) breakConnection() {
	if x.rec.Client.Protocol != "HTTP/1.0" || x.client == nil {
		return
	}
	conn := x.client.conn
	for {
		switch c := conn.(type) {
		case *tls.Conn:
			conn = c.NetConn()
		case *tunnelConn:
			conn = c.Conn
		case *net.TCPConn:
			// Errors mean that it is gone already.
			_ = c.SetLinger(0)
			_ = c.Close()
			return
		default:
			return
		}
	}
}

// send hands the request to the transport, once.
func (x *crossing) send(r *http.Request) (*http.Response, error) {
	if x.edge.opt.Upstream.replay != nil {
		return x.replayed(r)
	}
	ctx := r.Context()
	if bodyOf(r) == bodyNone {
		// Over HTTP/2 the transport sends such a request again when the site
		// turns its stream away, and there is no body that would keep it from that.
		ctx, x.watch.once = context.WithCancelCause(ctx) // ends with the request's own
	}
	ctx, headCame := x.headBy(ctx)
	defer headCame()
	out := x.sendable(r, httptrace.WithClientTrace(ctx, x.watch.trace(x.edge, x.w, r)))
	x.beginUpload(r)
	x.rec.RequestedAt = time.Now()
	x.watch.sent = x.rec.RequestedAt
	resp, err := x.roundTrip(r, out)
	x.watch.headRead()
	x.rec.Address = x.watch.address()
	if err != nil {
		x.undialled(err)
		if fault := x.watch.body.broken(); ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if fault != nil {
			err = fault
		}
		if x.watch.fresh.demanded && !isTimeout(err) {
			// In TLS 1.3 a server that wants a certificate says so after the
			// handshake, and its alert may be lost behind other faults.
			err = fmt.Errorf("%w: %w", errDemanded, err)
		}
		x.recordNone(r, err)
		return nil, err
	}
	x.source = resp.Body
	x.rec.HTTPStatus, x.rec.HTTPVersion = resp.StatusCode, versionOf(resp)
	x.record(r, resp)
	return resp, usable(r, resp, x.watch.http2)
}

// roundTrip sends out on the connections it may use. A host that turns HTTP/1.1
// down in the handshake has not seen the request, so it is sent over HTTP/2; an
// upload is not, its body having been closed with the attempt.
func (x *crossing) roundTrip(r, out *http.Request) (*http.Response, error) {
	u := x.edge.opt.Upstream
	resp, err := u.transportFor(x.client, x.policy, r, out.URL.Host).RoundTrip(out)
	if err != nil && u.only2.learn(out.URL.Host, err) && out.Body == (emptyBody{}) {
		resp, err = u.pool(x.policy).multi.RoundTrip(out)
	}
	return taken(resp, err)
}

// undialled records how far a dial came that brought no connection.
func (x *crossing) undialled(err error) {
	if d, ok := errors.AsType[*dialError](err); ok {
		x.watch.fresh = d.facts
		if failureOf(err).reason != rulings.TLSAlertReceived { // which, with an address, may be of a request that was sent (O34)
			x.rec.Address = cmp.Or(d.facts.address, x.rec.Address)
		}
	}
}

// sendable is the request as it leaves the edge. The target keeps every octet
// the agent wrote: URL.Opaque is sent as it stands, except that one beginning
// with // would be read as a host and stays in Path.
func (x *crossing) sendable(r *http.Request, ctx context.Context) *http.Request {
	out := r.WithContext(ctx)
	out.RequestURI = ""
	out.Close = false
	path, query, hasQuery := strings.Cut(x.target, "?")
	out.URL = &url.URL{Scheme: x.origin.Scheme, Host: x.origin.Authority(), RawQuery: query, ForceQuery: hasQuery && query == ""}
	switch {
	case x.edge.opt.Upstream.opt.Proxy != nil && x.origin.Scheme == "http": // absolute-form for the next proxy
		out.URL.Opaque = "//" + x.origin.Authority() + strings.TrimPrefix(path, "*") // which has no asterisk (RFC 9112 3.2.4)
	case strings.HasPrefix(path, "//"):
		out.URL.Path, out.URL.RawPath = unescaped(path), path
	default:
		out.URL.Opaque = path
	}
	out.Header = x.edge.requestFields(r)
	x.setUserAgent(out.Header, r)
	x.limitResend(out)
	return out
}

// sendableAsWritten reports whether target can be sent without changing an octet
// of it. It can, but where a path that begins with // has octets no URL may have:
// net/http would escape them, and what is asked for would not be what was ruled.
func sendableAsWritten(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "//") {
		return true
	}
	u := url.URL{Path: unescaped(path), RawPath: path}
	return u.EscapedPath() == path
}

// limitResend gives a bodiless GET, HEAD or OPTIONS an empty body that is not
// http.NoBody: with NoBody the transport would silently send it again when a
// reused connection dies under it. Bodies that do stream are counted.
func (x *crossing) limitResend(out *http.Request) {
	out.GetBody = nil
	switch bodyOf(out) {
	case bodyStreams:
		keepTrailers(out.Trailer)
		x.watch.body.ReadCloser, x.watch.body.trailer = out.Body, out.Trailer
		x.watch.body.spends = x.policy.MaySpend(x.user, x.origin.Host)
		if x.edge.opt.Upstream.recorder != nil {
			x.watch.body.sum = sha256.New()
		}
		out.Body = &x.watch.body
	case bodyEmpty:
		noResend(out)
	default:
		out.Body = http.NoBody // an HTTP/2 request has a body of its own kind even when it has none
		if len(out.Header["Content-Length"]) > 0 {
			out.TransferEncoding = []string{"identity"} // has a length of 0 written with any method that may say it: see noResend
		}
	}
}

// What is sent as a request's body.
type requestBody uint8

const (
	bodyNone    requestBody = iota
	bodyEmpty               // none, by a method with which an empty one leaves no trace on the wire
	bodyStreams             // the agent's
)

func bodyOf(r *http.Request) requestBody {
	switch {
	case r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0:
		return bodyStreams
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
		return bodyEmpty
	}
	return bodyNone
}

// noResend gives out the empty body that net/http will not send twice. Named
// as identity-coded, it is not probed for octets, which would cost a goroutine
// and a timer; on the wire nothing stands for it.
func noResend(out *http.Request) {
	out.Body = emptyBody{}
	out.TransferEncoding = []string{"identity"}
}

// emptyBody is a body of no octets that net/http cannot take for NoBody.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// WriteTo saves net/http a copying buffer.
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }

// unescaped decodes percent-escapes; text that is not escaped rightly stays.
func unescaped(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

// setUserAgent applies policy.identity. A field that a message signature covers
// is never altered (RFC 9421), and services get the agent's own.
func (x *crossing) setUserAgent(h http.Header, r *http.Request) {
	agent, ours := r.UserAgent(), x.edge.OwnUserAgent(x.policy)
	if x.rec.Class == rulings.Source && !strings.Contains(strings.ToLower(strings.Join(r.Header["Signature-Input"], ",")), `"user-agent"`) {
		switch x.policy.Identity.UserAgent {
		case rulings.UserAgentAppend:
			agent = strings.TrimLeft(agent+" "+ours, " ")
		case rulings.UserAgentReplace:
			agent = ours
		}
	}
	h["User-Agent"] = []string{agent} // empty keeps net/http from adding its own
	if x.rec.Class == rulings.Source {
		x.rec.Identity.UserAgent = agent
	}
}

// OwnUserAgent is the name under which the edge itself asks for terms (T12), and
// its part of an agent's field: first product token, version, contact.
func (e *Edge) OwnUserAgent(p *rulings.Policy) string { return UserAgent(p, e.opt.Version) }

// UserAgent is the edge's own User-Agent under policy p; a nil p is the default.
func UserAgent(p *rulings.Policy, version string) string {
	if p == nil {
		p = rulings.DefaultPolicy()
	}
	s := p.Identity.Tokens[0] + "/" + version
	if p.Identity.Contact != "" {
		s += " (" + p.Identity.Contact + ")"
	}
	return s
}

func versionOf(resp *http.Response) string {
	if resp.ProtoMajor == 2 {
		return "h2"
	}
	return resp.Proto
}

// A headFault is an answer whose head cannot be passed on (N10, N15).
type headFault struct{ failure }

func (f *headFault) Error() string { return f.detail }

// usable returns why the answer, which came over a connection of HTTP/2 or of
// HTTP/1.x, cannot be passed on, and then has closed it.
func usable(r *http.Request, resp *http.Response, http2 bool) error {
	fault := faultOfHead(r, resp, http2)
	if fault != nil {
		resp.Body.Close()
	}
	return fault
}

func faultOfHead(r *http.Request, resp *http.Response, http2 bool) error {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols && !(asksWebsocket(r) && isWebsocket(resp.Header)):
		return &headFault{failure{rulings.UpgradeFailed, "101 to a protocol that was not asked for",
			rulings.Say("The site switched to a protocol the edge does not carry.")}}
	case resp.StatusCode < 100, resp.ProtoMajor < 1, resp.ProtoMajor > 2, (resp.ProtoMajor == 2) != http2:
		return &headFault{failure{rulings.HTTPProtocolError, fmt.Sprintf("%s with status %d", resp.Proto, resp.StatusCode),
			rulings.Say("The site's answer is not valid HTTP.")}}
	}
	return nil
}

func loopRuling() rulings.Ruling {
	return rulings.Ruling{Outcome: rulings.Refuse, Reason: rulings.Loop, Stage: rulings.StageBefore,
		Detail: "the request leads to one of the edge's own listeners or has passed this edge before",
		Told:   rulings.Say("The request leads back to the proxy itself.")}
}
