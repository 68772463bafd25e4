package terms

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// An Ask is one request of a probe, as its pace is to know it (specs: pacing P2).
type Ask struct {
	Kind   rulings.TermKind
	Origin hostkey.Origin
	Delay  robots.Delay // what the robots.txt that is held of Origin states to the edge's own tokens

	// Behind is how many further turns the crossing needs on the page's host
	// Page: of the licences that come after this one, and of the page (P15).
	Behind int
	Page   string
}

// A Pacer lets a probe go when its host may be asked.
type Pacer interface {
	// Pace waits until the request may go. An error is a *FetchError of the kind
	// FailureBackoff, FailureCrawlDelay or FailurePacingStore, or that of ctx. The
	// caller ends the pass by Ended. Pace may be called from many goroutines.
	Pace(ctx context.Context, ask Ask) (Pass, error)
}

// A Pass is the right to send one request. An error of its methods is a
// *FetchError of the kind FailurePacingStore: the request is not to be sent, or
// its answer not to be used (P39, P40).
type Pass interface {
	Handed(ctx context.Context) error                                 // the request goes to the transport now
	HeadBy() time.Time                                                // it is given up if its head has not come by then; zero: never (P25)
	Head(ctx context.Context, status int) error                       // the head of its answer has come
	Ended(ctx context.Context, resp *http.Response, whole bool) error // resp is nil where there was no answer
}

// noPacer lets every probe go at once.
type noPacer struct{}

func (noPacer) Pace(context.Context, Ask) (Pass, error) { return noPass{}, nil }

type noPass struct{}

func (noPass) Handed(context.Context) error                      { return nil }
func (noPass) HeadBy() time.Time                                 { return time.Time{} }
func (noPass) Head(context.Context, int) error                   { return nil }
func (noPass) Ended(context.Context, *http.Response, bool) error { return nil }

// A stopwatch ends a probe when it has run for so long. While the probe waits for
// its host's pace it stands: only the crossing's budget bounds that (P28).
type stopwatch struct {
	left    time.Duration
	started time.Time
	timer   *time.Timer
}

func startStopwatch(d time.Duration, end func()) *stopwatch {
	return &stopwatch{left: d, started: time.Now(), timer: time.AfterFunc(d, end)}
}

// stop halts the watch. It is false when the time was over.
func (w *stopwatch) stop() bool {
	running := w.timer.Stop()
	w.left -= time.Since(w.started)
	return running
}

func (w *stopwatch) resume() {
	w.started = time.Now()
	w.timer.Reset(w.left)
}

// drainLimit is how much is read of the body of a failing answer. It counts
// against the host when it was read that far or to its end (P22).
const drainLimit = 64 << 10

// drained reads the body of an answer of which nothing else is wanted, and
// reports whether it did not break off. Only that of a failure matters.
func drained(resp *http.Response) bool {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return true
	}
	_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, drainLimit))
	return err == nil
}

// pace waits for the host of target, outside of the probe's own time.
func (b *Book) pace(ctx context.Context, a *answer, target string, watch *stopwatch) (Pass, error) {
	at, ok := licencePlace(target)
	if !ok {
		return noPass{}, nil // the client refuses what has no origin
	}
	ask := Ask{Kind: a.kind, Origin: at.origin, Behind: a.behind, Page: a.page}
	if a.kind != rulings.TermRobots {
		if f, ok := b.robots.held(place{origin: at.origin}); ok && f.site != nil {
			ask.Delay = f.site.Select(b.tokens(), "").Delay()
		}
	}
	if !watch.stop() {
		return nil, &FetchError{Kind: FailureTimeout}
	}
	defer watch.resume()
	defer func(start time.Time) { a.waited += b.now().Sub(start) }(b.now())
	return b.pacer.Pace(ctx, ask)
}
