package rulings

import (
	"fmt"
	"slices"
	"time"
)

// maxLicences is how many licences are read for one crossing; a further one is
// unread (T58).
const maxLicences = 8

// A LicenceRuling is what one document came to (E17).
type LicenceRuling struct {
	URL       string // empty for a document that stands in the page
	Mechanism Mechanism
	Entry     int // the first content entry that governs the page, from 1; 0 when none does
	Offer     int // the licence taken, from 1 across the entries; 0 when none is
	Payment   Payment
	Server    string
	Reporting []string
	Duties    []string
	RefusedBy Reason // of the first refused purpose; empty when none is
	Skipped   []string
	Says      Preferences
}

// A Payment is what an offer wants to be paid. The zero value is nothing; an
// amount that is not known is empty and never zero.
type Payment struct{ Type, Amount, Currency string }

// A namedLicence is a licence of a page on its way to a ruling.
type namedLicence struct {
	url       string
	mechanism Mechanism
	position  int // among the licences of the crossing, from 1
	found     *LicenceTerms
	licence   *Licence // nil when unread, missing or cut short
	unread    Cause
	selected  [][]int
	verdicts  [len(purposes)]verdict
}

// robotsLicences reads and rules the licences that robots.txt names (T56, T57),
// and then what the operator's own agreement with the source demands (T92).
func (d *decision) robotsLicences() bool {
	t := &d.terms.Robots
	urls, unread := t.Site.licences(d.policy.Identity.Tokens, d.req.UserAgent, d.base())
	if len(urls)+unread > 0 && d.licences(ByRobots, urls, unread, nil) {
		return true
	}
	profile, position := d.policy.demands(d.req.Origin.Host)
	if position == 0 {
		return false
	}
	if d.ruling.Reason == "" {
		d.ruling.Whose = WhoseOperator
	}
	return d.refuse(LicenceReporting, time.Time{},
		fmt.Sprintf("policy.terms.agreements %d with %s demands reporting by %s, which policy.terms.reporting does not list", position, d.req.Origin.Host, profile),
		Say("The operator's agreement with the site (%) demands reports that are not made.", Number(position)))
}

// licences rules the documents that one stage names: by URL, in order, and as
// documents that stand in the page. Unread counts those that are named so that
// nothing can be asked for. What could not be read comes first, because it
// concerns every purpose; then each purpose over each document (T9).
func (d *decision) licences(by Mechanism, urls []string, unread int, inline []InlineLicence) bool {
	list, needs := d.lookUp(by, urls)
	if len(needs) > 0 {
		return d.need(needs...)
	}
	for range unread {
		list = append(list, &namedLicence{mechanism: by, position: d.position(list), unread: CauseScheme})
	}
	for i := range inline {
		list = append(list, &namedLicence{mechanism: Inline, position: d.position(list), licence: inline[i].Licence, unread: inline[i].Unread})
	}
	for _, l := range list {
		d.choose(l)
	}
	for _, l := range list {
		if l.licence == nil && d.refuseUnread(l) {
			return true
		}
	}
	return d.ruleStage(list)
}

// lookUp returns what was found of each URL that no earlier stage named, or what
// has to be looked up.
func (d *decision) lookUp(by Mechanism, urls []string) (list []*namedLicence, needs []Need) {
	for _, u := range urls {
		if slices.Contains(d.named, u) {
			continue // read once, and ruled where it was first named (T68)
		}
		d.named = append(d.named, u)
		l := &namedLicence{url: u, mechanism: by, position: len(d.named)}
		if list = append(list, l); len(d.named) > maxLicences {
			l.unread = CauseTooMany
			continue
		}
		if l.found = d.terms.licence(l.position, u); l.found == nil {
			needs = append(needs, Need{TermLicence, u, by})
			continue
		}
		l.licence, l.unread = l.found.Licence, l.found.Unread
	}
	return list, needs
}

// position is that of the licence that comes behind list.
func (d *decision) position(list []*namedLicence) int {
	if len(list) == 0 {
		return len(d.named) + 1
	}
	return list[len(list)-1].position + 1
}

// licence returns what was found of the licence that was named as the one at
// position, from 1; nil when nobody has looked. Licences are looked up in the
// order in which they are named, so that a record in which values of a URL stand
// replaced still tells which is which.
func (t *Terms) licence(position int, url string) *LicenceTerms {
	if position > len(t.Licences) {
		return nil
	}
	if l := &t.Licences[position-1]; l.URL == url || l.Replaced {
		return l
	}
	return nil
}

// choose finds the entries of l that govern the page (T78 to T84).
func (d *decision) choose(l *namedLicence) {
	if l.licence == nil {
		return
	}
	l.selected, l.unread = l.licence.selects(d.req.Origin, d.page)
	if l.unread != "" {
		l.licence = nil
	}
}

// refuseUnread refuses for a licence that could not be read (T63, T69). One that
// is missing binds nobody and leaves a gap.
func (d *decision) refuseUnread(l *namedLicence) bool {
	t := l.found
	switch {
	case t == nil, l.unread != "":
	case t.Outcome == TermMissing:
		d.gap(GapLicenceMissing, fmt.Sprintf("%s was answered with status %d", l.url, t.Status))
		return false
	case t.Outcome == TermCutShort && t.Barred != "":
		return d.refuse(t.Barred, time.Time{}, fmt.Sprintf("licence %d (%s) was not asked for: %s", l.position, l.url, t.Cause),
			Say("The edge is kept from asking for licence % of this page.", Number(l.position)))
	case t.Outcome == TermCutShort:
		return d.refuse(LicenceCutShort, time.Time{}, fmt.Sprintf("the edge could not ask for licence %d (%s): %s", l.position, l.url, t.Cause),
			Say("The edge could not ask for licence % of this page. The fault is the edge's; ask again.", Number(l.position)))
	}
	d.ruling.Licences = append(d.ruling.Licences, LicenceRuling{URL: l.url, Mechanism: l.mechanism, RefusedBy: LicenceUnread})
	var retryAt time.Time
	detail := fmt.Sprintf("licence %d (%s, named by %s) is unread: %s", l.position, l.url, l.mechanism, l.unread)
	if t != nil {
		retryAt = t.ExpiresAt
		d.point("", TermRef{Object: t.Object})
		if t.Cause != "" {
			detail = fmt.Sprintf("licence %d (%s, named by %s) is unread: %s", l.position, l.url, l.mechanism, t.Cause)
		}
	}
	if retryAt.IsZero() {
		return d.refuse(LicenceUnread, retryAt, detail, Say("Licence % of this page could not be read (%), so it cannot be kept.", Number(l.position), l.unread))
	}
	return d.refuse(LicenceUnread, retryAt, detail,
		Say("Licence % of this page could not be read (%), so it cannot be kept. Ask again after %.", Number(l.position), l.unread, Instant(retryAt)))
}

// ruleStage refuses the first declared purpose that a document of list refuses,
// and adds to the pool what the documents say.
func (d *decision) ruleStage(list []*namedLicence) bool {
	list = slices.DeleteFunc(list, func(l *namedLicence) bool { return l.licence == nil })
	first := len(d.ruling.Licences)
	operator := d.policy.licensee(d.req.Origin.Host)
	for _, l := range list {
		if l.rule(operator); l.found != nil && l.found.OverHTTP {
			d.gap(GapLicenceOverHTTP, fmt.Sprintf("%s came over http", l.url))
		}
		record := l.record(d.purposes[0])
		d.ruling.Effective.Pool(record.Says)
		d.ruling.Licences = append(d.ruling.Licences, record)
	}
	var refused bool
	for _, purpose := range d.purposes {
		for i, l := range list {
			v := l.verdicts[max(purpose.index(), 0)]
			record := &d.ruling.Licences[first+i]
			if v.preference != Disallow || record.RefusedBy != "" {
				continue
			}
			record.RefusedBy = v.reason // every refusing term is recorded; the first gives the reason
			refused = refused || d.refuseLicence(l, v, record, purpose)
		}
	}
	return refused
}
