package main

import (
	"context"
	"net/http"
	"time"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// refreshWait bounds the asking again of one host, all waits for its pace
// included. It ends before the desk gives an answer up.
const refreshWait = 100 * time.Second

// A saidOrigin is what an origin says of its terms.
type saidOrigin struct {
	told  admin.HostOrigin
	delay backoff.Delay // what is kept of the delay that it states to the edge's tokens
}

// refresh asks the origins of a host that are known for their terms again, and
// tells what was found (A9). Each request is paced and ruled as any of the edge's
// own: what a host asks for in waiting, or refuses, binds this too.
func (e *edge) refresh(ctx context.Context, host string) (admin.Host, error) {
	if policy := e.policy.Load(); policy != nil && policy.Class(host) == rulings.Service {
		return admin.Host{}, admin.ErrService
	}
	origins, err := originsOf(ctx, originsDir(e.cfg.data), host)
	if err != nil {
		return admin.Host{}, err
	}
	if len(origins) == 0 {
		return admin.Host{}, admin.ErrUnknownHost
	}
	e.log.Info("terms are asked for again", "host", host)
	limited, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	x := e.explainer()
	said := make([]saidOrigin, len(origins))
	for i, o := range origins {
		if limited.Err() != nil {
			said[i] = x.held(o)
		} else {
			said[i] = x.askAgain(limited, o)
		}
	}
	return e.tellHost(ctx, host, said)
}

// ofOrigin is the question for all that an origin says of its path "/".
func (x explainer) ofOrigin(o hostkey.Origin) rulings.Request {
	return rulings.Request{Method: http.MethodGet, Origin: o, Target: "/", All: true}
}

// held is what is held of o, asking nobody.
func (x explainer) held(o hostkey.Origin) saidOrigin {
	var known rulings.Terms
	if t, ok := x.book.HeldRobots(o); ok {
		known.Robots = t
	}
	if t, ok := x.book.HeldTDM(o); ok {
		known.TDM = &t
	}
	ruling, missing := x.book.RuleHeld(x.ofOrigin(o), &known, x.policy())
	return x.said(o, known, ruling, missing)
}

// askAgain asks o for its robots.txt, and then for the licences and the
// tdmrep.json that bear on the declared purposes or are held. A copy that is live
// stays where asking brings nothing (T123).
func (x explainer) askAgain(ctx context.Context, o hostkey.Origin) saidOrigin {
	policy, req := x.policy(), x.ofOrigin(o)
	known := rulings.Terms{Robots: x.book.Refresh(ctx, o)}
	ruling := x.book.Rule(ctx, req, &known, policy) // asks for what is not held
	for i, l := range known.Licences {
		if l.Cache == rulings.CacheReused {
			need := rulings.Need{Kind: rulings.TermLicence, URL: l.URL, Mechanism: l.Mechanism}
			known.Licences[i] = x.book.RefreshLicence(ctx, need, o, policy.Identity.Tokens, policy)
		}
	}
	if _, held := x.book.HeldTDM(o); held && known.Robots.Site != nil && (known.TDM == nil || known.TDM.Cache == rulings.CacheReused) {
		t := x.book.RefreshTDM(ctx, o)
		known.TDM = &t
	}
	if policy != nil {
		ruling = rulings.Decide(req, known, policy)
	}
	return x.said(o, known, ruling, ruling.Needs)
}

// said puts what is known of o into the form of A9.
func (x explainer) said(o hostkey.Origin, known rulings.Terms, ruling rulings.Ruling, missing []rulings.Need) saidOrigin {
	told := admin.HostOrigin{Origin: o.String(), Terms: []admin.Term{}}
	policy := x.policy()
	tokens := rulings.DefaultPolicy().Identity.Tokens
	var purposes []rulings.Purpose
	if policy != nil {
		tokens, purposes = policy.Identity.Tokens, policy.Purposes
	}
	all := explanation(purposes, ruling, known)
	all.Terms = append(all.Terms, unheldTerms(o, missing)...)
	all = x.told(all)
	told.Terms = append(told.Terms, all.Terms...)
	told.Statements, told.Licences, told.Gaps = all.Statements, all.Licences, all.Gaps
	if len(missing) == 0 && known.Robots.Site != nil {
		told.Effective = all.Effective
	}
	s := saidOrigin{told: told}
	if site := known.Robots.Site; site != nil {
		selection := site.Select(tokens, "")
		s.delay = kept(x.pacing, selection.Delay())
		s.told.Robots = x.robotsOf(selection)
		s.told.Robots.DelayMS, s.told.Robots.Capped = s.delay.Honoured.Milliseconds(), s.delay.Capped
	}
	return s
}

// Bounds of what is told of a robots.txt. The file itself is a stored term.
const (
	maxRobotsLines  = 200
	maxRobotsOctets = 500 // of one line
)

// robotsOf tells which groups bind, and the lines of them that state something
// besides access.
func (x explainer) robotsOf(selection robots.Selection) *admin.HostRobots {
	told := &admin.HostRobots{Groups: []admin.RobotsGroup{}}
	for _, d := range selection.Access(robots.NewPage("/")).Decisions {
		told.Groups = append(told.Groups, admin.RobotsGroup{Token: d.Token, Group: d.Group, Rule: d.Rule, Line: d.Line, Allowed: d.Allowed})
	}
	lines := selection.Lines(robots.CrawlDelay, robots.ContentUsage, robots.ContentSignal, robots.License, robots.DisallowAITraining, robots.AllowAITraining)
	for _, l := range lines[:min(len(lines), maxRobotsLines)] {
		text := x.text(l.Text) // before it is cut: a part of a secret is one
		if len(text) > maxRobotsOctets {
			text, told.More = text[:maxRobotsOctets], true
		}
		told.Lines = append(told.Lines, admin.RobotsLine{Line: l.Number, Text: text})
	}
	told.More = told.More || len(lines) > maxRobotsLines
	return told
}
