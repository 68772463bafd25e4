package backoff

import (
	"context"
	"errors"
	"time"
)

// A Store keeps the State of each host for all processes that share it (P45).
//
// Of every method: host is a key as hostkey.Key returns it. The method is atomic
// for its host, and safe for use by any number of goroutines and processes. It
// sleeps for no pace; it returns within Config.LockWait or when the context
// ends. A store that cannot do its part answers a *StoreError, which says what
// is broken (P46); the end of the context is the context's error. A call that
// failed has changed nothing, or made the whole change: a store keeps no half.
// Nothing is remembered of a fault: the next call tries again (P41).
//
// Durations are whole milliseconds or are rounded up to them. Callers sleep
// durations and never until an instant: the instants are those of the store's
// clock, which need not be the caller's (P47).
//
// A contract test for stores is in package backofftest.
type Store interface {
	// Look returns one consistent snapshot of the host's state and the store's
	// clock at that moment. It takes no lock and writes nothing. A host without
	// state is a State with nothing but its Host, and no error.
	//
	// A snapshot is already recovered as of the returned instant (P43, P44);
	// its Recovered says so. It is in the store only after the next call of
	// another method for this host, each of which heals what it finds. Until
	// then a wait is told anew by every look, so a caller that refuses on a
	// recovered snapshot calls Release without an ID to let the wait run.
	Look(ctx context.Context, host string) (State, time.Time, error)

	// Turn takes the next turn of a host whose honoured delay is delay, if the
	// wait for it is at most budget (P8, P9). A turn that was taken is in the
	// store when Turn returns; the caller then waits Turn.Wait and sends, or
	// gives it back. One that does not fit is Outcome Refused and no error, and
	// nothing is written, except that a damaged state is healed (P44). A delay
	// of 0 or less paces nothing: Clear, and nothing is written (P6).
	Turn(ctx context.Context, host string, delay, budget time.Duration) (Turn, error)

	// Handed says that the request with this turn is about to go to the transport,
	// within lead, and is asked whether it may (P10, P13). delay is the honoured
	// one. A request that is later than its turn moves the last turn to the end of
	// its lead, forward only; where a later one was taken since, that stays, and
	// whoever has it is told to wait, so that never less than delay lies between
	// two. A host that has no turn in the store gets none. After an error it must
	// not go (P39).
	Handed(ctx context.Context, host string, turn Turn, delay, lead time.Duration) (Handover, error)

	// GiveBack returns a turn that nobody took. If a later one was taken since,
	// or the turn is not the last one for another reason, it does nothing and
	// the turn passes unused (P12).
	GiveBack(ctx context.Context, host string, turn Turn) error

	// Reserve makes sender the only one who may ask a host whose wait is over
	// (P25), until length from now, at most MaxInterval. seen is what Look
	// returned. ErrLookAgain says that the host's back-off or reservation is no
	// longer what was seen, that the wait is not over, that another's
	// reservation is live, or that there is nothing to reserve; nothing is
	// written then, except that a state that must be recovered is healed. Who
	// holds the reservation already gets it again, as it is.
	//
	// A caller that slept the wait it saw passes the State in which it saw it
	// when Outwaited says that the clock went back meanwhile: then that State
	// and not the clock tells that the wait is over (P42).
	Reserve(ctx context.Context, host string, seen State, sender Sender, length time.Duration) (Reservation, error)

	// Answered says that a request ended now: its answer was read whole, or it
	// got none (Answer.Status 0). It dates the turn of a paced host (P10), sets
	// or resets the back-off (P16 to P21) and settles the sender's reservation
	// (P26), all in one step. An answer that changes nothing writes nothing and
	// takes no lock (P37). After an error the answer is not to be used (P40).
	Answered(ctx context.Context, host string, a Answer) (Change, error)

	// Release gives up the reservation of the sender with this ID, without
	// counting a failure (P26). Where another or none holds the host, and for
	// an empty ID, it does nothing but heal, so it may be called again.
	Release(ctx context.Context, host string, id string) error
}

// ErrLookAgain is what Store.Reserve answers when the caller's view of the host
// is out of date.
var ErrLookAgain = errors.New("the host's state is not what was seen; look again")

// A TurnOutcome is what came of asking for a turn. The zero value is none: no
// request may go on it.
type TurnOutcome string

// The outcomes of a turn (P9).
const (
	Clear   TurnOutcome = "clear"   // the turn is now
	Waited  TurnOutcome = "waited"  // the turn is Wait from now, within the budget
	Refused TurnOutcome = "refused" // the wait is longer than the budget; no turn was taken
)

// A Turn is the answer to asking for one.
type Turn struct {
	Outcome   TurnOutcome
	At        time.Time     // the turn; of a refused one, when it would have been
	Wait      time.Duration // from the call to At, rounded up; 0 if Clear
	Before    time.Time     // the last turn before it, which GiveBack restores; zero: none
	Recovered string        // as State.Recovered, of the state that was found

	// Handed is the At of the Handover before, where the request is handed over
	// again; zero: it was not yet.
	Handed time.Time
}

// A Sender is who reserves a host.
type Sender struct {
	ID     string // unique among all processes that share the store; empty reserves nothing
	Tenant string // the authenticated user, empty: unknown
}

// An Answer is how a request to a host ended.
type Answer struct {
	// Status is that of the final answer, head and body read whole. 0: the
	// request ended without one, or with one that broke off (P22).
	Status int

	RetryAfter []string // the Retry-After field lines, in order
	Date       string   // the Date field as sent; carried for the record (P19), no store reads it

	// Paced: the host states a delay above 0, or, for the answer of a
	// robots.txt, it has a turn in the state that was looked at (P2, P10).
	Paced bool

	Reservation string // ID of the sender, if it reserved the host
	Tenant      string // the authenticated user whose request it was, empty: unknown
}

// An Event is what an answer did to a host's back-off.
type Event string

// The events of P16 to P21.
const (
	EventNone  Event = "none"  // no failure, and nothing to reset
	EventSet   Event = "set"   // a failure: State.Backoff is what binds now
	EventReset Event = "reset" // a good answer ended the row of failures; Until may bind on
)

// A Change is what Answered did.
type Change struct {
	Event Event
	State State // after the change, as Look would return it now

	// Stated is how the answer's Retry-After was read, for an answer whose
	// Retry-After counts (P17). State may keep an older and longer wait (P20).
	Stated RetryAfter
}
