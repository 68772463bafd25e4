package rulings

import "fmt"

// An Overlay is what policy.sessions makes of the policy for some users (O6).
type Overlay struct {
	User   string  // proxy user name, or its beginning and *
	Policy *Policy // effective: whole, with what is replaced
}

// Overlays returns the overlays in the order of the policy, of which the first
// that matches a user counts. The caller must not change them. Of each policy the
// canonical bytes have to be kept before a record names their digest (O5).
func (p *Policy) Overlays() []Overlay { return p.overlays }

// For returns the effective policy of user, a proxy user name: that of the first
// overlay whose user matches it, else p itself. Its Canonical and Digest are its
// own. It does not allocate.
func (p *Policy) For(user string) *Policy {
	for i := range p.overlays {
		if userPattern(p.overlays[i].User).match(user) {
			return p.overlays[i].Policy
		}
	}
	return p
}

// overlay checks item i of policy.sessions and makes the policy that holds for
// its user. p has to be whole by then.
func (p *Policy) overlay(i int, f SessionFile, fault faulter) {
	within := func(key, format string, args ...any) { fault(fmt.Sprintf("sessions[%d].%s", i, key), format, args...) }
	own := *p
	own.overlays = nil
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
	p.overlays = append(p.overlays, Overlay{string(parseUser("user", f.User, within)), &own})
}
