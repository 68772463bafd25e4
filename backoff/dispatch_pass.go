package backoff

import (
	"context"
	"sync"
	"time"
)

// A Pass is the right to send one request now. Its holder says what becomes of
// the request: Handed right before the transport gets it, HeadArrived when the
// head of its answer has come, and in any case one of Answered and Failed, which
// end the pass; whichever of these comes first counts, and what comes after the
// end does nothing. Until then the next request with a turn may have to wait.
//
// The methods may be called by several goroutines. They let no end of their
// context keep a host's state from being written.
type Pass struct {
	d      *Dispatcher
	req    Request
	line   *line   // nil: nobody stood in line, and nobody has to know
	waiter *waiter // its place in the line
	visit  *visit  // that it came of; nil with line
	paced  bool
	clean  cleanLook // that let it go

	mu          sync.Mutex // guards what follows
	reservation string     // ID of the sender; empty: the host is not reserved
	headBy      time.Time
	given       time.Time // when the holder got it

	handed bool
	dated  bool // the turn of a paced host was dated
	failed bool // the head is that of a failure, and the line knows
	over   bool
	record Record
}

// HeadBy returns the instant, by this process's clock, at which the request is
// to be given up if the head of its answer has not come: the end of its
// reservation (P25). Zero: the head timeout stands uncut.
func (p *Pass) HeadBy() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.headBy
}

// Record returns what pacing did to the request so far.
func (p *Pass) Record() Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record
}

// Handed says that the request goes to the transport when it returns. Where a
// request of another process went so late that this one would follow it too
// closely, it first sleeps, out of the request's budget (P13). After an error, a
// *RefusalError or the context's, the request must not be sent, and the pass has
// ended (P39).
func (p *Pass) Handed(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.handed {
		return nil
	}
	if p.req.turns() {
		if err := p.handOver(ctx); err != nil {
			p.giveUp(ctx)
			return p.visit.refused(err)
		}
	}
	p.handed = true
	return nil
}

// HeadArrived says that the head of the final answer has come, with this status.
// It dates the next turn of a paced host (P10), and from a failure's head to the
// pass's end nothing else goes to the host from this process (P22). After an
// error, a *StoreError, the answer is not to be used, and the pass has ended
// (P40).
func (p *Pass) HeadArrived(ctx context.Context, status int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || 100 <= status && status < 200 {
		return nil
	}
	if Failed(status) && !p.failed {
		if p.line == nil {
			p.line = p.d.enter(p.req.Host)
		}
		p.failed = true
		p.line.read(1, p.req.Tenant)
	}
	if !p.paced || p.dated {
		return nil
	}
	_, err := p.d.store.Answered(context.WithoutCancel(ctx), p.req.Host, Answer{Paced: true})
	if err != nil {
		return p.unusable(ctx, status, err)
	}
	p.dated = true
	return nil
}

// Answered says that the answer was read whole, head and body, and ends the pass.
// Of a it needs Status, RetryAfter and Date. After an error, a *StoreError, the
// answer is not to be used (P40).
func (p *Pass) Answered(ctx context.Context, a Answer) (Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return Change{}, nil
	}
	if !p.handed && p.req.turns() { // nobody said so, but it went
		p.line.handedOver(p.waiter, p.req.Delay.Honoured, p.given, time.Now())
	}
	p.handed = true
	a.Paced, a.Reservation, a.Tenant = p.paced && !p.dated, p.reservation, p.req.Tenant
	if p.d.unchanged(p, a) {
		change := Change{Event: EventNone, State: State{Host: p.req.Host}}
		p.end(change)
		return change, nil
	}
	change, err := p.d.store.Answered(context.WithoutCancel(ctx), p.req.Host, a)
	if err != nil {
		return Change{}, p.unusable(ctx, a.Status, err)
	}
	if change.Event == EventSet {
		p.d.good.failed.Add(1)
	}
	if change.Event != EventNone {
		r := change.State.ruling(string(change.Event))
		if r.Target = p.req.Host; change.Stated.Date {
			p.record.DateHeader = a.Date
		}
		p.record.Backoff = append(p.record.Backoff, r)
	}
	p.end(change)
	return change, nil
}

// Failed says that the request ended without an answer (P22), or was not sent
// after all, and ends the pass. A reservation is released (P26), and a turn that
// was not used is the next one's. A *StoreError says what could not be written.
func (p *Pass) Failed(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	if !p.handed {
		p.giveUp(ctx)
		return nil
	}
	a := Answer{Paced: p.paced && !p.dated, Reservation: p.reservation, Tenant: p.req.Tenant}
	var err error
	if a.Paced || a.Reservation != "" {
		_, err = p.d.store.Answered(context.WithoutCancel(ctx), p.req.Host, a)
	}
	p.end(Change{})
	if fault := asStoreError(err); fault != nil {
		return fault
	}
	return err
}

// Yield gives up the reservation of a request whose answer has begun, so that
// another may go before its end (P26). The pass goes on, and its answer counts. It
// does nothing where the answer is a failure, beside which nothing goes (P22).
func (p *Pass) Yield(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.failed || p.reservation == "" {
		return nil
	}
	if err := p.d.store.Release(context.WithoutCancel(ctx), p.req.Host, p.reservation); err != nil {
		return err
	}
	p.reservation, p.headBy = "", time.Time{}
	p.line.rouseFirsts()
	return nil
}

// giveUp ends the pass of a request that was not sent.
func (p *Pass) giveUp(ctx context.Context) {
	if p.line != nil {
		if time.Since(p.given) > late {
			p.line.heldUp()
		}
		p.line.leave(p.waiter)
		p.line.giveBack(ctx, p.d.store)
	}
	p.release(ctx)
	p.end(Change{})
}

// release gives the reservation up. One that cannot be given up expires.
func (p *Pass) release(ctx context.Context) {
	if p.reservation != "" {
		_ = p.d.store.Release(context.WithoutCancel(ctx), p.req.Host, p.reservation)
	}
}

// unusable ends the pass of an answer that the store could not keep. A failure
// keeps its reservation until the deadline, which is the only pause left; any
// other answer releases it (P40).
func (p *Pass) unusable(ctx context.Context, status int, err error) error {
	fault := asStoreError(err)
	if fault == nil {
		fault = &StoreError{Err: err}
	}
	if !Failed(status) {
		p.release(ctx)
	}
	p.record.Backoff = append(p.record.Backoff, BackoffRuling{Target: p.req.Host, Outcome: Unavailable, Status: status, Unavailable: fault.Error()})
	p.end(Change{})
	return fault
}

// end ends the pass and wakes who waits for it: all who wait when the host
// failed, so that those whom the new wait does not fit are refused at once (P29),
// otherwise the first, who may go.
func (p *Pass) end(c Change) {
	p.over = true
	h := p.line
	if h == nil {
		if known, ok := p.d.lines.Load(p.req.Host); ok && c.Event != EventNone {
			known.(*line).rouseFirsts()
		}
		return
	}
	if p.failed {
		h.read(-1, "")
	}
	if c.Event == EventSet && !c.State.SetAt.IsZero() {
		now := time.Now()
		h.saw(view{state: c.State, now: c.State.SetAt, at: now, asked: now})
		h.rouseEverybody()
	} else {
		h.rouseFirsts()
	}
	p.d.exit(h)
}
