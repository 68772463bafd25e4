package main

import (
	"regexp"
	"strings"
	"sync"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A redecider makes recorded rulings again (E82): from the request on record,
// the terms' objects and states, and the object of the policy. Any number of
// goroutines may use it.
type redecider struct {
	mu       sync.Mutex
	policies map[rulings.Digest]*rulings.Policy
	files    map[rulings.Digest]*rulings.Site
}

func newRedecider() *redecider {
	return &redecider{policies: make(map[rulings.Digest]*rulings.Policy), files: make(map[rulings.Digest]*rulings.Site)}
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
	var purposes []string
	if c.Policy != (rulings.Digest{}) {
		var err error
		if policy, err = d.policy(c); err != nil {
			return evidence.Redone{}, err
		}
		purposes = policy.Purposes
	}
	origin, target, err := splitURL(c.URL)
	if err != nil {
		return evidence.Redone{}, errNoRequest
	}
	req := rulings.Request{Method: c.Method, Origin: origin, Target: target, UserAgent: c.UserAgent}
	known, err := d.terms(c, req)
	if err != nil {
		return evidence.Redone{}, err
	}
	again := evidence.Redone{Ruling: rulings.Decide(req, known, policy), Purposes: purposes}
	if policy != nil && (c.Replaced || c.Cut) {
		again.Hangs = hangs(c, req, known, policy)
	}
	return again, nil
}

// terms returns what the source's terms were to the crossing. A term of a kind
// that these rules do not rule has no say in them.
func (d *redecider) terms(c *evidence.RuledCrossing, req rulings.Request) (known rulings.Terms, err error) {
	if !c.Ruled {
		known.Robots.Exempt = terms.Exempt(req.Origin, req.Target)
		return known, nil
	}
	for _, t := range c.Terms {
		if t.Kind != rulings.TermRobots {
			continue
		}
		var site *rulings.Site
		if terms.NeedsObject(t) && t.Object != (rulings.Digest{}) {
			if site, err = d.file(c, t.Object); err != nil {
				return known, err
			}
		}
		if known.Robots, err = terms.Restore(t, site); err != nil {
			return known, errNotKept
		}
		return known, nil
	}
	return known, errNotKept
}

// Kept of each kind; beyond that all is forgotten and read again.
const (
	keptPolicies = 256
	keptFiles    = 256
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

func (d *redecider) file(c *evidence.RuledCrossing, object rulings.Digest) (*rulings.Site, error) {
	return remember(&d.mu, d.files, keptFiles, c, object, func(octets []byte) (*rulings.Site, error) {
		return rulings.ParseSite(octets), nil
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
	case c.Cut:
		return true
	case at == nil:
		return false // it was in the fragment, which is never sent
	}
	prefix := strings.Clone(req.Target[:at[0]])
	return !known.Robots.Site.Select(policy.Identity.Tokens, req.UserAgent).Settled(prefix)
}
