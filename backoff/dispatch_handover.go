package backoff

import (
	"context"
	"time"
)

// handOver lets the store keep that the request goes now, on the first turn of
// the queue. It returns when it may go, which is to be at once.
//
// What is kept must not be earlier than what is done, or who comes next would
// follow too closely. So it is kept ahead of time, by as much as keeping it should
// take; where it took longer, it is kept once more.
func (p *Pass) handOver(ctx context.Context) error {
	delay, left := p.req.Delay.Honoured, p.req.Budget.Left()
	turn, lead := p.line.firstTurn(), p.lead()
	for {
		asked := time.Now()
		h, err := p.d.store.Handed(context.WithoutCancel(ctx), p.req.Host, turn, delay, lead)
		switch {
		case err != nil:
			return err
		case h.Missed:
			p.line.dropFirst()
			turn, err = p.waitAgain(ctx, turn)
			lead = p.lead()
		case h.Wait > 0:
			if err = p.waitFor(ctx, h.Wait); err == nil {
				turn, err = p.waitAgain(ctx, turn)
			}
		case h.Left >= 0: // hours, where the store's clock went back
			p.line.handedOver(p.waiter, delay, p.given, time.Now().Add(min(h.Left, lead)))
			p.wentOn(turn, left-p.req.Budget.Left())
			return nil
		default:
			turn.Handed, lead = h.At, 2*max(time.Since(asked), lead)
		}
		if err != nil {
			return err
		}
	}
}

// lead is how long the store should take to keep an instant, with as much to
// spare. No more than half a delay, which would run into the next turn.
func (p *Pass) lead() time.Duration {
	return min(2*p.visit.took, p.req.Delay.Honoured/2)
}

// waitFor sleeps until the request is far enough from one that went late. Its turn
// has fitted the budget, so it is not refused for as little as does not count as
// late.
func (p *Pass) waitFor(ctx context.Context, wait time.Duration) error {
	v := p.visit
	if wait > max(v.req.Budget.free(), tolerated(v.req.Delay.Honoured)) {
		v.record.Delay.Wait, v.record.Delay.NextAt = wait, Instant(v.view.clock().Add(wait))
		return v.refuseTurn(wait)
	}
	err := v.pause(ctx, wait, ReasonCrawlDelay)
	p.given = time.Now() // until now it was not this holder who held up the queue
	return err
}

// waitAgain waits, as the first of the queue, until the request may be handed over
// again: for another turn than last where that is gone, and for what back-off came
// while it slept (P24). It returns the turn.
func (p *Pass) waitAgain(ctx context.Context, last Turn) (Turn, error) {
	v := p.visit
	err := v.goOnTurn(ctx)
	p.line.letGo(p.waiter)
	p.record, p.reservation, p.headBy, p.given = v.record, v.reservation.ID, v.headBy, time.Now()
	if t := p.line.firstTurn(); !t.At.Equal(last.At) {
		last = t
	}
	return last, err
}

// wentOn completes the record of the turn with the one that the request went on
// and what it slept since it had its pass.
func (p *Pass) wentOn(turn Turn, slept time.Duration) {
	d := p.record.Delay
	d.NextAt = turn.At
	if slept > 0 {
		d.Outcome, d.Wait = string(Waited), d.Wait+slept
	}
}
