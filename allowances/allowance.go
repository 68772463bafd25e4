package allowances

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// An Allowance is what crossings may cost in a period (O30).
type Allowance struct {
	// Name is 1 to 128 ASCII letters, digits, '.', '_' and '-', not beginning with
	// '.'. The ledger is the file of this name.
	Name     string
	Period   Period
	Amount   money.Amount
	Currency string         // three capitals
	Location *time.Location // whose midnights count; nil: UTC
}

var allowanceName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// check returns why a could not be kept. The configuration refuses such an
// allowance; here it is unenforceable.
func (a Allowance) check() error {
	switch {
	case !allowanceName.MatchString(a.Name):
		return errors.New("the allowance has a name that cannot be a file's")
	case a.Period != Day && a.Period != Month:
		return fmt.Errorf("allowance %s has no period", a.Name)
	case a.Amount < 0 || !money.IsCurrency(a.Currency):
		return fmt.Errorf("allowance %s has no amount of a currency", a.Name)
	}
	return nil
}

// A Basis says what a crossing's cost is known from (the member basis of a
// crossing's allowance). The zero value is none: such a price is unknown.
type Basis string

// The bases.
const (
	Declared Basis = "declared" // by the policy, before the dispatch
	Receipt  Basis = "receipt"  // named by each answer, after it (O32)
	Unknown  Basis = "unknown"  // by nobody (O33)
)

// A Price is what a crossing costs as far as it is known before the dispatch. The
// zero value is an unknown price. What is free is no matter of an allowance and is
// not reserved at all.
type Price struct {
	Basis Basis
	Money money.Money // of basis Declared
}

// A Charge is what a receipt says was charged. The zero value is [Unreadable].
type Charge struct {
	money money.Money
	kind  chargeKind
}

type chargeKind int

const (
	unreadable chargeKind = iota
	observed
	unnamed
)

// Charges that name no amount.
var (
	// Unreadable is the charge of a receipt whose amount nobody can tell (O33).
	Unreadable Charge
	// Unnamed is that of an answer which says nothing of a charge: what was
	// declared settles the reservation. If nothing was declared, it is Unreadable.
	Unnamed = Charge{kind: unnamed}
)

// Observed returns the charge that a receipt names.
func Observed(m money.Money) Charge { return Charge{money: m, kind: observed} }

// An Outcome is what became of a reservation. The zero value is that nobody
// decided; only Reserved lets a crossing through in every mode.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Reserved
	Exhausted     // it does not fit the amount any more
	Unenforceable // what was spent, or what this would cost, is not known
)

// String returns the outcome's name, the reason code of a breach where it is one.
func (o Outcome) String() string {
	names := [...]string{"undecided", "reserved", "allowance_exhausted", "allowance_unenforceable"}
	if o < 0 || int(o) >= len(names) {
		return names[Undecided]
	}
	return names[o]
}

// A Decision says what the ledger did with a reservation (the member decision of a
// crossing's allowance).
type Decision string

// The decisions.
const (
	DecisionReserved Decision = "reserved"
	DecisionCarried  Decision = "carried"  // over the amount, or past what is known
	DecisionDeclined Decision = "declined" // nothing was reserved
)

// A Verdict is the answer to a reservation. The zero value refuses.
type Verdict struct {
	// Outcome is the first one in Each that is not Reserved, or Reserved.
	Outcome Outcome
	Each    []Finding // one for each allowance, in the order asked
	// Reservation is to be settled or released; nil when nothing was reserved,
	// which is the case in every ledger or in none unless the request carries.
	Reservation *Reservation
}

// A Finding is what one allowance has to say of a crossing.
type Finding struct {
	Allowance string
	Outcome   Outcome
	Decision  Decision
	// Why is a sentence about an outcome other than Reserved, with numbers and
	// names of the operator's and none of the source's.
	Why string
	// State is what had been spent and reserved before this crossing. Its Until
	// is when an exhausted allowance begins anew.
	State State
	// Err is what kept the ledger from being used, for the operator: it may name
	// files.
	Err error
}

// A State is what has been spent of an allowance in one period.
type State struct {
	From, Until time.Time // from From on, before Until; zero when nobody knows
	Spent       money.Amount
	Reserved    money.Amount // by crossings that are not settled yet, and those whose edge died
	// Unknown says why Spent and Reserved are not all there is; empty: they are.
	Unknown string
	// Short says that the ledger once did not take a settlement or release in
	// time, or that an edge died with a reservation; the evidence has a gap.
	Short bool
	// Missing says that there is no ledger yet.
	Missing bool
}

// A Gap is an event the evidence has to tell of as allowance_gap (O34).
type Gap struct {
	Allowance   string
	Reservation string
	Crossing    string
	Observed    *money.Money // nil: not known
	Reason      string
	From, To    time.Time // of the reservation, and of the finding
}

// A GapError is returned where the ledger did not take a settlement or release
// after one retry. The ledger goes on owing it and appends it when it can; the
// evidence is to be told of each gap now.
type GapError struct {
	Gaps []Gap
	err  error
}

func (e *GapError) Error() string {
	return fmt.Sprintf("the ledger of allowance %s did not take reservation %s: %v", e.Gaps[0].Allowance, e.Gaps[0].Reservation, e.err)
}

// Unwrap returns what the ledger did not take it for.
func (e *GapError) Unwrap() error { return e.err }
