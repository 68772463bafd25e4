package admin

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Options are what the desk looks at. What is nil is answered 503, unless it
// says otherwise.
type Options struct {
	Token string          // as LoadToken returns it
	Index *evidence.Index // never nil

	Status  func() Status
	Ready   func() error // why the edge is not ready; nil: it always is
	Explain func(ctx context.Context, r ExplainRequest) (Explanation, error)
	Object  func(d rulings.Digest) ([]byte, error)         // bytes true to d, or fs.ErrNotExist
	Issue   func(session string) (token string, err error) // nil: the edge asks for no credentials, 409

	// Hosts returns the first hosts of q in byte order of their keys, and whether
	// there are more. Host and Refresh answer ErrUnknownHost for a host of which
	// nothing is known; Refresh asks the host for its terms again, each request
	// at its pace, and answers ErrService for one that has none. A host is a key.
	Hosts   func(ctx context.Context, q HostQuery) (items []HostItem, more bool, err error)
	Host    func(ctx context.Context, host string) (Host, error)
	Refresh func(ctx context.Context, host string) (Host, error)

	// Policy returns what is ruled by, CheckPolicy what a draft of the section
	// policy comes to (a JSON object, a JSON string of YAML, or nil for the
	// configuration as it stands), and ReloadPolicy reads the configuration and
	// puts its policy in force if all of it loads.
	Policy       func() Policy
	CheckPolicy  func(draft []byte) PolicyCheck
	ReloadPolicy func() (PolicyCheck, error)

	// Simulate returns what a draft would have made of recorded crossings, or the
	// faults of one that does not load.
	Simulate func(ctx context.Context, r SimulateRequest) (Simulation, []PolicyFault, error)

	CA          []byte // PEM
	Gatherer    prometheus.Gatherer
	OpenMetrics bool // /metrics needs no token

	Names  []string     // hosts, besides loopback and its own addresses, that the listener is reached by
	Via    string       // the edge's pseudonym in Via; empty: none is refused
	Logger *slog.Logger // nil: none
}

// A desk answers the admin API.
type desk struct {
	Options
	token [sha256.Size]byte // digest of Options.Token
	names map[string]bool
	mux   *chi.Mux
}

// New returns the admin API. It is an error when o has no token that LoadToken
// could have made, since everybody would know it.
//
// The handler bounds how long it reads a body and writes an answer; bounding
// the head and idle connections is the server's.
func New(o Options) (http.Handler, error) {
	if err := checkToken(o.Token); err != nil {
		return nil, err
	}
	if o.Index == nil {
		return nil, errors.New("the admin API has no index")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &desk{Options: o, token: sha256.Sum256([]byte(o.Token)), names: make(map[string]bool), mux: chi.NewRouter()}
	for _, name := range o.Names {
		d.names[strings.ToLower(strings.Trim(name, "[]"))] = true
	}
	d.routes()
	return d.mux, nil
}

// routes is the whole API; openapi.json describes it (a test holds the two
// together).
func (d *desk) routes() {
	m := d.mux
	m.Use(d.observe, d.guard, middleware.GetHead)
	m.NotFound(d.handler(func(http.ResponseWriter, *http.Request) error {
		return newProblem(http.StatusNotFound, "There is nothing at this path.")
	}))
	m.MethodNotAllowed(d.handler(d.methodNotAllowed))

	m.Get("/healthz", d.plain(d.getHealth))
	m.Get("/readyz", d.plain(d.getReady))
	m.Get("/ca.pem", d.plain(d.getCA))
	with := m.With(d.authorised)
	metrics := with
	if d.OpenMetrics {
		metrics = m
	}
	metrics.Get("/metrics", d.plain(d.getMetrics))

	with.Get("/v1/openapi.json", d.plain(getOpenAPI))
	with.Get("/v1/status", d.plain(d.getStatus))
	with.Get("/v1/crossings", d.handler(d.getCrossings))
	with.Get("/v1/crossings/{session}/{seq}", d.plain(d.getCrossing))
	with.Get("/v1/refusals", d.handler(d.getRefusals))
	with.Get("/v1/gaps", d.handler(d.getGaps))
	with.Get("/v1/sessions", d.handler(d.getSessions))
	with.Post("/v1/sessions", d.plain(d.postSession))
	with.Get("/v1/sessions/{session}", d.plain(d.getSession))
	with.Get("/v1/sessions/{session}/log", d.plain(d.getLog))
	with.Get("/v1/hosts", d.handler(d.getHosts))
	with.Get("/v1/hosts/{host}", d.plain(d.getHost))
	with.Post("/v1/hosts/{host}/refresh", d.plain(d.refreshHost))
	with.Get("/v1/terms/{sha256}", d.plain(d.getTerm))
	with.Post("/v1/explain", d.plain(d.postExplain))
	with.Post("/v1/simulate", d.plain(d.postSimulate))
	with.Get("/v1/policy", d.plain(d.getPolicy))
	with.Post("/v1/policy/check", d.plain(d.postPolicyCheck))
	with.Post("/v1/policy/reload", d.plain(d.postPolicyReload))
}

// handler makes a handler of one that may return an error before it has written
// anything. Here, and nowhere else, errors become answers.
func (d *desk) handler(h func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		p, known := problemOf(err)
		if !known {
			d.Logger.Error("admin request failed", "method", r.Method, "route", route(r), "error", err)
		}
		p.write(w)
	}
}

// plain makes a handler of one whose route has no query parameters.
func (d *desk) plain(h func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return d.handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := parameters(r); err != nil {
			return err
		}
		return h(w, r)
	})
}

// writeWait bounds how long an answer may take to be made and sent; a log being
// downloaded lifts it.
const writeWait = 2 * time.Minute

// observe bounds and logs each exchange, and answers where a handler panics.
func (d *desk) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		// A writer that cannot be bounded is one of a test.
		_ = http.NewResponseController(w).SetWriteDeadline(start.Add(writeWait))
		defer func() {
			if fault := recover(); fault != nil && fault != http.ErrAbortHandler {
				d.Logger.Error("admin request panicked", "method", r.Method, "route", route(r), "panic", fault)
				if wrapped.Status() != 0 {
					panic(http.ErrAbortHandler) // the answer must not look whole
				}
				p, _ := problemOf(nil)
				p.write(wrapped)
			} else if fault != nil {
				panic(fault)
			}
			d.Logger.Debug("admin request", "method", r.Method, "route", route(r), "status", wrapped.Status(), "elapsed", time.Since(start))
		}()
		next.ServeHTTP(wrapped, r)
	})
}

// route returns the pattern that r matched. The path itself stays out of logs:
// whoever asks chooses it.
func route(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		return c.RoutePattern()
	}
	return ""
}

// methodNotAllowed names the methods that the path has (RFC 9110 section 15.5.6).
func (d *desk) methodNotAllowed(_ http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		lookup := method
		if method == http.MethodHead {
			lookup = http.MethodGet
		}
		if d.mux.Match(chi.NewRouteContext(), lookup, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	p := newProblem(http.StatusMethodNotAllowed, "The path does not have this method.")
	p.allow = strings.Join(allowed, ", ")
	return p
}
