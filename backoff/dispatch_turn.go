package backoff

import (
	"context"
	"time"
)

// takeTurn takes the request's turn and moves it from the door to the queue. The
// wait, and the turns that the crossing needs behind this one, must fit the
// budget (P9, P14, P15).
func (v *visit) takeTurn(ctx context.Context) error {
	delay := v.req.Delay.Honoured
	behind := time.Duration(max(v.req.Behind, 0)) * delay
	budget, together := v.req.Budget.share(v.req.Host, behind)
	t, err := v.d.store.Turn(ctx, v.req.Host, delay, budget)
	if err != nil {
		if fault := asStoreError(err); fault != nil {
			v.record.Delay = &DelayRuling{Delay: delay, Outcome: Unavailable, Budget: budget, Unavailable: fault.Error()}
			v.line.failed(v.waiter, fault)
		}
		return err
	}
	v.record.Delay = &DelayRuling{
		Delay: delay, Outcome: string(t.Outcome), Wait: t.Wait, Budget: budget, NextAt: t.At, Recovered: t.Recovered,
	}
	switch t.Outcome {
	case Clear, Waited:
		v.turn = slot{turn: t, due: time.Now().Add(t.Wait)}
		v.line.moveUp(v.waiter, v.turn)
		return nil
	}
	if together { // the turns behind it would fit, so the host is asked for nothing (P14)
		v.record.Delay.LicenceFirst = true
		v.record.Delay.Wait, v.record.Delay.Budget = t.Wait+behind, budget+behind
	}
	return v.refuseTurn(t.Wait)
}

// awaitTurn waits until the request is the first of the queue and its turn has
// come. The wait fitted when the turn was taken and is not ruled again; one that
// grew, because those ahead went later than they were to, is.
func (v *visit) awaitTurn(ctx context.Context) error {
	delay := v.req.Delay.Honoured
	for {
		isFirst, due := v.line.turnOf(v.waiter, delay)
		now, left := time.Now(), v.req.Budget.free()
		most := laterOf(v.turn.due, now.Add(left))
		if isFirst && !due.After(now) {
			return nil
		}
		late := isFirst && due.After(most) || !most.After(now)
		if late || v.line.next(left).Step == StepRefuse {
			next, err := v.look(ctx, left)
			switch {
			case err != nil:
				return err
			case next.Step == StepRefuse:
				return v.refuseBackoff(next)
			case late:
				return v.refuseTurn(v.line.waitOf(v.waiter, delay))
			}
		}
		until := most
		if isFirst {
			until = due
		}
		if err := v.pause(ctx, until.Sub(now), ReasonCrawlDelay); err != nil {
			return err
		}
	}
}

// depart makes the pass. A request without a turn leaves the line; one that has a
// turn stays the first of the queue until it was handed over.
func (v *visit) depart() {
	v.line.letGo(v.waiter)
	v.pass = &Pass{
		d: v.d, req: v.req, line: v.line, waiter: v.waiter,
		paced: v.req.paced(v.view.state), reservation: v.reservation.ID, headBy: v.headBy, record: v.record,
	}
}

// leave ends a visit that came to nothing: its place and its turn are the next
// one's (P12).
func (v *visit) leave(ctx context.Context) {
	v.line.leave(v.waiter)
	v.line.giveBack(ctx, v.d.store)
	if v.reservation.ID != "" {
		_ = v.d.store.Release(context.WithoutCancel(ctx), v.req.Host, v.reservation.ID) // otherwise it expires
		v.line.rouseFirsts()
	}
	v.d.exit(v.line)
}
