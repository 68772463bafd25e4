package rulings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/rulings/rsl"
)

// A spendRule is a checked item of policy.spend.
type spendRule struct {
	user  userPattern
	hosts []pattern
}

// operator is the checked section policy.terms.
type operator struct {
	classes    []string
	country    string
	reporting  []reporting
	agreements []agreement
	tdmInput   bool
}

type reporting struct {
	profile string
	hosts   []pattern
}

type agreement struct {
	host                 pattern
	reference, reporting string
}

// A faulter notes what is wrong under a key of the policy.
type faulter func(key, format string, args ...any)

// declare checks the declared purposes (T2).
func (p *Policy) declare(names []string, fault faulter) {
	if names == nil {
		names = []string{string(AIInput)}
	}
	if len(names) == 0 {
		fault("purposes", "is empty; leave the key out for ai-input")
	}
	for i, name := range names {
		switch purpose := Purpose(name); {
		case !purpose.Known():
			fault(fmt.Sprintf("purposes[%d]", i), "%q is none of ai-input, ai-train, ai-index, search", name)
		case slices.Contains(p.Purposes, purpose):
			fault(fmt.Sprintf("purposes[%d]", i), "%q is given twice", name)
		default:
			p.Purposes = append(p.Purposes, purpose)
		}
	}
}

// allowSpending checks policy.spend.
func (p *Policy) allowSpending(rules []SpendFile, fault faulter) {
	for i, rule := range rules {
		key := fmt.Sprintf("spend[%d]", i)
		p.spend = append(p.spend, spendRule{parseUser(key+".user", rule.User, fault), hostPatterns(key+".hosts", rule.Hosts, fault)})
	}
}

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

// describeOperator checks policy.terms.
func (p *Policy) describeOperator(f OperatorFile, fault faulter) {
	o := operator{country: f.Country, tdmInput: f.TDMBindsAIInput, classes: sorted(slices.Clone(f.UserClasses))}
	for i, class := range f.UserClasses {
		if class == "" || strings.ContainsAny(class, " \t\r\n") {
			fault(fmt.Sprintf("terms.user_classes[%d]", i), "%q is no user class; use one word, such as commercial", class)
		}
	}
	if f.Country != "" && !countryCode.MatchString(f.Country) {
		fault("terms.country", "%q is no country; use two capitals, such as DE", f.Country)
	}
	for i, r := range f.Reporting {
		key := fmt.Sprintf("terms.reporting[%d]", i)
		if !isURL(r.Profile) {
			fault(key+".profile", "%q is no profile; use its URL", r.Profile)
		}
		o.reporting = append(o.reporting, reporting{r.Profile, hostPatterns(key+".hosts", r.Hosts, fault)})
	}
	for i, a := range f.Agreements {
		key := fmt.Sprintf("terms.agreements[%d]", i)
		host, err := parsePattern(a.Host)
		if err != nil {
			fault(key+".host", "%v", err)
		}
		if a.Reporting != "" && !isURL(a.Reporting) {
			fault(key+".reporting", "%q is no profile; use its URL", a.Reporting)
		}
		o.agreements = append(o.agreements, agreement{host, a.Reference, a.Reporting})
	}
	p.operator = o
}

func (o operator) form() operatorForm {
	f := operatorForm{
		Agreements: []agreementForm{}, Country: o.country, Reporting: []reportingForm{},
		TDMBindsAIInput: o.tdmInput, UserClasses: append([]string{}, o.classes...),
	}
	for _, a := range o.agreements {
		f.Agreements = append(f.Agreements, agreementForm{a.host.String(), a.reference, a.reporting})
	}
	for _, r := range o.reporting {
		f.Reporting = append(f.Reporting, reportingForm{sorted(patternStrings(r.hosts)), r.profile})
	}
	return f
}

// MaySpend reports whether user, empty for an agent without a name, may send fields
// that spend to host, a key of hostkey.Key (T105).
func (p *Policy) MaySpend(user, host string) bool {
	return slices.ContainsFunc(p.spend, func(r spendRule) bool {
		return r.user.match(user) && matchAny(r.hosts, host)
	})
}

// MayCharge reports whether host, a key of hostkey.Key, may charge for what user
// asks of it: user may spend there, or it is a service that has a price (T104).
func (p *Policy) MayCharge(user, host string) bool {
	service, ok := p.ServiceFor(host)
	return ok && service.Price.Kind != PriceFree || p.MaySpend(user, host)
}

// licensee is what a licence of host may ask the operator to be (T88, T92).
func (p *Policy) licensee(host string) rsl.Operator {
	o := rsl.Operator{UserClasses: p.operator.classes, Country: p.operator.country}
	for _, r := range p.operator.reporting {
		if matchAny(r.hosts, host) {
			o.Reporting = append(o.Reporting, r.profile)
		}
	}
	return o
}

// demands returns the reporting that the operator's agreement with host demands
// and is not declared to be met, with the agreement's position from 1; 0 is none.
func (p *Policy) demands(host string) (profile string, position int) {
	for i, a := range p.operator.agreements {
		if a.reporting != "" && a.host.match(host) && !slices.Contains(p.licensee(host).Reporting, a.reporting) {
			return a.reporting, i + 1
		}
	}
	return "", 0
}
