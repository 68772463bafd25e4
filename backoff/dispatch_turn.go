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
	t, err := v.askTurn(ctx, budget)
	if fault := asStoreError(err); fault != nil {
		v.line.failed(v.waiter, fault)
		return v.noTurn(fault, budget)
	}
	if err != nil {
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

// askTurn asks the store for a turn, and notes how long that takes.
func (v *visit) askTurn(ctx context.Context, budget time.Duration) (Turn, error) {
	asked := time.Now()
	t, err := v.d.store.Turn(ctx, v.req.Host, v.req.Delay.Honoured, budget)
	v.took = time.Since(asked)
	return t, err
}

// noTurn is the error of a turn that could not be taken.
func (v *visit) noTurn(fault *StoreError, budget time.Duration) error {
	v.record.Delay = &DelayRuling{Delay: v.req.Delay.Honoured, Outcome: Unavailable, Budget: budget, Unavailable: fault.Error()}
	return fault
}

// late is by how much a request may be later than it could have gone, because of
// timers, files and a busy machine, without its turn, and those behind it, being
// missed.
const late = 20 * time.Millisecond

// tolerated is how late a request may be on a turn without having missed it, when
// that adds up from several that were late.
func tolerated(delay time.Duration) time.Duration { return max(late, delay/4) }

// goOnTurn waits for the turn and then for what back-off came meanwhile. A turn
// that passed during that is no right to go any more: other processes have the
// turns behind it, and all that were held up would go at once.
func (v *visit) goOnTurn(ctx context.Context) error {
	for {
		if err := v.awaitTurn(ctx); err != nil {
			return err
		}
		if v.holds() {
			return nil
		}
		slept, err := v.backOff(ctx)
		if err != nil || !slept {
			return err
		}
		v.line.heldUp()
	}
}

// awaitTurn waits until the request is the first of the queue and its turn has
// come. The wait fitted when the turn was taken and is not ruled again; one that
// grew, because those ahead went later than they were to, is.
func (v *visit) awaitTurn(ctx context.Context) error {
	delay := v.req.Delay.Honoured
	for {
		p := v.line.place(v.waiter, delay)
		now, left := time.Now(), v.req.Budget.free()
		until := laterOf(v.turn.due, now.Add(left)) // at most
		over := !until.After(now)
		switch {
		case p.lacks:
			if err := v.renewTurn(ctx); err != nil {
				return err
			}
			continue
		case p.isFirst && p.due.After(now):
			over, until = p.due.After(until), p.due
		case p.isFirst && p.due.Sub(p.turn) > tolerated(delay): // what each was late adds up
			v.line.dropFirst()
			continue
		case p.isFirst:
			return nil
		}
		if over || v.line.next(left).Step == StepRefuse {
			if err := v.stillFits(ctx, left, over); err != nil {
				return err
			}
		}
		if err := v.pause(ctx, until.Sub(now), ReasonCrawlDelay); err != nil {
			return err
		}
	}
}

// stillFits looks whether what binds the host fits what is left, and refuses if it
// does not, or if the wait for the turn is over budget.
func (v *visit) stillFits(ctx context.Context, left time.Duration, over bool) error {
	next, err := v.look(ctx, left)
	switch {
	case err != nil:
		return err
	case next.Step == StepRefuse:
		return v.refuseBackoff(ctx, next)
	case over:
		return v.refuseTurn(v.line.waitOf(v.waiter, v.req.Delay.Honoured))
	}
	return nil
}

// renewTurn takes a turn for a request that stands in the queue without one, after
// those that were missed are given back: the last ones do not count then.
func (v *visit) renewTurn(ctx context.Context) error {
	v.line.giveBack(ctx, v.d.store)
	budget := v.req.Budget.free()
	t, err := v.askTurn(ctx, budget)
	if fault := asStoreError(err); fault != nil {
		return v.noTurn(fault, budget)
	}
	switch {
	case err != nil:
		return err
	case t.Outcome == Clear, t.Outcome == Waited:
		v.turn = slot{turn: t, due: time.Now().Add(t.Wait)}
		v.line.takes(v.turn)
		v.line.giveBack(ctx, v.d.store) // those ahead may have left meanwhile
		return nil
	}
	v.record.Delay.NextAt = t.At
	return v.refuseTurn(t.Wait)
}

// depart makes the pass. A request without a turn leaves the line; one that has a
// turn stays the first of the queue until it was handed over.
func (v *visit) depart() {
	v.line.letGo(v.waiter)
	v.pass = &Pass{
		d: v.d, req: v.req, line: v.line, waiter: v.waiter, visit: v,
		paced: v.req.paced(v.view.state), reservation: v.reservation.ID, headBy: v.headBy, record: v.record, given: time.Now(),
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
