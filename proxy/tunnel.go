package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A tunnel is a CONNECT whose content is intercepted.
type tunnel struct {
	agent
	edge   *Edge
	origin hostkey.Origin // what CONNECT named; the scheme is what the content turned out to be
	named  string         // the same as written
	sni    string         // the name the client's handshake gave, if any
	client client

	requests   atomic.Int64
	clientLeft atomic.Bool // the client closed, as opposed to a deadline of ours
	outOfTime  atomic.Bool // a deadline of ours ended the waiting for the client
}

type tunnelKey struct{}

// A tunnelConn is the client's connection after CONNECT: it first gives what was
// read too early, and notices who ends it.
type tunnelConn struct {
	net.Conn
	tunnel *tunnel
	early  []byte
}

func (c *tunnelConn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil
		}
		return n, nil
	}
	n, err := c.Conn.Read(p)
	switch {
	case err == nil, errors.Is(err, net.ErrClosed):
	case isTimeout(err):
		c.tunnel.outOfTime.Store(true)
	default:
		c.tunnel.clientLeft.Store(true)
	}
	return n, err
}

// tunnelOf returns the tunnel a connection of the inner server belongs to.
func tunnelOf(c net.Conn) *tunnel {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*tunnelConn).tunnel
}

// connect answers CONNECT: refused for its target, its credentials or its port,
// or because it leads back here; else the connection is taken over (N2).
func (e *Edge) connect(w http.ResponseWriter, r *http.Request) {
	who, reason := e.identify(r)
	x := e.newCrossing(w, r, who)
	x.rec.Client.Protocol = "tunnel"
	origin, rej := e.connectTarget(r)
	if rej == nil { // what is no host:port may hold a secret (E23)
		x.rec.Authority = r.RequestURI
	}
	switch {
	case rej != nil:
	case reason != "":
		rej = &rejection{reason, "the proxy credentials were not accepted", credentialWords(reason)}
	case e.passed(r.Header) || e.opt.Upstream.dialer.leadsBack(origin):
		rej = &rejection{rulings.Loop, loopRuling().Detail, loopRuling().Told}
	case !e.ports.Has(origin.Port):
		x.govern(origin.Host)
		rej = x.notListed(fmt.Sprintf("port %d is not in connect_ports", origin.Port),
			rulings.Say("The operator does not allow tunnels to port %.", rulings.Number(origin.Port)))
	}
	conn, early, err := takeOver(w)
	if err != nil {
		e.log.Debug("a connection could not be taken over", "error", err)
		return
	}
	if !e.hold(conn) {
		conn.Close()
		return
	}
	defer e.release(conn)
	if rej != nil {
		x.refuseConnect(conn, r, *rej)
		return
	}
	if x.policy != nil && x.policy.Tunnel(origin.Host) {
		x.origin = origin
		e.passThrough(x, r, conn, early)
		return
	}
	t := &tunnel{agent: who, edge: e, origin: origin, named: r.RequestURI}
	e.intercept(&tunnelConn{Conn: conn, tunnel: t, early: early}, x)
}

// notListed says why a tunnel is refused that nothing lists: while no policy loads
// nobody knows what is listed, and every tunnel is refused for that (O3).
func (x *crossing) notListed(detail string, told rulings.Words) *rejection {
	if x.policy == nil {
		r := rulings.Decide(rulings.Request{}, rulings.Terms{}, nil)
		return &rejection{r.Reason, r.Detail, r.Told}
	}
	return &rejection{rulings.TunnelNotListed, detail, told}
}

// connectTarget reads the authority-form target of CONNECT (RFC 9112 3.2.3).
func (e *Edge) connectTarget(r *http.Request) (hostkey.Origin, *rejection) {
	invalid := func(why string) (hostkey.Origin, *rejection) {
		return hostkey.Origin{}, &rejection{rulings.RequestInvalid, "CONNECT target: " + why,
			rulings.Say("A CONNECT target is a host and a port, as in example.com:443.")}
	}
	target := r.RequestURI
	if len(target) > maxTargetBytes {
		return hostkey.Origin{}, &rejection{rulings.TargetTooLong, fmt.Sprintf("a target of %d octets", len(target)),
			rulings.Say("The request target has more than % octets.", rulings.Number(maxTargetBytes))}
	}
	if strings.ContainsAny(target, "/@?#%") {
		return invalid("not host:port")
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil || host == "" {
		return invalid("not host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return invalid("no valid port")
	}
	origin, err := hostkey.ParseOrigin("https", target)
	if err != nil {
		return invalid("no valid host")
	}
	return origin, nil
}

// takeOver takes the connection out of net/http's hands, with the octets the
// client sent right behind its request.
func takeOver(w http.ResponseWriter) (net.Conn, []byte, error) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early := make([]byte, rw.Reader.Buffered())
	if _, err := io.ReadFull(rw.Reader, early); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, early, nil
}

// refuseConnect answers CONNECT with a refusal, whose reason also stands in the
// status phrase: many clients show nothing else of it.
func (x *crossing) refuseConnect(conn net.Conn, r *http.Request, rej rejection) {
	defer conn.Close()
	x.uncharged() // here: its record may be written for several, and later
	x.rec.Method = ""
	rep := reply{Reason: rej.reason, Detail: rej.told}
	x.setRefusal(rulings.Ruling{Outcome: rulings.Refuse, Reason: rej.reason, Stage: rulings.StageBefore, Detail: rej.detail})
	x.tell(&rep)
	if !x.edge.folded.fold(x) {
		x.end(evidence.Refused)
	}
	x.writeConnect(conn, r, rep)
}

// writeConnect writes a reply to CONNECT onto the connection itself.
func (x *crossing) writeConnect(conn net.Conn, r *http.Request, rep reply) {
	resp := x.edge.response(r, rep, x.label())
	resp.Status = fmt.Sprintf("%d %s", resp.StatusCode, rep.Reason)
	resp.Close = true
	resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	conn.SetWriteDeadline(time.Now().Add(x.edge.silence))
	// An error means that the client left, and nothing is owed to it.
	_ = resp.Write(conn)
}

// intercept opens the tunnel and hands what it carries to the inner server.
func (e *Edge) intercept(c *tunnelConn, x *crossing) {
	deadline := time.Now().Add(x.edge.silence)
	c.SetDeadline(deadline)
	if _, err := io.WriteString(c.Conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Close()
		return
	}
	content, err := c.peek()
	switch {
	case err != nil:
		x.unread(c, "the client was silent in its tunnel", err)
	case content == contentTLS:
		e.handshake(c, x)
	case content == contentHTTP:
		c.tunnel.origin.Scheme = "http"
		c.SetDeadline(time.Time{})
		e.tunnelled.give(c)
	default:
		x.rec.Method = ""
		x.govern(c.tunnel.origin.Host)
		rej := x.notListed("the tunnel carries neither TLS nor HTTP, and its host is not listed in policy.tunnels", rulings.Words{})
		x.setRefusal(rulings.Ruling{Outcome: rulings.Refuse, Reason: rej.reason, Stage: rulings.StageBefore, Detail: rej.detail})
		x.end(evidence.Refused)
		c.Close()
	}
}

// handshake speaks TLS with the client in the name of the host it asked for.
func (e *Edge) handshake(c *tunnelConn, x *crossing) {
	conn := tls.Server(c, e.tls)
	if err := conn.HandshakeContext(e.baseCtx); err != nil {
		e.metrics.interceptionFailed()
		x.unread(c, "the TLS handshake with the client did not succeed", err)
		return
	}
	c.tunnel.sni = conn.ConnectionState().ServerName
	c.SetDeadline(time.Time{})
	e.tunnelled.give(conn)
}

// serverTLS is the configuration of every interception. The leaf is for the name
// the client's handshake gives, or else for the host its CONNECT named: a leaf
// for another name would only break clients that are in the right.
func (e *Edge) serverTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if name == "" {
				name = tunnelOf(hello.Conn).origin.Host
			}
			return e.opt.Certs.Leaf(name)
		},
	}
}

// unread records a tunnel in which no request could be read (E12). One that the
// client closed before it asked for anything leaves no record.
func (x *crossing) unread(c *tunnelConn, what string, err error) {
	c.Close()
	alert, alerted := alertOf(err)
	if c.tunnel.clientLeft.Load() && !alerted {
		return
	}
	kind, detail := "client_silent", what
	switch {
	case alerted:
		kind, detail = string(rulings.TLSAlertReceived), fmt.Sprintf("%s: alert %d (%v)", what, uint8(alert), alert)
	case !isTimeout(err):
		kind, detail = string(rulings.TLSProtocolError), what+": "+err.Error()
	}
	x.rec.Method = ""
	x.govern(c.tunnel.origin.Host)
	x.rec.Failure = evidence.Failure{Kind: kind, Detail: detail}
	x.gap(evidence.CapabilityUnavailable, "nothing inside the tunnel to "+c.tunnel.origin.Authority()+" could be read")
	x.end(evidence.Abandoned)
}

// tunnelState watches the inner server's connections: one that ends without a
// request, and not by the client's own doing, was silent until a deadline.
func (e *Edge) tunnelState(c net.Conn, state http.ConnState) {
	e.clientState(c, state)
	if state != http.StateClosed {
		return
	}
	t := tunnelOf(c)
	if t.requests.Load() > 0 || t.clientLeft.Load() || e.stopping.Load() {
		return
	}
	if !t.outOfTime.Load() && !speaksHTTP2(c) { // which has a timer of its own for silent clients
		return // the parser turned away what came, and has said so; no request was made (E13)
	}
	x := &crossing{agent: t.agent, edge: e, policy: e.policyFor(t.agent)}
	x.rec.Grade = evidence.Mediated
	x.rec.Authority = t.named
	x.rec.Client = evidence.Client{Session: t.session(), Protocol: "tunnel", Address: c.RemoteAddr().String()}
	if x.policy != nil {
		x.rec.PolicyDigest = x.policy.Digest()
	}
	x.unread(&tunnelConn{Conn: c, tunnel: t}, "the client sent no whole request head in its tunnel", context.DeadlineExceeded)
}

// speaksHTTP2 reports whether c carries HTTP/2.
func speaksHTTP2(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}

// mismatch says why a request may not use its tunnel: it names another host
// than CONNECT did, or the handshake did (N4). Nil when all agree.
func (t *tunnel) mismatch(r *http.Request) *rejection {
	wrong := func(what, named string) *rejection {
		return &rejection{rulings.AuthorityMismatch, fmt.Sprintf("the tunnel is to %s, %s names %q", t.origin.Authority(), what, named),
			rulings.Say("The request names another host than the tunnel it came through. Open a tunnel to that host.")}
	}
	if t.sni != "" {
		if key, err := hostkey.Key(t.sni); err != nil || key != t.origin.Host {
			return wrong("the TLS handshake", t.sni)
		}
	}
	if !t.same(t.origin.Scheme, r.Host) {
		return wrong("the request", r.Host)
	}
	for _, host := range r.Header["Host"] { // beside :authority; of HTTP/1.1 it is in r.Host (RFC 9113 8.3.1)
		if !t.same(t.origin.Scheme, host) {
			return wrong("the request's Host", host)
		}
	}
	if r.URL.IsAbs() && !t.same(r.URL.Scheme, r.URL.Host) {
		return wrong("the request's URL", r.URL.Scheme+"://"+r.URL.Host)
	}
	return nil
}

func (t *tunnel) same(scheme, authority string) bool {
	if authority == t.named && scheme == t.origin.Scheme {
		return true // the usual spelling
	}
	o, err := hostkey.ParseOrigin(scheme, authority)
	return err == nil && o == t.origin
}
