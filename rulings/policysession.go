package rulings

import "fmt"

// A session is an overlay and the effective policy that it makes (O6).
type session struct {
	user   userPattern
	policy *Policy
}

// For returns the effective policy of user, a proxy user name: that of the first
// overlay whose user matches it, else p itself. Its Canonical and Digest are its
// own. It does not allocate.
func (p *Policy) For(user string) *Policy {
	for i := range p.sessions {
		if p.sessions[i].user.match(user) {
			return p.sessions[i].policy
		}
	}
	return p
}

// Effective returns every policy that For may return, p first. Of each the
// canonical bytes have to be kept before a record names their digest (O5).
func (p *Policy) Effective() []*Policy {
	all := []*Policy{p}
	for i := range p.sessions {
		all = append(all, p.sessions[i].policy)
	}
	return all
}

// overlay checks item i of policy.sessions and makes the policy that holds for
// its user. p has to be whole by then.
func (p *Policy) overlay(i int, f SessionFile, fault faulter) {
	within := func(key, format string, args ...any) { fault(fmt.Sprintf("sessions[%d].%s", i, key), format, args...) }
	own := *p
	own.sessions = nil
	if f.Mode != "" {
		own.Mode = readMode(f.Mode, within)
	}
	if f.Purposes != nil {
		own.Purposes = nil
		own.declare(f.Purposes, within)
	}
	if f.Hosts != nil {
		own.Hosts = readHosts(*f.Hosts, within)
	}
	if f.RequiredLicence != nil {
		own.RequiredLicence = readLicences(f.RequiredLicence, within)
	}
	if f.Caps != nil {
		own.Caps = readCaps(*f.Caps, within)
	}
	if f.Screens != nil {
		own.Screens = readScreens(*f.Screens, within)
	}
	p.sessions = append(p.sessions, session{parseUser("user", f.User, within), &own})
}
