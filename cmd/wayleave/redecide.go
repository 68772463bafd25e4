package main

import (
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A redecider makes recorded rulings again (E82): from the request on record,
// the terms' objects and states, and the object of the policy. Any number of
// goroutines may use it.
type redecider struct {
	mu           sync.Mutex
	policies     map[rulings.Digest]*rulings.Policy
	sites        map[rulings.Digest]*rulings.Site
	licences     map[rulings.Digest]*rulings.Licence
	reservations map[rulings.Digest]*rulings.TDMFile
}

func newRedecider() *redecider {
	return &redecider{
		policies: make(map[rulings.Digest]*rulings.Policy), sites: make(map[rulings.Digest]*rulings.Site),
		licences: make(map[rulings.Digest]*rulings.Licence), reservations: make(map[rulings.Digest]*rulings.TDMFile),
	}
}

// Why a ruling cannot be made again.
var (
	errRuleset   = &evidence.Unredoable{Cause: "ruleset_unknown"}
	errPolicy    = &evidence.Unredoable{Cause: "policy_unknown"}
	errNotKept   = &evidence.Unredoable{Cause: "object_missing"}
	errNoRequest = &evidence.Unredoable{Cause: "url_unreadable"}
)

// decide is an evidence.DecideFunc.
func (d *redecider) decide(c *evidence.RuledCrossing) (evidence.Redone, error) {
	if c.Ruleset != rulings.Ruleset {
		return evidence.Redone{}, errRuleset
	}
	var policy *rulings.Policy // nil refuses, as it did then
	if c.Policy != (rulings.Digest{}) {
		var err error
		if policy, err = d.policy(c); err != nil {
			return evidence.Redone{}, err
		}
	}
	return d.under(c, policy)
}

// under makes the ruling of c on policy, which may be another one than it was made
// on then.
func (d *redecider) under(c *evidence.RuledCrossing, policy *rulings.Policy) (evidence.Redone, error) {
	if c.URL == "" {
		return underTunnel(c, policy)
	}
	origin, target, err := splitURL(c.URL)
	if err != nil {
		return evidence.Redone{}, errNoRequest
	}
	req := rulings.Request{Method: c.Method, Origin: origin, Target: target, UserAgent: c.UserAgent, User: c.User, Spending: c.Spending,
		Offline: c.Refused == rulings.Offline}
	known, err := d.terms(c, req, policy)
	if err != nil {
		return evidence.Redone{}, err
	}
	again := evidence.Redone{Ruling: rulings.Decide(req, known, policy)}
	if policy != nil {
		again.Mode, again.Purposes = policy.Mode, policy.Purposes
	}
	if policy != nil && (c.Replaced || c.Cut) {
		again.Hangs = hangs(c, req, known, policy)
	}
	return again, nil
}

// underTunnel makes the ruling on a tunnel that was refused again: by the operator's
// policy alone, there being no request in it to rule (O9).
func underTunnel(c *evidence.RuledCrossing, policy *rulings.Policy) (evidence.Redone, error) {
	origin, err := hostkey.ParseOrigin("https", c.Authority)
	if err != nil {
		return evidence.Redone{}, errNoRequest
	}
	again := evidence.Redone{}
	if policy != nil {
		again.Mode, again.Purposes = policy.Mode, policy.Purposes
	}
	if policy != nil && !policy.Tunnel(origin.Host) {
		again.Ruling = rulings.Ruling{Outcome: rulings.Refuse, Reason: rulings.TunnelNotListed, Stage: rulings.StageBefore}
		return again, nil
	}
	again.Ruling = rulings.Decide(rulings.Request{Origin: origin, User: c.User, Offline: c.Refused == rulings.Offline}, rulings.Terms{}, policy)
	return again, nil
}

// terms returns what the source's terms were to the crossing. A term of a kind
// that these rules do not rule has no say in them.
func (d *redecider) terms(c *evidence.RuledCrossing, req rulings.Request, policy *rulings.Policy) (known rulings.Terms, err error) {
	if !c.Ruled {
		known.Robots.Exempt = rulings.Exempt(req.Origin, req.Target)
		return known, nil
	}
	if c.HTTPStatus != 0 {
		// A head or page of which no term was kept stated none.
		known.Response = rulings.ResponseOf(c.HTTPStatus, http.Header{"Content-Type": {c.ContentType}})
		known.Response.HTML = &rulings.HTMLTerms{}
	}
	for _, t := range c.Terms {
		if err := d.restore(c, req, policy, t, &known); err != nil {
			return known, err
		}
	}
	if known.Robots.URL == "" {
		return known, errNotKept
	}
	return known, nil
}

// restore adds the term t to known as it was found at the time.
func (d *redecider) restore(c *evidence.RuledCrossing, req rulings.Request, policy *rulings.Policy, t rulings.Term, known *rulings.Terms) error {
	if t.Outcome == rulings.TermNotAsked {
		return nil // what came before it had refused
	}
	switch t.Kind {
	case rulings.TermRobots:
		site, err := termOf(d, c, t, d.sites, func(octets []byte) (*rulings.Site, error) { return rulings.ParseSite(octets), nil })
		if err != nil {
			return err
		}
		if known.Robots, err = terms.Restore(t, site); err != nil {
			return errNotKept
		}
	case rulings.TermLicence:
		licence, err := termOf(d, c, t, d.licences, func(octets []byte) (*rulings.Licence, error) {
			licence, _ := rulings.ParseLicence(octets) // nil is unread, as it was then
			return licence, nil
		})
		if err != nil {
			return err
		}
		restored, err := terms.RestoreLicence(t, req.Origin, licence)
		if err != nil {
			return errNotKept
		}
		restored.Replaced = replacedValue.MatchString(t.URL)
		known.Licences = append(known.Licences, restored)
	case rulings.TermTDM:
		file, err := termOf(d, c, t, d.reservations, func(octets []byte) (*rulings.TDMFile, error) {
			file, _ := rulings.ParseTDM(octets) // nil states nothing, as it did then
			return file, nil
		})
		if err != nil {
			return err
		}
		restored, err := terms.RestoreTDM(t, file)
		if err != nil {
			return errNotKept
		}
		known.TDM = &restored
	case rulings.TermHead, rulings.TermHTML:
		return d.restoreAnswer(c, req, policy, t, known)
	}
	return nil
}

// restoreAnswer adds what the head of the answer or of the page said.
func (d *redecider) restoreAnswer(c *evidence.RuledCrossing, req rulings.Request, policy *rulings.Policy, t rulings.Term, known *rulings.Terms) error {
	if t.Object == (rulings.Digest{}) || known.Response == nil || policy == nil {
		return errNotKept
	}
	octets, err := c.Object(t.Object)
	if err != nil {
		return err
	}
	if t.Kind == rulings.TermHTML {
		known.Response.HTML = known.Response.RestoreHTML(octets, req.Origin, req.Target, policy.Identity.Tokens)
		known.Response.HTML.Term = t
		return nil
	}
	head, err := rulings.ParseHead(c.HTTPStatus, octets)
	if err != nil {
		return errNotKept
	}
	head.Term, head.HTML = t, known.Response.HTML
	known.Response = head
	return nil
}

// termOf returns what the object of t holds, or nil where it names none.
func termOf[T any](d *redecider, c *evidence.RuledCrossing, t rulings.Term, kept map[rulings.Digest]*T, parse func([]byte) (*T, error)) (*T, error) {
	if t.Object == (rulings.Digest{}) {
		return nil, nil
	}
	return remember(&d.mu, kept, keptTerms, c, t.Object, parse)
}

// Kept of each kind; beyond that all is forgotten and read again.
const (
	keptPolicies = 256
	keptTerms    = 256 // of each kind
)

func (d *redecider) policy(c *evidence.RuledCrossing) (*rulings.Policy, error) {
	return remember(&d.mu, d.policies, keptPolicies, c, c.Policy, func(octets []byte) (*rulings.Policy, error) {
		p, err := rulings.LoadPolicy(octets)
		if err != nil {
			return nil, errPolicy
		}
		return p, nil
	})
}

// remember returns what parse made of the object at any time before.
func remember[T any](mu *sync.Mutex, kept map[rulings.Digest]T, most int, c *evidence.RuledCrossing, object rulings.Digest, parse func([]byte) (T, error)) (T, error) {
	mu.Lock()
	v, ok := kept[object]
	mu.Unlock()
	if ok {
		return v, nil
	}
	octets, err := c.Object(object)
	if err != nil {
		return v, err
	}
	if v, err = parse(octets); err != nil {
		return v, err
	}
	mu.Lock()
	defer mu.Unlock()
	if len(kept) >= most {
		clear(kept)
	}
	kept[object] = v
	return v, nil
}

// replacedValue is what stands in a record for a value that may not (E24).
var replacedValue = regexp.MustCompile(`~[0-9a-f]{12}`)

// hangs reports whether the ruling may hang on what the record has replaced.
func hangs(c *evidence.RuledCrossing, req rulings.Request, known rulings.Terms, policy *rulings.Policy) bool {
	if policy.Class(req.Origin.Host) == rulings.Service || known.Robots.Exempt || known.Robots.Site == nil {
		return false // no path was ruled
	}
	at := replacedValue.FindStringIndex(req.Target)
	switch {
	case c.Cut, len(known.Licences) > 0, known.TDM != nil:
		return true // these speak of paths too
	case at == nil:
		return false // it was in the fragment, which is never sent
	}
	prefix := strings.Clone(req.Target[:at[0]])
	selection := known.Robots.Site.Select(policy.Identity.Tokens, req.UserAgent)
	return !selection.Settled(prefix) || !selection.TermsSettled(prefix)
}
