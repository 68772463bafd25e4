package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/wayleave/wayleave/rulings/bodytype"
)

// What held bodies may take of memory together, and how long one waits for its
// part of that (O41).
const (
	heldLimit = 256 << 20
	heldWait  = 5 * time.Second
)

// Why a body that was to be held was not read.
var (
	errNoRoom   = errors.New("the bodies that are held leave no room for it")
	errTooLong  = errors.New("it is longer than screens.limit_bytes")
	errBrokeOff = errors.New("it broke off")
)

// A held body is one that was read before anything of it is released.
type held struct {
	raw     []byte // as served; all of it, or what was read before fault
	content []byte // after content coding; nil where fault is set
	fault   error  // why it cannot be judged whole
}

// hold reads the body up to screens.limit_bytes. What follows what was read stays
// in resp.Body, behind it.
func (m *measured) hold() held {
	limit := m.x.policy.Screens.Limit
	room := limit
	if n := m.resp.ContentLength; n >= 0 && n < limit && identity(m.x.rec.ContentCoding) {
		room = n
	}
	if !m.x.room(m.r.Context(), room) {
		return held{fault: errNoRoom}
	}
	h := held{raw: make([]byte, 0, max(512, min(room+1, m.resp.ContentLength+1)))}
	for h.fault == nil {
		h.read(m.resp.Body, limit)
	}
	m.put(h)
	if h.fault != io.EOF {
		return h
	}
	h.content, h.fault = uncoded(m.r.Context(), h.raw, m.x.rec.ContentCoding, limit)
	return h
}

// read reads some more of body. fault is io.EOF at its end.
func (h *held) read(body io.Reader, limit int64) {
	if len(h.raw) == cap(h.raw) {
		h.raw = append(h.raw, 0)[:len(h.raw)]
	}
	n, err := body.Read(h.raw[len(h.raw):cap(h.raw)])
	h.raw = h.raw[:len(h.raw)+n]
	switch {
	case int64(len(h.raw)) > limit:
		h.fault = errTooLong // the end or the fault that came with it is met again
	case err != nil:
		h.fault = err
	}
}

// put puts what was read back in front of the body.
func (m *measured) put(h held) {
	rest := io.Reader(m.resp.Body)
	if h.fault != errTooLong {
		rest = ended{h.fault}
	}
	m.resp.Body = &resumed{io.MultiReader(bytes.NewReader(h.raw), rest), m.resp.Body}
}

// uncoded undoes the content codings of a body that has to have at most limit
// octets without them.
func uncoded(ctx context.Context, raw []byte, coding string, limit int64) ([]byte, error) {
	if identity(coding) {
		return raw, nil
	}
	r, err := decoded(ctx, bytes.NewReader(raw), coding)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, errTooLong
	}
	return content, nil
}

// unheld says why a held body cannot be judged, and whether that is for want of
// something that the edge needs.
func (h *held) unheld() (why abstention) {
	switch {
	case errors.Is(h.fault, errNoRoom):
		return abstention{why: h.fault.Error(), dependency: true}
	case h.content == nil && errors.Is(h.fault, errTooLong):
		return unreadable(bodytype.Length)
	case h.raw == nil || h.fault == io.EOF:
		return unreadable(bodytype.Coding)
	}
	return abstention{why: "the body cannot be read: " + h.fault.Error()}
}

// heldBodies is the memory that held bodies share.
type heldBodies struct{ room *semaphore.Weighted }

func newHeldBodies() heldBodies { return heldBodies{semaphore.NewWeighted(heldLimit)} }

// room takes n octets of memory until the crossing ends, and reports whether
// there was room for them in time.
func (x *crossing) room(ctx context.Context, n int64) bool {
	ctx, cancel := context.WithTimeout(ctx, x.edge.heldWait)
	defer cancel()
	if x.edge.heldBodies.room.Acquire(ctx, n) != nil {
		return false
	}
	x.holds += n
	return true
}

// letGo gives back what the crossing took of memory and of its session's context.
func (x *crossing) letGo() {
	if x.holds > 0 {
		x.edge.heldBodies.room.Release(x.holds)
		x.holds = 0
	}
	x.settleContext(false)
}

// settleContext ends what the crossing reserved of its session's context.
func (x *crossing) settleContext(delivered bool) {
	if x.reserved > 0 {
		x.context().settle(x.reserved, delivered)
		x.reserved = 0
	}
}
