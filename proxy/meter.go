package proxy

import (
	"net/http"
	"unicode/utf8"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/bodytype"
)

// A meter rules a body that is passed on before it is known how large it is, or
// whether it has text (O35 to O37).
type meter struct {
	x       *crossing
	cap     int64  // 0: none
	counted bool   // as context
	taken   int64  // of the session's context, so far
	broken  bool   // the cap was passed, and the mode carries that
	grounds bool   // it is to ground an answer, and has to have text (O37)
	text    bool   // it has
	begun   []byte // a character that the next piece may end

	// late holds each piece back until the next one came: what a coded body comes to
	// is known for sure only at its end, and a body that is refused then must not
	// have been delivered. A stream's pieces are not held back for that.
	late bool
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
		x.ruling = unknownContext(err)
	case !ok:
		x.ruling.Break(x.policy.Mode, rulings.StageBody, noRoom(total, left+m.taken))
	default:
		m.taken += more
		x.reserved += more
		return false
	}
	return true
}

// see takes note of a piece as it came. What a coded one says is known at its end.
func (m *meter) see(piece []byte) {
	if m.text || len(piece) == 0 {
		return
	}
	if !identity(m.x.coding()) {
		m.text = true
		return
	}
	if len(m.begun) > 0 {
		piece = append(m.begun, piece...)
	}
	whole := len(piece) - unended(piece)
	m.text = !bodytype.Blank(piece[:whole])
	m.begun = append(m.begun[:0], piece[whole:]...)
}

// unended returns how many octets at the end of text begin a character that has
// not ended.
func unended(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// ends rules a body that came to its end with total octets of content.
func (m *meter) ends(total int64) (refused bool) {
	if m.over(total) {
		return true
	}
	x := m.x
	return m.grounds && (total == 0 || !m.text && len(m.begun) == 0) && x.ruling.Break(x.policy.Mode, rulings.StageBody, noText())
}

// over reports whether the body may go no further. What came of it last was not
// passed on yet.
func (b *flowingBody) over(piece []byte) bool {
	m := b.x.meter
	if m == nil {
		return false
	}
	m.see(piece)
	return m.over(b.sum.size(b.read))
}

// delay passes on what was held back, and holds piece back.
func (b *flowingBody) delay(piece []byte) {
	if len(b.late) > 0 {
		b.write(b.late)
	}
	b.late = append(b.late[:0], piece...)
}

// contentSize is the size of a body that was read to its end: of its content, or
// as served where that could not be decoded (O35).
func (x *crossing) contentSize() int64 {
	if x.rec.ContentHash == (rulings.Digest{}) {
		return x.rec.RetrievedBytes
	}
	return x.rec.ContentBytes
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
