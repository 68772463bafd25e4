package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/wayleave/wayleave/rulings"
)

// A RuledCrossing is what the record of a crossing says that its ruling was
// made on (E82).
type RuledCrossing struct {
	Ruleset   string
	Method    string
	URL       string         // as written by the agent, save for what Replaced and Cut say
	Authority string         // of a tunnel, in place of Method and URL
	UserAgent string         // the agent's
	User      string         // the agent's session, which is its proxy user name; empty for none
	Spending  []string       // names of fields that spend
	Policy    rulings.Digest // zero: there was none in force
	Ruled     bool           // the source's terms were looked up
	Terms     []rulings.Term

	HTTPStatus  int    // of the answer; 0 when there was none
	ContentType string // of the answer

	Refused rulings.Reason // for which the crossing was refused; empty when it was not

	Replaced bool // values in URL stand replaced (E23)
	Cut      bool // URL is not the octets that were sent: it was cut or rendered (E10)

	// Object returns the octets of a term object, true to its name.
	Object func(rulings.Digest) ([]byte, error)
}

// A Redone is a ruling that was made again.
type Redone struct {
	Ruling   rulings.Ruling
	Purposes []rulings.Purpose // whose effective preferences the record gives
	Mode     rulings.Mode      // of the policy; empty when none was in force

	// Hangs says that the ruling may hang on what the record has replaced.
	Hangs bool
}

// A DecideFunc makes the ruling of a recorded crossing again. It is handed in by
// who knows the decision, because a record depends on nothing that rules. What
// it cannot do is an *Unredoable or an error of RuledCrossing.Object. It may be
// called by any number of goroutines.
type DecideFunc func(c *RuledCrossing) (Redone, error)

// An Unredoable is why a ruling cannot be made again: a short word that is
// counted, such as "ruleset_unknown".
type Unredoable struct{ Cause string }

func (u *Unredoable) Error() string { return "the ruling cannot be made again: " + u.Cause }

// Causes that this package finds itself.
const (
	causeObjectMissing = "object_missing"
	causeURLReplaced   = "url_redacted"
	causeAgentCut      = "user_agent_cut"
)

// redone writes rulings that were made again as a record would have them.
type redone struct {
	enc      encoder
	crossing RuledCrossing
}

func newRedone() redone {
	// Its key is another one than the log's: stand-ins never compare equal.
	return redone{enc: encoder{redact: newRedactor(nil, nil, nil), bounds: everTighter[0]}}
}

// recompute makes the ruling of the record in v.line again and counts what came
// of it. Of crossings of services only what the operator refused was ruled.
func (v *logVerifier) recompute() {
	l, count := &v.line, v.report.Rulings
	if !l.final() || Grade(l.text("grade")) != Mediated {
		return
	}
	refusal := l.member("refusal")
	reason := rulings.Reason(readText(memberOf(refusal, "reason")))
	if class := rulings.Class(l.text("class")); class != rulings.Source && !(class == rulings.Service && reason.Facts().Whose == rulings.WhoseOperator && refusal != nil) {
		return
	}
	if l.member("url") == nil && (l.member("authority") == nil || refusal == nil) {
		count.Beside++ // a tunnel in which no request was read
		return
	}
	if reason.TurnsAway() && l.member("declarations") == nil {
		count.Beside++ // a request that was never ruled (E13)
		return
	}
	c := v.ruled()
	again, err := v.decide(c)
	switch {
	case errors.Is(err, errObjectUntrue):
		// Under the name that the record gives lies something else than what
		// it was ruled on.
		v.differs("it was ruled on another object than is there")
		return
	case err != nil:
		v.notRecomputed(causeOf(err))
		return
	}
	if outcome := Outcome(l.text("outcome")); refusal == nil && again.Ruling.Refused() && (outcome == Abandoned || outcome == Unavailable) && l.member("delivered") == nil {
		count.Beside++ // nobody was left to be told, and nothing was let pass
		return
	}
	what := v.compare(refusal, reason, &again)
	switch inexact := c.Replaced || c.Cut; {
	case inexact && (again.Hangs || what != ""):
		v.notRecomputed(causeURLReplaced)
	case what != "" && l.member("client") != nil && memberOf(l.member("client"), "user_agent_cut") != nil:
		v.notRecomputed(causeAgentCut)
	case what != "":
		v.differs(what)
	case refusal != nil && !again.Ruling.Refused():
		count.Beside++
	default:
		count.Same++
	}
}

func causeOf(err error) string {
	if u, ok := errors.AsType[*Unredoable](err); ok {
		return u.Cause
	}
	if errors.Is(err, errObjectMissing) {
		return causeObjectMissing
	}
	return "object_unreadable"
}

func (v *logVerifier) notRecomputed(cause string) {
	count := v.report.Rulings
	if count.NotRecomputed++; count.Causes == nil {
		count.Causes = make(map[string]int)
	}
	if count.Causes[cause]++; count.Causes[cause] == 1 {
		v.doubt(v.at, "the ruling cannot be made again: "+cause)
	}
}

func (v *logVerifier) differs(what string) {
	v.report.Rulings.Different++
	v.fault(v.at, "the ruling made again differs: "+what)
}

// ruled reads the record in v.line. The result is good until the next call.
func (v *logVerifier) ruled() *RuledCrossing {
	v.line.ruled(&v.redone.crossing, v.readObject)
	return &v.redone.crossing
}

// compare returns what the ruling made again has that the record has not; empty
// when they are the same. A refusal that the decision knows nothing of is no
// difference, as long as the decision lets the request pass.
func (v *logVerifier) compare(refusal []byte, reason rulings.Reason, again *Redone) string {
	r := &again.Ruling
	sent := v.line.member("requested_at") != nil || v.line.member("served_from") != nil
	switch {
	case refusal == nil && r.Refused():
		return fmt.Sprintf("it refuses for %s, and the crossing was not refused", r.Reason)
	case sent && reason == rulings.SpendNotAllowed && !r.Refused(): // for what stood behind the request's body
	case refusal != nil && !r.Refused() && decides(reason):
		return fmt.Sprintf("it lets pass what was refused for %s", reason)
	case refusal != nil && reason.Measured() && again.Mode.Carries(reason):
		return fmt.Sprintf("the policy carries what was refused for %s", reason)
	case refusal != nil && r.Refused():
		if what := compareRefusal(refusal, reason, r); what != "" {
			return what
		}
	}
	if what := compareBreaches(v.line.member("breach"), again, sent); what != "" {
		return what
	}
	declarations := v.line.member("declarations")
	if declarations == nil {
		if len(r.Robots) > 0 {
			return "it is made on robots.txt, and the record names none"
		}
		return ""
	}
	for _, part := range []struct {
		name, what string
		write      func(*encoder, *rulings.Ruling)
	}{
		{"robots", "other lines of robots.txt decide", func(e *encoder, r *rulings.Ruling) { writeRobots(e, r, nil) }},
		{"statements", "the statements are others", writeStatements},
		{"licences", "the licences come to something else", writeLicences},
		{"effective", "the effective preferences are others", func(e *encoder, r *rulings.Ruling) { writeEffective(e, r, again.Purposes) }},
	} {
		if !v.sameMember(part.name, memberOf(declarations, part.name), r, part.write) {
			return part.what
		}
	}
	return ""
}

// decides reports whether only a decision refuses for reason. Addresses are also
// judged when they are dialled, and the edge stops what leads back to it or what
// it cannot decide.
func decides(reason rulings.Reason) bool {
	switch reason {
	case rulings.RobotsCutShort, rulings.PathReadings, rulings.PolicyUnavailable, rulings.LicenceCutShort, rulings.SpendNotAllowed,
		rulings.HostDenied, rulings.HostNotAllowed, rulings.HostRuleRefuses, rulings.LicenceRequired:
		return true
	case rulings.CrawlDelay, rulings.Backoff:
		return false // the source's pace, which is no part of a decision
	}
	return reason.Facts().Whose == rulings.WhoseSource
}

// compareBreaches returns what differs between the breaches on record and those of
// the ruling made again. What was measured is no part of a decision, and requests
// for terms break the operator's lists with other hosts than the crossing's; such
// breaches stand on record beside the others. Of a request that was sent nobody may
// know what it cost (O33), or the source may have charged for it unasked (T104);
// both are carried in every mode.
func compareBreaches(recorded []byte, again *Redone, sent bool) string {
	rest := again.Ruling.Breaches
	for item := range itemsOf(recorded) {
		reason := rulings.Reason(readText(memberOf(item, "reason")))
		switch {
		case sent && (reason == rulings.AllowanceUnenforceable || reason == rulings.SpendNotAllowed):
		case !again.Mode.Carries(reason):
			return fmt.Sprintf("the policy does not carry %s", reason)
		case len(rest) > 0 && rest[0].Reason == reason:
			rest = rest[1:]
		case reason.Measured(), ofHosts(reason):
		default:
			return fmt.Sprintf("it does not break policy by %s", reason)
		}
	}
	if len(rest) > 0 {
		return fmt.Sprintf("it breaks policy by %s, and the record does not say so", rest[0].Reason)
	}
	return ""
}

func ofHosts(r rulings.Reason) bool {
	return r == rulings.HostDenied || r == rulings.HostNotAllowed || r == rulings.HostRuleRefuses
}

func compareRefusal(refusal []byte, reason rulings.Reason, r *rulings.Ruling) string {
	term := memberOf(refusal, "term")
	object, _ := readDigest(readText(memberOf(term, "object")))
	line, _ := readSeq(memberOf(term, "line"))
	entry, _ := readSeq(memberOf(term, "entry"))
	switch {
	case r.Reason != reason:
		return fmt.Sprintf("it refuses for %s, not for %s", r.Reason, reason)
	case string(r.WhoseTerm()) != readText(memberOf(refusal, "whose")):
		return "the term is another party's"
	case string(r.Stage) != readText(memberOf(refusal, "stage")):
		return "it refuses at another stage"
	case r.Term.Object != object || r.Term.Line != int(line) || r.Term.Entry != int(entry):
		return "another line decides"
	}
	return ""
}

// sameMember reports whether recorded is what a record would say of r in the
// member name.
func (v *logVerifier) sameMember(name string, recorded []byte, r *rulings.Ruling, write func(*encoder, *rulings.Ruling)) bool {
	e := &v.redone.enc
	defer func() { e.bounds = everTighter[0] }()
	for _, e.bounds = range everTighter { // a large record is written with less of each value
		e.b = e.b[:0]
		write(e, r)
		again := written(e.b, name)
		if bytes.Equal(again, recorded) || bytes.Equal(masked(again), masked(recorded)) {
			return true
		}
	}
	return false
}

// replacedValue is what stands for a value that was replaced (E24). The line of a file
// may hold a URL, and then does.
var replacedValue = regexp.MustCompile(`~[0-9a-f]{12}`)

// statedDelay is what a file states of the time between two requests. How much of it is
// kept is not the policy's, and no ruling hangs on it.
var statedDelay = regexp.MustCompile(`,?"crawl_delay":\{(?:"(?:[^"\\]|\\.)*"|[^"{}])*\}`)

func masked(raw []byte) []byte {
	return replacedValue.ReplaceAll(statedDelay.ReplaceAll(raw, nil), []byte("~"))
}

// written returns the value of the one member that the encoder wrote, or the
// first of it and its siblings; nil when it wrote none.
func written(b []byte, name string) []byte {
	if len(b) == 0 {
		return nil
	}
	start := len(name) + len(`,"":`)
	return b[start:valueEnd(b, start)]
}
