package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A crossing is one request on its way: what is known of it so far and the
// record that will tell of it. It belongs to the goroutine that serves the
// request.
type crossing struct {
	agent
	edge   *Edge
	client *client
	w      http.ResponseWriter

	origin hostkey.Origin
	target string // path and query as the agent wrote them
	policy *rulings.Policy
	rec    evidence.Crossing
	number uint64 // E12; 0 until a record was acknowledged
	caURL  string // told to who takes the proxy for a site (N1)
	ended  bool   // the final record was handed to the log

	watch upstreamWatch

	budget *backoff.Budget // what it may sleep for its hosts' pace (P28); nil: nothing
	permit *backoff.Pass   // the right to send the request; nil where nothing paces it

	// What was looked up of the source's terms, and the ruling on it.
	known  rulings.Terms
	ruling rulings.Ruling

	bill bill // what allowances have set aside for it

	// What screens had to say, and what is held and reserved until the crossing ends.
	processors  []evidence.ProcessorInvoked
	transformed *evidence.BodyPart // the body as served, where its text is delivered
	sum         rulings.Digest     // of the body as served, if summed
	summed      bool
	holds       int64       // octets of memory
	reserved    int64       // octets of the session's context
	cut         error       // of a body that broke off while it was held; nil: it did not
	contextUse  *contextUse // nil: it was not asked for
	meter       *meter      // of a body that is passed on before its size is known

	hops hopBreaches // by requests for terms on account of this one

	source io.Closer  // of the answer's body: unlike what wraps it, it may be closed while it is read
	demand *overheard // the body of a 402; nil where its fields say all

	term [1]rulings.Term // backs rec.Terms where robots.txt is all there is, which spares an allocation
}

type crossingKey struct{}

// crossingOf returns the crossing a request's context carries.
func crossingOf(ctx context.Context) *crossing {
	x, _ := ctx.Value(crossingKey{}).(*crossing)
	return x
}

// RecordProbe writes a probe for terms into the log of the crossing that needed
// it. It is the Record function of the book's options.
func RecordProbe(ctx context.Context, p terms.Probe) {
	x := crossingOf(ctx)
	if x == nil {
		return
	}
	rec := evidence.TermsProbed{Kind: p.Kind, URL: p.URL, RequestedAt: p.RequestedAt, HTTPStatus: p.Status, FinalURL: p.FinalURL,
		Redirects: p.Redirects, Object: p.Object, CacheUntil: p.CacheUntil, CutShort: p.CutShort,
		Failure: evidence.Failure{Kind: string(p.Failure.Kind), Detail: p.Failure.Detail}}
	if p.Bytes >= 0 {
		rec.Bytes = evidence.Counted(p.Bytes)
	}
	probed(&rec, &p)
	if x.edge.opt.Upstream.replay != nil { // nothing was requested
		rec.RequestedAt, rec.Timings = time.Time{}, evidence.Timings{}
	}
	// Queued and not waited for: nothing is released on account of it, and the
	// crossing's own record, which is, comes behind it in the queue (E11).
	if _, err := x.log.Append(queued, rec); err != nil && !errors.Is(err, context.Canceled) {
		x.edge.owed(err)
	}
}

// queued is a context with which an append ends once the record is in the queue.
var queued = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// owed notes in the process log that a record could not be written; the log's
// writer owes it as a gap from here on.
func (e *Edge) owed(err error) {
	e.log.Warn("a record is owed as a gap", "error", err)
}

// newCrossing starts the record of a request that who makes.
func (e *Edge) newCrossing(w http.ResponseWriter, r *http.Request, who agent) *crossing {
	x := &crossing{agent: who, edge: e, w: w, policy: e.policyFor(who)}
	x.client, _ = r.Context().Value(clientKey{}).(*client)
	if p := e.opt.Pacing; p != nil {
		x.budget = p.Dispatcher.NewBudget()
	}
	x.rec.Grade = evidence.Mediated
	x.rec.Method = r.Method
	x.rec.Client = evidence.Client{Session: who.session(), Protocol: protocolOf(r), Address: r.RemoteAddr, UserAgent: r.UserAgent()}
	if x.policy != nil {
		x.rec.PolicyDigest = x.policy.Digest()
	}
	return x
}

// policyFor is the policy that rules who's crossings from here on (O6); nil while
// none loads.
func (e *Edge) policyFor(who agent) *rulings.Policy {
	p := e.opt.Policy()
	if p == nil {
		return nil
	}
	return p.For(who.user)
}

func protocolOf(r *http.Request) string {
	switch {
	case asksWebsocket(r):
		return "websocket"
	case r.ProtoMajor == 2:
		return "h2"
	}
	return r.Proto
}

// address settles where the request goes and completes the record by it.
func (x *crossing) address(o hostkey.Origin, url, target string) {
	x.origin, x.target = o, target
	x.rec.URL = url
	x.govern(o.Host)
}

// govern completes the record by what is ruled of host, and by which policy.
func (x *crossing) govern(host string) {
	x.rec.Ruleset = rulings.Ruleset
	if x.policy == nil {
		x.rec.PolicyUnavailable = "the configured policy does not load"
		x.rec.Class = rulings.Source
		return
	}
	x.rec.Class = x.policy.Class(host)
	if x.rec.Class == rulings.Source {
		x.rec.Purposes = x.policy.Purposes
		x.rec.Identity.ProductTokens = x.policy.Identity.Tokens
	}
}

// askedOf returns the target to ask the site for, which is r's own but for one: an
// OPTIONS in absolute-form without a path is about the whole site (RFC 9112 3.2.4).
func askedOf(r *http.Request) string {
	target := targetOf(r.RequestURI)
	if r.Method == http.MethodOptions && target == "/" && !strings.HasSuffix(r.RequestURI, "/") {
		return "*"
	}
	return target
}

// targetOf cuts the path and query, byte for byte, out of a request target in
// origin-form or absolute-form (RFC 9112 3.2). The asterisk-form stays.
func targetOf(requestURI string) string {
	if requestURI == "*" || strings.HasPrefix(requestURI, "/") {
		return requestURI
	}
	_, rest, ok := strings.Cut(requestURI, "://")
	if !ok {
		return requestURI
	}
	i := strings.IndexAny(rest, "/?")
	switch {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	}
	return rest[i:]
}

func (x *crossing) gap(reason, detail string) {
	x.rec.Gaps = append(x.rec.Gaps, evidence.Gap{Reason: reason, Detail: detail})
}

// open writes crossing_opened and waits until it is on disk (E47). So does end
// for the final record, whether or not the client waits too: without the number
// nothing that follows could refer to the crossing, and the log would tell of an
// answer that went out unrecorded.
func (x *crossing) open() {
	start := time.Now()
	seq, err := x.log.Append(context.Background(), evidence.CrossingOpened{Crossing: &x.rec})
	if err != nil {
		x.edge.owed(err)
		return
	}
	x.rec.Timings.Durable = time.Since(start)
	x.watch.aside += x.rec.Timings.Durable
	x.rec.Opened, x.number = seq, seq
}

// end writes the final record and waits until it is on disk or owed.
func (x *crossing) end(outcome evidence.Outcome) {
	x.unanswered() // does nothing where the answer was read whole
	x.uncharged()  // nor this where there was one
	x.rec.Outcome, x.ended = outcome, true
	x.noteHops()
	if n := x.watch.body.count(); n.Known {
		x.rec.Up = n
	}
	x.watch.timings(&x.rec)
	seq, err := x.log.Append(context.Background(), x.records()...)
	x.settleContext(outcome == evidence.Delivered)
	if err != nil {
		x.edge.owed(err)
	} else if x.number == 0 {
		x.number = cmp.Or(x.rec.Opened, seq)
	}
	x.edge.metrics.crossing(&x.rec)
}

// records are the crossing's last: what judged its body, and then its final one (E11).
func (x *crossing) records() []evidence.Record {
	if len(x.processors) == 0 {
		return []evidence.Record{evidence.CrossingEnded{Crossing: &x.rec}}
	}
	list := make([]evidence.Record, 0, len(x.processors)+1)
	for _, p := range x.processors {
		list = append(list, p)
	}
	return append(list, evidence.CrossingEnded{Crossing: &x.rec})
}

// undelivered follows a final record that said complete when the client's
// connection then failed (E49).
func (x *crossing) undelivered(written int64, err error) {
	rec := evidence.CrossingUndelivered{Crossing: x.number, Late: &x.rec, Bytes: written, Failure: evidence.Failure{Kind: "client", Detail: err.Error()}}
	if x.edge.baseCtx.Err() != nil {
		rec.Failure.Kind = "edge"
	}
	if x.number == 0 && !x.rec.Late() {
		return // its final record is owed as a gap; there is nothing to refer to
	}
	if _, err := x.log.Append(context.Background(), rec); err != nil {
		x.edge.owed(err)
	}
}
