package main

import (
	"context"
	"slices"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/internal/hostkey"
)

// A firstNames collects the first of many names in byte order, each once, in
// memory that grows with how many are wanted only.
type firstNames struct {
	after string // only names behind it
	most  int
	names []string
}

func (f *firstNames) add(name string) {
	if name <= f.after {
		return
	}
	f.names = append(f.names, name)
	if len(f.names) >= 2*f.most+1024 {
		f.trim()
	}
}

// trim keeps the first names.
func (f *firstNames) trim() {
	slices.Sort(f.names)
	f.names = slices.Compact(f.names)
	f.names = f.names[:min(len(f.names), f.most)]
}

// hosts lists the hosts that callers wait for, that have a state of pace, or that
// were asked for their terms (A9).
func (e *edge) hosts(ctx context.Context, q admin.HostQuery) (items []admin.HostItem, more bool, err error) {
	first := firstNames{after: q.After, most: q.Limit + 1}
	waits := e.waits()
	for host := range waits {
		first.add(host)
	}
	if !q.Waiting {
		if err := e.knownHosts(ctx, first.add); err != nil {
			return nil, false, err
		}
	}
	first.trim()
	names := first.names
	if more = len(names) > q.Limit; more {
		names = names[:q.Limit]
	}
	for _, host := range names {
		item, _, err := e.hostItem(ctx, host, backoff.Delay{}, waits)
		if err != nil {
			return nil, false, err
		}
		items = append(items, item)
	}
	return items, more, nil
}

// waits returns who waits in this edge, by host.
func (e *edge) waits() map[string]backoff.HostWait {
	waits := map[string]backoff.HostWait{}
	for _, w := range e.pacing.Dispatcher.Waiting() {
		waits[w.Host] = w
	}
	return waits
}

// knownHosts calls add with each host that is known on disk, some more than once.
func (e *edge) knownHosts(ctx context.Context, add func(string)) error {
	if lister, ok := e.pacing.Store.(backoff.Lister); ok {
		for host, err := range lister.Hosts(ctx) {
			if err != nil {
				return err
			}
			add(host)
		}
	}
	all := func(string) bool { return true }
	return eachOrigin(ctx, originsDir(e.cfg.data), all, func(o hostkey.Origin) bool { add(o.Host); return true })
}

// hostItem is what paces host now; delay is what is kept of what it states.
func (e *edge) hostItem(ctx context.Context, host string, delay backoff.Delay, waits map[string]backoff.HostWait) (admin.HostItem, pace, error) {
	item := admin.HostItem{Host: host}
	if policy := e.policy.Load(); policy != nil {
		item.Class = policy.Class(host)
	}
	if w, ok := waits[host]; ok {
		item.Pacing.Waiting = &admin.HostWaiting{Count: w.Count, Until: w.Until, Cause: string(w.Cause)}
	}
	at, err := lookAtPace(ctx, e.pacing, host, delay)
	if err != nil {
		return item, at, err
	}
	at.tell(&item.Pacing)
	return item, at, nil
}

// tell puts a into the form of A9.
func (a *pace) tell(p *admin.HostPace) {
	if a.fault != nil {
		p.Unavailable = a.fault.Told()
		return
	}
	s := a.state
	p.Recovered = s.Recovered
	if t := s.Turn; a.delay.Honoured > 0 || !t.Reserved.IsZero() || !t.Answered.IsZero() {
		p.Turn = &admin.HostTurn{Reserved: t.Reserved, Answered: t.Answered, DelayMS: a.delay.Honoured.Milliseconds(), Capped: a.delay.Capped}
		if a.turn > 0 {
			p.Turn.NextAt, p.Turn.WaitMS = a.at(a.turn), a.turn.Milliseconds()
		}
	}
	if b := s.Backoff; !b.Until.IsZero() {
		p.Backoff = &admin.HostBackoff{
			Failures: b.Failures, Status: b.Status, Until: b.Until, RetryAfter: b.RetryAfter, Capped: b.Capped, Date: b.Date, By: b.By,
		}
		if !a.next.Held {
			p.Backoff.WaitMS = a.next.Wait.Milliseconds()
		}
	}
	if s.Reserved(a.now) {
		p.Reservation = &admin.HostReservation{Deadline: s.Reservation.Deadline, By: s.Reservation.By}
	}
}

// host tells all that is known of a host, asking nobody (A9).
func (e *edge) host(ctx context.Context, host string) (admin.Host, error) {
	origins, err := originsOf(ctx, originsDir(e.cfg.data), host)
	if err != nil {
		return admin.Host{}, err
	}
	x := e.explainer()
	said := make([]saidOrigin, len(origins))
	for i, o := range origins {
		said[i] = x.held(o)
	}
	return e.tellHost(ctx, host, said)
}

// tellHost puts what the origins of a host said beside its pace.
func (e *edge) tellHost(ctx context.Context, host string, said []saidOrigin) (admin.Host, error) {
	var found admin.Host
	var delay backoff.Delay // the longest: all origins of a host share its turns (P1)
	for _, s := range said {
		if s.delay.Honoured > delay.Honoured {
			delay = s.delay
		}
		found.Origins = append(found.Origins, s.told)
	}
	item, at, err := e.hostItem(ctx, host, delay, e.waits())
	if err != nil {
		return found, err
	}
	if len(said) == 0 && at.fault == nil && at.state.Empty() && item.Pacing.Waiting == nil {
		return found, admin.ErrUnknownHost
	}
	found.HostItem = item
	return found, nil
}
