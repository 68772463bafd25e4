package backofftest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// A Memory is a Store in memory, for one process: the arithmetic and nothing
// else. Its methods may be called concurrently.
type Memory struct {
	rules backoff.Rules
	now   func() time.Time

	mu     sync.Mutex
	states map[string]backoff.State // guarded by mu
	fault  error                    // guarded by mu
}

var _ backoff.Store = (*Memory)(nil)

// NewMemory returns an empty store; now is its clock, nil is time.Now.
func NewMemory(c backoff.Config, now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{rules: c.Rules(), now: now, states: map[string]backoff.State{}}
}

// Fail makes every call fail with err from now on; nil repairs the store.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

// Plant puts a state into the store as it stands.
func (m *Memory) Plant(_ testing.TB, s backoff.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[s.Host] = s
}

// Stored returns what is stored of a host, as it stands.
func (m *Memory) Stored(host string) backoff.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(host)
}

func (m *Memory) get(host string) backoff.State {
	s := m.states[host]
	s.Host = host
	return s
}

// step replaces the state of host by what f makes of it.
func (m *Memory) step(ctx context.Context, host string, f func(s backoff.State, now time.Time) backoff.State) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return m.fault
	}
	next := f(m.get(host), m.now().Round(0))
	next.Recovered = ""
	if m.states[host] = next; next.Empty() {
		delete(m.states, host)
	}
	return nil
}

// Look implements backoff.Store.
func (m *Memory) Look(ctx context.Context, host string) (seen backoff.State, at time.Time, err error) {
	err = m.step(ctx, host, func(s backoff.State, now time.Time) backoff.State {
		seen, at = m.rules.Recover(s, now), now
		return s
	})
	return seen, at, err
}

// Turn implements backoff.Store.
func (m *Memory) Turn(ctx context.Context, host string, delay, budget time.Duration) (t backoff.Turn, err error) {
	err = m.step(ctx, host, func(s backoff.State, now time.Time) (next backoff.State) {
		next, t = m.rules.Turn(s, now, delay, budget)
		return next
	})
	return t, err
}

// Handed implements backoff.Store.
func (m *Memory) Handed(ctx context.Context, host string, turn backoff.Turn, delay, lead time.Duration) (h backoff.Handover, err error) {
	err = m.step(ctx, host, func(s backoff.State, now time.Time) (next backoff.State) {
		next, h = m.rules.Handed(s, now, turn, delay, lead)
		return next
	})
	if !h.At.IsZero() {
		h.Left = h.At.Sub(m.now())
	}
	return h, err
}

// GiveBack implements backoff.Store.
func (m *Memory) GiveBack(ctx context.Context, host string, turn backoff.Turn) error {
	return m.step(ctx, host, func(s backoff.State, now time.Time) backoff.State { return m.rules.GiveBack(s, now, turn) })
}

// Reserve implements backoff.Store.
func (m *Memory) Reserve(ctx context.Context, host string, seen backoff.State, sender backoff.Sender, length time.Duration) (r backoff.Reservation, err error) {
	reserved := false
	err = m.step(ctx, host, func(s backoff.State, now time.Time) (next backoff.State) {
		next, r, reserved = m.rules.Reserve(s, now, seen, sender, length)
		return next
	})
	if err == nil && !reserved {
		err = backoff.ErrLookAgain
	}
	return r, err
}

// Answered implements backoff.Store.
func (m *Memory) Answered(ctx context.Context, host string, a backoff.Answer) (c backoff.Change, err error) {
	err = m.step(ctx, host, func(s backoff.State, now time.Time) (next backoff.State) {
		next, c = m.rules.Answered(s, now, a)
		return next
	})
	return c, err
}

// Release implements backoff.Store.
func (m *Memory) Release(ctx context.Context, host string, id string) error {
	return m.step(ctx, host, func(s backoff.State, now time.Time) backoff.State { return m.rules.Release(s, now, id) })
}
