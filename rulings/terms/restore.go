package terms

import (
	"errors"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// ErrNotKept is the error of Restore for terms whose octets were not kept.
var ErrNotKept = errors.New("the octets of the term were not kept")

// NeedsObject reports whether the octets of t's object rule. Those of a document
// that is unread do not: that it is, and why, is part of t.
func NeedsObject(t rulings.Term) bool {
	return t.Outcome == rulings.TermRead || t.Cache == rulings.CacheHeld && t.Object != (rulings.Digest{})
}

// Restore returns the terms that the book had given for a recorded term: it is
// what makes a ruling from an old log again (E82). Site is the parsed object; it
// is looked at only where NeedsObject says so, and is nil where t names none.
func Restore(t rulings.Term, site *rulings.Site) (rulings.RobotsTerms, error) {
	switch {
	case NeedsObject(t):
		if site == nil {
			return rulings.RobotsTerms{}, ErrNotKept
		}
		return rulings.RobotsTerms{Term: t, Site: site}, nil
	case t.Outcome == rulings.TermNoRules:
		return rulings.RobotsTerms{Term: t, Site: noRules}, nil
	case t.Cache != rulings.CacheHeld:
		return rulings.RobotsTerms{Term: t, Barred: barredBy(t)}, nil
	case t.Status >= 400 && t.Status <= 499:
		return rulings.RobotsTerms{Term: t, Site: noRules}, nil // the held copy said that nothing is stated
	}
	return rulings.RobotsTerms{}, ErrNotKept
}

// RestoreLicence is Restore for a recorded licence of a page on the origin page;
// licence is its parsed object.
func RestoreLicence(t rulings.Term, page hostkey.Origin, licence *rulings.Licence) (rulings.LicenceTerms, error) {
	f := found{Term: t, barred: barredBy(t)}
	if NeedsObject(t) {
		if licence == nil {
			return rulings.LicenceTerms{}, ErrNotKept
		}
		f.licence = licence
	}
	return f.licenceTerms(rulings.Need{Kind: t.Kind, URL: t.URL, Mechanism: t.Mechanism}, page), nil
}

// RestoreTDM is Restore for a recorded tdmrep.json; file is its parsed object.
func RestoreTDM(t rulings.Term, file *rulings.TDMFile) (rulings.TDMTerms, error) {
	f := found{Term: t}
	if NeedsObject(t) {
		if file == nil {
			return rulings.TDMTerms{}, ErrNotKept
		}
		f.tdm = file
	}
	return f.tdmTerms(), nil
}

// barredBy reads back why the edge was kept from asking: the reason stands at
// the end of the cause (answer.cause).
func barredBy(t rulings.Term) rulings.Reason {
	if t.Outcome != rulings.TermCutShort {
		return ""
	}
	return reasonIn(t.Cause)
}

// reasonIn returns the reason that ends a cause, empty for none.
func reasonIn(cause string) rulings.Reason {
	open := strings.LastIndexByte(cause, '(')
	if open < 0 || !strings.HasSuffix(cause, ")") {
		return ""
	}
	reason := rulings.Reason(cause[open+1 : len(cause)-1])
	if reason.Facts() == rulings.UndecidedReason.Facts() {
		return "" // no reason, such as "redirect 3"
	}
	return reason
}
