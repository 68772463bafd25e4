package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"github.com/wayleave/wayleave/rulings"
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
	errNoRoom  = errors.New("the bodies that are held leave no room for it")
	errTooLong = errors.New("it is longer than screens.limit_bytes")
)

// A held body is one that was read before anything of it is released.
type held struct {
	raw     []byte // as served; all of it, or what was read before fault
	content []byte // after content coding; nil where fault is set
	fault   error  // why it cannot be judged whole
	whole   bool   // raw is all of it

	digest rulings.Digest // see sum; zero until it was asked for
}

// sum is that of the body as served, taken once.
func (h *held) sum() rulings.Digest {
	if h.digest == (rulings.Digest{}) {
		h.digest = sha256.Sum256(h.raw)
	}
	return h.digest
}

// hold reads the body up to screens.limit_bytes after content coding (O41). What
// follows what was read stays in resp.Body, behind it.
func (m *measured) hold() held {
	limit := m.x.policy.Screens.Limit
	most := limit // of it as served
	if !identity(m.x.rec.ContentCoding) {
		most = bodytype.MaxCoded(limit)
	}
	first := int64(firstRoom)
	if n := m.resp.ContentLength; n >= 0 && n <= most {
		first = n + 1 // with the octet that shows that there is no more
	}
	var h held
	h.raw, h.fault = m.gather(m.resp.Body, first, most)
	m.put(h)
	if h.whole = h.fault == io.EOF; !h.whole {
		return h
	}
	if identity(m.x.rec.ContentCoding) || len(h.raw) == 0 { // nothing is nothing, whatever it is said to be coded in
		h.content, h.fault = h.raw, nil
		return h
	}
	r, err := decoded(m.r.Context(), bytes.NewReader(h.raw), m.x.rec.ContentCoding)
	if err != nil {
		h.fault = err
		return h
	}
	content, err := m.gather(r, 4*int64(len(h.raw))+512, limit)
	if h.fault = err; err == io.EOF {
		h.content, h.fault = content, nil
	}
	return h
}

// firstRoom is the memory with which a body of unknown length begins.
const firstRoom = 32 << 10

// gather reads r to its end, which is io.EOF as in all readers, or to the octet
// behind limit. Memory is taken as it is needed, first octets of it at once: a body
// that comes slowly holds no more than what has come of it.
func (m *measured) gather(r io.Reader, first, limit int64) (data []byte, fault error) {
	for size := min(first, limit+1); ; size = min(2*size, limit+1) {
		if !m.x.room(m.r.Context(), size-int64(cap(data))) {
			return data, errNoRoom
		}
		data = append(make([]byte, 0, size), data...)
		for len(data) < cap(data) {
			n, err := r.Read(data[len(data):cap(data)])
			data = data[:len(data)+n]
			switch {
			case int64(len(data)) > limit:
				return data, errTooLong // the end or the fault that came with it is met again
			case err != nil:
				return data, err
			}
		}
	}
}

// put puts what was read back in front of the body.
func (m *measured) put(h held) {
	rest := io.Reader(m.resp.Body)
	if h.fault != errTooLong && h.fault != errNoRoom {
		rest = ended{h.fault}
	}
	m.resp.Body = &resumed{io.MultiReader(bytes.NewReader(h.raw), rest), m.resp.Body}
}

// broken reports whether the body did not come to its end.
func (h *held) broken() bool {
	return !h.whole && h.fault != errTooLong && h.fault != errNoRoom
}

// size is what is known of the size of a body that could not be read whole, under
// limit: as served where that cannot be decoded (O35). all says that it is all.
func (h *held) size(limit int64) (least int64, all bool) {
	switch {
	case h.whole && h.fault == errTooLong: // when decoded
		return limit + 1, false
	case h.whole && h.fault != errNoRoom:
		return int64(len(h.raw)), true
	}
	return int64(len(h.raw)), false
}

// unheld says why a held body cannot be judged, and whether that is for want of
// something that the edge needs.
func (h *held) unheld() (why abstention) {
	switch {
	case errors.Is(h.fault, errNoRoom):
		return abstention{why: h.fault.Error(), dependency: true}
	case h.content == nil && errors.Is(h.fault, errTooLong):
		return unreadable(bodytype.Length)
	}
	return unreadable(bodytype.Coding)
}

// room takes n octets of memory until the crossing ends, and reports whether
// there was room for them in time.
func (x *crossing) room(ctx context.Context, n int64) bool {
	ctx, cancel := context.WithTimeout(ctx, x.edge.heldWait)
	defer cancel()
	n = min(n, heldLimit-x.holds) // one octet more than the limit, when that is all there is
	if x.edge.heldRoom.Acquire(ctx, n) != nil {
		return false
	}
	x.holds += n
	return true
}

// letGo gives back what the crossing took of memory, of its session's context and
// of money.
func (x *crossing) letGo() {
	if x.holds > 0 {
		x.edge.heldRoom.Release(x.holds)
		x.holds = 0
	}
	x.settleContext(false)
	if x.contextUse != nil {
		x.edge.contexts.giveBack(x.contextUse)
		x.contextUse = nil
	}
	x.uncharged() // a crossing that had an end did so before
}

// settleContext ends what the crossing reserved of its session's context.
func (x *crossing) settleContext(delivered bool) {
	if x.reserved > 0 {
		x.context().settle(x.reserved, delivered)
		x.reserved = 0
	}
}
