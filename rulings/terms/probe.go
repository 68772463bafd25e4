package terms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

const (
	probeTime    = 5 * time.Second // the whole probe, redirects and body included (T15)
	maxRedirects = 5               // T15; RFC 9309, section 2.3.1.2
	maxURL       = 8 << 10         // octets of a redirect's target that is followed
	maxDetail    = 512             // octets of a failure's detail that are kept
)

// errClosed is the cancellation cause of probes that Close ends.
var errClosed = errors.New("the book of terms is closed")

// A Probe is one request of the edge for a source's terms, with its redirects,
// as it goes into the log.
type Probe struct {
	Kind        rulings.TermKind
	URL         string
	RequestedAt time.Time // of the first; zero when none was let go
	Status      int       // of the last response; 0 when there was none
	FinalURL    string    // of the last request, or of the redirect that was not followed; empty when it is URL
	Redirects   []string  // URLs of the hops after the first
	Object      rulings.Digest
	Bytes       int64         // of the body behind its content coding, as kept; -1 when no body was read
	CacheUntil  time.Time     // zero when nothing was kept
	Failure     Failure       // zero when the last response stands for itself
	CutShort    string        // why the edge could not ask; empty when it could
	Took        time.Duration // by the requests
	Waited      time.Duration // for the pace of their hosts
	Passes      []Pass        // of the requests that were let go, as the Pacer made them
	Refused     error         // of the Pacer, for the one that was not; nil: all were
}

// fetch asks for the URL first and follows its redirects until there is an
// answer to judge. It never errs: faults are part of the answer.
//
// Pass rules the target of each redirect before it is asked for; nil lets all
// pass. The time that takes is part of the probe's.
func (b *Book) fetch(ctx context.Context, kind rulings.TermKind, first string, how errand) *answer {
	ctx, end := context.WithCancelCause(context.WithValue(ctx, kindKey{}, kind))
	defer end(nil)
	stop := context.AfterFunc(b.closing, func() { end(errClosed) })
	defer stop()
	watch := startStopwatch(probeTime, func() { end(context.DeadlineExceeded) })
	defer watch.stop()

	a := &answer{url: first, kind: kind, behind: how.behind}
	if how.pass != nil {
		a.page = how.pass.page.Host
	}
	for next := first; next != ""; {
		if next = b.hop(ctx, a, next, watch); next != "" && how.pass != nil {
			next = a.heed(how.pass.gateTo(ctx, next), next)
		}
	}
	// The 5 minutes and 24 hours count from here (T124).
	a.ended = b.now()
	if a.failure.Kind != "" {
		a.blame(ctx)
	}
	return a
}

// hop sends one request of a probe and returns the URL to ask next, or "" when
// a holds the answer.
func (b *Book) hop(ctx context.Context, a *answer, target string, watch *stopwatch) (next string) {
	pass, err := b.pace(ctx, a, target, watch)
	if err != nil {
		a.fail(err)
		return ""
	}
	if pass != (noPass{}) {
		a.passes = append(a.passes, pass)
	}
	asked := b.now()
	next, err = b.send(ctx, a, target, pass)
	a.took += b.now().Sub(asked)
	if err != nil {
		a.fail(err)
		return ""
	}
	return next
}

// send sends the request that pass lets go.
func (b *Book) send(ctx context.Context, a *answer, target string, pass Pass) (next string, err error) {
	if err := pass.Handed(ctx); err != nil {
		return "", err
	}
	if a.asked.IsZero() {
		a.asked = b.now()
	}
	resp, err := b.get(ctx, target, pass)
	if err != nil {
		return "", cmp.Or(pass.Ended(ctx, nil, false), err)
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	if err := pass.Head(ctx, resp.StatusCode); err != nil {
		return "", err
	}
	next = b.take(a, target, resp)
	return next, pass.Ended(ctx, resp, a.whole && drained(resp))
}

// get waits for the head of an answer, and no longer than pass says.
func (b *Book) get(ctx context.Context, target string, pass Pass) (*http.Response, error) {
	by := pass.HeadBy()
	if by.IsZero() {
		return b.client.Get(ctx, target, b.header())
	}
	bounded, end := context.WithCancelCause(ctx) // ends with the probe's own
	timer := time.AfterFunc(time.Until(by), func() { end(context.DeadlineExceeded) })
	resp, err := b.client.Get(bounded, target, b.header())
	if timer.Stop(); err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = &FetchError{Kind: FailureTimeout, Err: err}
	}
	return resp, err
}

// take takes what a needs of resp, and returns the URL to ask next.
func (b *Book) take(a *answer, target string, resp *http.Response) (next string) {
	a.whole, a.cacheControl = true, resp.Header.Values("Cache-Control")
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		a.readBody(resp)
		a.whole = a.failure.Kind == "" && !a.truncated
	case isRedirect(resp.StatusCode):
		return a.redirect(target, resp.Header)
	}
	return ""
}

// header is all that a probe carries: nothing of the agent is in it (T12).
func (b *Book) header() http.Header {
	return http.Header{
		"User-Agent":      {b.userAgent()},
		"Accept":          {"*/*"},
		"Accept-Encoding": {"gzip"},
	}
}

// fail notes why there is no response, or none that may be used. Only of the
// latter the status stays.
func (a *answer) fail(err error) {
	a.cacheControl = nil
	var fetch *FetchError
	if !errors.As(err, &fetch) {
		fetch = &FetchError{Err: err}
	}
	if !fetch.Answered {
		a.status = 0
	}
	a.failure.Kind = cmp.Or(fetch.Kind, FailureConnect)
	if fetch.Err != nil {
		a.failure.Detail = fetch.Err.Error()
	}
	a.barred, a.pace = fetch.Barred, fetch.Pace
	if a.barred != "" && !a.failure.Kind.edge() {
		a.failure.Kind = FailureProhibited
	}
	a.ownDoing()
}

// ownDoing lays it on the origin when it leads to where the edge may not go: it
// chose the target.
func (a *answer) ownDoing() {
	if a.failure.Kind == FailureProhibited && len(a.redirects) > 0 {
		a.failure.Kind = FailureRedirectRefused
	}
}

// heed returns next, the target of a redirect, if g lets it be asked for, else "".
func (a *answer) heed(g gate, next string) string {
	if g.open() {
		return next
	}
	a.failure, a.barred, a.pace, a.until = Failure{g.failure, g.why}, g.barred, g.pace, g.until
	a.ownDoing()
	return ""
}

// blame puts a failure down to the end of the probe's time or of the edge where
// that was the cause: both break off whatever is going on.
func (a *answer) blame(ctx context.Context) {
	switch cause := context.Cause(ctx); {
	case a.failure.Kind == FailureRedirectLimit, a.failure.Kind == FailureRedirectUnusable, a.failure.Kind.edge(), a.failure.Kind.robots():
	case errors.Is(cause, errClosed):
		a.failure.Kind = FailureShutdown
	case errors.Is(cause, context.DeadlineExceeded):
		a.failure.Kind = FailureTimeout
	}
	if d := a.failure.Detail; len(d) > maxDetail {
		a.failure.Detail = strings.ToValidUTF8(d[:maxDetail], "")
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect returns the URL to ask next, or "" when the redirect cannot be followed.
func (a *answer) redirect(from string, h http.Header) string {
	if len(a.redirects) == maxRedirects {
		a.failure.Kind = FailureRedirectLimit
		return ""
	}
	target, ok := redirectTarget(from, h.Get("Location"))
	if !ok {
		a.failure.Kind = FailureRedirectUnusable
		return ""
	}
	a.redirects = append(a.redirects, target)
	return target
}

// redirectTarget resolves the Location of a redirect (RFC 9110, section 10.2.2).
// It is false where that leads to nothing that can be asked.
func redirectTarget(from, location string) (string, bool) {
	base, err := url.Parse(from)
	if err != nil || location == "" {
		return "", false
	}
	u, err := base.Parse(location)
	if err != nil {
		return "", false
	}
	target, _, ok := askable(u)
	return target, ok
}

// askable returns u as it is asked for: over http or https, with a host that has
// a key and is written as that, without fragment and without userinfo, which
// would reach logs. It is false for a URL that cannot be asked for like this. U
// is changed.
func askable(u *url.URL) (target string, origin hostkey.Origin, ok bool) {
	if u.User != nil || u.Opaque != "" {
		return "", hostkey.Origin{}, false
	}
	origin, err := hostkey.ParseOrigin(u.Scheme, u.Host)
	if err != nil {
		return "", hostkey.Origin{}, false
	}
	u.Host = strings.TrimPrefix(origin.String(), origin.Scheme+"://")
	u.RawQuery = escapeQuery(u.RawQuery)
	u.Fragment, u.RawFragment = "", ""
	target = u.String()
	return target, origin, len(target) <= maxURL
}

// escapeQuery writes as %XX what cannot stand in a request line. net/url leaves
// a query as it found it, and the 400 for a broken request line would be read as
// no rules.
func escapeQuery(query string) string {
	if !strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return query
	}
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7F {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
