package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

const (
	wholeLimit = 64 << 10 // bodies of known length up to this come whole (E46)
	flowBuffer = 32 << 10 // the most that is held of a longer one (E48)
)

var (
	wholeBuffers = sync.Pool{New: func() any { b := make([]byte, wholeLimit); return &b }}
	flowBuffers  = sync.Pool{New: func() any { b := make([]byte, flowBuffer); return &b }}
)

// deliver passes an answer on. What it returns releases no octet whose record
// does not stand on disk: a short body is recorded before it is returned, a
// longer one has its crossing_opened by then and its end held back.
func (x *crossing) deliver(r *http.Request, resp *http.Response) *http.Response {
	switch {
	case x.cut != nil:
		resp.Body.Close()
		x.watch.done = time.Now()
		return x.breakOff(r, resp, x.cut)
	case resp.StatusCode == http.StatusSwitchingProtocols, bodiless(r, resp):
		if err := x.settled(r.Context(), resp); err != nil { // its head is all there is of it
			resp.Body.Close()
			return x.notUsed(r, err)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return x.upgraded(r, resp)
		}
		return x.deliverHead(r, resp)
	case resp.ContentLength >= 0 && resp.ContentLength <= wholeLimit:
		return x.deliverWhole(r, resp)
	}
	x.open()
	body := &flowingBody{x: x, resp: resp, src: resp.Body, ctx: r.Context()}
	x.pass(r, resp)
	resp.Body = body
	return resp
}

// bodiless reports whether the message ends with its head whatever its fields
// say (RFC 9112 6.3).
func bodiless(r *http.Request, resp *http.Response) bool {
	return r.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
}

// describe puts what the head says into the record.
func (x *crossing) describe(resp *http.Response) {
	x.rec.ContentType = strings.ToLower(resp.Header.Get("Content-Type"))
	x.rec.ContentCoding = strings.ToLower(strings.Join(resp.Header["Content-Encoding"], ", "))
	x.rec.ContentRange = strings.ToLower(resp.Header.Get("Content-Range"))
}

// pass turns the origin's head into the client's.
func (x *crossing) pass(r *http.Request, resp *http.Response) {
	resp.Header = x.edge.responseFields(resp)
	x.tellBreaches(resp.Header)
	mendNames(resp.Trailer)
	keepTrailers(resp.Trailer)
	if endUnsure(r) || x.uploading(r) {
		resp.Header["Connection"] = []string{"close"}
	}
	if r.ProtoMajor == 1 && resp.ContentLength >= 0 && len(resp.Trailer) > 0 {
		// Over HTTP/1.1 trailers come behind a chunked body only (RFC 9112 7.1.2),
		// so the client has either them or the length.
		if httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers") {
			delete(resp.Header, "Content-Length")
		} else {
			resp.Trailer = nil
		}
	}
}

func (x *crossing) deliverHead(r *http.Request, resp *http.Response) *http.Response {
	resp.Body.Close()
	x.watch.done = time.Now()
	x.rec.Delivered = &evidence.Delivery{Complete: evidence.Yes}
	x.end(evidence.Delivered)
	x.pass(r, resp)
	resp.Body = &settledBody{x: x, ctx: r.Context()}
	return resp
}

// deliverWhole reads a short body to its end, records the crossing, and only
// then returns the answer.
func (x *crossing) deliverWhole(r *http.Request, resp *http.Response) *http.Response {
	buf := wholeBuffers.Get().(*[]byte)
	data := (*buf)[:resp.ContentLength]
	n, err := io.ReadFull(resp.Body, data)
	if err == nil {
		err = readEnd(resp.Body)
	}
	resp.Body.Close()
	x.watch.done = time.Now()
	x.rec.Down = evidence.Counted(int64(n))
	if err != nil && !isUnusable(err) {
		wholeBuffers.Put(buf)
		return x.breakOff(r, resp, err)
	}
	x.rec.RetrievedHash, x.rec.RetrievedBytes = x.sumOf(data), int64(n)
	x.hashContent(r.Context(), data)
	x.restoreServed()
	x.demanded(r.Context())
	if err != nil {
		wholeBuffers.Put(buf)
		return x.notUsed(r, err)
	}
	if x.meter != nil {
		if x.meter.see(data); x.meter.ends(x.contentSize()) {
			wholeBuffers.Put(buf)
			return x.refuse(r, x.ruling)
		}
	}
	x.pass(r, resp)
	x.rec.Delivered = &evidence.Delivery{Bytes: int64(n), Complete: evidence.Yes}
	x.end(evidence.Delivered)
	resp.Body = &settledBody{x: x, ctx: r.Context(), data: data, buf: buf}
	return resp
}

// breakOff answers with a body that broke off before any of it was released: so
// does the client's connection, before its head, and nothing was delivered.
func (x *crossing) breakOff(r *http.Request, resp *http.Response, err error) *http.Response {
	x.pass(r, resp)
	x.broken(r.Context(), err)
	resp.Body = brokenBody{}
	return resp
}

// readEnd reads what follows the last octet of a body of known length: nothing,
// or trailers, after which the connection can serve again.
func readEnd(body io.Reader) error {
	var one [1]byte
	switch n, err := body.Read(one[:]); {
	case n > 0:
		return errors.New("the body is longer than announced")
	case err == io.EOF || err == nil:
		return nil
	default:
		return err
	}
}

// broken records a body that did not come to its end: cut by the upstream, or
// abandoned by the client.
func (x *crossing) broken(ctx context.Context, err error) {
	outcome, f := evidence.Cut, evidence.Failure{Kind: string(rulings.ResponseIncomplete), Detail: detailOf(err)}
	switch {
	case isUnusable(err):
		outcome, f = evidence.Unavailable, evidence.Failure{Kind: string(rulings.PacingStore), Detail: err.Error()}
	case x.edge.baseCtx.Err() != nil:
		outcome, f = evidence.Abandoned, evidence.Failure{Kind: "edge", Detail: "the edge was stopped"}
	case ctx.Err() != nil:
		outcome, f = evidence.Abandoned, evidence.Failure{Kind: "client", Detail: "the client went away"}
	case x.watch.body.unspent.Load() != nil: // the edge broke off the upload, and with it the answer
		f = evidence.Failure{Kind: string(rulings.SpendNotAllowed), Detail: x.watch.body.unspent.Load().Error()}
	}
	x.rec.Failure = f
	x.end(outcome)
}

// A brokenBody makes the client's connection break off as the origin's did. It
// must not end as if it were whole (N12).
type brokenBody struct{}

func (brokenBody) WriteTo(io.Writer) (int64, error) { panic(http.ErrAbortHandler) }
func (brokenBody) Read([]byte) (int, error)         { panic(http.ErrAbortHandler) }
func (brokenBody) Close() error                     { return nil }

// A settledBody is a body whose crossing is already on disk as complete. It is
// written in one piece; if the client cannot take it, a record says so.
type settledBody struct {
	x    *crossing
	ctx  context.Context // ends when the client leaves
	data []byte
	buf  *[]byte // where data lies, to be given back
}

// WriteTo writes to the client's own ResponseWriter, which is what w stands for:
// goproxy may have wrapped it.
func (b *settledBody) WriteTo(io.Writer) (int64, error) {
	n, err := b.x.release(b.ctx, b.data)
	if err != nil {
		b.x.undelivered(int64(n), err)
		panic(http.ErrAbortHandler)
	}
	return int64(n), nil
}

// release writes the last octets of an answer and sends them off. A client that
// is known to have left gets none: the first write to a connection that its
// other end closed succeeds all the same.
func (x *crossing) release(ctx context.Context, last []byte) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(last) > 0 { // HEAD, 204 and 304 take no body, not even an empty one
		if n, err = x.w.Write(last); err != nil {
			return n, err
		}
	}
	return n, http.NewResponseController(x.w).Flush()
}

func (b *settledBody) Read([]byte) (int, error) {
	return 0, errors.New("proxy: body must be written with WriteTo")
}

func (b *settledBody) Close() error {
	if b.buf != nil {
		wholeBuffers.Put(b.buf)
		b.buf, b.data = nil, nil
	}
	return nil
}

// A flowingBody passes a long or endless body on as it arrives, hashing it, and
// holds its end back until the final record is on disk (E48, E49).
type flowingBody struct {
	x    *crossing
	resp *http.Response
	src  io.ReadCloser
	ctx  context.Context

	sum     hasher
	late    []byte // the piece before the one that comes; see meter.late
	read    int64
	written int64
}

// Close ends the reading of the source. A body never written, because the
// handler broke off first, is recorded as abandoned by WriteTo's caller's panic.
func (b *flowingBody) Close() error { return b.src.Close() }

func (b *flowingBody) Read([]byte) (int, error) {
	return 0, errors.New("proxy: body must be written with WriteTo")
}

// WriteTo copies the body to the client and returns once its final record is on
// disk or owed; net/http then writes the end of the message.
func (b *flowingBody) WriteTo(io.Writer) (int64, error) {
	buf := flowBuffers.Get().(*[]byte)
	defer flowBuffers.Put(buf)
	b.sum.init(b.ctx, b.x.coding(), b.x.meter != nil)
	defer b.sum.stop()
	if err := http.NewResponseController(b.x.w).Flush(); err != nil { // the head need not wait for the first byte
		b.abandon(err)
	}
	var held []byte
	for {
		n, err := b.src.Read(*buf)
		if n > 0 {
			b.read += int64(n)
			piece := (*buf)[:n]
			b.sum.add(piece)
			if b.over(piece) {
				b.refuse()
			}
			switch {
			case b.read == b.resp.ContentLength:
				held = piece
				if err == nil {
					err = b.drain()
				}
			case b.x.meter != nil && b.x.meter.late:
				b.delay(piece)
			default:
				b.write(piece)
			}
		}
		switch {
		case err == io.EOF && b.ctx.Err() != nil:
			// The client left, its leaving was passed on, and the source took it
			// for the moment to end: nobody is there to take that end.
			b.cut(b.ctx.Err())
		case err == io.EOF && (b.resp.ContentLength < 0 || b.read == b.resp.ContentLength):
			b.finish(append(b.late, held...))
			return b.written, nil
		case err == io.EOF:
			b.cut(io.ErrUnexpectedEOF)
		case isUnusable(err):
			b.unused(held, err)
		case err != nil:
			b.cut(err)
		}
	}
}

// drain waits for the end of a body whose last octet was read, and returns
// io.EOF when it came.
func (b *flowingBody) drain() error {
	if err := readEnd(b.src); err != nil {
		return err
	}
	return io.EOF
}

// write passes one piece on at once.
func (b *flowingBody) write(piece []byte) {
	_, err := b.x.w.Write(piece)
	if err == nil {
		err = http.NewResponseController(b.x.w).Flush()
	}
	if err != nil {
		b.abandon(err)
	}
	b.sum.served.Write(piece)
	b.written += int64(len(piece))
}

// finish records the crossing as delivered and then releases what was held.
func (b *flowingBody) finish(held []byte) {
	x := b.x
	mendNames(b.resp.Trailer)
	keepTrailers(b.resp.Trailer)
	b.sum.served.Write(held)
	x.watch.done = time.Now()
	x.rec.Down = evidence.Counted(b.read)
	x.rec.RetrievedHash, x.rec.RetrievedBytes = b.sum.retrieved(), b.read
	b.sum.content(x)
	if x.meter != nil && x.meter.ends(x.contentSize()) {
		b.refuse()
	}
	x.restoreServed()
	x.demanded(b.ctx)
	x.rec.Delivered = &evidence.Delivery{Bytes: b.read, Complete: evidence.Yes}
	if closeDelimited(b.resp) {
		x.rec.Delivered.Complete = evidence.Unknown
	}
	x.end(evidence.Delivered)
	if _, err := x.release(b.ctx, held); err != nil {
		x.undelivered(b.written, err)
		panic(http.ErrAbortHandler)
	}
	b.written += int64(len(held))
}

// closeDelimited reports whether only the end of the connection ended the body,
// which looks the same when it was cut off (RFC 9112 8).
func closeDelimited(resp *http.Response) bool {
	return resp.ProtoMajor == 1 && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
}

// cut ends a body that the source did not end: recorded, then broken off at the
// client too. It does not return.
func (b *flowingBody) cut(err error) {
	b.partial()
	b.x.broken(b.ctx, err)
	panic(http.ErrAbortHandler)
}

// unused breaks off a body that was read to its end, and is not used because its
// pace could not be kept (P40). It does not return.
func (b *flowingBody) unused(held []byte, err error) {
	b.partial()
	b.sum.served.Write(held)
	b.x.rec.RetrievedHash, b.x.rec.RetrievedBytes = b.sum.retrieved(), b.read
	b.sum.content(b.x)
	b.x.broken(b.ctx, err)
	panic(http.ErrAbortHandler)
}

// abandon ends a body the client no longer takes. It does not return.
func (b *flowingBody) abandon(err error) {
	b.src.Close() // at once: the source need not go on sending
	b.partial()
	b.x.rec.Failure = evidence.Failure{Kind: "client", Detail: fmt.Sprintf("writing to the client: %v", err)}
	if b.x.edge.baseCtx.Err() != nil { // its connection was closed for that
		b.x.rec.Failure = evidence.Failure{Kind: "edge", Detail: "the edge was stopped"}
	}
	b.x.end(evidence.Abandoned)
	panic(http.ErrAbortHandler)
}

// partial records how far the body got.
func (b *flowingBody) partial() {
	b.x.watch.done = time.Now()
	b.x.rec.Down = evidence.Counted(b.read)
	b.x.rec.Delivered = &evidence.Delivery{Bytes: b.written, Complete: evidence.No}
	if b.written > 0 {
		b.x.rec.Delivered.Hash = b.sum.retrieved()
	}
}
