package valkey

import (
	"context"
	_ "embed" // the scripts
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wayleave/wayleave/backoff"
)

//go:embed clock.lua
var clock string

//go:embed state.lua
var state string

//go:embed look.lua
var look string

//go:embed turn.lua
var turn string

//go:embed handed.lua
var handed string

//go:embed giveback.lua
var giveBack string

//go:embed reserve.lua
var reserve string

//go:embed answered.lua
var answered string

//go:embed release.lua
var release string

// The scripts, one for each method. The server keeps them by their digest; one
// that has lost them is sent them again.
var (
	lookScript     = redis.NewScript(clock + look)
	turnScript     = redis.NewScript(clock + state + turn)
	handedScript   = redis.NewScript(clock + state + handed)
	giveBackScript = redis.NewScript(clock + state + giveBack)
	reserveScript  = redis.NewScript(clock + state + reserve)
	answeredScript = redis.NewScript(clock + state + answered)
	releaseScript  = redis.NewScript(clock + state + release)
)

// Look implements backoff.Store.
func (s *Store) Look(ctx context.Context, host string) (backoff.State, time.Time, error) {
	found, now, err := s.call(ctx, lookScript, host)
	if err != nil {
		return backoff.State{}, time.Time{}, err
	}
	return s.rules.Recover(found, now), now, nil
}

// Turn implements backoff.Store.
func (s *Store) Turn(ctx context.Context, host string, delay, budget time.Duration) (backoff.Turn, error) {
	if delay <= 0 {
		_, t := s.rules.Turn(backoff.State{}, s.now(), 0, 0)
		return t, ctx.Err()
	}
	most := strconv.FormatInt(int64(max(budget, 0)/time.Millisecond), 10)
	found, now, err := s.call(ctx, turnScript, host, up(delay), most)
	if err != nil {
		return backoff.Turn{}, err
	}
	_, t := s.rules.Turn(found, now, delay, budget)
	return t, nil
}

// Handed implements backoff.Store.
func (s *Store) Handed(ctx context.Context, host string, t backoff.Turn, delay, lead time.Duration) (backoff.Handover, error) {
	asked, at := time.Now(), strconv.FormatInt(t.At.UnixMilli(), 10)
	found, now, err := s.call(ctx, handedScript, host, at, up(max(delay, 0)), up(max(lead, 0)), milliseconds(t.Handed))
	if err != nil {
		return backoff.Handover{}, err
	}
	_, h := s.rules.Handed(found, now, t, delay, lead)
	if s.clock == nil && !h.At.IsZero() {
		h.Left -= time.Since(asked) // at most as much has passed since the server read its clock
	}
	return h, nil
}

// GiveBack implements backoff.Store.
func (s *Store) GiveBack(ctx context.Context, host string, t backoff.Turn) error {
	_, _, err := s.call(ctx, giveBackScript, host, milliseconds(t.At), milliseconds(t.Before))
	return err
}

// Reserve implements backoff.Store.
func (s *Store) Reserve(ctx context.Context, host string, seen backoff.State, sender backoff.Sender, length time.Duration) (backoff.Reservation, error) {
	b, r := seen.Backoff, seen.Reservation
	back := backoff.Outwaited(seen, seen) // true of what was seen by a clock that had gone back
	found, now, err := s.call(ctx, reserveScript, host,
		sender.ID, sender.Tenant, up(max(length, 0)), milliseconds(seen.SetAt), flag(back),
		b.Failures, b.Status, milliseconds(b.Until), flag(b.RetryAfter), flag(b.Capped), flag(b.Date), b.By,
		r.ID, milliseconds(r.Deadline), r.By)
	if err != nil {
		return backoff.Reservation{}, err
	}
	_, got, ok := s.rules.Reserve(found, now, seen, sender, length)
	if !ok {
		return backoff.Reservation{}, backoff.ErrLookAgain
	}
	return got, nil
}

// Answered implements backoff.Store.
func (s *Store) Answered(ctx context.Context, host string, a backoff.Answer) (backoff.Change, error) {
	seconds, date := s.stated(a)
	found, now, err := s.call(ctx, answeredScript, host, a.Status, flag(a.Paced), a.Reservation, a.Tenant, seconds, date)
	if err != nil {
		return backoff.Change{}, err
	}
	_, c := s.rules.Answered(found, now, a)
	return c, nil
}

// Release implements backoff.Store.
func (s *Store) Release(ctx context.Context, host string, id string) error {
	_, _, err := s.call(ctx, releaseScript, host, id)
	return err
}

// stated returns the most seconds and the latest instant that the answer's
// Retry-After states, each empty if there is none. A date that is past or more
// than an hour ahead stands for any such: it is read before the script's clock
// is known, but that is off by no more than a message takes.
func (s *Store) stated(a backoff.Answer) (seconds, date string) {
	if a.Status != 429 && a.Status != 503 {
		return "", ""
	}
	now := s.now()
	most, latest := int64(-1), time.Time{}
	for _, line := range a.RetryAfter {
		r := backoff.ReadRetryAfter([]string{line}, now)
		end := r.End
		switch {
		case !r.Usable:
			continue
		case digits(strings.Trim(line, " \t")):
			n := int64(end.Sub(now) / time.Second)
			if r.Capped {
				n++ // so that the script cuts it too
			}
			most = max(most, n)
			continue
		case r.Capped:
			end = end.Add(backoff.MaxInterval)
		case !r.Date:
			end = now.Add(-backoff.MaxInterval)
		}
		if end.After(latest) {
			latest = end
		}
	}
	if most >= 0 {
		seconds = strconv.FormatInt(most, 10)
	}
	return seconds, milliseconds(latest)
}
