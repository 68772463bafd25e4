package backoff

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A Dispatcher lets the requests of this process go to their hosts when the pace
// of each host permits it, in order of arrival (P11). What binds other processes
// too is in its Store; a Dispatcher adds the order, the waking of those that
// wait, and that nothing goes while a failing answer is still being read (P22).
//
// A host that nothing binds and nobody waits for costs one Store.Look. A
// Dispatcher starts no goroutine. Its methods may be called concurrently.
type Dispatcher struct {
	store  Store
	config Config
	sender string // begins the ID of each reservation of this process
	last   atomic.Uint64

	good  goodAnswers
	lines sync.Map   // of host to *line: the hosts that somebody waits for or that were asked just now
	mu    sync.Mutex // guards which lines there are, and how many use each
}

// NewDispatcher returns a dispatcher over store. Two dispatchers over one store
// are two processes to each other.
func NewDispatcher(store Store, c Config) *Dispatcher {
	return &Dispatcher{store: store, config: c.WithDefaults(), sender: rand.Text() + "-"}
}

// NewBudget returns the budget of one crossing.
func (d *Dispatcher) NewBudget() *Budget { return NewBudget(d.config.MaxWait) }

// A Request is what pacing must know of one request to a source.
type Request struct {
	Host   string  // as hostkey.Key returns it
	Delay  Delay   // what is kept of the host's Crawl-delay; Honoured 0: none
	Budget *Budget // of the crossing that the request belongs to; nil: nothing is waited for
	Tenant string  // the authenticated user, empty: unknown

	// NoTurn is for robots.txt: it takes no turn, and its answer dates the turn
	// of a host that has one, whatever Delay is (P2).
	NoTurn bool

	// Behind is how many turns on this host the crossing needs after this
	// request: for a licence, those of the licences after it and of the page
	// (P14). They are kept from the budget (P15).
	Behind int
}

// turns reports whether the request takes a turn.
func (r *Request) turns() bool { return r.Delay.Honoured > 0 && !r.NoTurn }

// Go waits until the request may go, or refuses it: first for the host's
// back-off, then for the request's turn, then for what back-off came meanwhile
// (P24). It returns the pass for one request, which the caller must end by
// Answered or Failed whatever becomes of it.
//
// An error is a *RefusalError, at once when it is known that the wait does not
// fit the budget (P29), or the context's when that ended first: then the caller
// has left the line, and its turn is the next one's (P12).
func (d *Dispatcher) Go(ctx context.Context, r Request) (*Pass, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if pass, done, err := d.unhindered(ctx, &r); done {
		return pass, err
	}
	v := &visit{d: d, req: r, line: d.enter(r.Host), waiter: newWaiter(r.turns())}
	if err := v.run(ctx); err != nil {
		v.leave(ctx)
		return nil, v.refused(err)
	}
	return v.pass, nil
}

// unhindered lets a request go that takes no turn, to a host that nobody in this
// process waits for and whose state says that nothing binds. done is false when
// the request has to stand in line.
func (d *Dispatcher) unhindered(ctx context.Context, r *Request) (pass *Pass, done bool, err error) {
	if _, waiting := d.lines.Load(r.Host); waiting || r.turns() {
		return nil, false, nil
	}
	failed := d.good.failed.Load()
	state, now, err := d.look(ctx, r.Host)
	if err != nil {
		v := visit{d: d, req: *r}
		return nil, true, v.refused(err)
	}
	if state.Next(now, "", 0).Step != StepGo {
		return nil, false, nil
	}
	if _, waiting := d.lines.Load(r.Host); waiting { // a failure began to come in (P22)
		return nil, false, nil
	}
	pass = &Pass{d: d, req: *r, paced: r.paced(state)}
	if state.SetAt.IsZero() {
		pass.clean = cleanLook{true, now, time.Now(), failed}
	}
	return pass, true, nil
}

// paced reports whether the answer dates a turn (P2, P10).
func (r *Request) paced(s State) bool {
	return r.Delay.Honoured > 0 || r.NoTurn && !s.Turn.none()
}

// newSender returns an ID for a reservation.
func (d *Dispatcher) newSender() string {
	return d.sender + strconv.FormatUint(d.last.Add(1), 36)
}

// enter returns the line of host and counts one more that uses it.
func (d *Dispatcher) enter(host string) *line {
	d.mu.Lock()
	defer d.mu.Unlock()
	var h *line
	if known, ok := d.lines.Load(host); ok {
		h = known.(*line)
	} else {
		h = &line{host: host}
		d.lines.Store(host, h)
	}
	h.users++
	return h
}

// exit is the end of what enter began. The line is forgotten with its last user,
// but not before the delay since the last request has passed, which the store's
// clock might not tell (P11).
func (d *Dispatcher) exit(h *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.users--
	if h.users > 0 {
		return
	}
	rest := time.Until(h.quietUntil())
	switch {
	case rest <= 0:
		d.lines.Delete(h.host)
	case h.expiry == nil:
		h.expiry = time.AfterFunc(rest, func() { d.expire(h) })
	default:
		h.expiry.Reset(rest)
	}
}

// expire forgets a line that nobody uses. One that is in use is forgotten later,
// by the exit of its last user.
func (d *Dispatcher) expire(h *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, _ := d.lines.Load(h.host); known == h && h.users == 0 && time.Until(h.quietUntil()) <= 0 {
		d.lines.Delete(h.host)
	}
}

// A HostWait is the line of one host.
type HostWait struct {
	Host  string
	Count int       // callers that wait
	Until time.Time // when the first of them will look again, by this process's clock; zero: it hangs on another's answer
	Cause Reason    // what the first of them waits for
}

// Waiting returns the hosts that callers of this process wait for, by name.
func (d *Dispatcher) Waiting() []HostWait {
	var all []HostWait
	for _, l := range d.lines.Range {
		if w := l.(*line).waiting(); w.Count > 0 {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b HostWait) int { return cmp.Compare(a.Host, b.Host) })
	return all
}

// asStoreError returns err as the fault of a store that it is, or nil if it is
// the end of a context or no fault.
func asStoreError(err error) *StoreError {
	var fault *StoreError
	switch {
	case errors.As(err, &fault):
		return fault
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return &StoreError{Err: err}
}
