package proxy

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/bodytype"
)

// A measured answer is one of which policy wants to know how large it is or what
// it holds (specs: policy O35 to O50).
type measured struct {
	x    *crossing
	r    *http.Request
	resp *http.Response

	head    bodytype.Head
	kind    bodytype.Verdict // whether a screen can read it
	screens rulings.Screens  // the zero value where none looks at it
	counted bool             // it is counted as context

	cap       int64 // 0: none
	capBroken bool  // it is known to be over, and the mode carries that
}

// measure rules what the answer's size and content come to by the operator's
// policy, after its terms (O14, steps 8 and 9). Nothing is held of an answer whose
// head says all that is wanted.
func (x *crossing) measure(r *http.Request, resp *http.Response) rulings.Ruling {
	m, wanted := x.measured(r, resp)
	if !wanted {
		return x.ruling
	}
	if m.byHead() {
		return x.ruling
	}
	switch {
	case m.holds() && m.byContent():
	case m.counted && m.sized():
		if !m.reserve(m.head.Length) && m.grounds() {
			x.meter = &meter{x: x, grounds: true}
		}
	case m.counted || m.cap > 0 && !m.sized():
		x.meter = &meter{x: x, cap: m.cap, counted: m.counted, broken: m.capBroken, grounds: m.grounds(),
			late: !identity(x.rec.ContentCoding) && m.kind.Reason != bodytype.Stream}
	}
	return x.ruling
}

// sized reports whether the head says how much content there is.
func (m *measured) sized() bool {
	return m.head.Length == 0 || m.head.Length > 0 && identity(m.x.rec.ContentCoding)
}

// measured finds out what is wanted of an answer.
func (x *crossing) measured(r *http.Request, resp *http.Response) (m *measured, wanted bool) {
	p := x.policy
	source := x.rec.Class == rulings.Source
	screened := p.Screens.On() && (source || p.Screens.All)
	if !screened && (!source || p.Caps == rulings.Caps{}) {
		return nil, false
	}
	m = &measured{x: x, r: r, resp: resp, head: bodytype.Head{
		Status: resp.StatusCode, Upgraded: resp.StatusCode == http.StatusSwitchingProtocols,
		Types: resp.Header["Content-Type"], Codings: resp.Header["Content-Encoding"], Length: resp.ContentLength,
	}}
	if bodiless(r, resp) {
		m.head.Length = 0
	}
	m.kind = bodytype.ByHead(m.head, p.Screens.Limit)
	if source {
		m.cap, m.counted = p.Caps.Body, p.Caps.Context > 0
	}
	if screened && !m.exempt() && (!bodiless(r, resp) || m.head.Upgraded) {
		m.screens = p.Screens
	}
	return m, true
}

// exempt reports whether the operator lets the answer's type pass unscreened (O40).
func (m *measured) exempt() bool {
	return len(m.head.Types) == 1 && slices.Contains(m.x.policy.Screens.Exempt, bodytype.MediaType(m.head.Types[0]))
}

// breach adds a breach to the ruling and reports whether it refuses.
func (m *measured) breach(stage rulings.Stage, b rulings.Breach) (refused bool) {
	return m.x.ruling.Break(m.x.policy.Mode, stage, b)
}

// byHead rules what the head says: a length over the cap, a body without text
// where context is counted, and one that no screen can read (O35, O37, O44).
func (m *measured) byHead() (refused bool) {
	if m.cap > 0 && m.head.Length > m.cap {
		m.capBroken = true
		if m.breach(rulings.StageHead, overCap(m.head.Length, m.cap)) {
			return true
		}
	}
	if m.grounds() && bodytype.Textless(m.head) && m.breach(rulings.StageHead, noText()) {
		return true
	}
	if m.screens.On() && m.kind.Settled() {
		refused = m.abstain(rulings.StageHead, unreadable(m.kind.Reason))
		m.screens = rulings.Screens{}
	}
	return refused
}

// grounds reports whether the answer is one that is to ground an answer of the
// agent's, so that it must have text (O37).
func (m *measured) grounds() bool {
	return m.counted && m.r.Method == http.MethodGet && m.head.Status >= 200 && m.head.Status <= 299
}

// holds reports whether the body has to be read before it is ruled: for the
// screens, or because what it comes to as context is not known. A stream is never
// held (O44).
func (m *measured) holds() bool {
	if m.head.Length == 0 || m.head.Upgraded || m.kind.Reason == bodytype.Stream {
		return false
	}
	return m.screens.On() || m.counted && (!m.sized() || m.kind.Readable() && m.head.Length <= m.x.policy.Screens.Limit)
}

// fits refuses a body of which it is known that it has at least least octets, where
// that is more than is left of the session's context (O36).
func (m *measured) fits(least int64) bool {
	left, err := m.x.context().left(m.x.policy.Caps.Context)
	switch {
	case err != nil:
		m.x.ruling = unknownContext(err)
		return false
	case least > left:
		return !m.breach(rulings.StageBody, noRoom(least, left))
	}
	return true
}

// reserve takes what the body adds to the session's context (O36).
func (m *measured) reserve(n int64) (refused bool) {
	x := m.x
	left, ok, err := x.context().reserve(n, x.policy.Caps.Context)
	switch {
	case err != nil:
		x.ruling = unknownContext(err)
		return true
	case ok:
		x.reserved += n
		return false
	}
	return m.breach(rulings.StageBody, noRoom(n, left))
}

func unknownContext(err error) rulings.Ruling {
	return rulings.CouldNotDecide("what the session's context holds: " + err.Error())
}

func overCap(n, most int64) rulings.Breach {
	return rulings.Breach{
		Reason: rulings.BodyCap, Detail: fmt.Sprintf("the body has more than the %d octets that caps.body_bytes allows: %d", most, n),
		Told: rulings.Say("The answer is larger than the % octets that the operator allows.", rulings.Number(most)),
	}
}

func noText() rulings.Breach {
	return rulings.Breach{
		Reason: rulings.NoText, Detail: "context is counted, and the body carries no text",
		Told: rulings.Say("The answer carries no text, and so nothing that an answer could be grounded on."),
	}
}

func noRoom(n, left int64) rulings.Breach {
	return rulings.Breach{
		Reason: rulings.ContextBudget, Gap: evidence.BudgetExhausted,
		Detail: fmt.Sprintf("the body of at least %d octets does not fit the %d that caps.context_bytes leaves the session", n, left),
		Told:   rulings.Say("The answer does not fit the % octets that are left of the session's context. A smaller one may.", rulings.Number(left)),
	}
}
