package proxy

import (
	"context"
	"net"
	"net/http"
)

// clientContext has c be the client of conn as long as that is net/http's.
func (e *Edge) clientContext(ctx context.Context, conn net.Conn, c *client) context.Context {
	c.conn = conn
	e.clients.Store(conn, c)
	return context.WithValue(ctx, clientKey{}, c)
}

// clientState watches the connections of clients.
func (e *Edge) clientState(conn net.Conn, state http.ConnState) {
	v, ok := e.clients.Load(conn)
	if !ok {
		return
	}
	c := v.(*client)
	c.busy.Store(state == http.StateActive)
	switch state {
	case http.StateActive:
		c.begun.Add(1)
	case http.StateHijacked:
		e.clients.Delete(conn)
	case http.StateClosed:
		e.clients.Delete(conn)
		e.countHeads(c)
	}
}

// busy is how many connections have a request under way.
func (e *Edge) busy() (n int) {
	e.clients.Range(func(_, c any) bool {
		if c.(*client).busy.Load() {
			n++
		}
		return true
	})
	return n
}

// countHeads counts the request that a client began last if it never reached a
// handler, because the HTTP parser turned it away or waited for it in vain: such a
// one leaves no record (E13). HTTP/2 does not begin one request behind another, and
// once the edge stops net/http takes no more, whatever they are.
func (e *Edge) countHeads(c *client) {
	if c.begun.Load() > c.asked.Load() && !speaksHTTP2(c.conn) && !e.stopping.Load() {
		e.metrics.unreadHeads.Inc()
	}
}

// noteAsked says that the head of a request was read.
func noteAsked(r *http.Request) {
	if c, ok := r.Context().Value(clientKey{}).(*client); ok {
		c.asked.Add(1)
	}
}
