package rulings

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
)

// policyForm is the canonical form of a policy (O5): its members stand in the
// order in which RFC 8785 sorts them, and each is there.
type policyForm struct {
	AllowPrivate    []string        `json:"allow_private"`
	Allowances      []AllowanceFile `json:"allowances"`
	Caps            CapsFile        `json:"caps"`
	Format          string          `json:"format"`
	Hosts           HostsFile       `json:"hosts"`
	Identity        identityForm    `json:"identity"`
	Mode            string          `json:"mode"`
	Purposes        []Purpose       `json:"purposes"`
	RequiredLicence []string        `json:"required_licence"`
	Screens         ScreensFile     `json:"screens"`
	Services        []serviceForm   `json:"services"`
	Spend           []spendForm     `json:"spend"`
	Terms           operatorForm    `json:"terms"`
	Tunnels         []string        `json:"tunnels"`
}

type identityForm struct {
	Contact      string   `json:"contact,omitempty"`
	ProductToken []string `json:"product_token"`
	UserAgent    string   `json:"user_agent"`
}

type spendForm struct {
	Hosts []string `json:"hosts"`
	User  string   `json:"user"`
}

type operatorForm struct {
	Agreements      []agreementForm `json:"agreements"`
	Country         string          `json:"country,omitempty"`
	Reporting       []reportingForm `json:"reporting"`
	TDMBindsAIInput bool            `json:"tdm_binds_ai_input"`
	UserClasses     []string        `json:"user_classes"`
}

type agreementForm struct {
	Host      string `json:"host"`
	Reference string `json:"reference,omitempty"`
	Reporting string `json:"reporting,omitempty"`
}

type reportingForm struct {
	Hosts   []string `json:"hosts"`
	Profile string   `json:"profile"`
}

// seal fixes the canonical form and its digest. The overlays are no part of it:
// each makes a policy with a form of its own.
func (p *Policy) seal() {
	private := patternStrings(p.private)
	for _, pr := range p.prefixes {
		private = append(private, pr.String())
	}
	form := policyForm{
		AllowPrivate: sorted(private), Allowances: []AllowanceFile{}, Caps: p.Caps.form(), Format: "wayleave-policy/1", Hosts: p.Hosts.form(),
		Identity: identityForm{p.Identity.Contact, p.Identity.Tokens, string(p.Identity.UserAgent)},
		Mode:     string(p.Mode), Purposes: p.Purposes, RequiredLicence: append([]string{}, p.RequiredLicence...), Screens: p.Screens.form(),
		Services: []serviceForm{}, Spend: []spendForm{}, Terms: p.operator.form(), Tunnels: patternStrings(p.tunnels),
	}
	for i := range p.allowances {
		form.Allowances = append(form.Allowances, p.allowances[i].form())
	}
	for i := range p.services {
		form.Services = append(form.Services, p.services[i].form())
	}
	for _, rule := range p.spend {
		form.Spend = append(form.Spend, spendForm{sorted(patternStrings(rule.hosts)), string(rule.user)})
	}
	p.canonical = canonical(form)
	p.digest = sha256.Sum256(p.canonical)
}

// canonical encodes a form whose members stand in order as RFC 8785 has it: only
// what JSON must is escaped. encoding/json escapes some signs beside, for HTML and
// JavaScript.
func canonical(form policyForm) []byte {
	text, err := json.Marshal(form)
	if err != nil {
		panic("rulings: encoding a policy: " + err.Error()) // strings, numbers and lists only
	}
	return escapes.ReplaceAllFunc(text, func(escape []byte) []byte {
		if sign, ok := needless[string(escape)]; ok {
			return []byte(sign)
		}
		return escape
	})
}

// escapes finds an escaped backslash, too, so that what stands behind one is not
// taken for an escape.
var (
	escapes  = regexp.MustCompile(`\\\\|\\u[0-9a-f]{4}`)
	needless = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"}
)
