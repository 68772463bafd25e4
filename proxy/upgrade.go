package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/evidence"
)

// upgraded passes a websocket on: opened and closed as one crossing with byte
// counts, its messages unread, which is a gap (N15, E22).
func (x *crossing) upgraded(r *http.Request, resp *http.Response) *http.Response {
	x.gap(evidence.CapabilityUnavailable, "a websocket's messages are not read")
	x.open()
	conn, ok := resp.Body.(io.ReadWriteCloser)
	x.pass(r, resp)
	if !ok { // net/http promises one behind every 101
		x.broken(r.Context(), io.ErrUnexpectedEOF)
		resp.Body = brokenBody{}
		return resp
	}
	resp.Header["Connection"] = []string{"Upgrade"}
	resp.Header["Upgrade"] = []string{"websocket"}
	resp.Body = &upgradedBody{x: x, conn: conn}
	return resp
}

// An upgradedBody is the upstream side of a websocket, counting what passes.
type upgradedBody struct {
	x        *crossing
	conn     io.ReadWriteCloser
	up, down atomic.Int64
	closed   atomic.Bool
}

func (b *upgradedBody) Read(p []byte) (int, error) {
	n, err := b.conn.Read(p)
	b.down.Add(int64(n))
	return n, err
}

func (b *upgradedBody) Write(p []byte) (int, error) {
	// Counted first: the site may answer what it got, and end the websocket, before
	// Write returns.
	b.up.Add(int64(len(p)))
	n, err := b.conn.Write(p)
	b.up.Add(int64(n - len(p)))
	return n, err
}

// Close ends the websocket and writes its final record, once.
func (b *upgradedBody) Close() error {
	if !b.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := b.conn.Close()
	b.x.watch.done = time.Now()
	b.x.rec.Up, b.x.rec.Down = evidence.Counted(b.up.Load()), evidence.Counted(b.down.Load())
	b.x.endRelay()
	return err
}

// endRelay ends a crossing whose octets went both ways unread, when its counts
// are known. No framing says whether all of it came through; but what the edge's
// own stop ended was not over.
func (x *crossing) endRelay() {
	x.rec.Delivered = &evidence.Delivery{Bytes: x.rec.Down.N}
	outcome := evidence.Delivered
	h, _ := x.w.(*hijackWriter)
	if x.edge.baseCtx.Err() != nil || h != nil && h.late.Load() {
		outcome, x.rec.Failure = evidence.Abandoned, evidence.Failure{Kind: "edge", Detail: "the edge was stopped"}
	}
	x.end(outcome)
}

// A hijackWriter remembers the connection that goproxy takes over for a
// websocket, since it leaves it open, and lets Shutdown find it.
type hijackWriter struct {
	http.ResponseWriter
	edge *Edge
	conn net.Conn
	late atomic.Bool // the edge was stopping, so that nothing was carried
}

func (w *hijackWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if !w.edge.hold(conn) {
		w.late.Store(true)
		conn.Close()
		return nil, nil, net.ErrClosed
	}
	w.conn = conn
	return conn, rw, nil
}

// finish closes the connection if it was taken over.
func (w *hijackWriter) finish() {
	if w.conn != nil {
		w.conn.Close()
		w.edge.release(w.conn)
	}
}
