package backoff

import (
	"context"
	"errors"
	"strings"
	"time"
)

// lookEvery is how often a reservation of another process is looked at (P25).
const lookEvery = 50 * time.Millisecond

// A visit is one request's way through the line of its host, in the order of
// P24. Its fields belong to the goroutine that walks; what the line holds of it
// is the waiter.
type visit struct {
	d      *Dispatcher
	req    Request
	line   *line
	waiter *waiter

	view        view          // what was seen last
	wait        wait          // for the host's back-off
	turn        slot          // that it took; it goes on the first of the queue's
	took        time.Duration // how long that took the store
	reservation Reservation   // none: it has no ID
	headBy      time.Time     // when the reservation ends, by this process's clock
	record      Record
	pass        *Pass
}

// run is the way. The error is a *RefusalError, a fault of the store, or the
// context's.
func (v *visit) run(ctx context.Context) error {
	if err := v.standAtDoor(ctx); err != nil {
		return err
	}
	if _, err := v.backOff(ctx); err != nil {
		return err
	}
	if v.req.turns() {
		if err := v.takeTurn(ctx); err != nil {
			return err
		}
		if err := v.goOnTurn(ctx); err != nil {
			return err
		}
	}
	v.depart()
	return nil
}

// standAtDoor waits until the request is the first at the door.
func (v *visit) standAtDoor(ctx context.Context) error {
	if err := v.arrive(ctx); err != nil {
		return err
	}
	for {
		isFirst, fault := v.line.atDoor(v.waiter)
		if fault != nil {
			return v.noTurn(fault, v.req.Budget.free())
		}
		if isFirst {
			return nil
		}
		left := v.req.Budget.free()
		if left == 0 || v.line.next(left).Step == StepRefuse {
			next, err := v.look(ctx, left)
			switch {
			case err != nil:
				return err
			case next.Step == StepRefuse:
				return v.refuseBackoff(ctx, next)
			case left == 0: // nothing binds, and those ahead are about to go too
				return nil
			}
		}
		if err := v.pause(ctx, left, ReasonBackoff); err != nil {
			return err
		}
	}
}

// arrive takes the last place at the door. A line that is full refuses (P11), and
// so does a wait that is known not to fit (P29).
func (v *visit) arrive(ctx context.Context) error {
	full := !v.line.join(v.waiter, v.d.config.MaxWaiters)
	next, err := v.look(ctx, v.req.Budget.free())
	switch {
	case err != nil:
		return err
	case full && next.Wait == 0 && v.req.turns():
		return v.refuseTurn(v.line.waitOf(nil, v.req.Delay.Honoured))
	case full, next.Step == StepRefuse:
		return v.refuseBackoff(ctx, next)
	}
	return nil
}

// look asks the store what binds the host, and lets the line know.
func (v *visit) look(ctx context.Context, budget time.Duration) (Next, error) {
	asked := time.Now()
	state, now, err := v.d.look(ctx, v.req.Host)
	if err != nil {
		return Next{}, err
	}
	v.view = view{state: state, now: now, at: time.Now(), asked: asked}
	v.line.saw(v.view)
	return v.view.next(budget), nil
}

// backOff waits until the host's back-off lets the request go, as the first at
// the door or, with its turn, as the first of the queue (P25), and reports whether
// it slept. A request that is still to take its turn, or has slept so that it may
// have missed it, does not reserve the host yet.
func (v *visit) backOff(ctx context.Context) (slept bool, err error) {
	for {
		left := v.req.Budget.free()
		next, err := v.look(ctx, left)
		if err != nil {
			return slept, err
		}
		v.wait.begin(v.view, &next, left)
		if read, by := v.line.beingRead(); read && (next.Step == StepGo || next.Step == StepReserve) { // P22
			next = Next{Step: StepHeld, Wait: left, Held: true, By: by}
			if left == 0 {
				return slept, v.refuseBackoff(ctx, next)
			}
		}
		switch next.Step {
		case StepGo:
			return slept, nil
		case StepReserve:
			if v.req.turns() && (slept || v.turn.due.IsZero()) {
				return slept, nil
			}
			err = v.reserve(ctx, v.wait.seen.state)
			if !errors.Is(err, ErrLookAgain) {
				return slept, err
			}
			err = v.pause(ctx, min(left, time.Millisecond), ReasonBackoff)
		case StepWait:
			err = v.pause(ctx, next.Wait, ReasonBackoff)
		case StepHeld:
			err = v.pause(ctx, v.watch(min(next.Wait, left)), ReasonBackoff)
		default:
			return slept, v.refuseBackoff(ctx, next)
		}
		if err != nil {
			return slept, err
		}
		slept = true
		v.record.waited(v.view.state, next, left, left-v.req.Budget.free())
	}
}

// watch is how long to wait for the end of another's reservation, of d at most:
// one of this process wakes who waits for it, one of another must be looked at.
func (v *visit) watch(d time.Duration) time.Duration {
	r := v.view.state.Reservation
	if v.view.state.Reserved(v.view.now) && !strings.HasPrefix(r.ID, v.d.sender) {
		return min(d, lookEvery)
	}
	return d
}

// A wait is that for one end of a back-off, which may be looked at several times
// meanwhile.
type wait struct {
	seen view
	end  time.Time // by this process's clock
}

// begin begins the wait that next is, unless it is the one that goes on, and
// then puts what is left of it in place of next: where the clock went back, the
// state tells the whole wait again (P42).
func (w *wait) begin(now view, next *Next, left time.Duration) {
	if !Outwaited(w.seen.state, now.state) || next.Held {
		w.seen, w.end = now, now.at.Add(next.Wait)
		return
	}
	switch rest := roundUp(w.end.Sub(now.at)); {
	case rest > left:
		next.Step, next.Wait = StepRefuse, rest
	case rest > 0:
		next.Step, next.Wait = StepWait, rest
	case w.seen.state.Backoff.Failures == 0:
		*next = Next{Step: StepGo}
	default:
		*next = Next{Step: StepReserve}
	}
}

// reserve takes the host for this request alone.
func (v *visit) reserve(ctx context.Context, seen State) error {
	began, id := time.Now(), v.d.newSender()
	r, err := v.d.store.Reserve(ctx, v.req.Host, seen, Sender{ID: id, Tenant: v.req.Tenant}, v.d.config.HeadTimeout)
	if err != nil {
		return err
	}
	v.reservation, v.headBy = r, began.Add(v.d.config.HeadTimeout)
	return nil
}

// holds reports whether the host is reserved for this request. A reservation that
// has ended meanwhile is forgotten.
func (v *visit) holds() bool {
	if v.reservation.ID != "" && !time.Now().Before(v.headBy) {
		v.reservation, v.headBy = Reservation{}, time.Time{}
	}
	return v.reservation.ID != ""
}

// pause sleeps for d or until the waiter is woken, and charges the budget.
func (v *visit) pause(ctx context.Context, d time.Duration, cause Reason) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	start := v.req.Budget.sleep()
	v.line.sleeps(v.waiter, start.Add(d), cause)
	defer v.req.Budget.woke(start, start.Add(d))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-v.waiter.wake:
	case <-timer.C:
	}
	return nil
}
