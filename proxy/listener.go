package proxy

import (
	"net"
	"sync"
)

// A chanListener gives the inner server the connections that tunnels are made
// of.
type chanListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *chanListener) init() {
	l.conns, l.done = make(chan net.Conn), make(chan struct{})
}

// give hands c over, or closes it when the listener is closed.
func (l *chanListener) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	}
}

func (l *chanListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *chanListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *chanListener) Addr() net.Addr { return &net.TCPAddr{} }
