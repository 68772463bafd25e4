package proxy

import (
	"context"
	"errors"
	"hash"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings/payment"
)

// errSentBefore ends a request that the transport was about to send again.
var errSentBefore = errors.New("the site turned the request away, and it is not sent twice")

// An upstreamWatch sees what happens to one request below the transport: which
// connection it got and how that came about, its interim answers, and how much
// of its body was taken.
type upstreamWatch struct {
	// Owned by the goroutine that serves the request.
	sent, got, head, done time.Time
	aside                 time.Duration // of that between head and done which was not spent on the body
	addr                  string
	http2                 bool // the connection's protocol
	fresh                 dialFacts
	body                  countedBody
	hooks                 httptrace.ClientTrace

	// once, where it is set, ends the request that the transport is about to send
	// again; wrote says that it was sent before.
	once  context.CancelCauseFunc
	wrote atomic.Bool

	// mu guards w against an interim answer that arrives, on a goroutine of the
	// transport, after the request was given up. w is nil from then on.
	mu   sync.Mutex
	w    http.ResponseWriter
	edge *Edge
}

// trace returns the hooks by which w sees the request r; interim answers go to
// the client's writer, by way of e.
func (w *upstreamWatch) trace(e *Edge, client http.ResponseWriter, r *http.Request) *httptrace.ClientTrace {
	t := &w.hooks
	t.GotConn = w.gotConn
	if w.once != nil {
		t.WroteHeaders = func() { w.wrote.Store(true) }
	}
	if r.ProtoAtLeast(1, 1) { // HTTP/1.0 knows no interim answers
		w.edge, w.w = e, client
		t.Got1xxResponse = w.interim
	}
	return t
}

func (w *upstreamWatch) gotConn(info httptrace.GotConnInfo) {
	if w.once != nil && w.wrote.Load() {
		w.once(errSentBefore)
	}
	w.got = time.Now()
	d := dialledOf(info.Conn)
	if d != nil && d.shaken {
		w.http2 = d.http2
	} else {
		w.http2 = speaksHTTP2(info.Conn)
	}
	if d == nil {
		w.addr = info.Conn.RemoteAddr().String()
		return
	}
	w.addr = d.facts.address
	if d.told.CompareAndSwap(false, true) {
		w.fresh = d.facts
	}
}

// interim passes a 1xx answer on (RFC 9110 15.2). 100 is not among them: net/http
// sends its own when the request body is first read.
func (w *upstreamWatch) interim(code int, header textproto.MIMEHeader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.w == nil || code == http.StatusContinue {
		return nil
	}
	h := w.w.Header()
	mendNames(http.Header(header))
	maps.Copy(h, endToEnd(http.Header(header)))
	delete(h, "Alt-Svc") // as in the final answer
	delete(h, breachField)
	if w.http2 {
		w.edge.addVia(h, 2, 0)
	} else {
		w.edge.addVia(h, 1, 1) // HTTP/1.0 has no interim answers
	}
	w.w.WriteHeader(code)
	clear(h)
	return nil
}

// headRead ends the time in which interim answers may come.
func (w *upstreamWatch) headRead() {
	w.head, w.aside = time.Now(), 0
	w.mu.Lock()
	w.w = nil
	w.mu.Unlock()
}

func (w *upstreamWatch) address() string { return w.addr }

// timings puts the legs that ran into rec. They do not overlap.
func (w *upstreamWatch) timings(rec *evidence.Crossing) {
	t := &rec.Timings
	t.DNS, t.Connect, t.TLS = w.fresh.dns, w.fresh.connect, w.fresh.tls
	if rec.HTTPStatus != 0 && !w.got.IsZero() {
		t.FirstByte = w.head.Sub(w.got)
	}
	if !w.done.IsZero() && !w.head.IsZero() { // a replay has nothing from a network
		t.Body = w.done.Sub(w.head) - w.aside
	}
}

// A countedBody counts the request body as the transport takes it.
type countedBody struct {
	io.ReadCloser
	trailer http.Header // the request's, which net/http fills in when the body ends
	spends  bool        // its trailers may spend (T105)
	sum     hash.Hash   // of what was taken; nil: nobody wants it
	n       atomic.Int64
	ended   atomic.Bool // it was read to its end
	unspent atomic.Pointer[errSpends]

	// mu guards what follows: the transport may close the body while it reads.
	mu     sync.Mutex
	closed bool
	fault  error // why it has no end; nil: it has, or nobody waited for it
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	b.n.Add(int64(n)) // behind the sum: who sees all of it counted sees it summed
	switch {
	case err == io.EOF:
		if names := payment.Spending(b.trailer); len(names) > 0 && !b.spends {
			// Taking them off would be another request than the agent's.
			b.unspent.Store(&errSpends{names})
			return n, b.unspent.Load()
		}
		keepTrailers(b.trailer)
		b.ended.Store(true)
	case err != nil:
		b.mu.Lock()
		if !b.closed && b.fault == nil {
			b.fault = err
		}
		b.mu.Unlock()
	}
	return n, err
}

func (b *countedBody) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}

// broken returns what is wrong with the body as the client sent it; nil where
// nothing is known to be.
func (b *countedBody) broken() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == nil {
		return nil
	}
	return &uploadError{b.fault}
}

// count is how much was taken; unknown when there was no body.
func (b *countedBody) count() evidence.Count {
	if b.ReadCloser == nil {
		return evidence.Count{}
	}
	return evidence.Counted(b.n.Load())
}
