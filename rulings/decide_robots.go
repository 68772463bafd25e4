package rulings

import (
	"fmt"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
)

// robots rules access by robots.txt (T15-T17, T42). A page that robots.txt keeps
// us from has no other terms (T43).
func (d *decision) robots() bool {
	t := &d.terms.Robots
	if t.Site == nil {
		d.unreadRobots(t)
		return true
	}
	d.selection = t.Site.Select(d.policy.Identity.Tokens, d.req.UserAgent)
	d.document = t.Site.names(t.FinalURL, d.req.Origin, d.req.Target)
	access := d.selection.Access(d.page)
	d.ruling.Robots = access.Decisions
	switch {
	case access.OverLimit && d.page.OverLimit():
		return d.refuse(PathReadings, time.Time{}, "the path can be read in more ways than are ruled",
			Say("The path can be read in more than % ways, so it cannot be ruled. Ask for a plainer spelling of it.", Number(robots.MaxReadings)))
	case access.OverLimit: // T40
		return d.refuse(PathReadings, time.Time{}, "the path and robots.txt are too long to be compared",
			Say("The path and the site's robots.txt are too long to be compared, so it cannot be ruled. Ask for a shorter path."))
	case access.Refused == nil, d.document:
		return false
	}
	r := access.Refused
	d.point("", TermRef{Object: t.Object, Line: r.Line})
	return d.refuse(RobotsDisallow, time.Time{},
		fmt.Sprintf("robots.txt of %s refuses token %q in group %q by line %d: %s", d.req.Origin, r.Token, r.Group, r.Line, r.Rule),
		Say("The site's robots.txt does not allow automated access to this path (line %). Other paths of the site may be allowed.", Number(r.Line)))
}

// unreadRobots rules an origin of whose robots.txt nothing is known (T17).
func (d *decision) unreadRobots(t *RobotsTerms) {
	o := d.req.Origin
	switch {
	case t.Barred == PrivateAddress:
		r := RefuseAddress(o.Host)
		d.refuse(r.Reason, r.RetryAt, r.Detail, r.Told)
	case t.Barred != "":
		d.bar(t.Barred, t.Pace, fmt.Sprintf("robots.txt of %s was not asked for: %s", o, t.Cause),
			Say("The edge is kept from asking for the site's robots.txt."))
	case t.Outcome == TermUnreachable:
		d.refuse(RobotsUnreachable, t.ExpiresAt, fmt.Sprintf("robots.txt of %s is unreachable: %s", o, t.Cause), tellUnreachable(t.ExpiresAt))
	case t.Outcome == TermCutShort:
		d.refuse(RobotsCutShort, time.Time{}, fmt.Sprintf("the edge could not ask for robots.txt of %s: %s", o, t.Cause),
			Say("The edge could not ask for the site's robots.txt. The fault is the edge's; ask again."))
	default:
		d.need(Need{Kind: TermRobots})
	}
}

func tellUnreachable(until time.Time) Words {
	return Say("The site's robots.txt could not be reached, so nothing of the site may be fetched (RFC 9309, section 2.3.1.4). Ask again after %.", Instant(until))
}

// PutOff moves when an unreachable robots.txt is asked for again to at, the end of
// its host's back-off, which is after away and later (T17). Of another ruling than
// RobotsUnreachable it does nothing.
func (r *Ruling) PutOff(at time.Time, after time.Duration) {
	if r.Reason == RobotsUnreachable {
		r.RetryAt, r.RetryAfter, r.Told = at, after, tellUnreachable(at)
	}
}

// isDocument reports whether target is one of the documents in which an origin
// states its terms: no robots.txt is asked for on their account (T11).
func isDocument(target string) bool {
	return target == "/robots.txt" || target == TDMPath
}

// TDMPath is where an origin keeps its tdmrep.json.
const TDMPath = "/.well-known/tdmrep.json"

// Exempt reports whether a request for target is never ruled by the origin's
// terms, and asks for none (T11): robots.txt and tdmrep.json, without a query.
func Exempt(_ hostkey.Origin, target string) bool { return isDocument(target) }
