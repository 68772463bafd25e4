package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Limits on what a client may keep the edge waiting for or make it hold (N3).
const (
	silenceLimit   = 10 * time.Second // a ClientHello, the first byte in a tunnel, a request head
	idleLimit      = 90 * time.Second // between two requests of a connection
	maxHeaderBytes = 1 << 20
	maxTargetBytes = 64 << 10
	shutdownPoll   = 10 * time.Millisecond
)

// Terms looks up what sources say. Implementations are safe for concurrent use.
type Terms interface {
	// Rule decides a request, and the answer to it where known has one, having
	// looked up what the decision needs and added it to known. What could not be
	// had is part of known, never an error. ctx ends the waiting only. A ruling
	// that still needs something needs what only the caller has: the HTML head.
	Rule(ctx context.Context, req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling
	// PutObject keeps octets that a ruling rests on. They are on disk when it
	// returns without an error.
	PutObject(octets []byte) (rulings.Digest, error)
}

// Certificates mints the leaf shown to a client. Implementations are safe for
// concurrent use.
type Certificates interface {
	Leaf(host string) (*tls.Certificate, error)
}

// Options are what an Edge is made of. Fields without a stated default must be
// set.
type Options struct {
	ID       string // the edge id (evidence E3)
	Version  string
	Evidence *evidence.Store
	Upstream *Upstream
	Terms    Terms
	Pacing   *Pacing // nil paces nothing
	Ledger   Ledger  // nil makes every allowance unenforceable
	Certs    Certificates

	// Policy returns the effective policy, or nil while there is none that
	// loads; it is called once a crossing and must be cheap.
	Policy func() *rulings.Policy

	// Credentials is asked for every CONNECT and every plain request. Nil
	// accepts any password and takes the user name as the session's id.
	Credentials *Credentials

	// ConnectPorts are the ports CONNECT may name. Nil means DefaultConnectPorts.
	ConnectPorts *PortSet

	CAURL   string                // where a client can fetch the CA; told to who takes the proxy for a site
	Logger  *slog.Logger          // nil discards
	Metrics prometheus.Registerer // nil keeps the figures to itself
}

// An Edge is one running proxy. Make it with New.
type Edge struct {
	opt     Options
	via     string // our Via pseudonym (RFC 9110 7.6.3)
	log     *slog.Logger
	metrics *metrics
	carry   http.Handler // goproxy's plain-HTTP handler
	folded  folder

	outer, inner http.Server
	clients      sync.Map // net.Conn -> *client, of their connections
	tunnelled    chanListener
	baseCtx      context.Context
	stop         context.CancelFunc
	ports        *PortSet
	tls          *tls.Config // towards clients
	contexts     contextUses
	ledger       Ledger
	heldRoom     *semaphore.Weighted // memory that held bodies share, in octets
	heldWait     time.Duration       // heldWait; a test has less patience, as in what follows
	tools        toolbox
	looking      chan struct{} // holds one for each body that is screened
	silence      time.Duration // silenceLimit
	withholdTime time.Duration // withholdTime; likewise
	screenTime   func(size int) time.Duration

	// Connections taken out of net/http's hands: tunnels being opened and
	// tunnels passed through unread. mu guards tunnels; setup counts the
	// goroutines that work on them.
	mu       sync.Mutex
	tunnels  map[net.Conn]struct{}
	setup    sync.WaitGroup
	stopping atomic.Bool

	serveInner sync.Once
	innerDone  chan struct{}
	exchanges  sync.WaitGroup // requests between their front and their end
}

// Pseudonym returns the name by which an edge calls itself in Via; it is its
// own, so that a request that comes back is known as a loop (N7).
func Pseudonym(edgeID string) string {
	return "wayleave-" + edgeID[strings.LastIndexByte(edgeID, '-')+1:]
}

// New returns an edge that serves what it is given by Serve.
func New(o Options) (*Edge, error) {
	switch {
	case o.ID == "" || o.Evidence == nil || o.Upstream == nil || o.Terms == nil || o.Certs == nil || o.Policy == nil:
		return nil, errors.New("proxy: an option that has no default is missing")
	case o.Logger == nil:
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Edge{opt: o, via: Pseudonym(o.ID), log: o.Logger, metrics: newMetrics(o.Metrics), ports: o.ConnectPorts, ledger: o.Ledger,
		tunnels: make(map[net.Conn]struct{}), innerDone: make(chan struct{}), silence: silenceLimit, withholdTime: withholdTime,
		heldRoom: semaphore.NewWeighted(heldLimit), heldWait: heldWait, tools: newToolbox(), looking: make(chan struct{}, runtime.GOMAXPROCS(0)),
		screenTime: timeLimit}
	if e.ledger == nil {
		e.ledger = noLedger{}
	}
	if e.ports == nil {
		e.ports = DefaultConnectPorts()
	}
	e.baseCtx, e.stop = context.WithCancel(context.Background())
	e.carry = newCarrier(e)
	e.tls = e.serverTLS()
	e.folded.edge = e
	e.tunnelled.init()
	e.outer = e.server(http.HandlerFunc(e.front))
	e.outer.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return e.clientContext(ctx, c, new(client)) }
	e.outer.ConnState = e.clientState
	e.inner = e.server(http.HandlerFunc(e.inside))
	e.inner.Protocols = new(http.Protocols)
	e.inner.Protocols.SetHTTP1(true)
	e.inner.Protocols.SetHTTP2(true)
	e.inner.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		t := tunnelOf(c)
		return e.clientContext(context.WithValue(ctx, tunnelKey{}, t), c, &t.client)
	}
	e.inner.ConnState = e.tunnelState
	return e, nil
}

// server returns an http.Server with the limits both of ours share.
func (e *Edge) server(h http.Handler) http.Server {
	return http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            e.silence,
		IdleTimeout:                  idleLimit,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is the origin's to answer
		ErrorLog:                     slog.NewLogLogger(e.log.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return e.baseCtx },
	}
}

// Serve accepts clients on l until Shutdown and then returns nil. It may be
// called for several listeners. A request for l's own address is a loop.
func (e *Edge) Serve(l net.Listener) error {
	if addr, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
		e.opt.Upstream.Reserve(addr)
	}
	e.serveInner.Do(func() { go e.runInner() })
	err := e.outer.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// runInner serves what tunnels carry until the channel listener closes.
func (e *Edge) runInner() {
	defer close(e.innerDone)
	if err := e.inner.Serve(&e.tunnelled); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		e.log.Error("serving inside tunnels ended", "error", err)
	}
}

// Shutdown stops accepting, lets exchanges end until ctx does, then breaks off
// what is left, tunnels included, and returns how many connections that were
// (N25). Every exchange has left its record when it returns.
func (e *Edge) Shutdown(ctx context.Context) (broken int) {
	e.stopping.Store(true)
	outerErr := e.outer.Shutdown(ctx)
	e.setupDone(ctx)
	innerErr := e.inner.Shutdown(ctx)
	if outerErr != nil || innerErr != nil {
		broken = e.busy()
	}
	e.stop()
	e.outer.Close()
	e.inner.Close()
	e.mu.Lock()
	broken += len(e.tunnels)
	for c := range e.tunnels {
		c.Close()
	}
	e.mu.Unlock()
	e.serveInner.Do(func() { close(e.innerDone) }) // never served: nothing to wait for
	<-e.innerDone
	e.setup.Wait()
	e.exchanges.Wait()
	e.folded.flush()
	return broken
}

// setupDone waits until no tunnel is being opened, or ctx ends; tunnels passed
// through unread count as work until then.
func (e *Edge) setupDone(ctx context.Context) {
	for {
		e.mu.Lock()
		n := len(e.tunnels)
		e.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(shutdownPoll):
		}
	}
}

// hold notes a hijacked connection so that Shutdown can close it; it reports
// false when the edge is stopping. Each hold is followed by one release.
func (e *Edge) hold(c net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping.Load() {
		return false
	}
	e.tunnels[c] = struct{}{}
	e.setup.Add(1)
	return true
}

func (e *Edge) release(c net.Conn) {
	e.mu.Lock()
	delete(e.tunnels, c)
	e.mu.Unlock()
	e.setup.Done()
}
