package main

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// Why a crossing cannot be simulated, beside what keeps its ruling from being made
// again.
const (
	causeTerms    = "terms_not_recorded"   // it was refused before they were asked for, or its host was none of which they are
	causeReplaced = "url_redacted"         // its path is not on record as it was sent
	causePace     = "pace"                 // of a host that the draft does not pace
	causeTunnel   = "tunnel"               // what went through it is not known
	causeAddress  = "address_not_recorded" // its name was resolved to what is not on record
	causeHops     = "terms_of_other_hosts" // the draft has another word on hosts that its terms came from, or on addresses
	causeNames    = "product_token"        // a page was read for other names than the draft's
)

// fate is what would have come of c under the draft, or the cause for which that
// cannot be told.
func (s *simulator) fate(c *evidence.RecordedCrossing) (now fate, cause string) {
	draft := s.draft.For(c.User)
	if c.URL == "" || c.Grade != evidence.Mediated {
		return s.tunnel(c, draft)
	}
	again, err := s.redecider.under(&c.RuledCrossing, draft)
	if err != nil {
		return now, causeOf(err)
	}
	r := &again.Ruling
	switch {
	case r.Outcome == rulings.Undecided && len(r.Needs) > 0 && !fixed(c.Refused):
		return now, causeTerms
	case (c.Replaced || c.Cut) && again.Hangs:
		return now, causeReplaced
	case r.Refused() && len(r.Needs) == 0:
		return fate{refused: true, reasons: []rulings.Reason{r.Reason}}, ""
	}
	origin, _, err := splitURL(c.URL)
	if err != nil {
		return now, errNoRequest.Cause
	}
	was, err := s.redecider.policy(&c.RuledCrossing)
	if err != nil {
		was = nil // and what has to be compared with it cannot be told
	}
	p := passed{c: c, origin: origin, draft: draft, was: was}
	for _, b := range r.Breaches {
		p.meet(b.Reason)
	}
	return p.fate()
}

// causeOf is the short word for why a ruling could not be made.
func causeOf(err error) string {
	if u, ok := errors.AsType[*evidence.Unredoable](err); ok {
		return u.Cause
	}
	return "object_unreadable"
}

// fixed reports whether r is a reason to refuse that no policy sets or lifts. Those
// that a decision comes to are met again when it is made.
func fixed(r rulings.Reason) bool {
	switch r {
	case "", rulings.NoText, rulings.RobotsCutShort, rulings.LicenceCutShort, rulings.PathReadings:
		return false
	case rulings.NotRecorded:
		return true // of how the edge was started
	}
	whose := r.Facts().Whose
	return r.Paces() || whose == rulings.WhoseEdge || whose == rulings.WhoseUpstream
}

// tunnel rules what was passed through unread, by the operator's lists alone (O9).
func (s *simulator) tunnel(c *evidence.RecordedCrossing, draft *rulings.Policy) (now fate, cause string) {
	host, err := hostkey.ParseOrigin("https", c.Authority)
	switch {
	case fixed(c.Refused):
		return fate{refused: true, reasons: []rulings.Reason{c.Refused}}, ""
	case c.Authority == "" || err != nil:
		return now, errNoRequest.Cause
	case c.Refused == rulings.TunnelNotListed && !draft.Tunnel(host.Host):
		return fate{refused: true, reasons: []rulings.Reason{c.Refused}}, ""
	case !draft.Tunnel(host.Host), c.Refused == rulings.TunnelNotListed, c.Refused == rulings.PolicyUnavailable,
		c.Refused == "" && c.Grade != evidence.Observed:
		return now, causeTunnel
	}
	was, err := s.redecider.policy(&c.RuledCrossing)
	if err != nil {
		was = nil
	}
	r := rulings.Decide(rulings.Request{Origin: host, User: c.User, Offline: c.Refused == rulings.Offline}, rulings.Terms{}, draft)
	if r.Refused() {
		return fate{refused: true, reasons: []rulings.Reason{r.Reason}}, ""
	}
	p := passed{c: c, origin: host, draft: draft, was: was}
	for _, b := range r.Breaches {
		p.meet(b.Reason)
	}
	return p.fate()
}

// A passed crossing is one that a decision under the draft lets through, and of
// which the rest has to be told from the record.
type passed struct {
	c      *evidence.RecordedCrossing
	origin hostkey.Origin
	draft  *rulings.Policy
	was    *rulings.Policy // nil: not known

	now    fate
	causes []string
}

// meet adds a breach as the draft's mode takes it (O11).
func (p *passed) meet(r rulings.Reason) {
	switch {
	case p.now.refused:
	case p.draft.Mode.Carries(r):
		p.now.reasons = append(p.now.reasons, r)
	default:
		p.now.refused, p.now.reasons = true, []rulings.Reason{r}
	}
}

func (p *passed) untold(cause string) { p.causes = append(p.causes, cause) }

// fate rules what no decision comes to. What certainly refuses does so whatever
// else is not known.
func (p *passed) fate() (fate, string) {
	refused := p.c.Refused
	if fixed(refused) || refused == rulings.SpendNotAllowed && !p.draft.MaySpend(p.c.User, p.origin.Host) { // behind a body, which no decision sees
		if refused.Paces() && p.c.Class == rulings.Source && p.draft.Class(p.origin.Host) == rulings.Service {
			return fate{}, causePace
		}
		return fate{refused: true, reasons: []rulings.Reason{refused}}, ""
	}
	p.names()
	p.hops()
	p.dialled()
	p.measured()
	switch {
	case p.now.refused:
		return p.now, ""
	case len(p.causes) > 0:
		return fate{}, p.causes[0]
	}
	p.now.unseen = refused != ""
	return p.now, ""
}

// names sees to pages in which only what is meant for certain product tokens was
// looked for and kept (T65).
func (p *passed) names() {
	c := p.c
	if c.HTTPStatus == 0 || !c.Ruled || !rulings.ResponseOf(c.HTTPStatus, http.Header{"Content-Type": {c.ContentType}}).ReadsHTML(c.Method) {
		return
	}
	if p.was == nil || !slices.Equal(p.was.Identity.Tokens, p.draft.Identity.Tokens) {
		p.untold(causeNames)
	}
}

// hops sees to terms from other hosts than the crossing's, which meet the
// operator's lists and the address guard on their own account (O14, step 2). Their
// addresses are not on record.
func (p *passed) hops() {
	own, ownBroken := rulings.Breach{}, false
	if p.was != nil {
		own, ownBroken = p.was.HostBreach(p.origin.Host)
	}
	for _, t := range p.c.Terms {
		for _, url := range []string{t.URL, t.FinalURL} {
			o, _, err := splitURL(url)
			if err != nil || o.Host == p.origin.Host {
				continue
			}
			if p.was == nil || !p.was.SameGuard(p.draft) || !sameWord(p.was, p.draft, o.Host) {
				p.untold(causeHops)
				return
			}
		}
	}
	for _, r := range p.c.Breaches {
		switch r {
		case rulings.HostDenied, rulings.HostNotAllowed, rulings.HostRuleRefuses:
			if ownBroken && r == own.Reason {
				ownBroken = false // the crossing's own, which the decision has met
				continue
			}
			p.meet(r)
		}
	}
}

// sameWord reports whether a and b have the same to say of host.
func sameWord(a, b *rulings.Policy, host string) bool {
	next, broken := b.HostBreach(host)
	before, wasBroken := a.HostBreach(host)
	return broken == wasBroken && before.Reason == next.Reason && (!broken || a.Mode.Carries(before.Reason) == b.Mode.Carries(next.Reason))
}

// dialled judges the address that a name was resolved to (N18).
func (p *passed) dialled() {
	c := p.c
	if c.Refused == rulings.PrivateAddress {
		switch {
		case p.was != nil && p.was.SameGuard(p.draft):
			p.meet(rulings.PrivateAddress)
		case !p.draft.Inside(p.origin): // which names the host, wherever it is
			p.untold(causeAddress)
		}
		return
	}
	addr, err := netip.ParseAddrPort(c.Address)
	if err != nil || p.draft.AllowsAddr(p.origin.Host, addr.Addr()) {
		return
	}
	switch {
	case p.was == nil:
		p.untold(errPolicy.Cause)
	case p.was.AllowsAddr(p.origin.Host, addr.Addr()):
		p.meet(rulings.PrivateAddress)
	}
	// Otherwise it is that of upstream.proxy, which the guard does not judge.
}
