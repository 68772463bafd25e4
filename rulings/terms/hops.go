package terms

import (
	"context"
	"slices"

	"github.com/wayleave/wayleave/rulings"
)

// Crossings under different policies share what is held. Where it was had is ruled
// by the policy of each that uses it, as if it had asked (specs: policy O14, step 2).

// get is shelf.get for the crossing of p.
func (p *passage) get(ctx context.Context, s *shelf, at place, how errand) found {
	f := s.get(ctx, at, how)
	if !how.again && p.opens(&f) {
		how.again = true
		f = s.get(ctx, at, how)
	}
	p.heed(s.kind, &f)
	return f
}

// heldOf is shelf.held for the crossing of p.
func (p *passage) heldOf(s *shelf, at place) (found, bool) {
	f, ok := s.held(at)
	if !ok || p.opens(&f) {
		return found{}, false
	}
	p.heed(s.kind, &f)
	return f, true
}

// opens reports whether f is what a policy barred that of p lets be asked for.
func (p *passage) opens(f *found) bool {
	reason := reasonIn(f.Cause)
	switch reason {
	case rulings.HostDenied, rulings.HostNotAllowed, rulings.HostRuleRefuses:
	default:
		return false
	}
	switch {
	case p.policy == nil:
		return false
	case p.policy.Mode.Carries(reason):
		return true
	case f.Cache == rulings.CacheHeld, len(f.redirects) == 0:
		return false // its redirects are of the copy, not of what was barred
	}
	return !slices.ContainsFunc(f.redirects, func(target string) bool {
		_, broken := p.hop(target)
		return broken
	})
}

// heed rules the redirects by which f was had. A breach that is carried is noted;
// by one that is not, f becomes what asking would have come to.
func (p *passage) heed(kd *kind, f *found) {
	for i, target := range f.redirects {
		b, broken := p.hop(target)
		switch {
		case !broken:
		case p.policy.Mode.Carries(b.Reason):
			p.mu.Lock()
			p.breaches = append(p.breaches, b)
			p.mu.Unlock()
		default:
			v := kd.judge(&answer{redirects: f.redirects[:i+1], failure: Failure{Kind: FailureRedirectRefused}, barred: b.Reason})
			*f = found{Term: rulings.Term{
				Kind: kd.name, URL: f.URL, FinalURL: target, Outcome: v.outcome, Cause: v.cause,
				Cache: rulings.CacheReused, FetchedAt: f.FetchedAt, ExpiresAt: p.book.now().Add(v.life),
			}}
			return
		}
	}
}

// hop rules one redirect. The page's own host was ruled before.
func (p *passage) hop(target string) (rulings.Breach, bool) {
	at, ok := licencePlace(target)
	if !ok || p.policy == nil || at.origin.Host == p.page.Host {
		return rulings.Breach{}, false
	}
	return p.policy.HostBreach(at.origin.Host)
}

// noted returns the breaches that were carried so far.
func (p *passage) noted() []rulings.Breach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.breaches)
}
