package terms

import (
	"context"
	"slices"
	"time"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// maxRounds bounds the look-ups of one ruling. Each round answers all that one
// stage needs, and there are fewer stages.
const maxRounds = 16

// lookedUp are the kinds that a book can look up, in the order in which they are
// asked for (T8).
var lookedUp = []rulings.TermKind{rulings.TermRobots, rulings.TermLicence, rulings.TermTDM}

// Rule decides req, and the answer to it where known has one, and looks up what
// the decision needs, stage by stage: what a stage behind a refusal would need is
// never asked for (T8). What it looked up it adds to known; what known has already
// is not looked up again. A host that has no terms to be ruled is not asked.
//
// A ruling that still needs something needs what no book has: the head of an HTML
// page. Rule waits for look-ups until ctx ends; req, known and policy are the
// caller's own.
func (b *Book) Rule(ctx context.Context, req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling {
	q := b.inquiry(req, known, policy, false)
	ruling := q.rule(ctx)
	known.Hops = append(known.Hops, q.pass.noted()...)
	return ruling
}

// RuleHeld is Rule, but asks nobody. Missing are the terms that would have to be
// asked for; the ruling is undecided when there are any.
func (b *Book) RuleHeld(req rulings.Request, known *rulings.Terms, policy *rulings.Policy) (ruling rulings.Ruling, missing []rulings.Need) {
	q := b.inquiry(req, known, policy, true)
	ruling = q.rule(context.Background()) // nothing is waited for
	return ruling, q.missing
}

// An inquiry is one ruling on its way.
type inquiry struct {
	book    *Book
	req     rulings.Request
	known   *rulings.Terms
	policy  *rulings.Policy
	pass    *passage
	missing []rulings.Need // what only asking would tell
	paced   bool           // a licence was not asked for because of its host's pace
}

func (b *Book) inquiry(req rulings.Request, known *rulings.Terms, policy *rulings.Policy, held bool) *inquiry {
	pass := &passage{book: b, page: req.Origin, policy: policy, held: held}
	if policy != nil {
		pass.tokens = policy.Identity.Tokens
	}
	if req.Page == nil {
		req.Page = robots.NewPage(req.Target) // once for all rounds
	}
	return &inquiry{book: b, req: req, known: known, policy: policy, pass: pass}
}

func (q *inquiry) rule(ctx context.Context) rulings.Ruling {
	if q.first(ctx); len(q.missing) > 0 {
		return rulings.Ruling{Needs: q.missing} // undecided
	}
	for range maxRounds {
		r := rulings.Decide(q.req, *q.known, q.policy)
		needs := stage(r.Needs)
		if len(needs) == 0 {
			return r
		}
		for i, n := range needs {
			if !q.lookUp(ctx, n, q.behind(needs[i+1:])) {
				return rulings.CouldNotDecide("the " + string(n.Kind) + " that was looked up is still needed")
			}
			if q.paced {
				break // which refuses the page, so that nothing behind it is asked for (P14)
			}
		}
		if len(q.missing) > 0 {
			return r // undecided for want of them
		}
	}
	return rulings.CouldNotDecide("look-ups without end")
}

// behind returns how many turns the page's host has to give behind a look-up: one
// for each of the later licences there that has no current reading, and one for
// the page unless that was asked for already (specs: pacing P14).
func (q *inquiry) behind(later []rulings.Need) int {
	n := 1
	if q.known.Response != nil {
		n = 0
	}
	for _, need := range later {
		at, ok := licencePlace(need.URL)
		if !ok || at.origin.Host != q.req.Origin.Host {
			continue
		}
		if _, held := q.book.licences.held(at); !held {
			n++
		}
	}
	return n
}

// stage returns those of needs that are looked up first: a kind behind them may
// turn out not to be needed.
func stage(needs []rulings.Need) []rulings.Need {
	for _, kind := range lookedUp {
		of := slices.DeleteFunc(slices.Clone(needs), func(n rulings.Need) bool { return n.Kind != kind })
		if len(of) > 0 {
			return of
		}
	}
	return nil
}

// first looks robots.txt up, which nearly every request needs: to decide first
// whether it does would double the cost of ruling. A host that has no terms or
// may not be asked is not; of a request that spends the decision says whether it
// comes to that (T105).
func (q *inquiry) first(ctx context.Context) {
	switch {
	case len(q.req.Spending) > 0, !rulings.Admits(&q.req, q.policy), q.policy.Class(q.req.Origin.Host) != rulings.Source:
	case rulings.Exempt(q.req.Origin, q.req.Target):
		q.known.Robots.Exempt = true
		if f, ok := q.book.robots.held(place{origin: q.req.Origin}); ok {
			q.known.Robots.Site = f.site // it takes its turns all the same (T11)
		}
	default:
		q.lookUp(ctx, rulings.Need{Kind: rulings.TermRobots}, 0)
	}
}

// lookUp adds what n names to what is known, or to what is missing. It is false
// when it is known already, which cannot have changed.
func (q *inquiry) lookUp(ctx context.Context, n rulings.Need, behind int) bool {
	start := time.Now()
	defer func() { q.known.Waited += time.Since(start) }()
	switch n.Kind {
	case rulings.TermRobots:
		return q.lookUpRobots(ctx)
	case rulings.TermLicence:
		return q.lookUpLicence(ctx, n, behind)
	}
	return q.lookUpTDM(ctx, behind)
}

func (q *inquiry) lookUpRobots(ctx context.Context) bool {
	if q.known.Robots.Outcome != "" {
		return false
	}
	at, robots := place{origin: q.req.Origin}, q.book.robots
	var f found
	if !q.pass.held {
		f = q.pass.get(ctx, robots, at, errand{})
	} else if held, ok := q.pass.heldOf(robots, at); ok {
		f = held
	} else {
		q.missing = append(q.missing, rulings.Need{Kind: rulings.TermRobots})
		return true
	}
	q.known.Robots = f.robotsTerms()
	return true
}

func (q *inquiry) lookUpLicence(ctx context.Context, n rulings.Need, behind int) bool {
	if slices.ContainsFunc(q.known.Licences, func(t rulings.LicenceTerms) bool { return t.URL == n.URL }) {
		return false
	}
	t, ok := rulings.LicenceTerms{}, true
	if q.pass.held {
		t, ok = q.book.heldLicence(n, q.pass)
	} else {
		t = q.book.licence(ctx, n, q.pass, errand{behind: behind})
		q.paced = t.Barred.Paces()
	}
	if ok {
		q.known.Licences = append(q.known.Licences, t)
	} else {
		q.missing = append(q.missing, n)
	}
	return true
}

func (q *inquiry) lookUpTDM(ctx context.Context, behind int) bool {
	if q.known.TDM != nil {
		return false
	}
	at := place{origin: q.req.Origin}
	f, ok := found{}, true
	if q.pass.held {
		f, ok = q.pass.heldOf(q.book.tdm, at)
	} else {
		f = q.pass.get(ctx, q.book.tdm, at, errand{behind: behind})
	}
	if ok {
		t := f.tdmTerms()
		q.known.TDM = &t
	} else {
		q.missing = append(q.missing, rulings.Need{Kind: rulings.TermTDM})
	}
	return true
}
