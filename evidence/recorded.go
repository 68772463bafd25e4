package evidence

import (
	"fmt"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// A RecordedCrossing is what the final record of a crossing says of how it was
// ruled and what came of it, for who asks what another policy would have made of it
// (specs: admin A12).
type RecordedCrossing struct {
	RuledCrossing

	Number   uint64 // of the crossing, in its log (E12)
	Grade    Grade
	Class    rulings.Class
	Address  string           // that was dialled; empty when none was
	Breaches []rulings.Reason // carried, in order of the record
	Charged  bool             // the origin says that it charged
	AgentCut bool             // UserAgent is the beginning of what was sent

	// Of the body, where it was read to its end.
	Retrieved Count // as served
	Content   Count // after content codings, and after extraction where that was done
	Coding    string
}

// ReadCrossing reads the final record of a crossing, as Item has it. object returns
// the octets of a term object, true to its name.
func ReadCrossing(record []byte, object func(rulings.Digest) ([]byte, error)) (RecordedCrossing, error) {
	var l logLine
	if fault := l.read(record); fault != "" {
		return RecordedCrossing{}, fmt.Errorf("reading a record: %s", fault)
	}
	if !l.final() {
		return RecordedCrossing{}, fmt.Errorf("reading a record: %s does not end a crossing", l.event)
	}
	c := RecordedCrossing{
		Number: l.seq, Grade: Grade(l.text("grade")), Class: rulings.Class(l.text("class")), Address: l.text("address"),
		Charged: l.member("charge") != nil, AgentCut: memberOf(l.member("client"), "user_agent_cut") != nil, Coding: l.text("content_coding"),
	}
	l.ruled(&c.RuledCrossing, object)
	if opened := l.number("opened"); opened > 0 {
		c.Number = opened
	}
	for item := range itemsOf(l.member("breach")) {
		c.Breaches = append(c.Breaches, rulings.Reason(readText(memberOf(item, "reason"))))
	}
	if l.member("retrieved_bytes") != nil {
		c.Retrieved = Counted(int64(l.number("retrieved_bytes")))
	}
	if l.member("content_bytes") != nil {
		c.Content = Counted(int64(l.number("content_bytes")))
	}
	return c, nil
}

// ruled reads into c what the record says that the crossing was ruled on. It uses
// c.Terms again.
func (l *logLine) ruled(c *RuledCrossing, object func(rulings.Digest) ([]byte, error)) {
	*c = RuledCrossing{
		Ruleset: l.text("ruleset"), Method: l.text("method"), URL: l.text("url"), Authority: l.text("authority"), Terms: c.Terms[:0], Object: object,
		Cut: l.member("url_cut") != nil || l.member("url_rendered") != nil,
	}
	c.Refused = rulings.Reason(readText(memberOf(l.member("refusal"), "reason")))
	client := l.member("client")
	c.UserAgent, c.User = readText(memberOf(client, "user_agent")), readText(memberOf(client, "session"))
	if OwnSession(c.User) { // an agent without a name (E2)
		c.User = ""
	}
	for item := range itemsOf(l.member("spending")) {
		c.Spending = append(c.Spending, readText(item))
	}
	status, _ := readSeq(l.member("http_status"))
	c.HTTPStatus, c.ContentType = int(status), l.text("content_type")
	c.Policy, _ = readDigest(l.text("policy_digest"))
	for item := range itemsOf(l.member("redacted")) {
		c.Replaced = c.Replaced || readText(item) != userinfo // which is never sent
	}
	if declarations := l.member("declarations"); declarations != nil {
		c.Ruled = true
		for item := range itemsOf(memberOf(declarations, "terms")) {
			c.Terms = append(c.Terms, readTerm(item))
		}
	}
}

// readTerm reads what writeTerm writes, as far as a ruling is made on it.
func readTerm(raw []byte) (t rulings.Term) {
	for name, value := range membersOf(raw) {
		switch string(name) {
		case "kind":
			t.Kind = rulings.TermKind(readText(value))
		case "mechanism":
			t.Mechanism = rulings.Mechanism(readText(value))
		case "url":
			t.URL = readText(value)
		case "final_url":
			t.FinalURL = readText(value)
		case "status":
			n, _ := readSeq(value)
			t.Status = int(n)
		case "outcome":
			t.Outcome = rulings.TermOutcome(readText(value))
		case "cause":
			t.Cause = readText(value)
		case "cache":
			t.Cache = rulings.CacheState(readText(value))
		case "expires_at":
			if ms, ok := readInstant(value); ok {
				t.ExpiresAt = time.UnixMilli(ms).UTC()
			}
		case "object":
			t.Object, _ = readDigest(readText(value))
		}
	}
	return t
}
