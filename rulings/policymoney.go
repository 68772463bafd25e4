package rulings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/wayleave/wayleave/internal/money"
)

// An Allowance is what crossings to priced services may cost in a period (O30).
type Allowance struct {
	Position int    // in policy.allowances, from 1
	Name     string // also of its ledger's file; letters, digits and . _ -
	Period   string // PeriodDay or PeriodMonth
	Amount   money.Amount
	Currency string // three capitals
	Timezone string // of the IANA database; its days and months are counted
	user     userPattern
}

// Periods of an allowance.
const (
	PeriodDay   = "day"
	PeriodMonth = "month"
)

// Allowances returns all allowances in the order of the policy. The caller must
// not change them.
func (p *Policy) Allowances() []Allowance { return p.allowances }

// AllowancesFor returns the allowances that user, a proxy user name, draws on,
// in the order of the policy. The caller must not change them.
func (p *Policy) AllowancesFor(user string) []Allowance {
	var list []Allowance
	for i, a := range p.allowances {
		if a.user.match(user) {
			list = append(list, p.allowances[i])
		}
	}
	return list
}

var (
	allowanceName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)
	zoneName      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)
)

// readAllowances checks policy.allowances. Whether a time zone exists is for
// who has the database of them.
func readAllowances(list []AllowanceFile, fault faulter) (out []Allowance) {
	seen := map[string]bool{}
	for i, f := range list {
		key := fmt.Sprintf("allowances[%d]", i)
		a := Allowance{Position: i + 1, Name: f.Name, Period: f.Period, Currency: readCurrency(key, f.Currency, fault), Timezone: f.Timezone}
		// Not every file system tells capitals apart.
		switch lower := strings.ToLower(f.Name); {
		case !allowanceName.MatchString(f.Name):
			fault(key+".name", "%q is no name; use up to 64 letters, digits, _, - and inner .", f.Name)
		case seen[lower]:
			fault(key+".name", "%q is given twice; each allowance has a ledger of its own", f.Name)
		default:
			seen[lower] = true
		}
		a.user = parseUser(key+".user", f.User, fault)
		if a.Period != PeriodDay && a.Period != PeriodMonth {
			fault(key+".period", "%q is none of day, month", f.Period)
		}
		a.Amount = readAmount(key, f.Amount, fault)
		if a.Timezone == "" {
			a.Timezone = "UTC"
		}
		if !zoneName.MatchString(a.Timezone) || a.Timezone == "Local" {
			fault(key+".timezone", "%q is no time zone; use one of the IANA database, such as Europe/Berlin", f.Timezone)
		}
		out = append(out, a)
	}
	return out
}

func readCurrency(key, code string, fault faulter) string {
	if !money.IsCurrency(code) {
		fault(key+".currency", "%q is no currency; use three capitals, such as USD", code)
	}
	return code
}

func readAmount(key, text string, fault faulter) money.Amount {
	amount, err := money.Parse(text)
	if err != nil {
		fault(key+".amount", `%q is no amount; use a decimal string of at most 12 digits before and 6 behind the point, such as "5.00"`, text)
	}
	return amount
}

func (a *Allowance) form() AllowanceFile {
	return AllowanceFile{a.Amount.String(), a.Currency, a.Name, a.Period, a.Timezone, string(a.user)}
}
