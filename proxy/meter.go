package proxy

import (
	"net/http"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// A meter rules the size of a body that is passed on before it is known (O35, O36).
type meter struct {
	x       *crossing
	cap     int64 // 0: none
	counted bool  // as context
	taken   int64 // of the session's context, so far
	broken  bool  // the cap was passed, and the mode carries that
}

// over rules that the content has come to total octets, and reports whether it
// may go no further.
func (m *meter) over(total int64) bool {
	x := m.x
	if m.cap > 0 && total > m.cap && !m.broken {
		m.broken = true
		if x.ruling.Break(x.policy.Mode, rulings.StageBody, overCap(total, m.cap)) {
			return true
		}
	}
	if !m.counted || total <= m.taken {
		return false
	}
	more := total - m.taken
	left, ok, err := x.context().reserve(more, x.policy.Caps.Context)
	switch {
	case err != nil:
		x.ruling = rulings.CouldNotDecide("what the session's context holds: " + err.Error())
	case !ok:
		x.ruling.Break(x.policy.Mode, rulings.StageBody, noRoom(total, left+m.taken))
	default:
		m.taken += more
		x.reserved += more
		return false
	}
	return true
}

// over reports whether the body may go no further: by what has come of its
// content, of which the end may still be on its way through the decoder.
func (b *flowingBody) over() bool {
	m := b.x.meter
	return m != nil && m.over(b.content())
}

// content is how many octets of content have come.
func (b *flowingBody) content() int64 {
	if b.sum.coded == nil {
		return b.read
	}
	return b.sum.decoded.Load()
}

// refuse breaks off a body that was flowing when it passed what policy allows:
// a cut body never looks whole (O35). It does not return.
func (b *flowingBody) refuse() {
	b.src.Close()
	b.partial()
	b.x.setRefusal(b.x.ruling)
	b.x.end(evidence.Refused)
	panic(http.ErrAbortHandler)
}
