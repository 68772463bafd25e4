package proxy

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/wayleave/wayleave/rulings"
)

// A pool is connections that were dialled under one address guard. A crossing is
// ruled to its end on the policy it began with (O4): it uses no connection that
// its own policy would not have let be dialled, whoever dialled it and whatever
// was in force then.
//
// An agent's request goes on in the version it came in: the site sees what the
// agent would have been without us, and an HTTP/1.1 agent's parallel requests do
// not queue on one connection. Hosts that speak HTTP/2 alone get that from
// everybody.
type pool struct {
	policy *rulings.Policy // whose guard it is

	shared *http.Transport // HTTP/1.1 connections any agent's request may use
	multi  *http.Transport // the same, HTTP/2 where the host offers it
	single *http.Transport // one request a connection: for what net/http might send twice
}

func (u *Upstream) newPool(policy *rulings.Policy) *pool {
	p := &pool{policy: policy, shared: u.transport(policy, "http/1.1"), multi: u.transport(policy, "h2", "http/1.1"), single: u.transport(policy, "h2", "http/1.1")}
	p.single.DisableKeepAlives = true
	return p
}

// closeIdle ends idle connections. Requests under way go on.
func (p *pool) closeIdle() {
	p.shared.CloseIdleConnections()
	p.multi.CloseIdleConnections()
	p.single.CloseIdleConnections()
}

// maxPools bounds how many guards have connections at a time. Only a reload that
// changes allow_private makes another one.
const maxPools = 4

// pools are those of an Upstream.
type pools struct {
	last atomic.Pointer[pool] // the one that was used last

	mu   sync.Mutex // guards list
	list []*pool    // the newest last
}

// pool returns the connections that crossings under policy may use; those of the
// default where there is none.
func (u *Upstream) pool(policy *rulings.Policy) *pool {
	if policy == nil {
		policy = noPolicy()
	}
	if p := u.pools.last.Load(); p != nil && p.policy.SameGuard(policy) {
		return p
	}
	u.pools.mu.Lock()
	defer u.pools.mu.Unlock()
	list := u.pools.list
	i := slices.IndexFunc(list, func(p *pool) bool { return p.policy.SameGuard(policy) })
	if i < 0 {
		if len(list) == maxPools {
			list[0].closeIdle()
			list = slices.Delete(list, 0, 1)
		}
		i, list = len(list), append(list, u.newPool(policy))
		u.pools.list = list
	}
	u.pools.last.Store(list[i])
	return list[i]
}

// noPolicy guards what is dialled while no policy loads: public addresses only.
var noPolicy = sync.OnceValue(rulings.DefaultPolicy)

// close ends the idle connections of all pools.
func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.list {
		one.closeIdle()
	}
}
