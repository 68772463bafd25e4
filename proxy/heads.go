package proxy

import (
	"context"
	"net"
	"net/http"
)

// What the HTTP parser itself turns away, or waits for in vain, never reaches a
// handler: it is counted, not recorded (E13).

// clientContext gives each connection to the proxy port its client.
func (e *Edge) clientContext(ctx context.Context, conn net.Conn) context.Context {
	c := &client{conn: conn}
	e.clients.Store(conn, c)
	return context.WithValue(ctx, clientKey{}, c)
}

// clientState watches the connections to the proxy port.
func (e *Edge) clientState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateActive:
		if c, ok := e.clients.Load(conn); ok {
			c.(*client).begun.Add(1)
		}
	case http.StateHijacked, http.StateClosed:
		if c, ok := e.clients.LoadAndDelete(conn); ok && state == http.StateClosed {
			e.countHeads(c.(*client))
		}
	}
}

// countHeads counts the request that a connection's client began last if it never
// was one. Once the edge stops net/http takes no more, whatever they are.
func (e *Edge) countHeads(c *client) {
	if c.begun.Load() > c.asked.Load() && !e.stopping.Load() {
		e.metrics.unreadHeads.Inc()
	}
}

// noteAsked says that the head of a request was read.
func noteAsked(r *http.Request) {
	if c, ok := r.Context().Value(clientKey{}).(*client); ok {
		c.asked.Add(1)
	}
}
