package backoff

import (
	"context"
	"fmt"
	"time"
)

// A RefusalError is why a request may not go, with all that the record, the
// operator and, through Tell, the agent may learn of it.
type RefusalError struct {
	Refusal
	Host   string
	Stated Delay         // what the host asks for, as the request said
	Budget time.Duration // what could still be slept
	Total  time.Duration // what the crossing could sleep when it began
	Now    time.Time     // the store's clock at the refusal, for Tell; zero for a fault of the store
	Fault  *StoreError   // for ReasonPacingStore
	Record Record
}

// Error says what does not fit. It names the host and, for a fault of the store,
// the path: it is for the operator.
func (e *RefusalError) Error() string {
	switch {
	case e.Fault != nil:
		return fmt.Sprintf("%s: %v", e.Reason, e.Fault)
	case e.Held:
		return fmt.Sprintf("%s: another request to %s is under way, and %v are left to wait", e.Reason, e.Host, e.Budget)
	}
	return fmt.Sprintf("%s: %s may be asked in %v, and %v are left to wait", e.Reason, e.Host, e.Wait, e.Budget)
}

// Unwrap returns the fault of the store, if it is one.
func (e *RefusalError) Unwrap() error {
	if e.Fault == nil {
		return nil
	}
	return e.Fault
}

// What came of pacing beside the outcomes of a turn (E18).
const (
	Unavailable    = "unavailable" // the store failed
	BackoffSet     = "set"         // the answer was a failure
	BackoffReset   = "reset"       // the answer ended the row of failures
	BackoffWaited  = "waited"
	BackoffRefused = "refused"
)

// A Record is what pacing did to one request, for the evidence (E18). The rulings
// on turn and back-off are separate; what did nothing is absent.
type Record struct {
	Delay   *DelayRuling
	Backoff []BackoffRuling

	DateHeader string // the origin's Date, as sent, where the answer stated a date (P19)
}

// A DelayRuling is what came of asking for a turn.
type DelayRuling struct {
	Delay        time.Duration // as kept
	Outcome      string        // a TurnOutcome, or Unavailable
	Wait, Budget time.Duration
	NextAt       time.Time // the turn, taken or not
	Recovered    string
	LicenceFirst bool   // Wait is that for the page, behind its licences (P14)
	Unavailable  string // the fault and what repairs it
}

// A BackoffRuling is one thing that a host's back-off did, or that was done to
// it.
type BackoffRuling struct {
	Target           string // the host
	Outcome          string
	Failures, Status int
	Until            time.Time
	RetryAfter       bool
	Capped           bool
	Date             bool      // it stated Until itself, as a date, and was not cut
	ReservedUntil    time.Time // another's reservation, where it bound
	Wait, Budget     time.Duration
	Unavailable      string
}

// ruling returns what is told of s by an outcome.
func (s State) ruling(outcome string) BackoffRuling {
	b := s.Backoff
	return BackoffRuling{
		Target: s.Host, Outcome: outcome,
		Failures: b.Failures, Status: b.Status, Until: b.Until, RetryAfter: b.RetryAfter, Capped: b.Capped, Date: b.Date,
	}
}

// bound returns what is told of a wait for next, or of its refusal. A failure
// whose period has ended is not cited beside a reservation (P31).
func (s State) bound(outcome string, next Next, budget time.Duration) BackoffRuling {
	r := s.ruling(outcome)
	if next.Held {
		r = BackoffRuling{Target: s.Host, Outcome: outcome, ReservedUntil: s.Reservation.Deadline}
	}
	r.Wait, r.Budget = next.Wait, budget
	return r
}

// waited adds to what was slept for the host's back-off. All the waits of one
// request are one ruling, of the budget there was before the first.
func (r *Record) waited(s State, next Next, budget, slept time.Duration) {
	ruling := s.bound(BackoffWaited, next, budget)
	if n := len(r.Backoff); n > 0 {
		ruling.Budget = r.Backoff[0].Budget
		slept += r.Backoff[0].Wait
		r.Backoff = r.Backoff[:0]
	}
	ruling.Wait = slept
	r.Backoff = append(r.Backoff, ruling)
}

// refuseBackoff refuses for what next says binds. Where the clock went back, each
// look tells the whole wait until something heals the state.
func (v *visit) refuseBackoff(ctx context.Context, next Next) error {
	if v.view.state.Recovered != "" {
		_ = v.d.store.Release(ctx, v.req.Host, "") // a fault would be the next caller's too
	}
	left := v.req.Budget.free()
	v.record.Backoff = append(v.record.Backoff, v.view.state.bound(BackoffRefused, next, left))
	end := v.view.state.Backoff.Until
	if next.Held {
		end = v.view.state.Reservation.Deadline
	}
	return v.refusal(next.Refusal(v.req.Tenant), left, end)
}

// refuseTurn refuses because the host's next turn is wait away.
func (v *visit) refuseTurn(wait time.Duration) error {
	left := v.req.Budget.free()
	if v.record.Delay == nil {
		v.record.Delay = &DelayRuling{Delay: v.req.Delay.Honoured, Wait: wait, Budget: left, NextAt: Instant(v.view.clock().Add(wait))}
	}
	v.record.Delay.Outcome = string(Refused)
	return v.refusal(Refusal{Reason: ReasonCrawlDelay, Wait: wait, Delay: v.req.Delay.Honoured}, left, v.record.Delay.NextAt)
}

// refusal refuses for what ends at end, which is zero where nobody knows.
func (v *visit) refusal(r Refusal, left time.Duration, end time.Time) *RefusalError {
	now := v.view.clock()
	if late := now.Add(r.Wait).Sub(end); 0 < late && late < time.Second {
		now = now.Add(-late) // when the wait was read off: what is told is its very end
	}
	return &RefusalError{
		Refusal: r, Host: v.req.Host, Stated: v.req.Delay,
		Budget: left, Total: v.req.Budget.Total(), Now: now,
	}
}

// refused completes the error that ends a visit, and makes a refusal of a fault
// of the store (P39).
func (v *visit) refused(err error) error {
	e, ok := err.(*RefusalError)
	if fault := asStoreError(err); !ok && fault != nil {
		e, ok = v.refusal(Refusal{Reason: ReasonPacingStore}, v.req.Budget.free(), time.Time{}), true
		e.Fault, e.Now = fault, time.Time{}
		if v.record.Delay == nil || v.record.Delay.Outcome != Unavailable {
			v.record.Backoff = append(v.record.Backoff, BackoffRuling{Target: v.req.Host, Outcome: Unavailable, Unavailable: fault.Error()})
		}
	}
	if !ok {
		return err
	}
	e.Record = v.record
	return e
}
