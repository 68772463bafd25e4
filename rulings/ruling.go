package rulings

import (
	"cmp"
	"time"

	"github.com/wayleave/wayleave/rulings/robots"
)

// Ruleset names the version of the decision rules. It changes whenever a rule
// changes an answer, so that a ruling in an old log is recomputed by the rules
// it was made on.
const Ruleset = "wayleave-rules/3"

// An Outcome is what a decision came to. The zero value is Undecided, and
// undecided refuses: code that forgot to decide can never let a request pass.
type Outcome uint8

const (
	Undecided Outcome = iota // no decision was reached; the request is refused
	Proceed                  // nothing known so far refuses
	Refuse                   // refused before the request: the page is never asked for
	Withhold                 // refused by what the response carried: nothing of it is released
)

// String returns the word for o that logs and the admin API use.
func (o Outcome) String() string {
	switch o {
	case Proceed:
		return "proceed"
	case Refuse:
		return "refuse"
	case Withhold:
		return "withhold"
	}
	return "undecided"
}

// A Stage says how far a crossing had come when it was refused.
type Stage string

const (
	StageBefore Stage = "before" // before the request was sent
	StageHead   Stage = "head"   // by the response head
	StageBody   Stage = "body"   // by the response body
)

// A Class says whether a host is a source, whose terms are ruled, or a service
// the operator declared, which has none.
type Class string

const (
	Source  Class = "source"
	Service Class = "service"
)

// A Ruling is one decision with its reasons. Its zero value is undecided.
//
// Detail goes into the record and may quote what the source wrote; Told goes to
// the agent and cannot, because only Say makes Words.
type Ruling struct {
	Outcome Outcome
	Reason  Reason // empty when Outcome is Proceed
	Stage   Stage
	Detail  string    // one whole sentence for the record
	Told    Words     // the same for the agent, in our own words
	RetryAt time.Time // when to ask again; zero when waiting does not help

	// RetryAfter is told in place of RetryAt where the instant may not be (specs:
	// pacing P33).
	RetryAfter time.Duration
	Term       TermRef // the term that decided, where one did
	Purpose    Purpose // that is refused; empty when the refusal concerns every purpose

	// Needs are the terms that have to be looked up before there is a decision,
	// in the order in which they are to be asked for. The ruling is undecided
	// then, so that it refuses when nobody looks them up.
	Needs []Need

	// NotAsked are the terms that were not asked for because the page is refused
	// without them (T8).
	NotAsked []Term

	// Whose is set where the term is another party's than Reason's facts say.
	Whose Whose

	// What was found on the way: it goes into the record (E17).
	Statements []Statement
	Licences   []LicenceRuling
	Gaps       []Gap
	Breaches   []Breach    // of the operator's policy that are carried, in order of finding (O11)
	Effective  Preferences // what the statements and licences come to for the declared purposes

	// Robots holds, for each product token ruled for, which group and line of
	// robots.txt spoke (T30). Empty when no robots.txt was ruled.
	Robots []robots.Decision
}

// Refused reports whether the ruling keeps the agent from the page. An
// undecided ruling refuses.
func (r Ruling) Refused() bool { return r.Outcome != Proceed }

// WhoseTerm says who set the term behind a refusal.
func (r *Ruling) WhoseTerm() Whose { return cmp.Or(r.Whose, r.Reason.Facts().Whose) }

// A Gap is something about a source's terms that could not be known (T115). It
// never refuses.
type Gap struct{ Reason, Detail string }

// Reasons of gaps (T115). The one of a term object that is not written is the
// evidence's own.
const (
	GapLicenceMissing  = "licence_missing"
	GapLicenceOverHTTP = "licence_over_http"
	GapHTMLTermsUnseen = "html_terms_unseen"
	GapTDMUnread       = "tdm_unread"
	GapWithheldPartial = "withheld_partial"

	// Of the operator's policy: what is required is not known to be so (O11).
	GapEvidenceMissing = "evidence_missing"
)

// A TermRef points at the place in a stored term that decided.
type TermRef struct {
	Object Digest // the term's bytes; zero when there are none
	Line   int    // line of the file, from 1; 0 when no line decided
	Entry  int    // content entry of a licence, from 1; 0 when none decided
}
