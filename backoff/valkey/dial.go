package valkey

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// A dialer connects to the server.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// remembersNothing makes a dialer whose failures the client's pool does not see:
// a connection that could not be had is one whose first use fails. The pool
// counts failures, and after as many as it has places it answers all callers from
// memory until its own try once a second succeeds; but a call after the repair is
// to work (P41).
func remembersNothing(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return deadConn{err}, nil
		}
		return conn, nil
	}
}

// newDialer is the client's own, with that.
func newDialer(o *redis.Options) dialer { return remembersNothing(redis.NewDialer(o)) }

// A deadConn is a connection that could not be had.
type deadConn struct{ err error }

func (c deadConn) Read([]byte) (int, error)       { return 0, c.err }
func (c deadConn) Write([]byte) (int, error)      { return 0, c.err }
func (deadConn) Close() error                     { return nil }
func (deadConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (deadConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (deadConn) SetDeadline(time.Time) error      { return nil }
func (deadConn) SetReadDeadline(time.Time) error  { return nil }
func (deadConn) SetWriteDeadline(time.Time) error { return nil }
