package terms

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// What is read of a file of the cache is what this program can have written, or
// nothing: each kind refuses the visits that its table (T15, T69) does not know.

// check refuses what no probe of any kind can have met.
func (v *visit) check() error {
	life := v.ExpiresAt.Sub(v.FetchedAt)
	switch {
	case v.FetchedAt.IsZero() || life < 0 || life > longestLife || !v.answers() && v.failedLonger(life):
		return fmt.Errorf("life of %v", life)
	case v.Status < 0 || v.Size < 0 || v.Size > robots.MaxBytes && !v.Truncated || len(v.Redirects) > maxRedirects:
		return fmt.Errorf("status %d, size %d, %d redirects", v.Status, v.Size, len(v.Redirects))
	}
	for _, u := range append([]string{v.FinalURL}, v.Redirects...) {
		if _, err := url.Parse(u); err != nil || len(u) > maxURL {
			return errors.New("a URL that was not asked")
		}
	}
	return nil
}

// failedLonger reports whether life is longer than a failure is remembered. That
// a robots.txt refuses holds as long as that file does (T69).
func (v *visit) failedLonger(life time.Duration) bool {
	return life > failureLife && !(v.Outcome == rulings.TermUnread && causeOf(v.Cause) == rulings.CauseRobots)
}

// fitsWith refuses a visit whose outcome does not go with its status and object:
// only what was read as the body of a 2xx has an object.
func (v *visit) fitsWith(status, object bool) error {
	switch {
	case !status:
		return fmt.Errorf("outcome %q does not go with status %d and cause %q", v.Outcome, v.Status, v.Cause)
	case object != (v.Object != rulings.Digest{}):
		return fmt.Errorf("outcome %q does not go with object %q", v.Outcome, v.Object)
	}
	return nil
}

// ok reports whether the status is a 2xx.
func (v *visit) ok() bool { return v.Status >= 200 && v.Status <= 299 }

// fitsRobots refuses what judgeRobots does not make of an answer.
func fitsRobots(v *visit) error {
	switch v.Outcome {
	case rulings.TermRead:
		return v.fitsWith(v.ok(), true)
	case rulings.TermNoRules:
		return v.fitsWith(v.Status >= 400 && v.Status <= 499 && v.Status != 429, false)
	case rulings.TermUnreachable:
		return v.fitsWith(true, false)
	}
	return errors.New("an outcome that no robots.txt has")
}

// fitsDocument refuses what judgeDocument does not make of an answer; missing is
// how long it holds that there is no document.
func fitsDocument(v *visit, missing time.Duration) error {
	switch v.Outcome {
	case rulings.TermRead:
		return v.fitsWith(v.ok() && !v.Truncated && v.Cause == "", true)
	case rulings.TermMissing:
		return v.fitsWith((v.Status == 404 || v.Status == 410) && v.ExpiresAt.Sub(v.FetchedAt) <= missing, false)
	case rulings.TermUnread:
		return v.fitsUnread(causeOf(v.Cause))
	}
	return errors.New("an outcome that no document has")
}

func (v *visit) fitsUnread(word rulings.Cause) error {
	switch word {
	case rulings.CauseTooLarge:
		return v.fitsWith(v.ok() && v.Truncated, false)
	case rulings.CauseStatus, rulings.CauseTransport:
		return v.fitsWith(true, false)
	case rulings.CauseRobots:
		return v.fitsWith(len(v.Redirects) > 0, false)
	}
	return v.fitsWith(v.ok() && !v.Truncated && ofBody(word), true)
}
