package rulings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrPolicyForm says that octets are no canonical form of a policy that these
// rules know.
var ErrPolicyForm = errors.New("not the canonical form of a policy of this version")

// LoadPolicy returns the policy whose Canonical is canonical, which is how a
// policy lies among the term objects. It answers ErrPolicyForm unless loading
// loses nothing: a member that these rules do not know could have ruled.
func LoadPolicy(canonical []byte) (*Policy, error) {
	var form policyForm
	if err := json.Unmarshal(canonical, &form); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicyForm, err)
	}
	p, faults := NewPolicy(form.file())
	if len(faults) > 0 || !bytes.Equal(p.Canonical(), canonical) {
		return nil, ErrPolicyForm
	}
	return p, nil
}

// file returns the policy as it could have been written.
func (f *policyForm) file() PolicyFile {
	file := PolicyFile{
		Mode: f.Mode, Identity: IdentityFile{f.Identity.ProductToken, f.Identity.UserAgent, f.Identity.Contact},
		Hosts:           HostsFile{Allow: written(f.Hosts.Allow), Deny: written(f.Hosts.Deny), Rules: f.Hosts.Rules},
		RequiredLicence: f.RequiredLicence, Tunnels: f.Tunnels, AllowPrivate: f.AllowPrivate,
		Terms:      OperatorFile{UserClasses: f.Terms.UserClasses, Country: f.Terms.Country, TDMBindsAIInput: f.Terms.TDMBindsAIInput},
		Allowances: f.Allowances, Caps: f.Caps, Screens: f.Screens,
	}
	for _, s := range f.Services {
		file.Services, file.ServiceTerms = append(file.Services, s.Host), append(file.ServiceTerms, s.ServiceFile)
	}
	for _, purpose := range f.Purposes {
		file.Purposes = append(file.Purposes, string(purpose))
	}
	for _, s := range f.Spend {
		file.Spend = append(file.Spend, SpendFile{s.User, s.Hosts})
	}
	for _, r := range f.Terms.Reporting {
		file.Terms.Reporting = append(file.Terms.Reporting, ReportingFile{r.Profile, r.Hosts})
	}
	for _, a := range f.Terms.Agreements {
		file.Terms.Agreements = append(file.Terms.Agreements, AgreementFile(a))
	}
	return file
}

// written returns a list as it could have been written: one that is empty in the
// canonical form was left out.
func written(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
