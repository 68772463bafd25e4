package rulings

import (
	"bytes"
	"encoding/json"
)

// A PolicyFile is the operator's policy as written, before it is checked. The
// zero value is the default policy. Lists that are nil were not written; those
// that are empty were, which is a fault where nothing could be meant by it.
type PolicyFile struct {
	Mode            string   // empty for observe
	Purposes        []string // declared, in this order; nil means ai-input
	Identity        IdentityFile
	Hosts           HostsFile
	RequiredLicence []string // URLs
	Services        []string // hosts
	ServiceTerms    []ServiceFile
	Tunnels         []string // host patterns
	AllowPrivate    []string // hosts and CIDR prefixes
	Spend           []SpendFile
	Terms           OperatorFile
	Allowances      []AllowanceFile
	Caps            CapsFile
	Screens         ScreensFile
	Sessions        []SessionFile
}

// An IdentityFile is the section policy.identity as written.
type IdentityFile struct {
	ProductToken []string
	UserAgent    string
	Contact      string
}

// A HostsFile is the section policy.hosts as written, and as it stands in the
// canonical form.
type HostsFile struct {
	Allow []string       `json:"allow"` // host patterns; nil: every host
	Deny  []string       `json:"deny"`
	Rules []HostRuleFile `json:"rules"`
}

// A HostRuleFile is one item of policy.hosts.rules.
type HostRuleFile struct {
	Action  string `json:"action"`
	Host    string `json:"host"`              // pattern
	Licence string `json:"licence,omitempty"` // URL, with require_licence alone
}

// A ServiceFile is what policy.services says of a service beside its host. In a
// PolicyFile it belongs to the host with the same index, and may be left out at
// the end.
type ServiceFile struct {
	ChargeHeader string    `json:"charge_header,omitempty"` // field of an answer that names its charge
	Pace         bool      `json:"pace,omitempty"`
	Price        PriceFile `json:"price,omitzero"`
}

// A PriceFile is what a request to a service costs: an amount, or a word in its
// place. The zero value is nothing, which is free.
type PriceFile struct {
	Word     string // reported or unknown
	Amount   string // decimal
	Currency string
}

// pricePair is a PriceFile without a word, in JSON.
type pricePair struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON implements json.Marshaler.
func (p PriceFile) MarshalJSON() ([]byte, error) {
	if p.Word != "" {
		return json.Marshal(p.Word)
	}
	return json.Marshal(pricePair{p.Amount, p.Currency})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *PriceFile) UnmarshalJSON(text []byte) error {
	*p = PriceFile{}
	if bytes.HasPrefix(text, []byte(`"`)) {
		return json.Unmarshal(text, &p.Word)
	}
	var pair pricePair
	err := json.Unmarshal(text, &pair)
	p.Amount, p.Currency = pair.Amount, pair.Currency
	return err
}

// An AllowanceFile is one item of policy.allowances as written, and as it stands
// in the canonical form.
type AllowanceFile struct {
	Amount   string `json:"amount"` // decimal
	Currency string `json:"currency"`
	Name     string `json:"name"`
	Period   string `json:"period"`
	Timezone string `json:"timezone"` // empty for UTC
	User     string `json:"user"`     // proxy user name; one that ends in * stands for all that begin so
}

// A CapsFile is the section policy.caps as written, and as it stands in the
// canonical form. 0 is no cap.
type CapsFile struct {
	BodyBytes    int64 `json:"body_bytes,omitempty"`
	ContextBytes int64 `json:"context_bytes,omitempty"`
}

// A ScreensFile is the section policy.screens as written, and as it stands in
// the canonical form. What is empty or 0 is the default.
type ScreensFile struct {
	Exempt     []string `json:"exempt"` // media types
	Extract    string   `json:"extract"`
	Injection  string   `json:"injection"`
	LimitBytes int64    `json:"limit_bytes"`
	PII        string   `json:"pii"`
	Scope      string   `json:"scope"`
}

// A SpendFile is one item of policy.spend as written: who may send fields that
// spend, and to which hosts (T105).
type SpendFile struct {
	User  string   `json:"user"`  // proxy user name; one that ends in * stands for all that begin so
	Hosts []string `json:"hosts"` // host patterns
}

// An OperatorFile is the section policy.terms as written: what the operator is
// and has agreed.
type OperatorFile struct {
	UserClasses     []string
	Country         string
	Reporting       []ReportingFile
	Agreements      []AgreementFile
	TDMBindsAIInput bool
}

// A ReportingFile is a reporting profile that the operator meets at hosts (T92).
type ReportingFile struct {
	Profile string   `json:"profile"`
	Hosts   []string `json:"hosts"`
}

// An AgreementFile is an agreement with a host. It is recorded and may add a
// demand; it overrides nothing (T92).
type AgreementFile struct {
	Host      string `json:"host"`
	Reference string `json:"reference"`
	Reporting string `json:"reporting"` // profile that the agreement demands; empty for none
}

// A SessionFile is one item of policy.sessions: what holds for a proxy user in
// place of the rest of the policy (O6). What is empty or nil is not replaced.
type SessionFile struct {
	User            string       `json:"user"` // one that ends in * stands for all that begin so
	Mode            string       `json:"mode"`
	Purposes        []string     `json:"purposes"`
	Hosts           *HostsFile   `json:"hosts"`
	RequiredLicence []string     `json:"required_licence"`
	Caps            *CapsFile    `json:"caps"`
	Screens         *ScreensFile `json:"screens"`
}
