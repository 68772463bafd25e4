package rsl

import (
	"iter"
	"slices"
)

// An Outcome is what a document says of one use. Its zero value says nothing,
// which neither refuses nor is an allowance (specs: terms T3).
type Outcome uint8

const (
	Unknown Outcome = iota // nothing is stated
	Allow                  // licensed, for free
	Refuse
)

func (o Outcome) String() string {
	switch o {
	case Allow:
		return "allow"
	case Refuse:
		return "refuse"
	}
	return "unknown"
}

// Reasons of refusals (section 19).
const (
	ReasonUnread     = "licence_unread"
	ReasonProhibits  = "licence_prohibits"
	ReasonNotListed  = "licence_not_listed"
	ReasonRestricted = "licence_restricted"
	ReasonPayment    = "licence_payment"
	ReasonEncrypted  = "licence_encrypted"
	ReasonToken      = "licence_token"
	ReasonReporting  = "licence_reporting"
)

// Duties that a licensed use leaves.
const (
	DutyAttribution = attribution
	DutyReporting   = "reporting"
)

// An Operator is what its policy declares of whoever the ruling is for.
type Operator struct {
	UserClasses []string
	Country     string   // ISO 3166, two capitals; empty for undeclared
	Reporting   []string // the profiles that are met for this source
}

// A Verdict is what a set of entries comes to for one use. Licences are given by
// number, from 1 across the entries. It shares memory with the Document.
type Verdict struct {
	Outcome Outcome
	Reason  string // empty unless Outcome is Refuse

	Offer      int   // the licence that was taken; 0 for none
	Prohibits  []int // the licences that prohibit the use
	Restricted []int // the offers whose conditions the operator is not shown to meet

	Payment   *Payment // what is owed for the offer; nil where nothing is
	Server    string   // where tokens are had; empty for nowhere
	Reporting []Demand // the demands of the offer
	Unmet     *Demand  // the first of them that cannot be met
	Duties    []string // set where Outcome is Allow
	Standards []string // the standard licences that the offer is by
}

func (v Verdict) refuse(reason string) Verdict {
	v.Outcome, v.Reason = Refuse, reason
	return v
}

// RuleAll rules each different selection for one page, and the strictest holds
// (T84): the first that refuses, else one that says nothing, else an allowance.
// A selection that is unread refuses.
func (d *Document) RuleAll(s Selection, use string, op Operator) Verdict {
	if s.Unread != "" {
		return Verdict{}.refuse(ReasonUnread)
	}
	var strictest Verdict
	for i, entries := range s.Governs {
		v := d.Rule(entries, use, op)
		if v.Outcome == Refuse {
			return v
		}
		if i == 0 || strictest.Outcome == Allow && v.Outcome == Unknown {
			strictest = v
		}
	}
	return strictest
}

// Rule says what entries, one list of a Selection, come to for use: ai-input,
// ai-train, ai-index or search (T85 to T93).
func (d *Document) Rule(entries []int, use string, op Operator) Verdict {
	var v Verdict
	encrypted := false
	for _, e := range entries {
		encrypted = encrypted || d.Entries[e].Encrypted
		if v.Server == "" {
			v.Server = d.Entries[e].Server
		}
	}
	w := wordsFor(use)
	licences, named := 0, false
	for number, licence := range d.licences(entries) {
		p, x := licence.permits.rank(w), licence.prohibits.rank(w)
		if x > 0 && x >= p {
			v.Prohibits = append(v.Prohibits, number)
		}
		licences, named = number, named || p > 0
	}
	if len(v.Prohibits) > 0 {
		return v.refuse(ReasonProhibits)
	}
	var offer *Licence
	if licences > 0 {
		var offers int
		offer, offers = d.take(&v, entries, w, named, op)
		switch {
		case offers == 0:
			return v.refuse(ReasonNotListed)
		case offer == nil:
			return v.refuse(ReasonRestricted)
		}
	}
	return v.conclude(offer, encrypted, op)
}

// licences yields the licences of entries with their numbers (T81).
func (d *Document) licences(entries []int) iter.Seq2[int, *Licence] {
	return func(yield func(int, *Licence) bool) {
		number := 0
		for _, e := range entries {
			licences := d.Entries[e].Licences
			for i := range licences {
				number++
				if !yield(number, &licences[i]) {
					return
				}
			}
		}
	}
}

// take finds the offers and the one that is taken: the first free one whose
// conditions the operator meets, else the first such (T86 to T90). It is nil if
// there is none.
func (d *Document) take(v *Verdict, entries []int, w useWords, named bool, op Operator) (taken *Licence, offers int) {
	for number, licence := range d.licences(entries) {
		if licence.permits.rank(w) == 0 && (named || licence.listed) {
			continue
		}
		offers++
		if !licence.who.metBy(op) {
			v.Restricted = append(v.Restricted, number)
			continue
		}
		if taken == nil || licence.owed() == nil && taken.owed() != nil {
			taken, v.Offer = licence, number
		}
	}
	return taken, offers
}

// conclude rules what stands between an offer and the page (T90 to T93). offer
// is nil where the entries have no licence at all.
func (v Verdict) conclude(offer *Licence, encrypted bool, op Operator) Verdict {
	if offer != nil {
		v.Payment, v.Reporting, v.Standards = offer.owed(), offer.Reporting, offer.Standards
		v.Unmet = op.unmet(offer.Reporting)
	}
	switch {
	case v.Payment != nil:
		return v.refuse(ReasonPayment)
	case encrypted:
		return v.refuse(ReasonEncrypted)
	case v.Server != "":
		return v.refuse(ReasonToken)
	case v.Unmet != nil:
		return v.refuse(ReasonReporting)
	case offer != nil:
		v.Outcome, v.Duties = Allow, offer.duties()
	}
	return v
}

// unmet returns the first demand whose profile op does not meet (T92).
func (op Operator) unmet(demands []Demand) *Demand {
	for i := range demands {
		if p := demands[i].Profile; p == "" || !slices.Contains(op.Reporting, p) {
			return &demands[i]
		}
	}
	return nil
}
