package proxy

import (
	"maps"
	"sync"

	"github.com/wayleave/wayleave/evidence"
)

// A contextUse is what the sources of one session have added up to (O36): whole
// bodies, after content coding and extraction, that were delivered to their end.
type contextUse struct {
	mu       sync.Mutex
	known    bool  // used was read back from the log
	used     int64 // delivered
	reserved int64 // by crossings under way, so that they do not overrun together
	read     func() (int64, error)

	holders int // crossings; under contextUses.mu
}

// contextUses are those of the sessions that an edge serves.
type contextUses struct {
	mu  sync.Mutex
	ids map[string]*contextUse
}

// maxContextUses bounds how many are remembered beside those in use. What is
// forgotten is read back from its log.
const maxContextUses = 4096

// take returns that of the session whose log is log, until it is given back.
func (c *contextUses) take(store *evidence.Store, log *evidence.Log) *contextUse {
	c.mu.Lock()
	defer c.mu.Unlock()
	use, ok := c.ids[log.ID()]
	if !ok {
		c.makeRoom()
		use = &contextUse{read: func() (int64, error) { return store.ContextBytes(log.ID()) }}
		c.ids[log.ID()] = use
	}
	use.holders++
	return use
}

// makeRoom forgets those that nobody holds once there are too many.
func (c *contextUses) makeRoom() {
	if c.ids == nil {
		c.ids = make(map[string]*contextUse)
	}
	if len(c.ids) >= maxContextUses {
		maps.DeleteFunc(c.ids, func(_ string, use *contextUse) bool { return use.holders == 0 })
	}
}

// giveBack ends what take began.
func (c *contextUses) giveBack(use *contextUse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	use.holders--
}

// context is what the crossing's session has used; the crossing holds it until it
// ends.
func (x *crossing) context() *contextUse {
	if x.contextUse == nil {
		x.contextUse = x.edge.contexts.take(x.edge.opt.Evidence, x.log)
	}
	return x.contextUse
}

// reserve takes n of most, or says what is left. What is not known is an error,
// and nothing is taken then.
func (c *contextUse) reserve(n, most int64) (left int64, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left, err = c.leftOf(most); err != nil || n > left {
		return left, false, err
	}
	c.reserved += n
	return left - n, true, nil
}

// left is what is left of most.
func (c *contextUse) left(most int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leftOf(most)
}

// leftOf is left under mu.
func (c *contextUse) leftOf(most int64) (int64, error) {
	if !c.known {
		used, err := c.read()
		if err != nil {
			return 0, err
		}
		c.used, c.known = used, true
	}
	return max(0, most-c.used-c.reserved), nil
}

// settle ends a reservation of n: what was delivered whole is used.
func (c *contextUse) settle(n int64, delivered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= n
	if delivered {
		c.used += n
	}
}
