package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// Pace implements terms.Pacer for the edge's own requests. A probe sleeps out of
// the budget of the crossing that needs it (P28).
func (p *Pacing) Pace(ctx context.Context, ask terms.Ask) (terms.Pass, error) {
	req := backoff.Request{Host: ask.Origin.Host, Delay: p.keep(ask.Delay), NoTurn: ask.Kind == rulings.TermRobots}
	if x := crossingOf(ctx); x != nil {
		if x.policy != nil && x.policy.Class(req.Host) == rulings.Service { // P3
			if !x.policy.Paced(req.Host) {
				return &probePass{pacing: p}, nil
			}
			req.Delay = backoff.Delay{}
		}
		x.yield(ctx, req.Host)
		req.Budget, req.Tenant = x.budget, x.tenant()
		if ask.Page == ask.Origin.Host {
			req.Behind = ask.Behind
		}
	} else {
		req.Budget = p.Dispatcher.NewBudget()
	}
	pass, err := p.Dispatcher.Go(ctx, req)
	if err == nil {
		err = pass.Handed(ctx) // which may sleep, as the probe's own time must not
	}
	if err != nil {
		return nil, p.fetchError(err)
	}
	return &probePass{p, pass}, nil
}

// yield gives up the reservation under which the page of a host was asked for,
// when the page names a term there: otherwise the request for it would wait for
// the end of an answer that waits for the request.
func (x *crossing) yield(ctx context.Context, host string) {
	if x.permit != nil && x.origin.Host == host {
		// One that cannot be given up binds until it expires, as it would anyway.
		_ = x.permit.Yield(ctx)
	}
}

// fetchError makes of why a probe may not go, or its answer not be used, what
// the book knows.
func (p *Pacing) fetchError(err error) error {
	if refusal, ok := errors.AsType[*backoff.RefusalError](err); ok {
		kinds := map[backoff.Reason]terms.FailureKind{backoff.ReasonBackoff: terms.FailureBackoff, backoff.ReasonCrawlDelay: terms.FailureCrawlDelay}
		return &terms.FetchError{
			Kind: cmp.Or(kinds[refusal.Reason], terms.FailurePacingStore), Err: err, Barred: rulings.Reason(refusal.Reason), Pace: p.tell(refusal),
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &terms.FetchError{Kind: terms.FailurePacingStore, Err: err, Barred: rulings.PacingStore, Pace: faultTerms(err)}
}

// notUsed is fetchError for an answer that came.
func (p *Pacing) notUsed(status int, err error) error {
	err = &errUnusable{status, err}
	return &terms.FetchError{Kind: terms.FailurePacingStore, Err: err, Barred: rulings.PacingStore, Pace: faultTerms(err), Answered: true}
}

// A probePass is the right to send one request of a probe.
type probePass struct {
	pacing *Pacing
	pass   *backoff.Pass // nil: nothing paces it
}

func (p *probePass) record() backoff.Record {
	if p.pass == nil {
		return backoff.Record{}
	}
	return p.pass.Record()
}

// Handed has nothing left to do: Pace returned for the request to go next.
func (p *probePass) Handed(context.Context) error { return nil }

func (p *probePass) HeadBy() time.Time {
	if p.pass == nil {
		return time.Time{}
	}
	return p.pass.HeadBy()
}

func (p *probePass) Head(ctx context.Context, status int) error {
	if p.pass == nil {
		return nil
	}
	if err := p.pass.HeadArrived(ctx, status); err != nil {
		return p.pacing.notUsed(status, err)
	}
	return nil
}

func (p *probePass) Ended(ctx context.Context, resp *http.Response, whole bool) error {
	switch {
	case p.pass == nil:
	case resp == nil || !whole:
		if err := p.pass.Failed(ctx); err != nil {
			return p.pacing.fetchError(err)
		}
	default:
		if _, err := p.pass.Answered(ctx, answered(resp)); err != nil {
			return p.pacing.notUsed(resp.StatusCode, err)
		}
	}
	return nil
}

// probed puts what pacing did to the requests of a probe into its record.
func probed(rec *evidence.TermsProbed, p *terms.Probe) {
	for _, pass := range p.Passes {
		if paced, ok := pass.(*probePass); ok {
			addRecord(&rec.Pacing, paced.record())
		}
	}
	if refusal, ok := errors.AsType[*backoff.RefusalError](p.Refused); ok {
		addRecord(&rec.Pacing, refusal.Record)
	}
	rec.Timings.FirstByte = p.Took
	if slept(&rec.Pacing) {
		rec.Timings.Wait = p.Waited
	}
}

// slept reports whether p tells of a wait.
func slept(p *evidence.Pacing) bool {
	return p.Delay != nil && p.Delay.Outcome == string(backoff.Waited) ||
		slices.ContainsFunc(p.Backoff, func(b evidence.PacedBackoff) bool { return b.Outcome == backoff.BackoffWaited })
}
