package rulings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/rsl"
)

// A Licence is an RSL document, read and with its patterns compiled once for all
// pages that are ruled on it. It never changes.
type Licence struct {
	doc   *rsl.Document
	index *rsl.Index
}

// ParseLicence reads an RSL document (specs: terms T71 to T76). Cause says why
// it cannot be read and is empty when it can.
func ParseLicence(body []byte) (*Licence, Cause) {
	doc, err := rsl.Parse(body)
	if err != nil {
		fault, ok := errors.AsType[*rsl.Fault](err)
		if !ok {
			return nil, CauseXML
		}
		return nil, Cause(fault.Cause)
	}
	return &Licence{doc, doc.Index(rsl.Paths{Compile: compilePattern, Origin: spellOrigin})}, ""
}

func compilePattern(text string) rsl.Pattern {
	p := robots.Compile(text)
	return &p
}

// spellOrigin returns the spelling in which origins are compared (T13).
func spellOrigin(scheme, authority string) (string, bool) {
	o, err := hostkey.ParseOrigin(scheme, authority)
	if err != nil {
		return "", false
	}
	return o.String(), true
}

// selects returns the entries that govern the page: one list for each different
// selection of its readings (T84).
func (l *Licence) selects(o hostkey.Origin, page *robots.Page) (governs [][]int, unread Cause) {
	s := l.index.Select(o.String(), page.Readings())
	return s.Governs, Cause(s.Unread)
}

// A verdict is what a licence comes to for one purpose.
type verdict struct {
	preference Preference
	reason     Reason // of a Disallow
	rule       rsl.Verdict
	entry      int // the first entry of the selection that decided, from 1
}

// rule rules every purpose over every selection; the strictest holds.
func (l *namedLicence) rule(op rsl.Operator) {
	for i, purpose := range purposes {
		l.verdicts[i] = verdict{}
		for _, entries := range l.selected {
			v := l.licence.doc.Rule(entries, string(purpose), op)
			next := verdict{rule: v, entry: entries[0] + 1}
			switch v.Outcome {
			case rsl.Allow:
				next.preference = Allow
			case rsl.Refuse:
				next.preference, next.reason = Disallow, Reason(v.Reason)
			}
			if l.verdicts[i].entry == 0 || next.stricter(l.verdicts[i]) {
				l.verdicts[i] = next
			}
		}
	}
}

// stricter reports whether v binds before w: what refuses before what says
// nothing, and that before what allows.
func (v verdict) stricter(w verdict) bool {
	rank := func(p Preference) int { return slices.Index([]Preference{Allow, Unknown, Disallow}, p) }
	return cmp.Compare(rank(v.preference), rank(w.preference)) > 0
}

// record returns what goes into the record of the licence, by its verdict for the
// first declared purpose.
func (l *namedLicence) record(purpose Purpose) LicenceRuling {
	r := LicenceRuling{URL: l.url, Mechanism: l.mechanism}
	for _, u := range l.licence.doc.NotUnderstood {
		r.Skipped = append(r.Skipped, u.Text)
	}
	for i := range l.verdicts {
		r.Says[i] = l.verdicts[i].preference
	}
	if v := l.verdicts[max(purpose.index(), 0)]; v.entry > 0 {
		r.Entry, r.Offer, r.Server, r.Duties = v.entry, v.rule.Offer, v.rule.Server, v.rule.Duties
		for _, demand := range v.rule.Reporting {
			r.Reporting = append(r.Reporting, demand.Profile)
		}
		if p := v.rule.Payment; p != nil {
			r.Payment = Payment{p.Type, p.Amount, p.Currency}
		}
	}
	return r
}

// refuseLicence refuses purpose for what v says (T85 to T92).
func (d *decision) refuseLicence(l *namedLicence, v verdict, record *LicenceRuling, purpose Purpose) bool {
	term := TermRef{Entry: v.entry}
	if l.found != nil {
		term.Object = l.found.Object
	} else if html := d.terms.Response; html != nil && html.HTML != nil {
		term.Object = html.HTML.Term.Object
	}
	d.point(purpose, term)
	detail := fmt.Sprintf("licence %d (%s, named by %s), entry %d, refuses %s: %s", l.position, cmp.Or(l.url, "in the page"), l.mechanism, v.entry, purpose, v.reason)
	if p := record.Payment; p.Type != "" && v.reason == LicencePayment {
		detail += fmt.Sprintf(" (%s %s %s)", p.Type, cmp.Or(p.Amount, "of an unknown amount"), p.Currency)
	}
	return d.refuse(v.reason, time.Time{}, detail, licenceWords(v.reason, Number(l.position), purpose))
}

// licenceWords tells the agent why a licence refuses, by its position alone: what
// it says was written by the source (T116).
func licenceWords(reason Reason, position Number, purpose Purpose) Words {
	switch reason {
	case LicenceProhibits:
		return Say("Licence % of this page prohibits the purpose %.", position, purpose)
	case LicenceNotListed:
		return Say("Licence % of this page does not list the purpose % among those it permits.", position, purpose)
	case LicenceRestricted:
		return Say("Licence % of this page offers the purpose % to others only: the operator is not shown to be among them.", position, purpose)
	case LicencePayment:
		return Say("Licence % of this page wants a payment for the purpose %, and the edge makes none.", position, purpose)
	case LicenceEncrypted:
		return Say("Licence % of this page covers encrypted content, for which the edge holds no key.", position)
	case LicenceToken:
		return Say("Licence % of this page has to be obtained from its server for the purpose %, and the edge holds no licence tokens.", position, purpose)
	case LicenceReporting:
		return Say("Licence % of this page demands reports for the purpose % that the operator does not make.", position, purpose)
	}
	return Say("Licence % of this page does not allow the purpose %.", position, purpose)
}
