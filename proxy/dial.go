package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// Errors of the address guard.
var (
	errPrivate = errors.New("the address is not public")
	errOffline = errors.New("the edge is offline and the address is public")
	errShut    = errors.New("the run is a replay and dials nothing")
	errLoop    = errors.New("the address is one of the edge's own listeners")
)

// A leg is a part of getting a connection.
type leg string

const (
	legConnect leg = "connect"
	legTLS     leg = "tls"
)

// A legError says in which leg a connection was not had.
type legError struct {
	leg leg
	err error
}

func (e *legError) Error() string { return string(e.leg) + ": " + e.err.Error() }
func (e *legError) Unwrap() error { return e.err }

// A dialError is a dial that brought no connection, with what is known of it.
type dialError struct {
	facts dialFacts
	error
}

func (e *dialError) Unwrap() error { return e.error }

// A guardedDialer dials TCP and judges each address just before it is used, on
// what the name resolved to (N18): a check before the resolution could be
// fooled by a second answer.
type guardedDialer struct {
	offline bool   // no public address is dialled, and no host that policy does not name
	shut    bool   // nothing is dialled: the run is a replay
	exempt  string // host:port the guard does not judge: upstream.proxy

	mu  sync.RWMutex // guards own
	own []netip.AddrPort
}

// dialFacts are what a record tells of a connection, or of one that was not had.
type dialFacts struct {
	address           string
	dns, connect, tls time.Duration
	demanded          bool // the site asked for a client certificate, and got none
}

// A dialledConn is an upstream connection that remembers how it came about. The
// facts are told once, to the request that first uses it.
type dialledConn struct {
	net.Conn
	facts dialFacts
	told  atomic.Bool

	// Of a connection that dialTLS made: its handshake is over, and came to HTTP/2.
	shaken, http2 bool
}

// dialledOf finds the dialledConn below c, if there is one.
func dialledOf(c net.Conn) *dialledConn {
	for {
		switch v := c.(type) {
		case *dialledConn:
			return v
		case *tls.Conn:
			c = v.NetConn()
		default:
			return nil
		}
	}
}

func (d *guardedDialer) reserve(addr netip.AddrPort) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = append(d.own, addr)
}

// dial connects to addr if policy's guard lets through what it resolves to.
func (d *guardedDialer) dial(ctx context.Context, policy *rulings.Policy, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	key, err := hostkey.Key(host)
	if err != nil {
		return nil, &legError{legConnect, err}
	}
	if err := d.mayResolve(policy, addr); err != nil {
		return nil, &legError{legConnect, err}
	}
	var watch dialWatch
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{DNSStart: watch.dnsStart, DNSDone: watch.dnsDone})
	start := time.Now()
	conn, err := (&net.Dialer{
		Timeout: connectTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return d.judge(policy, key, addr, address)
		},
	}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, &dialError{watch.facts(err, time.Since(start)), &legError{legConnect, err}}
	}
	total, dns := time.Since(start), time.Duration(watch.took.Load())
	return &dialledConn{Conn: conn, facts: dialFacts{address: conn.RemoteAddr().String(), dns: dns, connect: total - dns}}, nil
}

// mayResolve refuses what is refused before a name is resolved, however the request
// came to be made (O60).
func (d *guardedDialer) mayResolve(policy *rulings.Policy, addr string) error {
	if d.shut {
		return errShut
	}
	if !d.offline {
		return nil
	}
	if policy == nil {
		policy = rulings.DefaultPolicy()
	}
	if o, err := hostkey.ParseOrigin("http", addr); err != nil || !policy.Inside(o) {
		return errOffline
	}
	return nil
}

// judge rules on one resolved address for host; named is the dial's own target.
func (d *guardedDialer) judge(policy *rulings.Policy, host, named, resolved string) error {
	addr, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	if d.isOwn(addr) {
		return errLoop
	}
	if named == d.exempt {
		return nil
	}
	switch {
	case d.offline && rulings.Public(addr.Addr()):
		return errOffline
	case !policy.AllowsAddr(host, addr.Addr()):
		return errPrivate
	}
	return nil
}

// isOwn reports whether addr reaches one of the edge's own listeners. A listener
// on the unspecified address is reached by every address of the machine.
func (d *guardedDialer) isOwn(addr netip.AddrPort) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ip := addr.Addr().Unmap()
	for _, own := range d.own {
		if own.Port() != addr.Port() {
			continue
		}
		bound := own.Addr().Unmap()
		if bound == ip || ip.IsUnspecified() || bound.IsUnspecified() && ofThisMachine(ip) {
			return true
		}
	}
	return false
}

func ofThisMachine(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true // not knowing, refuse
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if local, ok := netip.AddrFromSlice(n.IP); ok && local.Unmap() == ip {
				return true
			}
		}
	}
	return false
}

// leadsBack reports whether o names one of the edge's own listeners by an
// address, or as localhost, which is judged without being resolved (N6).
func (d *guardedDialer) leadsBack(o hostkey.Origin) bool {
	if ip, ok := o.Addr(); ok {
		return d.isOwn(netip.AddrPortFrom(ip, o.Port))
	}
	return o.Host == "localhost" && (d.isOwn(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), o.Port)) ||
		d.isOwn(netip.AddrPortFrom(netip.IPv6Loopback(), o.Port)))
}

// A dialWatch times the name resolution of one dial.
type dialWatch struct {
	start atomic.Int64
	took  atomic.Int64
}

func (w *dialWatch) dnsStart(httptrace.DNSStartInfo) { w.start.Store(time.Now().UnixNano()) }
func (w *dialWatch) dnsDone(httptrace.DNSDoneInfo) {
	w.took.Store(time.Now().UnixNano() - w.start.Load())
}

// facts are what is known of a dial that ended in err after total. What the guard
// turned down was not dialled.
func (w *dialWatch) facts(err error, total time.Duration) dialFacts {
	f := dialFacts{dns: time.Duration(w.took.Load())}
	op, ok := errors.AsType[*net.OpError](err)
	if ok && op.Addr != nil && !errors.Is(err, errPrivate) && !errors.Is(err, errOffline) && !errors.Is(err, errLoop) {
		f.address, f.connect = op.Addr.String(), total-f.dns
	}
	return f
}
