package terms

import (
	"context"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// robotsKind is the robots.txt of origins (T15 to T20).
var robotsKind = &kind{
	name:    rulings.TermRobots,
	dir:     "origins",
	format:  "wayleave-terms-origin/1",
	target:  "/robots.txt", // RFC 9309, section 2.3
	holds:   true,
	judge:   judgeRobots,
	parse:   func(body []byte) (document, string) { return document{site: rulings.ParseSite(body)}, "" },
	nothing: document{site: noRules},
	fits:    fitsRobots,
}

// Bounds of a shard in memory: 4,096 origins and 64 MiB in all.
const (
	robotsEntries = 128
	robotsOctets  = 2 << 20
)

// Robots returns the robots.txt of origin as it stands for a crossing that
// arrives now. It never errs; what could not be had is part of the value. When
// the origin has to be asked, Robots waits for it, sharing one probe with all
// crossings that wait for the same origin (T12). The probe goes on when ctx ends;
// the crossing then gets what is held.
func (b *Book) Robots(ctx context.Context, origin hostkey.Origin) rulings.RobotsTerms {
	p := place{origin: origin}
	if f := b.robots.warm(p); f != nil {
		return f.robotsTerms()
	}
	f := b.robots.await(ctx, p, errand{})
	return f.robotsTerms()
}

// Refresh asks origin again before its time (T123) and returns what then rules.
// When the origin cannot be reached, a live answer stays.
func (b *Book) Refresh(ctx context.Context, origin hostkey.Origin) rulings.RobotsTerms {
	f := b.robots.get(ctx, place{origin: origin}, errand{again: true})
	return f.robotsTerms()
}

// HeldRobots returns what is held of origin, without asking it. That is the
// live copy, or else the last answer that was read, however old; the second
// result is false when there is neither, so that a crossing would have to ask.
func (b *Book) HeldRobots(origin hostkey.Origin) (rulings.RobotsTerms, bool) {
	f, ok := b.robots.held(place{origin: origin})
	return f.robotsTerms(), ok
}

func (f *found) robotsTerms() rulings.RobotsTerms {
	return rulings.RobotsTerms{Term: f.Term, Site: f.site, Barred: f.barred, Pace: f.pace}
}
