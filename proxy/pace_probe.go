package proxy

import (
	"context"
	"errors"
	"net/http"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// Pace implements terms.Pacer for the edge's own requests. A probe sleeps out of
// the budget of the crossing that needs it (P28).
func (p *Pacing) Pace(ctx context.Context, ask terms.Ask) (terms.Pass, error) {
	req := backoff.Request{Host: ask.Origin.Host, Delay: p.keep(ask.Delay), NoTurn: ask.Kind == rulings.TermRobots}
	if x := crossingOf(ctx); x != nil {
		req.Budget, req.Tenant = x.budget, x.tenant()
		if ask.Page == ask.Origin.Host {
			req.Behind = ask.Behind
		}
	} else {
		req.Budget = p.Dispatcher.NewBudget()
	}
	pass, err := p.Dispatcher.Go(ctx, req)
	if err != nil {
		return nil, p.fetchError(err)
	}
	return &probePass{p, pass}, nil
}

// fetchError makes of why a probe may not go what the book knows.
func (p *Pacing) fetchError(err error) error {
	out := &terms.FetchError{Kind: terms.FailurePacingStore, Err: err, Barred: rulings.PacingStore}
	if refusal, ok := errors.AsType[*backoff.RefusalError](err); ok {
		out.Barred, out.Pace = rulings.Reason(refusal.Reason), p.tell(refusal)
		if refusal.Fault == nil {
			out.Kind = terms.FailureBackoff
		}
		return out
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	out.Pace.Told = storeWords(err)
	return out
}

// A probePass is the right to send one request of a probe.
type probePass struct {
	pacing *Pacing
	pass   *backoff.Pass
}

func (p *probePass) Handed(ctx context.Context) error {
	if err := p.pass.Handed(ctx); err != nil {
		return p.pacing.fetchError(err)
	}
	return nil
}

func (p *probePass) Head(ctx context.Context, status int) error {
	if err := p.pass.HeadArrived(ctx, status); err != nil {
		return p.pacing.fetchError(err)
	}
	return nil
}

func (p *probePass) Ended(ctx context.Context, resp *http.Response, whole bool) error {
	var err error
	if resp == nil || !whole {
		err = p.pass.Failed(ctx)
	} else {
		_, err = p.pass.Answered(ctx, backoff.Answer{Status: resp.StatusCode, RetryAfter: resp.Header["Retry-After"], Date: resp.Header.Get("Date")})
	}
	if err != nil {
		return p.pacing.fetchError(err)
	}
	return nil
}
