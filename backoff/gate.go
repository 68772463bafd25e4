package backoff

import (
	"context"
	"sync"
)

// gates let one goroutine at a time near the file lock of a host: file locks are
// polled for and promise no order, a channel does neither.
type gates struct {
	mu sync.Mutex
	of map[string]*gate // by host, as long as somebody uses it; guarded by mu
}

type gate struct {
	inside chan struct{} // holds one element while a goroutine is inside
	users  int           // inside or waiting; guarded by gates.mu
}

// enter waits until nobody else is inside host's gate, or the context ends.
func (g *gates) enter(ctx context.Context, host string) (leave func(), err error) {
	g.mu.Lock()
	if g.of == nil {
		g.of = make(map[string]*gate)
	}
	at := g.of[host]
	if at == nil {
		at = &gate{inside: make(chan struct{}, 1)}
		g.of[host] = at
	}
	at.users++
	g.mu.Unlock()

	select {
	case at.inside <- struct{}{}:
		return func() { <-at.inside; g.forget(host, at) }, nil
	case <-ctx.Done():
		g.forget(host, at)
		return nil, ctx.Err()
	}
}

// forget ends one use of a gate, and the gate with its last use.
func (g *gates) forget(host string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.of, host)
	}
}
