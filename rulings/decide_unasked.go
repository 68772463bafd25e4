package rulings

import (
	"slices"

	"github.com/wayleave/wayleave/rulings/links"
	"github.com/wayleave/wayleave/rulings/robots"
)

// notAsked lists what the stages behind the refusal would have asked for, as far
// as it is known to exist (T8). Where access refuses, the licences of robots.txt
// do not exist for the page (T43).
func (d *decision) notAsked() (list []Term) {
	site := d.terms.Robots.Site
	access := d.ruling.Reason == RobotsDisallow || d.ruling.Reason == PathReadings
	if d.stage == StageBefore && site != nil && !access && site.States(robots.License) {
		list = d.leave(list, ByRobots, site.licences(d.selection, d.terms.Robots.FinalURL, d.req.Origin))
	}
	if d.stage == StageBefore && d.terms.TDM == nil && d.bound() {
		list = append(list, Term{Kind: TermTDM, URL: d.req.Origin.String() + TDMPath, Outcome: TermNotAsked})
	}
	if d.stage == StageHead {
		if lines := d.terms.Response.Fields["Link"]; len(lines) > 0 {
			list = d.leave(list, ByLink, links.Licences(pageURL(d.req.Origin, d.req.Target), lines).Licences)
		}
	}
	if page := d.terms.Response; d.stage == StageBody && page.HTML != nil && page.HTML.Head != nil {
		for _, l := range page.HTML.Head.Licences {
			list = d.leave(list, ByHTML, []string{l.URL})
		}
	}
	return list
}

// leave adds the licences that were not named before, no more than would have
// been read (T58).
func (d *decision) leave(list []Term, by Mechanism, urls []string) []Term {
	for _, u := range urls {
		if u != "" && len(d.named) < maxLicences && !slices.Contains(d.named, u) {
			d.named = append(d.named, u)
			list = append(list, Term{Kind: TermLicence, Mechanism: by, URL: u, Outcome: TermNotAsked})
		}
	}
	return list
}
