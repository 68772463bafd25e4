package terms

import (
	"context"
	"net/http"

	"github.com/wayleave/wayleave/rulings"
)

// A Client sends the edge's own requests. Its implementation holds the address
// guard and the operator's policy against each of them, so every hop of a
// redirect goes through it.
type Client interface {
	// Get sends one GET for url with exactly the fields of header. It follows
	// no redirect, undoes no content coding and sends nothing twice. The caller
	// closes the body. An error is a *FetchError, and neither it nor one of the body
	// quotes what the host sent (specs: evidence E23). Get keeps to ctx and may be
	// called from many goroutines.
	Get(ctx context.Context, url string, header http.Header) (*http.Response, error)
}

type kindKey struct{}

// KindOf returns which kind of document the request that a [Client] is asked to make
// is for: ctx is the request's. It is the same at each hop of a redirect.
func KindOf(ctx context.Context) rulings.TermKind {
	kind, _ := ctx.Value(kindKey{}).(rulings.TermKind)
	return kind
}

// A FailureKind says what kept a probe from an answer that could be used.
type FailureKind string

// What the host or the way to it did (T15: unreachable).
const (
	FailureDNS     FailureKind = "dns"     // its name did not resolve
	FailureConnect FailureKind = "connect" // no connection, or it ended before an answer
	FailureTLS     FailureKind = "tls"     // no TLS session, or a certificate that does not verify
	FailureTimeout FailureKind = "timeout" // no whole answer in time

	FailureBrokenBody       FailureKind = "broken_body"       // the body ended early
	FailureBadCoding        FailureKind = "bad_coding"        // the content coding could not be undone
	FailureRedirectLimit    FailureKind = "redirect_limit"    // one redirect too many
	FailureRedirectUnusable FailureKind = "redirect_unusable" // a redirect without a target that can be asked
	FailureRedirectRefused  FailureKind = "redirect_refused"  // the guard or the policy stopped a redirect
)

// Why a redirect of a licence's probe was not followed (T69: unread).
const (
	FailureRobots       FailureKind = "robots"             // the robots.txt of its origin refuses
	FailureRobotsUnread FailureKind = "robots_unreachable" // that robots.txt is unreachable, which refuses too
)

// What the edge did to itself (T15: cut short, except FailureProhibited behind
// a redirect).
const (
	FailureProhibited  FailureKind = "prohibited"   // the guard or the policy stopped the request
	FailureShutdown    FailureKind = "shutdown"     // the edge is stopping
	FailureBackoff     FailureKind = "backoff"      // the host's back-off does not fit the budget
	FailureCrawlDelay  FailureKind = "crawl_delay"  // the host's next turn does not fit the budget
	FailurePacingStore FailureKind = "pacing_store" // the pacing state could not be read or written
	FailureNotRecorded FailureKind = "not_recorded" // the run is a replay, and its recording has no answer
	FailureInternal    FailureKind = "internal"     // a fault of the edge
)

// edge reports whether k is the edge's own inability to ask, which is never
// laid on the host.
func (k FailureKind) edge() bool {
	switch k {
	case FailureShutdown, FailureBackoff, FailureCrawlDelay, FailurePacingStore, FailureNotRecorded, FailureInternal:
		return true
	}
	return false
}

// robots reports whether k is the word of another origin's robots.txt.
func (k FailureKind) robots() bool { return k == FailureRobots || k == FailureRobotsUnread }

// A FetchError is why a Client has no response.
type FetchError struct {
	Kind FailureKind
	Err  error // the cause, for the record; nil is fine

	// Barred is the reason for which the address guard, the operator's policy or
	// the host's pace stopped the request; empty when none did.
	Barred rulings.Reason
	Pace   rulings.PaceTerms // what pacing tells, where it was that

	// Answered: there was an answer, which may not be used (specs: pacing P40).
	Answered bool
}

func (e *FetchError) Error() string {
	if e.Err == nil {
		return string(e.Kind)
	}
	return string(e.Kind) + ": " + e.Err.Error()
}

func (e *FetchError) Unwrap() error { return e.Err }

// A Failure is a kind with what is known beyond it, which is for the record.
type Failure struct {
	Kind   FailureKind
	Detail string
}
