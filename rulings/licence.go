package rulings

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
	"github.com/wayleave/wayleave/rulings/rsl"
)

// A Licence is an RSL document, read and with its patterns compiled once for all
// pages that are ruled on it. It never changes.
type Licence struct {
	doc     *rsl.Document
	index   *rsl.Index
	skipped []string // what was not understood, for the record
}

// LicenceFault says in our own words what keeps body from being read as a licence,
// and at which octet (specs: terms T71); empty when nothing does.
func LicenceFault(body []byte) string {
	_, err := rsl.Parse(body)
	if fault, ok := errors.AsType[*rsl.Fault](err); ok {
		return fmt.Sprintf("%s at octet %d", fault.Kind, fault.Offset)
	}
	return ""
}

// ParseLicence reads an RSL document (specs: terms T71 to T76). Cause says why
// it cannot be read and is empty when it can; LicenceFault tells more of it.
func ParseLicence(body []byte) (*Licence, Cause) {
	doc, err := rsl.Parse(body)
	if err != nil {
		fault, ok := errors.AsType[*rsl.Fault](err)
		if !ok {
			return nil, CauseXML
		}
		return nil, Cause(fault.Cause)
	}
	l := &Licence{doc: doc, index: doc.Index(rsl.Paths{Compile: compilePattern, Origin: spellOrigin})}
	for _, remark := range doc.NotUnderstood {
		l.skipped = append(l.skipped, remark.Text)
	}
	return l, ""
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

// A LicenceRuling is what one licence of a page came to (E17). A ruling has one
// for each that is named, so that its place is the number the agent is told.
type LicenceRuling struct {
	URL       string // empty for a document that stands in the page, or that nothing can be asked for
	Mechanism Mechanism
	RefusedBy Reason      // of the first declared purpose that it refuses; empty when it refuses none
	Skipped   []string    // what in it was not understood
	Says      Preferences // of the declared purposes

	// What it came to for the purpose that it refuses, else for the first that is
	// declared.
	Entry      int   // the first content entry that governs the page, from 1; 0 when none does
	Offer      int   // the licence taken, from 1 across the entries; 0 when none is
	Restricted []int // the offers whose conditions the operator is not shown to meet (T88)
	Payment    Payment
	Server     string
	Reporting  []string
	Duties     []string
	Standards  []string // URLs of the standard licences that the offer is by
}

// A Payment is what an offer wants to be paid. The zero value is nothing; an
// amount that is not known is empty and never zero.
type Payment struct{ Type, Amount, Currency string }

// take fills in what the licence came to by v.
func (r *LicenceRuling) take(v *verdict) {
	r.Entry, r.Offer, r.Server, r.Duties, r.Standards = v.entry, v.rule.Offer, v.rule.Server, v.rule.Duties, v.rule.Standards
	r.Restricted = v.rule.Restricted
	r.Payment, r.Reporting = Payment{}, nil
	if p := v.rule.Payment; p != nil {
		r.Payment = Payment{p.Type, p.Amount, p.Currency}
	}
	for _, demand := range v.rule.Reporting {
		r.Reporting = append(r.Reporting, demand.Profile)
	}
}

// A verdict is what a licence comes to for one purpose. Its zero value is that no
// entry governs the page.
type verdict struct {
	preference Preference
	reason     Reason // of a Disallow
	rule       rsl.Verdict
	entry      int // the first entry of the selection that decided, from 1
}

// An offer is what a licence that governs a page offers for one purpose.
type offer struct {
	licence   int      // its number among those of the page, from 1
	taken     bool     // false: it states nothing for the purpose
	standards []string // URLs of the standard licences that the offer is by
}

// rule rules each of purposes over every selection; the strictest holds (T84).
func (l *namedLicence) rule(purposes []Purpose, op rsl.Operator) {
	l.verdicts = make([]verdict, len(purposes))
	for i, purpose := range purposes {
		for n, entries := range l.selected {
			v := verdict{rule: l.licence.doc.Rule(entries, string(purpose), op), entry: entries[0] + 1}
			switch v.rule.Outcome {
			case rsl.Allow:
				v.preference = Allow
			case rsl.Refuse:
				v.preference, v.reason = Disallow, Reason(v.rule.Reason)
			}
			l.offers = append(l.offers, offer{l.number, v.rule.Offer > 0, v.rule.Standards})
			if n == 0 || strictness[v.preference] > strictness[l.verdicts[i].preference] {
				l.verdicts[i] = v
			}
		}
	}
}

// strictness orders what one document says of the readings of a page: it allows
// only what it allows on all of them.
var strictness = [...]int{Allow: 0, Unknown: 1, Disallow: 2}

// refusePurpose refuses purpose if v does (T85 to T92).
func (d *decision) refusePurpose(l *namedLicence, v *verdict, purpose Purpose) bool {
	record := d.record(l)
	if v.preference != Disallow || record.RefusedBy != "" {
		return false
	}
	record.take(v)
	record.RefusedBy = v.reason
	d.point(purpose, TermRef{Object: d.objectOf(l), Entry: v.entry})
	detail := fmt.Sprintf("licence %d (%s, named by %s), entry %d, refuses %s: %s", l.number, cmp.Or(l.url, "in the page"), l.mechanism, v.entry, purpose, v.reason)
	if p := record.Payment; v.reason == LicencePayment {
		detail += fmt.Sprintf(" (%s, %s)", cmp.Or(p.Type, "of no type"), cmp.Or(strings.TrimSpace(p.Amount+" "+p.Currency), "of an unknown amount"))
	}
	return d.refuse(v.reason, time.Time{}, detail, licenceWords(v.reason, Number(l.number), purpose))
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
