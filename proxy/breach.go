package proxy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// breachField is the field by which an agent is told of breaches that were
// carried (O11). One of a source's own is taken off: it is no verdict of ours.
const breachField = "Wayleave-Breach"

// hopBreaches are breaches of the operator's policy by requests that the edge
// made for terms on account of a crossing. A probe may outlive its crossing.
type hopBreaches struct {
	mu   sync.Mutex
	list []rulings.Breach
}

// hop rules a request for terms by the operator's lists, as each hop of a
// redirect is (O14, step 2), and by where an edge that is offline may ask (O60).
// Of the crossing's own host that was ruled before. The error is a
// *terms.FetchError.
func (u *Upstream) hop(ctx context.Context, o hostkey.Origin) error {
	x, policy := crossingOf(ctx), u.policyOf(ctx)
	if policy == nil || x != nil && x.origin.Host == o.Host {
		return nil
	}
	if u.opt.Offline && !policy.Inside(o) {
		return &terms.FetchError{Kind: terms.FailureProhibited, Barred: rulings.Offline, Err: errOffline}
	}
	b, broken := policy.HostBreach(o.Host)
	if !broken {
		return nil
	}
	if !policy.Mode.Carries(b.Reason) {
		return &terms.FetchError{Kind: terms.FailureProhibited, Barred: b.Reason, Err: errors.New(b.Detail)}
	}
	if x != nil {
		x.hops.mu.Lock()
		defer x.hops.mu.Unlock()
		x.hops.list = append(x.hops.list, b)
	}
	return nil
}

// policyOf is the policy of the crossing on whose account terms are asked for, or
// where there is none, the one in force.
func (u *Upstream) policyOf(ctx context.Context) *rulings.Policy {
	if x := crossingOf(ctx); x != nil {
		return x.policy
	}
	return u.opt.Policy()
}

// noteHops puts breaches of requests for terms into the record, each host once.
func (x *crossing) noteHops() {
	x.hops.mu.Lock()
	defer x.hops.mu.Unlock()
	for _, b := range x.hops.list {
		x.rec.Breach(b)
	}
	x.hops.list = nil
}

// tellBreaches names the breaches that are carried in an answer's fields, which
// is all that the mode prefer does (O11).
func (x *crossing) tellBreaches(h http.Header) {
	if x.policy == nil || x.policy.Mode != rulings.ModePrefer {
		return
	}
	if reasons := x.rec.BreachReasons(); len(reasons) > 0 {
		h[breachField] = []string{strings.Join(reasons, ", ")}
	}
}
