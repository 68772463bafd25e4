package main

import (
	"mime"
	"net/http"
	"slices"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Measures that a simulation cannot make again.
const (
	causeAllowances = "allowances"
	causeBodySize   = "body_size"
	causeContext    = "context"
	causeScreens    = "screens"
)

// measured rules what rests on measures: money, sizes, and what screens found. A
// measure that the draft wants as the policy of the time did comes out as it did
// then; another one is told only where the record has what it takes.
func (p *passed) measured() {
	p.money()
	p.charge()
	if c := p.c; c.HTTPStatus == 0 || c.Refused != "" && !c.Refused.Measured() {
		return // there was no answer, or nothing of it was measured
	}
	p.bodyCap()
	p.context()
	p.screens()
}

// again meets those of reasons that are on record.
func (p *passed) again(reasons ...rulings.Reason) {
	for _, r := range reasons {
		if slices.Contains(p.c.Breaches, r) || p.c.Refused == r {
			p.meet(r)
		}
	}
}

func (p *passed) money() {
	list := p.draft.AllowancesFor(p.c.User)
	service, _ := p.draft.ServiceFor(p.origin.Host)
	if len(list) == 0 || service.Price.Kind == rulings.PriceFree || p.draft.Class(p.origin.Host) == rulings.Source {
		return
	}
	if p.was != nil {
		before, ok := p.was.ServiceFor(p.origin.Host)
		if ok && before.Price == service.Price && slices.Equal(list, p.was.AllowancesFor(p.c.User)) {
			p.again(rulings.AllowanceExhausted)
			p.unenforceable()
			return
		}
	}
	p.untold(causeAllowances)
}

// unenforceable meets an allowance that nobody could keep. What the answer left
// unknown had happened by then, and is carried in every mode (O33).
func (p *passed) unenforceable() {
	const reason = rulings.AllowanceUnenforceable
	switch carried := slices.Contains(p.c.Breaches, reason); {
	case !carried, p.draft.Mode.Carries(reason):
		p.again(reason)
	case p.was.Mode.Carries(reason):
		p.untold(causeAllowances) // it may have been known before the request was sent
	case !p.now.refused:
		p.now.reasons = append(p.now.reasons, reason)
	}
}

// charge meets what the source charged and the draft does not allow for, which has
// happened and is carried in every mode (T104).
func (p *passed) charge() {
	if p.c.Charged && !p.now.refused && !p.draft.MayCharge(p.c.User, p.origin.Host) {
		p.now.reasons = append(p.now.reasons, rulings.SpendNotAllowed)
	}
}

// source reports whether the answer is one whose size counts, which a service's
// does not (O8).
func (p *passed) source() bool {
	return p.draft.Class(p.origin.Host) == rulings.Source && !p.bodiless()
}

func (p *passed) bodiless() bool {
	switch p.c.HTTPStatus {
	case http.StatusNoContent, http.StatusNotModified:
		return true
	}
	return p.c.Method == http.MethodHead
}

func (p *passed) bodyCap() {
	most := p.draft.Caps.Body
	switch {
	case most == 0 || !p.source():
	case p.was != nil && p.was.Caps.Body == most:
		p.again(rulings.BodyCap)
	default:
		if n := p.size(); !n.Known {
			p.untold(causeBodySize)
		} else if n.N > most {
			p.meet(rulings.BodyCap)
		}
	}
}

// size is what the body came to after content codings, and before any extraction
// (O35).
func (p *passed) size() evidence.Count {
	switch {
	case p.c.Coding == "":
		return p.c.Retrieved
	case p.was == nil || p.was.Screens.Extract:
		return evidence.Count{}
	}
	return p.c.Content
}

func (p *passed) context() {
	most := p.draft.Caps.Context
	if most == 0 || !p.source() {
		return
	}
	before := int64(0)
	if p.was != nil {
		before = p.was.Caps.Context
	}
	switch {
	case before == most:
		p.again(rulings.NoText, rulings.ContextBudget)
	case before > 0 && p.c.Refused == rulings.NoText:
		p.meet(rulings.NoText) // whatever the budget is
	case before > 0 && before < most && p.c.Refused == "": // it fitted a smaller one
	default:
		p.untold(causeContext)
	}
}

func (p *passed) screens() {
	next := p.draft.Screens
	switch {
	case !next.Injection && !next.PII, p.bodiless(), !next.All && p.draft.Class(p.origin.Host) == rulings.Service, p.exempt():
		return
	case p.was == nil, !p.looked(&p.was.Screens, &next):
		p.untold(causeScreens)
		return
	}
	if next.PII {
		p.again(rulings.PIIFound)
	}
	if next.Injection {
		p.again(rulings.InjectionScreen)
	}
	p.again(rulings.Unscreened)
}

// exempt reports whether the draft lets the answer's type pass unscreened (O40).
func (p *passed) exempt() bool {
	kind, _, err := mime.ParseMediaType(p.c.ContentType)
	return err == nil && slices.Contains(p.draft.Screens.Exempt, kind)
}

// looked reports whether the screens that next has on looked at the answer then, by
// the same rules. A screen may be fewer now: what it alone found falls away.
func (p *passed) looked(before, next *rulings.Screens) bool {
	fewer := next.Injection != before.Injection || next.PII != before.PII
	switch {
	case next.Injection && !before.Injection, next.PII && !before.PII, next.Extract != before.Extract:
		return false
	case fewer && (slices.Contains(p.c.Breaches, rulings.Unscreened) || p.c.Refused == rulings.Unscreened):
		return false // it may be the other one that could not
	}
	return next.Limit == before.Limit && next.All == before.All && slices.Equal(next.Exempt, before.Exempt)
}
