package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/proxy"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/payment"
	"github.com/wayleave/wayleave/rulings/terms"
)

// An explainer answers what the ruling on a URL would be, from the same book,
// policy and decision that rule a crossing (A11). It never asks for the page.
type explainer struct {
	book   *terms.Book
	policy func() *rulings.Policy
	pacing *proxy.Pacing
	ports  *proxy.PortSet
	loop   func(hostkey.Origin) bool // reports an address of the edge's own

	offline bool // nothing is had from outside

	// redact takes out of a URL that is told what no answer of the admin API has
	// (E23). Nil tells it as it is, to whoever runs a command.
	redact func(url string) string
}

func (e *edge) explain(ctx context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	return e.explainer().explain(ctx, r)
}

func (e *edge) explainer() explainer {
	return explainer{e.book, e.policy.Load, e.pacing, e.cfg.connectPorts, e.upstream.LeadsBack, e.mode.offline, e.store.Redact}
}

// explainGet is the question about a plain GET of url, fetching what terms it needs.
func explainGet(url string) admin.ExplainRequest {
	return admin.ExplainRequest{URL: url, Method: "GET", Fetch: true}
}

// explain rules r.URL now and forecasts its pace. It errs only when ctx ends: a
// URL that cannot be understood is refused as the edge would refuse it.
func (x explainer) explain(ctx context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	policy := x.policy()
	if policy != nil {
		policy = policy.For(r.Session)
	}
	var purposes []rulings.Purpose
	for _, p := range r.Purposes {
		purposes = append(purposes, rulings.Purpose(p))
	}
	if len(purposes) == 0 && policy != nil {
		purposes = policy.Purposes
	}
	origin, target, err := splitURL(r.URL)
	if err != nil {
		return explanation(purposes, refusal(rulings.RequestInvalid, err.Error()), rulings.Terms{}), nil
	}
	if x.loop(origin) {
		return explanation(purposes, refusal(rulings.Loop, "the URL is one of the edge's own listeners"), rulings.Terms{}), nil
	}
	if origin.Scheme == "https" && policy != nil && !x.ports.Has(origin.Port) {
		// An https URL is asked for through CONNECT, whose port is judged first (N2).
		ruling := refusal(rulings.TunnelNotListed, fmt.Sprintf("port %d is not in connect_ports", origin.Port))
		return explanation(purposes, ruling, rulings.Terms{}), nil
	}
	req := rulings.Request{
		Method: r.Method, Origin: origin, Target: target, UserAgent: r.Headers.Get("User-Agent"),
		User: r.Session, Spending: payment.Spending(r.Headers), Purposes: purposes,
		Offline: x.offline,
	}
	var known rulings.Terms
	var ruling rulings.Ruling
	var missing []rulings.Need
	if r.Fetch {
		ruling = x.book.Rule(ctx, req, &known, policy)
	} else {
		ruling, missing = x.book.RuleHeld(req, &known, policy)
	}
	paced, err := x.paceRuled(ctx, policy, req, known, &ruling, len(missing) > 0)
	if err != nil {
		return admin.Explanation{}, err
	}
	answer := admin.Explanation{}
	if len(missing) > 0 {
		answer = unheld(purposes, origin, known, missing)
	} else {
		answer = explanation(purposes, ruling, known)
	}
	answer.Pacing = paced
	tellBreaches(&answer, policy, ruling)
	return x.told(answer), nil
}

// refusal is what the edge refuses before anything is looked up.
func refusal(reason rulings.Reason, detail string) rulings.Ruling {
	return rulings.Ruling{Outcome: rulings.Refuse, Reason: reason, Stage: rulings.StageBefore, Detail: detail}
}

// splitURL parts a URL into its origin and the target as written: percent
// escapes and dot segments stay, because terms are ruled on what is sent.
// Its errors quote no more of it than a host: the rest may be a secret (E23).
func splitURL(raw string) (hostkey.Origin, string, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return hostkey.Origin{}, "", errors.New("that is no URL of http or https")
	}
	if _, err := url.Parse(raw); err != nil {
		return hostkey.Origin{}, "", errors.New("that is no URL")
	}
	rest, _, _ = strings.Cut(rest, "#") // a fragment is never sent
	authority, target := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, target = rest[:i], rest[i:]
	}
	if strings.HasPrefix(target, "?") {
		target = "/" + target
	}
	origin, err := hostkey.ParseOrigin(scheme, authority)
	if err != nil {
		return hostkey.Origin{}, "", err
	}
	return origin, target, nil
}
