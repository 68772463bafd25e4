package rulings

import (
	"fmt"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A Request is what a decision needs to know of an agent's request.
type Request struct {
	Method    string
	Origin    hostkey.Origin
	Target    string // path and query exactly as sent
	UserAgent string // the agent's own field, as received

	// Page is the readings of Target. Nil makes Decide compute them.
	Page *robots.Page
}

// Decide rules one request before it is sent (specs: terms T5, T8 stages 1 and
// 2). The same arguments give the same ruling on any machine at any time. A nil
// policy is one that did not load and refuses everything.
func Decide(req Request, terms Terms, policy *Policy) Ruling {
	if policy == nil {
		return refuse(PolicyUnavailable, time.Time{}, "the operator's policy does not load",
			Say("The operator's policy could not be loaded, so nothing is let through."))
	}
	if r := guardName(req.Origin, policy); r.Refused() {
		return r
	}
	if policy.Class(req.Origin.Host) == Service || terms.Robots.Exempt {
		return Ruling{Outcome: Proceed}
	}
	return decideRobots(req, terms.Robots, policy)
}

// guardName refuses addresses that are not public when the request names them
// as such; names are judged when they are dialled (N6, N18).
func guardName(o hostkey.Origin, policy *Policy) Ruling {
	addr, ok := o.Addr()
	if !ok || policy.AllowsAddr(o.Host, addr) {
		return Ruling{Outcome: Proceed}
	}
	return RefuseAddress(o.Host)
}

// RefuseAddress is the ruling on a host whose address the guard does not let
// through. The agent is not told the address: it may be internal.
func RefuseAddress(host string) Ruling {
	return refuse(PrivateAddress, time.Time{},
		fmt.Sprintf("%s is or resolves to an address that is not public, and policy.allow_private does not list it", host),
		Say("The address of this host is not public and the operator's policy does not list it."))
}

// decideRobots rules access by robots.txt (T15-T17, T42).
func decideRobots(req Request, t RobotsTerms, policy *Policy) Ruling {
	if t.Site == nil {
		return refuseUnread(req.Origin, t)
	}
	page := req.Page
	if page == nil {
		page = robots.NewPage(req.Target)
	}
	access := t.Site.Select(policy.Identity.Tokens, req.UserAgent).Access(page)
	r := Ruling{Robots: access.Decisions}
	switch {
	case access.OverLimit:
		r = refuse(PathReadings, time.Time{}, "the path can be read in more ways than are ruled",
			Say("The path can be read in more than % ways, so it cannot be ruled. Ask for a plainer spelling of it.", Number(robots.MaxReadings)))
		r.Robots = access.Decisions
	case access.Refused != nil:
		d := access.Refused
		r = refuse(RobotsDisallow, time.Time{},
			fmt.Sprintf("robots.txt of %s refuses token %q in group %q by line %d: %s", req.Origin, d.Token, d.Group, d.Line, d.Rule),
			Say("The site's robots.txt does not allow automated access to this path (line %). Other paths of the site may be allowed.", Number(d.Line)))
		r.Robots = access.Decisions
		r.Term = TermRef{Object: t.Object, Line: d.Line}
	default:
		r.Outcome = Proceed
	}
	return r
}

// refuseUnread rules an origin of whose robots.txt nothing is known (T17).
func refuseUnread(o hostkey.Origin, t RobotsTerms) Ruling {
	switch {
	case t.Barred == PrivateAddress:
		return RefuseAddress(o.Host)
	case t.Barred != "":
		return refuse(t.Barred, time.Time{}, fmt.Sprintf("robots.txt of %s was not asked for: %s", o, t.Cause),
			Say("The edge is kept from asking for the site's robots.txt."))
	case t.Outcome == TermUnreachable:
		return refuse(RobotsUnreachable, t.ExpiresAt, fmt.Sprintf("robots.txt of %s is unreachable: %s", o, t.Cause),
			Say("The site's robots.txt could not be reached, so nothing of the site may be fetched (RFC 9309, section 2.3.1.4). Ask again after %.", Instant(t.ExpiresAt)))
	case t.Outcome == TermCutShort:
		return refuse(RobotsCutShort, time.Time{}, fmt.Sprintf("the edge could not ask for robots.txt of %s: %s", o, t.Cause),
			Say("The edge could not ask for the site's robots.txt. The fault is the edge's; ask again."))
	}
	return CouldNotDecide("no robots.txt was looked up for " + o.String())
}

// CouldNotDecide is the ruling after an error while deciding (503). Why goes
// into the record only.
func CouldNotDecide(why string) Ruling {
	return refuse(UndecidedReason, time.Time{}, "could not decide: "+why, Say("The edge could not decide this request. Ask again."))
}

func refuse(reason Reason, retryAt time.Time, detail string, told Words) Ruling {
	return Ruling{Outcome: Refuse, Reason: reason, Stage: StageBefore, Detail: detail, Told: told, RetryAt: retryAt}
}
