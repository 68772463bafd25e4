package rulings

import (
	"fmt"
	"slices"
	"time"
)

// A Breach is a rule of the operator's policy that a crossing does not keep
// (O11). Whether it refuses is for the mode alone to say.
type Breach struct {
	Reason Reason
	Detail string // one sentence for the record; it may name what the policy names
	Told   Words  // the same for the agent: the operator's names by their position (O13)

	Gap     string    // reason of the gap that says what is not known; empty for none
	RetryAt time.Time // when the breach ends by itself; zero: it does not
}

// Carries reports whether a breach for this reason is carried in mode m (O11).
func (m Mode) Carries(r Reason) bool {
	if r == PIIFound {
		return true
	}
	return (m == ModeObserve || m == ModePrefer) && r.carried()
}

// carried reports whether r is a reason that a mode other than strict carries.
func (r Reason) carried() bool {
	switch r {
	case HostDenied, HostNotAllowed, HostRuleRefuses, LicenceRequired, AllowanceExhausted, AllowanceUnenforceable,
		BodyCap, InjectionScreen, PIIFound, Unscreened:
		return true
	}
	return false
}

// Measured reports whether r rests on what the edge measured or read of a body, or
// on what it had at hand, so that no decision on terms and policy alone comes to
// it.
func (r Reason) Measured() bool {
	switch r {
	case AllowanceExhausted, AllowanceUnenforceable, BodyCap, ContextBudget, NoText, InjectionScreen, PIIFound, Unscreened, NotRecorded:
		return true
	}
	return false
}

// Break adds a breach that was met at stage to a ruling that so far lets the
// crossing proceed, and reports whether the mode makes it refuse: before the
// request, or of an answer, of which then nothing is released. It is how what the
// edge finds of a body, of sizes and of money is ruled, as decisions are.
func (r *Ruling) Break(m Mode, stage Stage, b Breach) (refused bool) {
	if m.Carries(b.Reason) {
		r.Carry(b)
		return false
	}
	if b.Gap != "" {
		r.Gaps = append(r.Gaps, Gap{b.Gap, b.Detail})
	}
	if r.Reason != "" {
		return true // the first refusal stays
	}
	r.Outcome, r.Reason, r.Stage, r.Detail, r.Told, r.RetryAt = Refuse, b.Reason, stage, b.Detail, b.Told, b.RetryAt
	if stage != StageBefore {
		r.Outcome = Withhold
	}
	return true
}

// Carry adds a breach that is carried in every mode: what brought it about has
// happened, such as the charge of an answer that nobody can read (O33).
func (r *Ruling) Carry(b Breach) {
	if b.Gap != "" {
		r.Gaps = append(r.Gaps, Gap{b.Gap, b.Detail})
	}
	r.Breaches = append(r.Breaches, b)
}

// breach is Break within a decision: true ends the work.
func (d *decision) breach(b Breach) (ended bool) {
	refused := d.ruling.Reason == "" && d.ruling.Break(d.policy.Mode, d.stage, b)
	return refused && !d.req.All
}

// hosts rules the operator's lists: deny, else the first rule that matches, else
// allow; one breach at most (O14, step 2).
func (d *decision) hosts() (ended bool) {
	b, broken := d.policy.HostBreach(d.req.Origin.Host)
	return broken && d.breach(b)
}

// HostBreach returns the breach that a request to host is, a key of hostkey.Key
// (O14, step 2). It holds for each hop of a redirect that the edge follows, too.
func (p *Policy) HostBreach(host string) (b Breach, broken bool) {
	if pattern, position, denied := p.HostDenied(host); denied {
		return Breach{
			Reason: HostDenied, Detail: fmt.Sprintf("hosts.deny %d (%s) matches %s", position, pattern, host),
			Told: Say("The operator's policy denies this host (hosts.deny %).", Number(position)),
		}, true
	}
	rule, matches := p.HostRule(host)
	switch {
	case matches && rule.Action == HostRefuse:
		return Breach{
			Reason: HostRuleRefuses, Detail: fmt.Sprintf("hosts.rules %d (%s) refuses %s", rule.Position, rule.Host, host),
			Told: Say("The operator's policy refuses this host (hosts.rules %).", Number(rule.Position)),
		}, true
	case matches, p.HostAllowed(host):
		return Breach{}, false
	}
	return Breach{
		Reason: HostNotAllowed, Detail: fmt.Sprintf("hosts.allow does not list %s", host),
		Told: Say("The operator's policy does not list this host among those that are allowed (hosts.allow)."),
	}, true
}

// Requires returns the licences of which one must govern the pages of host, a key
// of hostkey.Key, in the form of LicenceURL (O16). None: nothing is required.
func (p *Policy) Requires(host string) []string {
	rule, ok := p.HostRule(host)
	if !ok || rule.Action != HostRequireLicence || slices.Contains(p.RequiredLicence, rule.Licence) {
		return p.RequiredLicence
	}
	return append(slices.Clone(p.RequiredLicence), rule.Licence)
}

// requiredLicence rules what licence the operator wants pages to be under (O16):
// before the request what is known by then to be another, and after it, when last
// is set, whether any governs at all, and each that does states an offer.
func (d *decision) requiredLicence(last bool) (ended bool) {
	required := d.policy.Requires(d.req.Origin.Host)
	if len(required) == 0 {
		return false
	}
	b := Breach{
		Reason: LicenceRequired, Gap: GapEvidenceMissing, Detail: "no licence is known to govern the page, and policy requires one",
		Told: Say("The operator requires a licence of certain kinds, and none is known to govern this page."),
	}
	unknown := len(d.offers) == 0
	for i := range d.offers {
		o := &d.offers[i]
		url := d.ruling.Licences[o.licence-1].URL
		switch {
		case !o.taken && !unknown:
			unknown = true
			b.Detail = fmt.Sprintf("licence %d (%s) governs the page and states nothing, and policy requires one of certain kinds", o.licence, url)
			b.Told = Say("The operator requires a licence of certain kinds, and licence % of this page states nothing.", Number(o.licence))
		case o.taken && !slices.ContainsFunc(required, func(want string) bool { return o.names(url, want) }):
			return d.breach(Breach{
				Reason: LicenceRequired, Detail: fmt.Sprintf("licence %d (%s) governs the page and is none that policy requires", o.licence, url),
				Told: Say("The operator requires another licence than licence % of this page.", Number(o.licence)),
			})
		}
	}
	return unknown && last && d.breach(b)
}

// names reports whether o is of the licence at url and that is the one at want, or
// by the standard at want.
func (o *offer) names(url, want string) bool {
	for _, own := range append([]string{url}, o.standards...) {
		if spelling, ok := LicenceURL(own); ok && spelling == want {
			return true
		}
	}
	return false
}

// offline refuses what could only be had from outside (O60): every host that
// allow_private does not name, before anything is resolved.
func (d *decision) offline() (ended bool) {
	if !d.req.Offline || d.policy.Inside(d.req.Origin) {
		return false
	}
	r := RefuseOffline(d.req.Origin.Host)
	return d.refuse(r.Reason, r.RetryAt, r.Detail, r.Told)
}

// RefuseOffline is the ruling on a host that an edge which is offline may not ask.
func RefuseOffline(host string) Ruling {
	return refuse(Offline, time.Time{}, fmt.Sprintf("the edge is offline, and %s is not named by policy.allow_private or has a public address", host),
		Say("The edge is offline: it asks only hosts that the operator names as private."))
}
