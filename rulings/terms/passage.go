package terms

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// A passage rules the edge's own requests for the licences of one page: what lies
// on another origin than the page is asked for only if that origin's robots.txt
// allows it to our tokens (T69).
type passage struct {
	book   *Book
	page   hostkey.Origin
	tokens []string
	policy *rulings.Policy // nil: no host is a service
	held   bool            // nobody is asked for a robots.txt

	// A passage serves the crossing it was made for and the look-ups that this
	// began, which may outlive it.
	mu       sync.Mutex               // guards what follows
	robots   map[hostkey.Origin]found // as first met: what is in force when the request arrived (T18)
	breaches []rulings.Breach         // that are carried; see heed
}

// A gate is whether a URL may be asked for. Its zero value is open.
type gate struct {
	failure FailureKind    // why not: a robots.txt that refuses, or why it was not asked for
	barred  rulings.Reason // and the reason of its own that the latter has
	pace    rulings.PaceTerms
	why     string    // in our own words, for the record
	until   time.Time // end of the copy that refuses
	unheld  bool      // only asking would tell
}

func (g gate) open() bool { return g.failure == "" }

// gate rules the place of a licence, or of a redirect's target. It waits for a
// robots.txt that has to be asked for, or for ctx.
func (p *passage) gate(ctx context.Context, at place) gate {
	switch o := at.origin; {
	case o == p.page:
		return gate{} // the file that could refuse is the one that named it
	case p.policy != nil && !p.policy.Reachable(o):
		return gate{failure: FailureProhibited, barred: rulings.PrivateAddress, why: tell(FailureProhibited, 0, rulings.PrivateAddress)}
	case p.policy != nil && p.policy.Class(o.Host) == rulings.Service:
		return gate{} // a service has no terms (T1)
	}
	path := at.target()
	if rulings.Exempt(at.origin, path) {
		return gate{} // a document of terms (T11)
	}
	return p.access(ctx, at.origin, path)
}

// gateTo is gate for the target of a redirect.
func (p *passage) gateTo(ctx context.Context, target string) gate {
	at, ok := licencePlace(target)
	if !ok {
		return gate{failure: FailureInternal, why: causes[FailureInternal]}
	}
	return p.gate(ctx, at)
}

// access rules path by the robots.txt of o.
func (p *passage) access(ctx context.Context, o hostkey.Origin, path string) gate {
	f, ok := p.robotsOf(ctx, o)
	switch {
	case !ok:
		return gate{failure: FailureInternal, unheld: true}
	case f.site != nil:
		a := f.site.Select(p.tokens, "").Access(robots.NewPage(path))
		if !a.OverLimit && a.Refused == nil {
			return gate{}
		}
		return gate{failure: FailureRobots, until: f.ExpiresAt}
	case f.Outcome == rulings.TermUnreachable:
		// Nothing may be fetched there (RFC 9309, section 2.3.1.4).
		return gate{failure: FailureRobotsUnread, why: f.Cause, until: f.ExpiresAt}
	}
	return gate{failure: cmp.Or(f.failure, FailureInternal), barred: f.barred, pace: f.pace, why: f.Cause}
}

// robotsOf returns the robots.txt of o. It is false when nobody may be asked and
// nothing is held.
func (p *passage) robotsOf(ctx context.Context, o hostkey.Origin) (found, bool) {
	p.mu.Lock()
	f, ok := p.robots[o]
	p.mu.Unlock()
	if ok {
		return f, true
	}
	if p.held {
		if f, ok = p.heldOf(p.book.robots, place{origin: o}); !ok {
			return found{}, false
		}
	} else {
		f = p.get(ctx, p.book.robots, place{origin: o}, errand{})
	}
	if f.Outcome == rulings.TermCutShort {
		return f, true // nothing is remembered of it (T17)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.robots == nil {
		p.robots = make(map[hostkey.Origin]found)
	}
	p.robots[o] = f
	return f, true
}

// A way is what lies between a page and a licence that was found.
type way int

const (
	wayUnheld way = iota // only asking would tell
	wayShut              // something on it refuses
	wayOpen
)

// rule rules the redirects by which f was reached, and shuts f where one may not
// be asked for: what may not be asked for may not be used either. A copy that is
// held was perhaps had on account of another page, by other tokens or before a
// file changed.
func (p *passage) rule(ctx context.Context, f *found) way {
	if f.refuses() {
		return wayShut
	}
	for i, target := range f.redirects {
		switch g := p.gateTo(ctx, target); {
		case g.unheld:
			return wayUnheld
		case !g.open() && g.failure != FailureProhibited: // which keeps from asking, and nobody asks
			g.shut(f, i+1)
			return wayShut
		}
	}
	return wayOpen
}

// refuses reports whether f refuses whoever it is used by.
func (f *found) refuses() bool {
	return f.Outcome == rulings.TermCutShort || f.Outcome == rulings.TermUnread && !f.byRobots()
}

// byRobots reports whether f is unread for the robots.txt of another origin.
func (f *found) byRobots() bool {
	return f.Outcome == rulings.TermUnread && causeOf(f.Cause) == rulings.CauseRobots
}

// shut makes f what becomes of a licence that g keeps from being used, at its own
// URL or, behind it, at the redirect hop.
func (g gate) shut(f *found, hop int) {
	t := rulings.Term{Kind: rulings.TermLicence, Cache: rulings.CacheFetched}
	if !g.failure.robots() {
		t.Outcome, t.Cause = rulings.TermCutShort, "the robots.txt of its origin was not asked for: "+g.why
		*f = found{Term: t, failure: g.failure, barred: g.barred, pace: g.pace}
		return
	}
	if hop > 0 { // what was met on the way stays in the record
		t.FinalURL, t.Status, t.FetchedAt, t.Cache = f.FinalURL, f.Status, f.FetchedAt, f.Cache
	}
	t.Outcome, t.ExpiresAt = rulings.TermUnread, g.until
	t.Cause = unread(rulings.CauseRobots, tell(g.failure, hop, ""))
	*f = found{Term: t}
}
