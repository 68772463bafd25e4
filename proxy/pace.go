package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// Pacing lets requests go when their hosts may be asked: those of agents and the
// edge's own (specs: pacing). It is safe for concurrent use.
type Pacing struct {
	Dispatcher *backoff.Dispatcher
	Store      backoff.Store // what Dispatcher keeps its state in
	Rules      backoff.Rules // how much of a Crawl-delay is kept

	// Shared says that sessions belong to different parties, so that what
	// another's requests brought about is not told (P33).
	Shared bool
}

// keep returns what is kept of the delay that a file states.
func (p *Pacing) keep(d robots.Delay) backoff.Delay {
	if !d.Known {
		return backoff.Delay{}
	}
	return p.Rules.Honour(d.Milliseconds, d.Written)
}

// pace waits until the request may go, or says why it may not (P24). Services
// are not paced (P3), unless the policy says so: then back-off binds.
func (x *crossing) pace(r *http.Request) (refused *rulings.Ruling) {
	p := x.edge.opt.Pacing
	if p == nil || x.policy != nil && !x.policy.Paced(x.origin.Host) {
		return nil
	}
	start, left := time.Now(), x.budget.Left()
	pass, err := p.Dispatcher.Go(r.Context(), backoff.Request{
		Host: x.origin.Host, Delay: x.crawlDelay(r), Budget: x.budget, Tenant: x.tenant(), NoTurn: x.target == "/robots.txt",
	})
	if err == nil {
		err = pass.Handed(r.Context()) // it goes to the transport next
	}
	if x.budget.Left() < left { // it slept
		x.rec.Timings.Wait = time.Since(start)
	}
	switch {
	case err == nil:
		x.permit, x.rec.Pacing = pass, recorded(pass.Record())
		return nil
	case r.Context().Err() != nil:
		x.gone(r)
	}
	return x.paced(err)
}

// paced makes a ruling of why pacing did not let the request go.
func (x *crossing) paced(err error) *rulings.Ruling {
	refusal, ok := errors.AsType[*backoff.RefusalError](err)
	if !ok {
		r := rulings.CouldNotDecide("the pace of the host: " + err.Error())
		return &r
	}
	told := x.edge.opt.Pacing.tell(refusal)
	x.barred(told)
	return &rulings.Ruling{
		Outcome: rulings.Refuse, Reason: rulings.Reason(refusal.Reason), Stage: rulings.StageBefore,
		Detail: refusal.Error(), Told: told.Told, RetryAt: told.RetryAt, RetryAfter: told.RetryAfter,
	}
}

// leftAlone puts off when a robots.txt that is unreachable is asked for again to
// the end of the host's back-off, where that is later and the agent may be told of
// it (T17, P33).
func (x *crossing) leftAlone(ctx context.Context, ruling *rulings.Ruling) {
	p := x.edge.opt.Pacing
	if p == nil || ruling.Reason != rulings.RobotsUnreachable {
		return
	}
	state, now, err := p.Store.Look(ctx, x.origin.Host)
	if err != nil || !state.Backoff.Until.After(now) {
		return
	}
	told := backoff.Tell(state.Next(now, "", 0).Refusal(x.tenant()), now, p.Shared)
	after := time.Duration(told.RetryAfter) * time.Second
	if !told.RetryAt.IsZero() && after > time.Until(ruling.RetryAt) { // by the length: the store may have another clock (P47)
		ruling.PutOff(told.RetryAt, after)
	}
}

// barredTerms records what kept the edge from asking for a term where it was the
// pace of a host: that alone is why the crossing is refused (P24). In a replay it
// may be that there is no recording of the term.
func (x *crossing) barredTerms(ruling *rulings.Ruling) {
	x.unrecorded(ruling.Reason)
	if !ruling.Reason.Paces() {
		return
	}
	if t := &x.known.Robots; t.Barred == ruling.Reason {
		x.barredTerm(t.Pace, ruling)
		return
	}
	for i := range x.known.Licences {
		if t := &x.known.Licences[i]; t.Barred == ruling.Reason {
			x.barredTerm(t.Pace, ruling)
			return
		}
	}
}

// barredTerm records why a term was not asked for, and words ruling for the tenant
// of this crossing: the request may have been the one of another's that this
// crossing waited for too (P33).
func (x *crossing) barredTerm(pace rulings.PaceTerms, ruling *rulings.Ruling) {
	x.barred(pace)
	if refusal, ok := errors.AsType[*backoff.RefusalError](pace.Cause); ok {
		to := *refusal
		to.Refusal = refusal.To(x.tenant())
		told := x.edge.opt.Pacing.tell(&to)
		ruling.Told, ruling.RetryAt, ruling.RetryAfter = told.Told, told.RetryAt, told.RetryAfter
	}
}

// barred records what pacing did not let go: a request of the crossing's own, or
// one for a term that it needs.
func (x *crossing) barred(pace rulings.PaceTerms) {
	if refusal, ok := errors.AsType[*backoff.RefusalError](pace.Cause); ok && x.permit == nil {
		x.rec.Pacing = recorded(refusal.Record)
		if refusal.Host != x.origin.Host {
			x.rec.Pacing.Delay = nil // which would be taken for the page's
		}
	}
	if fault, ok := errors.AsType[*backoff.StoreError](pace.Cause); ok {
		x.gap(evidence.StoreUnavailable, fault.Error())
	}
}

// crawlDelay is what is kept of the delay that the source states to this agent
// (P5 to P7, T45).
func (x *crossing) crawlDelay(r *http.Request) backoff.Delay {
	site := x.known.Robots.Site
	if site == nil || !site.States(robots.CrawlDelay) {
		return backoff.Delay{}
	}
	return x.edge.opt.Pacing.keep(site.Select(x.policy.Identity.Tokens, r.UserAgent()).Delay())
}

// listDelays puts into the record, once, what delay the source states to each name
// that is ruled for, and what is kept of it (E17): of a crossing that is refused
// as well, which is not paced.
func (x *crossing) listDelays(r *http.Request) {
	p, site := x.edge.opt.Pacing, x.known.Robots.Site
	if p == nil || site == nil || x.rec.Delays != nil || !site.States(robots.CrawlDelay) {
		return
	}
	selection := site.Select(x.policy.Identity.Tokens, r.UserAgent())
	for _, d := range selection.Delays(min(len(x.ruling.Robots), evidence.MaxItems)) {
		kept := p.keep(d)
		x.rec.Delays = append(x.rec.Delays, evidence.CrawlDelay{
			Values: d.Values, Unreadable: d.Unreadable, Known: d.Known, Honoured: kept.Honoured, Capped: kept.Capped,
		})
	}
}

// tenant is who the agent is known to be: nobody where any name is taken, or where
// what it asks for is recorded in the log that all share (P33).
func (x *crossing) tenant() string {
	if x.edge.opt.Credentials == nil || x.log == x.edge.opt.Evidence.Own() {
		return ""
	}
	return x.log.ID()
}

// arrived says that the head of the answer has come. An error is that of an
// answer that may not be used (P40).
func (x *crossing) arrived(ctx context.Context, status int) error {
	if x.permit == nil {
		return nil
	}
	return x.unusable(status, x.permit.HeadArrived(ctx, status))
}

// settled says that the answer was read whole. A switch to another protocol says
// nothing of how the host fares, and leaves it to the next request (P21).
func (x *crossing) settled(ctx context.Context, resp *http.Response) (err error) {
	if x.permit == nil {
		return nil
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		err = x.permit.Failed(ctx)
	} else {
		_, err = x.permit.Answered(ctx, answered(resp))
	}
	x.rec.Pacing = recorded(x.permit.Record())
	return x.unusable(resp.StatusCode, err)
}

// answered is what pacing needs to know of an answer.
func answered(resp *http.Response) backoff.Answer {
	return backoff.Answer{Status: resp.StatusCode, RetryAfter: resp.Header["Retry-After"], Date: resp.Header.Get("Date")}
}

// unanswered says that the request ended without a whole answer (P22). Where it
// had one, or what it had may not be used, that was said before, and this does
// nothing.
func (x *crossing) unanswered() {
	if x.permit == nil {
		return
	}
	if err := x.permit.Failed(context.Background()); err != nil {
		x.gap(evidence.StoreUnavailable, err.Error())
	}
	x.rec.Pacing = recorded(x.permit.Record())
}

// headBy bounds the wait for the head of the answer where a reservation does
// (P25). The second result ends the bound.
func (x *crossing) headBy(ctx context.Context) (context.Context, func()) {
	if x.permit == nil || x.permit.HeadBy().IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx) // ends with the request's own
	timer := time.AfterFunc(time.Until(x.permit.HeadBy()), func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { timer.Stop() }
}

// paceBody has pacing told how the answer ends.
func (x *crossing) paceBody(r *http.Request, resp *http.Response) {
	if x.permit != nil && resp.StatusCode != http.StatusSwitchingProtocols && !bodiless(r, resp) {
		resp.Body = &pacedBody{x: x, ctx: r.Context(), resp: resp, src: resp.Body}
	}
}

// errUnusable is an answer whose pace could not be kept, so that it is not passed
// on (P40).
type errUnusable struct {
	status int
	fault  error
}

func (e *errUnusable) Error() string {
	return fmt.Sprintf("the host answered with status %d, which was not used because its pace could not be kept: %v", e.status, e.fault)
}

func (e *errUnusable) Unwrap() error { return e.fault }

func (x *crossing) unusable(status int, fault error) error {
	if fault == nil {
		return nil
	}
	x.rec.Pacing = recorded(x.permit.Record())
	x.gap(evidence.StoreUnavailable, fault.Error())
	return &errUnusable{status, fault}
}

// notUsed answers a request whose answer may not be used.
func (x *crossing) notUsed(r *http.Request, err error) *http.Response {
	x.rec.Failure = evidence.Failure{Kind: string(rulings.PacingStore), Detail: err.Error()}
	pace := faultTerms(err)
	return x.answer(r, reply{Reason: rulings.PacingStore, Detail: pace.Told, RetryAt: pace.RetryAt, After: pace.RetryAfter}, evidence.Unavailable)
}

// isUnusable reports whether err is that of an answer that may not be used.
func isUnusable(err error) bool {
	_, ok := errors.AsType[*errUnusable](err)
	return ok
}

// A pacedBody tells pacing how the body of an answer ended: read to its end, or
// not. The end of one that may not be used is an error, at each further Read too.
type pacedBody struct {
	x    *crossing
	ctx  context.Context
	resp *http.Response
	src  io.ReadCloser
	end  error // nil until it was met
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.src.Read(p)
	switch {
	case err == io.EOF && (b.ctx.Err() == nil || !closeDelimited(b.resp)):
		b.end = cmp.Or(b.x.settled(b.ctx, b.resp), err)
	case err != nil: // also where the source closed because the client had left
		b.x.unanswered()
		b.end = err
	}
	return n, b.end
}

// Close may be called while the body is read. Pacing is told by the Read that
// then fails, or by the end of the crossing.
func (b *pacedBody) Close() error { return b.src.Close() }

// recorded puts what pacing did into the form of the record (E18).
func recorded(r backoff.Record) (p evidence.Pacing) {
	addRecord(&p, r)
	return p
}

// addRecord adds what pacing did to p. Of several turns the last one stays.
func addRecord(p *evidence.Pacing, r backoff.Record) {
	if r.Delay != nil {
		d := evidence.PacedDelay(*r.Delay)
		p.Delay = &d
	}
	p.DateHeader = cmp.Or(r.DateHeader, p.DateHeader)
	for _, b := range r.Backoff {
		p.Backoff = append(p.Backoff, evidence.PacedBackoff(b))
	}
}
