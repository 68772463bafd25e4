package terms

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

const (
	// longestLife is how long an answer may be used, and how long it is used
	// when it says nothing of it (T18; RFC 9309, section 2.4).
	longestLife = 24 * time.Hour
	// failureLife is how long an origin that could not be reached is left
	// alone (T15).
	failureLife = 5 * time.Minute
)

// An answer is what one probe met at the end of its redirects, before anybody
// judges it.
type answer struct {
	url          string   // as first asked
	redirects    []string // URLs of the hops after the first
	status       int      // of the last response; 0 when there was none
	cacheControl []string // field lines
	failure      Failure  // zero when the last response stands for itself
	barred       rulings.Reason

	body      []byte // of a 2xx, content coding undone, cut at the last whole line within the bound
	truncated bool   // the body was longer than the bound
	size      int64  // of the whole body; 0 when it was cut and its size is not known

	asked, ended time.Time
}

// finalURL is the URL of the last request; empty when it is the first.
func (a *answer) finalURL() string {
	if len(a.redirects) == 0 {
		return ""
	}
	return a.redirects[len(a.redirects)-1]
}

// A verdict is what an answer comes to (T15).
type verdict struct {
	outcome rulings.TermOutcome
	life    time.Duration  // counted from the end of the probe; nothing is kept of a cut-short probe
	cause   string         // in our own words; empty for an answer that was read
	barred  rulings.Reason // why the edge was kept from asking, where that has a reason of its own (T17)
	keptOff bool           // by the guard or the policy, from the origin itself
}

// cutShort returns the terms of crossings that waited for a probe the edge could
// not send; k is what is known of the origin, or nil. An origin that the guard
// or the policy bars is refused for that, whatever is held of it (T17).
func (v verdict) cutShort(k *known, url string) rulings.RobotsTerms {
	if v.keptOff {
		k = nil
	}
	t := cutShort(k, url, v.cause)
	if t.Site == nil {
		t.Barred = v.barred
	}
	return t
}

// classify judges an answer by the table of T15. It reads no clock and no body:
// what a body says is the parser's.
func classify(a *answer) verdict {
	kind := a.failure.Kind
	switch {
	case kind.edge(), kind == FailureProhibited:
		return verdict{outcome: rulings.TermCutShort, cause: a.cause(), barred: a.barred, keptOff: kind == FailureProhibited}
	case kind != "":
		return verdict{outcome: rulings.TermUnreachable, life: failureLife, cause: a.cause()}
	case a.status >= 200 && a.status <= 299:
		return verdict{outcome: rulings.TermRead, life: life(a.cacheControl)}
	case a.status >= 400 && a.status <= 499 && a.status != http.StatusTooManyRequests:
		return verdict{outcome: rulings.TermNoRules, life: life(a.cacheControl)}
	}
	return verdict{outcome: rulings.TermUnreachable, life: failureLife, cause: "it was answered with status " + strconv.Itoa(a.status)}
}

// causes tells each failure in our own words. Nothing in them comes from a
// host, so that they can stand wherever the outcome does.
var causes = map[FailureKind]string{
	FailureDNS:              "the name could not be resolved",
	FailureConnect:          "no connection gave an answer",
	FailureTLS:              "no TLS session could be agreed on",
	FailureTimeout:          "no whole answer came within 5 seconds",
	FailureBrokenBody:       "the body ended before it was whole",
	FailureBadCoding:        "the content coding of the body could not be undone",
	FailureRedirectLimit:    "it redirects more than 5 times",
	FailureRedirectUnusable: "it redirects to nothing that can be asked",
	FailureRedirectRefused:  "the edge may not follow a redirect",
	FailureProhibited:       "the edge may not ask this host",
	FailureShutdown:         "the edge is stopping",
	FailureBackoff:          "the back-off of the host does not fit the budget",
	FailurePacingStore:      "the pacing state is not available",
	FailureInternal:         "a fault of the edge",
}

// cause tells why the probe has no usable answer, with the position of the
// redirect where it ended behind one and the reason where guard or policy
// stopped it.
func (a *answer) cause() string {
	words, ok := causes[a.failure.Kind]
	if !ok {
		words = "the request did not succeed"
	}
	hop := len(a.redirects)
	if a.failure.Kind == FailureRedirectUnusable {
		hop++ // the one that could not be followed
	}
	if hop > 0 {
		words = fmt.Sprintf("%s (redirect %d)", words, hop)
	}
	if a.barred != "" {
		words = fmt.Sprintf("%s (%s)", words, a.barred)
	}
	return words
}

// life reads how long an answer may be used: max-age of Cache-Control when it
// is a number below 24 h, else 24 h. Nothing else is read of it (T18). The first
// max-age counts (RFC 9111, section 4.2.1).
func life(cacheControl []string) time.Duration {
	for _, line := range cacheControl {
		for line != "" {
			var directive string
			directive, line = cutDirective(line)
			name, value, _ := strings.Cut(directive, "=")
			if strings.EqualFold(name, "max-age") {
				return lifeOf(strings.Trim(value, `"`))
			}
		}
	}
	return longestLife
}

// lifeOf reads delta-seconds: digits and nothing else (RFC 9111, section 1.2.2).
func lifeOf(value string) time.Duration {
	if strings.Trim(value, "0123456789") != "" {
		return longestLife
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds >= int64(longestLife/time.Second) {
		return longestLife // nothing, or more than fits
	}
	return time.Duration(seconds) * time.Second
}

// cutDirective returns the first member of a comma-separated list and the rest.
// A comma inside a quoted string parts nothing (RFC 9110, section 5.6.4).
func cutDirective(line string) (directive, rest string) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return strings.Trim(line[:i], " \t"), line[i+1:]
		}
	}
	return strings.Trim(line, " \t"), ""
}
