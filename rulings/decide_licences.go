package rulings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wayleave/wayleave/rulings/robots"
)

// maxLicences is how many licences are read for one crossing; a further one is
// unread (T58).
const maxLicences = 8

// A namedLicence is a licence of a page on its way to a ruling.
type namedLicence struct {
	url       string // empty where nothing can be asked for
	mechanism Mechanism
	found     *LicenceTerms // nil where nothing was asked for
	licence   *Licence      // nil when unread, missing or cut short
	unread    Cause
	fault     string // what more is known of that; empty where found says it

	number   int       // among the licences of the page, from 1
	selected [][]int   // the entries that govern the page, for each selection
	verdicts []verdict // for each declared purpose
	offers   []offer   // for each declared purpose and selection
}

// robotsLicences rules the licences that robots.txt names (T56, T57), and then
// what the operator's own agreement with the source demands (T92).
func (d *decision) robotsLicences() bool {
	t := &d.terms.Robots
	if t.Site.States(robots.License) {
		list, needs := d.lookUp(namedAt(ByRobots, t.Site.licences(d.selection, t.FinalURL, d.req.Origin)))
		if len(needs) > 0 {
			return d.need(needs...)
		}
		if d.ruleLicences(list) {
			return true
		}
	}
	return d.agreement()
}

// agreement rules the demand of the operator's agreement with the source as that
// of a licence is ruled (T92).
func (d *decision) agreement() bool {
	profile, number := d.policy.demands(d.req.Origin.Host)
	if number == 0 {
		return false
	}
	if d.ruling.Reason == "" {
		d.ruling.Whose = WhoseOperator
	}
	return d.refuse(LicenceReporting, time.Time{},
		fmt.Sprintf("policy.terms.agreements %d with %s demands reporting by %s, which policy.terms.reporting does not list", number, d.req.Origin.Host, profile),
		Say("The operator's agreement with the site (%) demands reports that are not made.", Number(number)))
}

// namedAt returns the licences that are named at urls, where an empty one is
// nothing that can be asked for.
func namedAt(by Mechanism, urls []string) []namedLicence {
	list := make([]namedLicence, 0, len(urls))
	for _, u := range urls {
		l := namedLicence{url: u, mechanism: by}
		if u == "" {
			l.unread = CauseScheme
		}
		list = append(list, l)
	}
	return list
}

// lookUp returns the licences with what was found of each URL that no earlier
// stage named, or what has to be looked up. Those without a URL stay as they are.
func (d *decision) lookUp(named []namedLicence) (list []namedLicence, needs []Need) {
	list = named[:0]
	paced := false
	for _, l := range named {
		switch {
		case l.url == "":
			list = append(list, l)
			continue
		case paced, slices.Contains(d.named, l.url):
			continue // read once, and ruled where it was first named (T68)
		}
		d.named = append(d.named, l.url)
		if len(d.named) > maxLicences {
			l.unread = CauseTooMany
		} else if l.found = d.terms.licence(len(d.named), l.url); l.found == nil {
			needs = append(needs, Need{TermLicence, l.url, l.mechanism})
		} else if l.unread = l.found.Unread; l.found.Outcome == TermRead {
			l.licence = l.found.Licence
		}
		list = append(list, l)
		// It refuses, and what is named behind it is not asked for (P14).
		paced = l.found != nil && l.found.Barred.Paces()
	}
	return list, needs
}

// unasked returns count licences like l, for which nothing can be asked. No more of
// them are listed than could be read.
func unasked(l namedLicence, count int) []namedLicence {
	return slices.Repeat([]namedLicence{l}, min(count, maxLicences+1))
}

// licence returns what was found of the licence that was looked up as the one at
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

// ruleLicences rules the documents that one stage names. What could not be read
// comes first, because it concerns every purpose; then each purpose over each
// document. All that refuse are recorded; the first gives the reason (T9).
func (d *decision) ruleLicences(list []namedLicence) (ended bool) {
	if len(list) == 0 {
		return false
	}
	origin := d.req.Origin.String()
	for i := range list {
		l := &list[i]
		d.ruling.Licences = append(d.ruling.Licences, LicenceRuling{URL: l.url, Mechanism: l.mechanism})
		l.number = len(d.ruling.Licences)
		l.choose(origin, d.page)
	}
	for i := range list {
		if l := &list[i]; l.licence == nil && d.refuseUnread(l) {
			ended = true
		}
	}
	d.weigh(list)
	for p, purpose := range d.purposes {
		for i := range list {
			if l := &list[i]; l.licence != nil && d.refusePurpose(l, &l.verdicts[p], purpose) {
				ended = true
			}
		}
	}
	return ended
}

// choose finds the entries of l that govern the page of an origin, one list for
// each different selection of its readings (T78 to T84).
func (l *namedLicence) choose(origin string, page *robots.Page) {
	if l.licence == nil {
		return
	}
	s := l.licence.index.Select(origin, page.Readings())
	l.selected, l.unread = s.Governs, Cause(s.Unread)
	if l.unread != "" {
		l.licence = nil
	}
}

// weigh rules each document that could be read for every declared purpose, and
// adds what it says to the pool.
func (d *decision) weigh(list []namedLicence) {
	operator := d.policy.licensee(d.req.Origin.Host)
	for i := range list {
		l := &list[i]
		if l.licence == nil {
			continue
		}
		l.rule(d.purposes, operator)
		d.offers = append(d.offers, l.offers...)
		record := d.record(l)
		record.Skipped = l.licence.skipped
		record.take(&l.verdicts[0])
		for p, purpose := range d.purposes {
			record.Says[purpose.index()] = l.verdicts[p].preference
		}
		d.pool(record.Says)
		if l.found != nil && l.found.OverHTTP {
			d.gap(GapLicenceOverHTTP, fmt.Sprintf("%s came over http", l.url))
		}
	}
}

// record is what is recorded of l.
func (d *decision) record(l *namedLicence) *LicenceRuling { return &d.ruling.Licences[l.number-1] }

// refuseUnread refuses for a licence that could not be read (T63, T69). One that
// is missing binds nobody and leaves a gap.
func (d *decision) refuseUnread(l *namedLicence) bool {
	record, t := d.record(l), l.found
	switch {
	case t == nil, l.unread != "":
	case t.Outcome == TermMissing:
		d.gap(GapLicenceMissing, fmt.Sprintf("%s was answered with status %d", l.url, t.Status))
		return false
	case t.Outcome == TermCutShort && t.Barred != "":
		record.RefusedBy = t.Barred
		return d.bar(t.Barred, t.Pace, fmt.Sprintf("licence %d (%s) was not asked for: %s", l.number, l.url, t.Cause),
			Say("The edge is kept from asking for licence % of this page.", Number(l.number)))
	case t.Outcome == TermCutShort:
		record.RefusedBy = LicenceCutShort
		return d.refuse(LicenceCutShort, time.Time{}, fmt.Sprintf("the edge could not ask for licence %d (%s): %s", l.number, l.url, t.Cause),
			Say("The edge could not ask for licence % of this page. The fault is the edge's; ask again.", Number(l.number)))
	}
	record.RefusedBy = LicenceUnread
	d.point("", TermRef{Object: d.objectOf(l)})
	var retryAt time.Time
	why := cmp.Or(l.fault, string(l.unread))
	told := Say("Licence % of this page could not be read (%), so it cannot be kept.", Number(l.number), l.unread)
	if t != nil {
		why = cmp.Or(t.Cause, why)
		if l.unread != CauseBudget && l.unread != CauseNoneGoverns { // of this page alone, and not kept (T69)
			retryAt = t.ExpiresAt
		}
	}
	if !retryAt.IsZero() {
		told = Say("Licence % of this page could not be read (%), so it cannot be kept. Ask again after %.", Number(l.number), l.unread, Instant(retryAt))
	}
	return d.refuse(LicenceUnread, retryAt,
		fmt.Sprintf("licence %d (%s, named by %s) is unread: %s", l.number, cmp.Or(l.url, "of no URL"), l.mechanism, why), told)
}

// objectOf is the term that holds what l says or, where nothing was asked for,
// the one that names it.
func (d *decision) objectOf(l *namedLicence) Digest {
	switch {
	case l.found != nil:
		return l.found.Object
	case d.stage == StageBody:
		return d.terms.Response.HTML.Term.Object
	case d.stage == StageHead:
		return d.terms.Response.Term.Object
	}
	return d.terms.Robots.Object
}
