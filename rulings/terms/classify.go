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
	pace         rulings.PaceTerms
	until        time.Time // of the robots.txt that refuses a redirect

	body      []byte // of a 2xx, content coding undone, cut at the last whole line within the bound
	truncated bool   // the body was longer than the bound
	size      int64  // of the whole body; 0 when it was cut and its size is not known
	whole     bool   // the last answer was read to its end, as far as anything is wanted of it

	asked, ended time.Time

	// What pacing is to know of the probe's requests, and what it made of them.
	kind   rulings.TermKind
	behind int
	page   string
	passes []Pass
	waited time.Duration // for pace, which is none of took
	took   time.Duration
}

// finalURL is the URL of the last request; empty when it is the first.
func (a *answer) finalURL() string {
	if len(a.redirects) == 0 {
		return ""
	}
	return a.redirects[len(a.redirects)-1]
}

// A verdict is what an answer comes to.
type verdict struct {
	outcome rulings.TermOutcome
	life    time.Duration  // counted from the end of the probe; nothing is kept of a cut-short probe
	cause   string         // in our own words; empty for an answer that was read
	failure FailureKind    // of a probe that was cut short: why
	barred  rulings.Reason // and the reason of its own that this has (T17)
	pace    rulings.PaceTerms
	body    bool     // the body was read: it is what is ruled on, and kept
	doc     document // what it was read as
}

// notAsked is the verdict on a probe that the edge could not send. It is false
// for one that was sent, whatever then happened.
func (a *answer) notAsked() (verdict, bool) {
	if kind := a.failure.Kind; kind.edge() || kind == FailureProhibited {
		return verdict{outcome: rulings.TermCutShort, cause: a.cause(), failure: kind, barred: a.barred, pace: a.pace}, true
	}
	return verdict{}, false
}

// verdict is what a comes to, its body included.
func (kd *kind) verdict(a *answer) verdict {
	v, is := a.notAsked()
	if is {
		return v
	}
	if v = kd.judge(a); v.outcome != rulings.TermRead {
		return v
	}
	v.body = true
	if v.doc, v.cause = kd.parse(a.body); v.cause != "" {
		v.outcome = rulings.TermUnread
	}
	return v
}

// judgeRobots sorts an answer by the table of T15.
func judgeRobots(a *answer) verdict {
	switch {
	case a.failure.Kind != "":
		return verdict{outcome: rulings.TermUnreachable, life: failureLife, cause: a.cause()}
	case a.ok():
		return verdict{outcome: rulings.TermRead, life: life(a.cacheControl)}
	case a.status >= 400 && a.status <= 499 && a.status != http.StatusTooManyRequests:
		return verdict{outcome: rulings.TermNoRules, life: life(a.cacheControl), doc: document{site: noRules}}
	}
	return verdict{outcome: rulings.TermUnreachable, life: failureLife, cause: a.answered()}
}

// judgeDocument sorts an answer by the table of T69. That there is no document
// is good for missing.
func judgeDocument(a *answer, missing time.Duration) verdict {
	kind := a.failure.Kind
	switch {
	case kind.robots():
		// As long as the copy that refuses, which may be over already.
		left := min(max(a.until.Sub(a.ended), 0), longestLife)
		return verdict{outcome: rulings.TermUnread, life: left, cause: unread(rulings.CauseRobots, a.cause())}
	case kind == FailureRedirectLimit, kind == FailureRedirectUnusable, kind == FailureRedirectRefused:
		return verdict{outcome: rulings.TermUnread, life: failureLife, cause: unread(rulings.CauseStatus, a.cause())}
	case kind != "":
		return verdict{outcome: rulings.TermUnread, life: failureLife, cause: unread(rulings.CauseTransport, a.cause())}
	case a.ok() && a.truncated:
		return verdict{outcome: rulings.TermUnread, life: life(a.cacheControl), cause: unread(rulings.CauseTooLarge, "it is longer than 524,288 octets")}
	case a.ok():
		return verdict{outcome: rulings.TermRead, life: life(a.cacheControl)}
	case a.status == http.StatusNotFound, a.status == http.StatusGone:
		return verdict{outcome: rulings.TermMissing, life: missing}
	}
	return verdict{outcome: rulings.TermUnread, life: failureLife, cause: unread(rulings.CauseStatus, a.answered())}
}

// ok reports whether the last response was a 2xx.
func (a *answer) ok() bool { return a.status >= 200 && a.status <= 299 }

// answered says which status the last response had.
func (a *answer) answered() string { return "it was answered with status " + strconv.Itoa(a.status) }

// unread is the Cause of a term that is unread: the word by which T70 names the
// cause, and the words for it. The word is read back from records, so that it
// needs no member of its own there (E17).
func unread(word rulings.Cause, words string) string { return string(word) + ": " + words }

// causeOf returns the word that begins the cause of a term that is unread.
func causeOf(cause string) rulings.Cause {
	word, _, _ := strings.Cut(cause, ":")
	if strings.Contains(word, " ") {
		return ""
	}
	return rulings.Cause(word)
}

// ofBody reports whether a document is unread for what the source sent, and not
// for want of it.
func ofBody(word rulings.Cause) bool {
	switch word {
	case rulings.CauseTooLarge, rulings.CauseXML, rulings.CauseNotRSL, rulings.CauseInvalid:
		return true
	}
	return false
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
	FailureRobots:           "the robots.txt of its origin does not allow it",
	FailureRobotsUnread:     "the robots.txt of its origin could not be reached",
	FailureShutdown:         "the edge is stopping",
	FailureBackoff:          "the back-off of the host does not fit the budget",
	FailureCrawlDelay:       "the next turn of the host does not fit the budget",
	FailurePacingStore:      "the pacing state is not available",
	FailureNotRecorded:      "the recording has no answer",
	FailureInternal:         "a fault of the edge",
}

// cause tells why the probe has no usable answer, with the position of the
// redirect where it ended behind one and the reason where guard or policy
// stopped it.
func (a *answer) cause() string {
	hop := len(a.redirects)
	if a.failure.Kind == FailureRedirectUnusable {
		hop++ // the one that could not be followed
	}
	return tell(a.failure.Kind, hop, a.barred)
}

// tell says what kind is, behind how many redirects, and for which reason. That
// stands at the end, where barredBy finds it.
func tell(kind FailureKind, hop int, barred rulings.Reason) string {
	words, ok := causes[kind]
	if !ok {
		words = "the request did not succeed"
	}
	if hop > 0 {
		words = fmt.Sprintf("%s (redirect %d)", words, hop)
	}
	if barred != "" {
		words = fmt.Sprintf("%s (%s)", words, barred)
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
