package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/allowances"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/valkey"
	"github.com/wayleave/wayleave/certs"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// An edge is one running wayleave: the proxy, its desk, and what both stand on.
// Nothing of it changes after startEdge but the policy, which a reload swaps.
type edge struct {
	id      string
	batch   string        // name of the batch run that the edge is for; empty: none
	run     *evidence.Run // that run, once its log is there
	mode    executionMode
	made    recorded // what came of mode.record, once it is closed
	cfg     *config
	source  source // read again by a reload
	log     *slog.Logger
	started time.Time
	metrics *prometheus.Registry

	policy    atomic.Pointer[rulings.Policy] // nil refuses everything (O3)
	faults    atomic.Pointer[faults]         // why there is no policy; nil where there is one
	reloading sync.Mutex                     // held by a reload from reading to the swap, so that the last read wins
	reloads   *prometheus.CounterVec
	serving   atomic.Bool // between the start of every listener and the beginning of the stop

	authority   *certs.Authority
	store       *evidence.Store
	index       *evidence.Index
	upstream    *proxy.Upstream
	book        *terms.Book
	pacing      *proxy.Pacing
	ledger      *allowances.Ledger
	credentials *proxy.Credentials
	carrier     *proxy.Edge
	at          ready

	agents    net.Listener
	operators net.Listener

	// closers undo what startEdge did, last first. loops counts the goroutines
	// of the listeners; failed gets the error of one that ended by itself.
	closers []func(context.Context) error
	loops   sync.WaitGroup
	failed  chan error
}

// Files and folders of a data directory (DESIGN: what is on disk).
func caDir(data string) string           { return filepath.Join(data, "ca") }
func termsDir(data string) string        { return filepath.Join(data, "terms") }
func backoffDir(data string) string      { return filepath.Join(data, "backoff") }
func tokenFile(data string) string       { return filepath.Join(data, "admin.token") }
func credentialsFile(data string) string { return filepath.Join(data, "credentials.json") }

// closeWait bounds the writing of what the logs still owe at a stop; a disk that
// hangs must not keep the process.
const closeWait = 15 * time.Second

// edgeOptions are what startEdge needs beside the configuration.
type edgeOptions struct {
	source      source
	log         *slog.Logger
	systemRoots string // PEM file of the machine's roots; empty finds it
	exposed     bool   // an open listener beyond loopback is what the operator wants (N20)
	unlisted    bool   // other commands are not to find this edge: it ends with its command
	batch       string // name of the batch run the edge is for; empty: none
	mode        executionMode
}

// errExposed refuses what would let strangers use the proxy.
var errExposed = errors.New("the listener is reachable from other machines and auth is open, so anybody could use the proxy; " +
	"set auth: token, listen on 127.0.0.1, or say --i-know-this-is-open")

// startEdge opens everything an edge stands on and begins to serve; when it
// returns the edge is ready. On an error nothing is left open. The caller closes
// the edge.
func startEdge(ctx context.Context, cfg *config, o edgeOptions) (_ *edge, err error) {
	now := time.Now()
	e := &edge{id: evidence.NewEdgeID(now), cfg: cfg, source: o.source, log: o.log, started: now, batch: o.batch, mode: o.mode, failed: make(chan error, 2)}
	e.metrics = newMetrics(e.execution())
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close(ctx))
			if e.run != nil {
				err = errors.Join(err, e.run.Discard())
			}
		}
	}()
	e.reloads = newReloads(e.metrics)
	steps := []func() error{
		e.checkMode,
		func() error { return durable.MkdirAll(cfg.data, 0o700) },
		func() error { return e.openCA(o.systemRoots) },
		e.openEvidence,
		e.openTerms,
		e.openCredentials,
		e.beginPolicy,
		e.openLedger,
		func() error { return e.beginRun(ctx) },
		func() error { return e.listen(o.exposed) },
		e.serveDesk, // before the proxy, so that it can be asked until the drain is over
		e.serveProxy,
		func() error { return e.publish(o.unlisted) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *edge) onClose(undo func(context.Context) error) { e.closers = append(e.closers, undo) }

func (e *edge) openCA(systemRoots string) (err error) {
	e.authority, err = certs.Open(caDir(e.cfg.data), certs.Options{
		SystemRoots: systemRoots, ExtraRoots: e.cfg.caFile, Logger: e.log, Metrics: e.metrics,
	})
	return err
}

func (e *edge) openEvidence() (err error) {
	if e.batch != "" {
		if err := e.createRun(); err != nil {
			return err
		}
	}
	e.store, err = evidence.Open(e.cfg.data, evidence.Options{
		EdgeID: e.id, Version: version(), Execution: e.execution(), Run: e.run, AppendWait: e.cfg.appendWait, SessionIdle: e.cfg.sessionIdle,
		SegmentBytes: e.cfg.segmentBytes, SecretNames: e.cfg.secretNames, SecretPaths: e.cfg.secretPaths, Logger: e.log, Metrics: e.metrics,
	})
	if err != nil {
		return err
	}
	e.onClose(e.store.Close)
	if e.index, err = evidence.OpenIndex(e.cfg.data); err != nil {
		return err
	}
	e.onClose(func(context.Context) error { return e.index.Close() })
	if e.run != nil { // when nothing that could write a record is open any more
		e.onClose(func(ctx context.Context) error { e.run.Complete(ctx, e.store, e.made.Digest); return nil })
	}
	return nil
}

func (e *edge) openTerms() (err error) {
	e.upstream, err = proxy.NewUpstream(proxy.UpstreamOptions{
		Policy: e.policy.Load, CAFile: e.cfg.caFile, Proxy: e.cfg.upstreamProxy.url, HeadTimeout: e.cfg.headTimeout,
		Offline: e.mode.offline, Record: e.mode.record, Replay: e.mode.replay,
	})
	if err != nil {
		return err
	}
	e.onClose(func(context.Context) error { e.upstream.Close(); e.endRecording(); return nil })
	pacing, closePacing, err := newPacing(e.cfg, e.metrics, e.log)
	if err != nil {
		return err
	}
	e.pacing = pacing
	e.onClose(func(context.Context) error { return closePacing() })
	if e.cfg.paceStore.url != nil {
		_ = e.pacingHealthy() // a server that is away is in the log from the start
	}
	e.book, err = terms.Open(termsDir(e.cfg.data), terms.Options{
		Client: e.upstream, Pacer: e.pacer(), Held: e.heldTerms(), Tokens: e.tokens, Record: proxy.RecordProbe, Logger: e.log, Redact: e.store.Redact, Metrics: e.metrics,
		UserAgent: func() string { return proxy.UserAgent(e.policy.Load(), version()) },
	})
	if err != nil {
		return err
	}
	e.onClose(e.book.Close)
	return nil
}

// newPacing returns the pace of hosts, kept where cfg says, with the faults of the
// store counted in reg and told in log unless reg is nil. Closing it ends connections to a
// server, if it has any.
func newPacing(cfg *config, reg prometheus.Registerer, log *slog.Logger) (p *proxy.Pacing, closing func() error, err error) {
	pace := cfg.pacing
	pace.HeadTimeout = cfg.headTimeout
	var store backoff.Store = backoff.NewFileStore(backoffDir(cfg.data), backoff.FileOptions{Config: pace})
	closing = func() error { return nil }
	if cfg.paceStore.url != nil {
		server, err := valkey.Open(cfg.paceStore.url.String(), pace)
		if err != nil {
			return nil, nil, err
		}
		store, closing = server, server.Close
	}
	store = newCountedStore(store, reg, log)
	return &proxy.Pacing{Dispatcher: backoff.NewDispatcher(store, pace), Store: store, Rules: pace.Rules(), Shared: cfg.shared}, closing, nil
}

// tokens are the product tokens that probes are paced for.
func (e *edge) tokens() []string {
	if p := e.policy.Load(); p != nil {
		return p.Identity.Tokens
	}
	return rulings.DefaultPolicy().Identity.Tokens
}

func (e *edge) openCredentials() (err error) {
	if e.cfg.auth == authToken {
		e.credentials, err = proxy.OpenCredentials(credentialsFile(e.cfg.data))
	}
	return err
}

// listen takes both addresses. From here on a client that comes is kept waiting,
// not refused.
func (e *edge) listen(exposed bool) (err error) {
	if e.agents, err = net.Listen("tcp", e.cfg.listen); err != nil {
		return fmt.Errorf("listening for agents: %w", err)
	}
	e.onClose(func(context.Context) error { return closed(e.agents.Close()) })
	if !exposed && e.cfg.auth == authOpen && !isLoopback(e.agents.Addr()) {
		return usage(errExposed)
	}
	if e.operators, err = net.Listen("tcp", e.cfg.adminListen); err != nil {
		return fmt.Errorf("listening for operators: %w", err)
	}
	e.onClose(func(context.Context) error { return closed(e.operators.Close()) })
	if addr, err := netip.ParseAddrPort(e.operators.Addr().String()); err == nil {
		e.upstream.Reserve(addr)
	}
	e.at = ready{
		Proxy: e.agents.Addr().String(), Admin: e.operators.Addr().String(),
		CA: e.authority.CAFile(), Token: tokenFile(e.cfg.data),
	}
	return nil
}

// isLoopback reports whether only this machine can connect to addr.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// closed leaves out that a listener was closed by its server before.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (e *edge) serveDesk() error {
	desk, err := e.desk()
	if err != nil {
		return err
	}
	e.loop(func() error { return desk.Serve(e.operators) })
	// Nothing of the desk is worth waiting for: a stream of records has no end.
	e.onClose(func(context.Context) error { return desk.Close() })
	return nil
}

func (e *edge) serveProxy() (err error) {
	e.carrier, err = proxy.New(proxy.Options{
		ID: e.id, Version: version(), Evidence: e.store, Upstream: e.upstream, Terms: e.book, Pacing: e.paced(), Ledger: e.money(), Certs: e.authority,
		Policy: e.policy.Load, Credentials: e.credentials, ConnectPorts: e.cfg.connectPorts,
		CAURL: "http://" + reachable(e.at.Admin) + "/ca.pem", Logger: e.log, Metrics: e.metrics,
	})
	if err != nil {
		return err
	}
	e.loop(func() error { return e.carrier.Serve(e.agents) })
	return nil
}

// loop serves one listener until it is closed.
func (e *edge) loop(serve func() error) {
	e.loops.Go(func() {
		if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			e.failed <- err
		}
	})
}

// publish lets other commands find the edge.
func (e *edge) publish(unlisted bool) error {
	e.serving.Store(true)
	if unlisted {
		return nil
	}
	return e.store.Publish(e.at.json())
}

// close stops the edge: it stops accepting, lets exchanges end until ctx does
// (N25), and then closes what the edge stands on, which the end of ctx does not
// cut short: records are written all the same. evidence.ErrOwed among the errors
// says that a gap is still owed (E41).
func (e *edge) close(ctx context.Context) error {
	e.serving.Store(false)
	if e.carrier != nil {
		if broken := e.carrier.Shutdown(ctx); broken > 0 {
			e.log.Warn("connections were broken off", "count", broken)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(e.closers) {
		errs = append(errs, undo(ctx))
	}
	e.closers = nil
	e.loops.Wait()
	return errors.Join(errs...)
}
