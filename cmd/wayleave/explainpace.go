package main

import (
	"context"
	"errors"
	"time"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A pace is what a host's next request would meet if it came now. It is looked at
// only: nothing is written and no turn is taken.
type pace struct {
	host   string
	delay  backoff.Delay
	state  backoff.State
	now    time.Time     // by the store's clock
	budget time.Duration // what a crossing may wait
	next   backoff.Next  // what its back-off binds
	turn   time.Duration // until its next turn
	fault  *backoff.StoreError
}

// lookAtPace reads what the store knows of host. Its error is the end of ctx; a
// fault of the store is part of the pace.
func lookAtPace(ctx context.Context, p *proxy.Pacing, host string, delay backoff.Delay) (pace, error) {
	at := pace{host: host, delay: delay, budget: p.Rules.MaxWait}
	var err error
	at.state, at.now, err = p.Store.Look(ctx, host)
	if err != nil {
		if !errors.As(err, &at.fault) {
			return at, err
		}
		return at, nil
	}
	at.next = at.state.Next(at.now, "", at.budget)
	at.turn = p.Rules.Fit(at.state, at.now, delay.Honoured, 0, at.budget).Pending
	return at, nil
}

// kept is how much is kept of a delay that a robots.txt states (P5 to P7).
func kept(p *proxy.Pacing, d robots.Delay) backoff.Delay {
	if !d.Known {
		return backoff.Delay{}
	}
	return p.Rules.Honour(d.Milliseconds, d.Written)
}

// wait is until both back-off and turn let a request go (P24). They pass at the
// same time.
func (a *pace) wait() time.Duration { return max(a.next.Wait, a.turn) }

// at is the instant of the state that is d away. Waits are rounded up to whole
// milliseconds, which such instants are.
func (a *pace) at(d time.Duration) time.Time { return instant(a.now.Add(d)) }

// refusal is why a crossing that came now would not be sent, nil if it would
// (P9, P24, P25, P39). How long another's reservation is waited for is not known
// beforehand, so that one refuses nothing here.
func (a *pace) refusal() *backoff.RefusalError {
	e := &backoff.RefusalError{Host: a.host, Stated: a.delay, Budget: a.budget, Total: a.budget, Now: a.now}
	switch {
	case a.fault != nil:
		e.Reason, e.Fault = backoff.ReasonPacingStore, a.fault
	case a.next.Step == backoff.StepRefuse:
		e.Refusal = a.next.Refusal("")
	case a.turn > a.budget:
		e.Refusal = backoff.Refusal{Reason: backoff.ReasonCrawlDelay, Wait: a.turn, Delay: a.delay.Honoured}
	default:
		return nil
	}
	return e
}

// forecast puts a into the form of A11.
func (a *pace) forecast() *admin.Pacing {
	f := &admin.Pacing{DelayMS: a.delay.Honoured.Milliseconds(), Capped: a.delay.Capped}
	if a.fault != nil {
		f.Unavailable = a.fault.Told()
		return f
	}
	if wait := a.wait(); wait > 0 {
		f.WaitMS, f.NextAt = wait.Milliseconds(), a.at(wait)
	}
	switch {
	case a.next.Held:
		f.ReservedUntil = a.state.Reservation.Deadline
	case a.next.Wait > 0:
		f.BackoffUntil, f.BackoffStatus = a.state.Backoff.Until, a.state.Backoff.Status
	}
	return f
}

// storeRetry is when a fault of the store is looked at again (P32).
const storeRetry = 30 * time.Second

// paceRuled forecasts the pace of a request that is let through by the terms, or
// hangs on such as are not held, and refuses ruling for it where a crossing would
// be. It is nil for what is not paced (P3) or never sent.
func (x explainer) paceRuled(ctx context.Context, policy *rulings.Policy, req rulings.Request, known rulings.Terms, ruling *rulings.Ruling, open bool) (*admin.Pacing, error) {
	if policy == nil || x.pacing == nil || !policy.Paced(req.Origin.Host) || !open && ruling.Refused() && !paces(ruling.Reason) && ruling.Reason != rulings.RobotsUnreachable {
		return nil, nil
	}
	var delay backoff.Delay
	if site := known.Robots.Site; site != nil && !known.Robots.Exempt {
		delay = kept(x.pacing, site.Select(policy.Identity.Tokens, req.UserAgent).Delay())
	}
	at, err := lookAtPace(ctx, x.pacing, req.Origin.Host, delay)
	if err != nil {
		return nil, err
	}
	if wait := at.wait(); wait > 0 && paces(ruling.Reason) && ruling.RetryAt.IsZero() {
		ruling.RetryAt = at.at(wait) // an agent may not be told, an operator is (P33)
	}
	if ruling.Reason == rulings.RobotsUnreachable {
		if left := at.next.Wait; !at.next.Held && left > time.Until(ruling.RetryAt) {
			ruling.PutOff(at.at(left), left)
		}
		return nil, nil
	}
	if e := at.refusal(); e != nil && !open && !ruling.Refused() {
		ruling.Outcome, ruling.Reason, ruling.Stage, ruling.Detail = rulings.Refuse, rulings.Reason(e.Reason), rulings.StageBefore, e.Error()
		ruling.RetryAt = at.at(e.Wait)
		if e.Fault != nil {
			ruling.RetryAt, ruling.Detail = time.Now().Add(storeRetry), e.Fault.Told()
		}
	}
	return at.forecast(), nil
}

// paces reports whether r is a reason of pacing.
func paces(r rulings.Reason) bool {
	return r == rulings.CrawlDelay || r == rulings.Backoff || r == rulings.PacingStore
}

// paced tells what binds of the host's pace.
func (t *told) paced(p *admin.Pacing) {
	switch {
	case p == nil:
		return
	case p.Unavailable != "":
		t.line("pace: not known: %s", p.Unavailable)
		return
	case p.DelayMS > 0 && p.Capped:
		t.line("pace: the host asks for more than the %v between two requests that are kept", milliseconds(p.DelayMS))
	case p.DelayMS > 0:
		t.line("pace: the host asks for %v between two requests", milliseconds(p.DelayMS))
	}
	if !p.BackoffUntil.IsZero() {
		t.line("pace: the host answered with status %d and is left alone until %s", p.BackoffStatus, p.BackoffUntil.UTC().Format(time.RFC3339))
	}
	if !p.ReservedUntil.IsZero() {
		t.line("pace: the host failed; another request to it is under way and waited for, until %s at the latest", p.ReservedUntil.UTC().Format(time.RFC3339))
	}
	if p.WaitMS > 0 {
		t.line("pace: a request that came now could go in %v, at %s", milliseconds(p.WaitMS), p.NextAt.UTC().Format(time.RFC3339))
	} else if p.DelayMS > 0 {
		t.line("pace: a request that came now could go at once")
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
