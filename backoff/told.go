package backoff

import (
	"math"
	"time"
)

// A Reason is why a request was not sent, as the agent reads it (P30, P32).
type Reason string

// The reasons of pacing.
const (
	ReasonCrawlDelay  Reason = "crawl_delay"
	ReasonBackoff     Reason = "backoff"
	ReasonPacingStore Reason = "pacing_store"
)

// A Refusal is a request that pacing did not let go, with all that is known of
// it. Tell says what of that the agent may learn.
type Refusal struct {
	Reason Reason
	Wait   time.Duration // until the host may be asked
	Delay  time.Duration // the delay kept, for ReasonCrawlDelay

	Held   bool // for ReasonBackoff: another request to the host is under way
	Status int  // of the host's answer that set the wait
	Date   bool // the host stated the end as a date, uncut

	// By is the tenant whose request set what binds, and Own says that it is the
	// one that is refused. Turns keep no tenant, so those are another's unless the
	// caller knows better.
	By  string
	Own bool
}

// Refusal returns the refusal that n is to a request of tenant.
func (n Next) Refusal(tenant string) Refusal {
	return Refusal{Reason: ReasonBackoff, Wait: n.Wait, Held: n.Held, Status: n.Status, Date: n.Date, By: n.By}.To(tenant)
}

// To returns the refusal that r is to a request of tenant, which may wait for the
// same answer as another's. An unknown tenant owns nothing.
func (r Refusal) To(tenant string) Refusal {
	r.Own = tenant != "" && r.By == tenant
	return r
}

// Told is what an agent may be told of a refusal.
type Told struct {
	Status     int       // of the reply: 429 or 503
	RetryAfter int       // whole seconds, at least 1
	RetryAt    time.Time // zero: not told

	Timing     bool // the wait, the delay and the budget may be named
	HostStatus int  // may be named as the host's last; 0: not told
	UnderWay   bool // may be told: another request to the host is under way
}

// Times and statuses of P32 and P33.
const (
	storeRetry  = 30 * time.Second
	sharedRetry = time.Minute
)

// Tell returns what the agent may be told of r at now, by the store's clock.
// shared: sessions belong to different parties (P33), so that what another
// tenant's requests brought about is told only as far as the site says it to
// everybody.
func Tell(r Refusal, now time.Time, shared bool) Told {
	told := Told{Status: 429, RetryAfter: seconds(r.Wait)}
	published := r.Reason == ReasonBackoff && r.Date && !r.Held
	switch {
	case r.Reason != ReasonCrawlDelay && r.Reason != ReasonBackoff:
		return Told{Status: 503, RetryAfter: seconds(storeRetry)}
	case !shared || r.Own:
		told.RetryAt, told.Timing, told.UnderWay = Instant(now.Add(r.Wait)), true, r.Held
		if r.Reason == ReasonBackoff && !r.Held {
			told.HostStatus = r.Status // one whose period has ended is not cited (P31)
		}
	case published:
		told.RetryAt = Instant(now.Add(r.Wait))
	case r.Reason == ReasonCrawlDelay:
		told.RetryAfter = seconds(r.Delay)
	default:
		told.RetryAfter = seconds(sharedRetry)
	}
	return told
}

// seconds returns d as Retry-After says it: rounded up, at least 1 (P30).
func seconds(d time.Duration) int {
	return int(max(1, math.Ceil(d.Seconds())))
}
