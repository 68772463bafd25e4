package rulings

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// policyForm is the canonical form of a policy (O5): its members stand in the
// order in which RFC 8785 sorts them, and each is there.
type policyForm struct {
	AllowPrivate    []string     `json:"allow_private"`
	Allowances      []string     `json:"allowances"`
	Caps            struct{}     `json:"caps"`
	Format          string       `json:"format"`
	Hosts           hostsForm    `json:"hosts"`
	Identity        identityForm `json:"identity"`
	Mode            string       `json:"mode"`
	Purposes        []Purpose    `json:"purposes"`
	RequiredLicence []string     `json:"required_licence"`
	Screens         screensForm  `json:"screens"`
	Services        []string     `json:"services"`
	Spend           []spendForm  `json:"spend"`
	Terms           operatorForm `json:"terms"`
	Tunnels         []string     `json:"tunnels"`
}

type hostsForm struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	Rules []string `json:"rules"`
}

type identityForm struct {
	Contact      string   `json:"contact,omitempty"`
	ProductToken []string `json:"product_token"`
	UserAgent    string   `json:"user_agent"`
}

type screensForm struct {
	Exempt     []string `json:"exempt"`
	Extract    string   `json:"extract"`
	Injection  string   `json:"injection"`
	LimitBytes int      `json:"limit_bytes"`
	PII        string   `json:"pii"`
	Scope      string   `json:"scope"`
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

// seal fixes the canonical form and its digest.
func (p *Policy) seal() {
	none := []string{}
	private := patternStrings(p.private)
	for _, pr := range p.prefixes {
		private = append(private, pr.String())
	}
	form := policyForm{
		AllowPrivate: sorted(private), Allowances: none, Format: "wayleave-policy/1", Mode: "observe",
		Hosts:    hostsForm{none, none, none},
		Identity: identityForm{p.Identity.Contact, p.Identity.Tokens, string(p.Identity.UserAgent)},
		Purposes: p.Purposes, RequiredLicence: none,
		Screens:  screensForm{Exempt: none, Extract: "off", Injection: "off", LimitBytes: 2 << 20, PII: "off", Scope: "sources"},
		Services: sorted(patternStrings(p.services)), Spend: []spendForm{}, Terms: p.operator.form(), Tunnels: sorted(patternStrings(p.tunnels)),
	}
	for _, rule := range p.spend {
		form.Spend = append(form.Spend, spendForm{sorted(patternStrings(rule.hosts)), rule.user})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // RFC 8785 escapes only what JSON must
	if err := enc.Encode(form); err != nil {
		panic("rulings: encoding a policy: " + err.Error()) // strings, numbers and lists only
	}
	p.canonical = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	p.digest = sha256.Sum256(p.canonical)
}
