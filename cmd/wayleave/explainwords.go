package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// explanation puts a ruling and the terms it was made on into the form of A11.
func explanation(purposes []rulings.Purpose, r rulings.Ruling, known rulings.Terms) admin.Explanation {
	e := admin.Explanation{Outcome: rulings.Proceed.String(), Purposes: purposeNames(purposes), Terms: termsOf(known, r.Term)}
	e.Effective = map[string]string{}
	for _, p := range purposes {
		e.Effective[string(p)] = r.Effective.For(p).String()
	}
	for _, s := range r.Statements {
		e.Statements = append(e.Statements, admin.Statement{Source: string(s.Source), Category: s.Category, Preference: s.Preference.String(), Line: s.Line})
	}
	for _, l := range r.Licences {
		e.Licences = append(e.Licences, admin.Licence{
			URL: l.URL, Mechanism: string(l.Mechanism), Entry: l.Entry, Offer: l.Offer, RefusedBy: string(l.RefusedBy),
			Payment: strings.Join(strings.Fields(l.Payment.Type+" "+l.Payment.Amount+" "+l.Payment.Currency), " "),
		})
	}
	for _, g := range r.Gaps {
		e.Gaps = append(e.Gaps, admin.Gap(g))
	}
	if !r.Refused() {
		return e
	}
	e.Outcome, e.Reason, e.Whose = rulings.Refuse.String(), string(r.Reason), string(r.WhoseTerm())
	e.Status, e.RetryAt, e.Detail, e.Purpose = r.Reason.Facts().Status, r.RetryAt, r.Detail, string(r.Purpose)
	e.Change = wouldChange(r)
	return e
}

// tellBreaches adds what the ruling found to break policy, and what becomes of that.
func tellBreaches(e *admin.Explanation, policy *rulings.Policy, r rulings.Ruling) {
	if policy == nil {
		return
	}
	e.Mode = string(policy.Mode)
	for _, b := range r.Breaches {
		e.Breaches = append(e.Breaches, admin.Breach{Reason: b.Reason, Detail: b.Detail})
	}
}

func purposeNames(purposes []rulings.Purpose) (names []string) {
	for _, p := range purposes {
		names = append(names, string(p))
	}
	return names
}

// wouldChange says what would change a refusal, in the operator's or the source's
// hands.
func wouldChange(r rulings.Ruling) string {
	switch r.Reason {
	case rulings.RobotsDisallow:
		return "The site's robots.txt would have to allow the path for this token; other paths may be allowed already."
	case rulings.RobotsUnreachable, rulings.RobotsCutShort, rulings.LicenceCutShort, rulings.UndecidedReason:
		return "Asking again later: the answer hangs on terms that could not be read now."
	case rulings.LicenceUnread:
		if r.RetryAt.IsZero() {
			return "The site would have to name licences that can be asked for, and no more than are read."
		}
		return "The site's licence would have to be readable; it is asked for again when its time is over."
	case rulings.PathReadings:
		return "A plainer spelling of the path."
	case rulings.ContentUsage, rulings.ContentSignal, rulings.AITrainingRule, rulings.TDMReserved, rulings.NoAI,
		rulings.LicenceProhibits, rulings.LicenceNotListed:
		return "The site would have to permit the purpose " + string(r.Purpose) + ", or policy.purposes would have to be without it, because the agent does not serve it."
	case rulings.LicenceRestricted:
		return "policy.terms.user_classes and policy.terms.country, where they are true of the operator, may meet the condition."
	case rulings.LicencePayment, rulings.LicenceToken, rulings.LicenceEncrypted:
		return "An agreement with the site: the edge makes no payment and holds no licence token."
	case rulings.LicenceReporting:
		return "policy.terms.reporting" + demanded(r) + ", where the operator does make the reports."
	case rulings.SpendNotAllowed:
		return "policy.spend would have to let this agent spend at this host, or the request would have to be without the field."
	case rulings.PrivateAddress:
		return "policy.allow_private would have to list the host or its prefix."
	case rulings.TunnelNotListed:
		return "connect_ports would have to list the port, or policy.tunnels the host of what is neither TLS nor HTTP."
	case rulings.CrawlDelay, rulings.Backoff:
		return "Asking again later: the host sets its pace, and nothing lifts it; pacing.max_wait says how long a request may wait for it."
	case rulings.PacingStore:
		return "The pacing state would have to be usable again."
	}
	return policyWouldChange[r.Reason]
}

// policyWouldChange says what would lift a rule of the operator's policy. What a
// body comes to refuses no question that is asked beforehand, and a record that is
// looked at.
var policyWouldChange = map[rulings.Reason]string{
	rulings.PolicyUnavailable:      "The section policy of the configuration would have to load; wayleave policy check lists what is wrong with it.",
	rulings.HostDenied:             "policy.hosts.deny would have to be without the pattern: nothing else passes it.",
	rulings.HostNotAllowed:         "policy.hosts.allow would have to list the host, or a rule of policy.hosts.rules to allow it.",
	rulings.HostRuleRefuses:        "The first rule of policy.hosts.rules that matches the host would have to be another.",
	rulings.LicenceRequired:        "policy.required_licence, or the rule of policy.hosts.rules for the host, would have to name the licence that governs the page or its standard.",
	rulings.AllowanceExhausted:     "The next period, or a larger amount in policy.allowances.",
	rulings.AllowanceUnenforceable: "The service would have to have a price in the allowance's currency, each answer to name its charge where the price is reported, and the ledger to be readable; else the next period.",
	rulings.BodyCap:                "A smaller answer, such as a part of it, or a larger policy.caps.body_bytes.",
	rulings.ContextBudget:          "A smaller answer, another session, or a larger policy.caps.context_bytes.",
	rulings.NoText:                 "policy.caps.context_bytes would have to be left out: where context is counted, an answer has to have text.",
	rulings.InjectionScreen:        "Another mode than strict carries it, and the record says where the text stands; policy.screens.exempt lets whole media types pass unscreened.",
	rulings.PIIFound:               "Nothing: it is recorded in every mode and refuses in none.",
	rulings.Unscreened:             "Another mode than strict carries it; policy.screens.exempt lists media types that need no screen, and policy.screens.limit_bytes is how much is read.",
	rulings.Offline:                "The edge would have to be started without --offline, or policy.allow_private to name the host.",
	rulings.NotRecorded:            "A recording that has an answer to this request.",
}

// demanded names the reports that licences demand and refuse for.
func demanded(r rulings.Ruling) string {
	var profiles []string
	for i := range r.Licences {
		if l := &r.Licences[i]; l.RefusedBy == rulings.LicenceReporting {
			profiles = append(profiles, l.Reporting...)
		}
	}
	if len(profiles) == 0 {
		return ""
	}
	return " with " + strings.Join(profiles, ", ")
}

// unheld is the answer that hangs on terms nobody may ask for now.
func unheld(purposes []rulings.Purpose, o hostkey.Origin, known rulings.Terms, missing []rulings.Need) admin.Explanation {
	e := admin.Explanation{Purposes: purposeNames(purposes), Terms: termsOf(known, rulings.TermRef{})}
	var names []string
	for _, t := range unheldTerms(o, missing) {
		e.Terms, names = append(e.Terms, t), append(names, t.URL)
	}
	e.Detail = "not held, and to be asked for first: " + strings.Join(names, ", ")
	return e
}

// unheldTerms lists what would have to be asked for.
func unheldTerms(o hostkey.Origin, missing []rulings.Need) (list []admin.Term) {
	for _, n := range missing {
		t := admin.Term{Kind: n.Kind, Mechanism: n.Mechanism, URL: n.URL}
		switch n.Kind {
		case rulings.TermRobots:
			t.URL = o.String() + "/robots.txt"
		case rulings.TermTDM:
			t.URL = o.String() + rulings.TDMPath
		}
		list = append(list, t)
	}
	return list
}

// termsOf lists what was ruled on, in order; decided points into the term that
// refused.
func termsOf(known rulings.Terms, decided rulings.TermRef) (list []admin.Term) {
	if known.Robots.URL == "" {
		return nil
	}
	add := func(t rulings.Term) {
		term := admin.Term{
			Kind: t.Kind, Mechanism: t.Mechanism, URL: t.URL, FinalURL: t.FinalURL, Status: t.Status, Outcome: t.Outcome, Cause: t.Cause, Cache: t.Cache,
			FetchedAt: instant(t.FetchedAt), ExpiresAt: instant(t.ExpiresAt), Object: t.Object.String(),
		}
		if decided.Object == t.Object {
			term.Line, term.Entry = decided.Line, decided.Entry
		}
		list = append(list, term)
	}
	add(known.Robots.Term)
	for _, l := range known.Licences {
		add(l.Term)
	}
	if known.TDM != nil {
		add(known.TDM.Term)
	}
	return list
}

// instant is t in the form records have (E8): UTC, to the millisecond.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// A told is text for a person at a terminal.
type told struct{ strings.Builder }

// line adds a line. Whatever a site chose of it does nothing to the terminal.
func (t *told) line(format string, args ...any) {
	for _, r := range fmt.Sprintf(format, args...) {
		if unicode.IsPrint(r) {
			t.WriteRune(r)
		} else {
			t.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	t.WriteByte('\n')
}

// inWords tells an explanation to a person.
func inWords(e admin.Explanation) string {
	var b told
	b.line("%s", outcomeInWords(e))
	if e.Detail != "" {
		b.line("%s", e.Detail)
	}
	for _, t := range e.Terms {
		if t.Outcome == "" {
			continue
		}
		b.line("ruled on %s (%s, %s%s)", t.URL, found(t), t.Cache, since(t))
		if t.FinalURL != "" {
			b.line("  found at %s", t.FinalURL)
		}
	}
	for _, breach := range e.Breaches {
		b.line("breaks policy, which mode %s carries: %s: %s", e.Mode, breach.Reason, breach.Detail)
	}
	b.stated(e.Statements, e.Licences)
	for _, p := range e.Purposes {
		if word := e.Effective[p]; word != "" && len(e.Terms) > 0 {
			b.line("purpose %s: %s", p, word)
		}
	}
	b.unknown(e.Gaps)
	b.paced(e.Pacing)
	if e.Change != "" {
		b.line("what would change it: %s", e.Change)
	}
	if !e.RetryAt.IsZero() {
		b.line("ask again after %s", rulings.WholeSecond(e.RetryAt).UTC().Format(time.RFC3339))
	}
	return b.String()
}

func outcomeInWords(e admin.Explanation) string {
	switch {
	case e.Outcome == rulings.Proceed.String() && len(e.Breaches) > 0:
		return e.Outcome + ", in breach of policy"
	case e.Outcome == "":
		return "undecided"
	case e.Reason == "":
		return e.Outcome
	}
	return fmt.Sprintf("%s %s (%s, %d)", e.Outcome, e.Reason, e.Whose, e.Status)
}

// stated tells what was said of purposes.
func (t *told) stated(statements []admin.Statement, licences []admin.Licence) {
	for _, s := range statements {
		t.line("stated: %s %s: %s%s", s.Source, s.Category, s.Preference, atLine(s.Line))
	}
	for i, l := range licences {
		t.line("licence %d: %s", i+1, licenceInWords(l))
	}
}

func (t *told) unknown(gaps []admin.Gap) {
	for _, g := range gaps {
		t.line("not known: %s (%s)", g.Detail, g.Reason)
	}
}

// found is the outcome of t with the reason for it.
func found(t admin.Term) string {
	if t.Cause == "" {
		return string(t.Outcome)
	}
	return string(t.Outcome) + ": " + t.Cause
}

func atLine(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d of robots.txt)", line)
}

func licenceInWords(l admin.Licence) string {
	var b strings.Builder
	switch {
	case l.URL != "":
		fmt.Fprintf(&b, "%s, named by %s", l.URL, l.Mechanism)
	case l.Mechanism == string(rulings.Inline):
		b.WriteString("in the page")
	default:
		fmt.Fprintf(&b, "of no URL that can be asked, named by %s", l.Mechanism)
	}
	if l.Entry > 0 {
		fmt.Fprintf(&b, ", entry %d", l.Entry)
	} else if l.RefusedBy == "" {
		b.WriteString(", says nothing of this page")
	}
	if l.Offer > 0 {
		fmt.Fprintf(&b, ", offer %d", l.Offer)
	}
	if l.Payment != "" {
		fmt.Fprintf(&b, ", payment %s", l.Payment)
	}
	if l.RefusedBy != "" {
		fmt.Fprintf(&b, ": refuses (%s)", l.RefusedBy)
	}
	return b.String()
}

// since tells when a term was fetched and until when it counts.
func since(t admin.Term) string {
	var b strings.Builder
	if !t.FetchedAt.IsZero() {
		fmt.Fprintf(&b, " %s", t.FetchedAt.UTC().Format(time.RFC3339))
	}
	if !t.ExpiresAt.IsZero() {
		fmt.Fprintf(&b, ", until %s", t.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return b.String()
}
