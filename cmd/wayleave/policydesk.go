package main

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/rulings"
)

// policyNow is the policy in force, or why there is none (A14).
func (e *edge) policyNow() admin.Policy {
	if policy := e.policy.Load(); policy != nil {
		return policyView(policy)
	}
	var answer admin.Policy
	if list := e.faults.Load(); list != nil {
		answer.Faults = faultViews(*list)
	}
	return answer
}

// checkPolicy is what a draft of the section policy comes to, or without one what
// a reload would (A14). It changes nothing.
func (e *edge) checkPolicy(draft []byte) admin.PolicyCheck {
	src := e.source
	if draft != nil {
		src.draft = draft
	}
	next, err := e.next(src)
	check := policyCheck(next, err)
	e.contrast(&check, next, e.policy.Load())
	return check
}

// reloadPolicy reloads for an operator (A14). Faults are part of the answer.
func (e *edge) reloadPolicy() (admin.PolicyCheck, error) {
	before := e.policy.Load()
	next, err := e.reload()
	if list := (faults)(nil); err != nil && !errors.As(err, &list) {
		return admin.PolicyCheck{}, err
	}
	check := policyCheck(next, err)
	e.contrast(&check, next, before)
	return check, nil
}

// contrast adds how next differs from the policy before it and from what the edge
// started with.
func (e *edge) contrast(check *admin.PolicyCheck, next *config, before *rulings.Policy) {
	if next != nil {
		check.Changed = !samePolicy(before, next.policy)
		check.Restart = e.cfg.fixedChanges(next)
	}
}

// samePolicy reports whether every user has the same rules in both.
func samePolicy(a, b *rulings.Policy) bool {
	if a == nil || a.Digest() != b.Digest() || len(a.Overlays()) != len(b.Overlays()) {
		return false
	}
	for i, o := range a.Overlays() {
		if other := b.Overlays()[i]; o.User != other.User || o.Policy.Digest() != other.Policy.Digest() {
			return false
		}
	}
	return true
}

// policyCheck is what loading a configuration came to.
func policyCheck(cfg *config, err error) admin.PolicyCheck {
	var list faults
	if errors.As(err, &list) {
		return admin.PolicyCheck{Policy: admin.Policy{Faults: faultViews(list)}}
	}
	return admin.PolicyCheck{Loads: true, Policy: policyView(cfg.policy)}
}

func policyView(p *rulings.Policy) admin.Policy {
	v := admin.Policy{Digest: p.Digest().String(), Policy: json.RawMessage(p.Canonical())}
	for _, o := range p.Overlays() {
		v.Sessions = append(v.Sessions, admin.SessionPolicy{User: o.User, Digest: o.Policy.Digest().String(), Policy: json.RawMessage(o.Policy.Canonical())})
	}
	return v
}

// faultViews names files without their directory: who asks an admin API need not
// know the machine's (A3).
func faultViews(list faults) []admin.PolicyFault {
	views := make([]admin.PolicyFault, len(list))
	for i, f := range list {
		f.at.source = filepath.Base(f.at.source)
		views[i] = admin.PolicyFault{At: f.at.String(), Line: f.at.line, Key: f.key, Problem: f.problem}
	}
	return views
}
