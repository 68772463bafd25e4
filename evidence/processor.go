package evidence

import (
	"strconv"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// ProcessorInvoked says that a screen or a transformation ran on a body, or why
// it did not (E19). It stands before the final record of the crossing it judged,
// which it goes into one Append with, so that the record names its seq.
type ProcessorInvoked struct {
	Name, Version string
	Configuration rulings.Digest // of its whole rule text
	Stage         string         // StageScreen or StageTransform
	Decision      string         // one of the decisions below
	Inputs        []BodyPart
	Outputs       []BodyPart
	Matches       []Match
	Omitted       bool     // more was found than is listed
	Gaps          []Gap    // why it abstained
	Blind         []string // what its rules cannot see (specs: policy O43)
	StartedAt     time.Time
	Elapsed       time.Duration
}

// Stages and decisions of a processor.
const (
	StageScreen    = "screen"
	StageTransform = "transform"

	DecisionAdmit   = "admit"   // clean under its rules, or transformed
	DecisionBreach  = "breach"  // found something, and the mode carries that
	DecisionRefuse  = "refuse"  // found something, and the mode refuses for it
	DecisionAbstain = "abstain" // could not say
)

// A BodyPart is a form of a body: as served ("retrieved"), after content coding
// ("content"), or the text of a page ("text").
type BodyPart struct {
	Of    string
	Hash  rulings.Digest
	Bytes int64
}

// A Match is a place where a rule of a processor matched, in octets of the part
// it names. What matched is never recorded.
type Match struct {
	Rule, In   string
	Start, End int
}

// Event implements Record.
func (ProcessorInvoked) Event() string { return EventProcessorInvoked }

func (r ProcessorInvoked) payload(e *encoder) {
	p := e.open("processor")
	e.text("name", r.Name)
	e.text("version", r.Version)
	e.digest("configuration_digest", r.Configuration)
	e.close(p)
	e.word("stage", r.Stage)
	e.word("decision", r.Decision)
	writeParts(e, "inputs", r.Inputs)
	writeParts(e, "outputs", r.Outputs)
	r.matches(e)
	e.isTrue("omitted", r.Omitted)
	gaps := e.open("gaps")
	for _, g := range r.Gaps {
		g.write(e)
	}
	e.closeList(gaps)
	e.texts("blind", r.Blind)
	e.instant("started_at", r.StartedAt)
	e.millis("elapsed_ms", r.Elapsed)
}

func writeParts(e *encoder, name string, parts []BodyPart) {
	p := e.open(name)
	for _, part := range parts {
		item := e.item()
		e.word("of", part.Of)
		e.digest("hash", part.Hash)
		e.number("bytes", part.Bytes)
		e.close(item)
	}
	e.closeList(p)
}

func (r *ProcessorInvoked) matches(e *encoder) {
	p := e.open("findings")
	for _, m := range r.Matches {
		item := e.item()
		e.word("rule", m.Rule)
		e.word("in", m.In)
		e.number("start", int64(m.Start))
		e.number("end", int64(m.End))
		e.close(item)
	}
	e.closeList(p)
	var rules []string
	counts := map[string]int64{}
	for _, m := range r.Matches {
		if counts[m.Rule]++; counts[m.Rule] == 1 {
			rules = append(rules, m.Rule)
		}
	}
	c := e.open("counts")
	for _, rule := range rules {
		e.positive(rule, counts[rule])
	}
	e.close(c)
}

// Paid is what an allowance of the operator has to say of a crossing (specs:
// policy O30 to O34).
type Paid struct {
	Name        string
	Decision    string // reserved, carried or declined
	Reservation string
	Declared    string // decimal amount and currency; empty: nothing is declared
	Observed    string
	Basis       string // declared, receipt or unknown
}

func (c *Crossing) allowances(e *encoder) {
	p := e.open("allowance")
	for i := range c.Paid {
		a := &c.Paid[i]
		item := e.item()
		e.text("name", a.Name)
		e.word("decision", a.Decision)
		e.text("reservation", a.Reservation)
		e.text("declared", a.Declared)
		e.text("observed", a.Observed)
		e.word("basis", a.Basis)
		e.close(item)
	}
	e.closeList(p)
}

// AllowanceGap says that the ledger of an allowance lacks something from here on
// (specs: policy O34).
type AllowanceGap struct {
	Allowance, Reservation string
	Observed               string // decimal amount and currency; empty: not known
	Reason                 string
	From, To               time.Time
}

// Event implements Record.
func (AllowanceGap) Event() string { return EventAllowanceGap }

func (r AllowanceGap) payload(e *encoder) {
	e.text("allowance", r.Allowance)
	e.text("reservation", r.Reservation)
	e.text("observed", r.Observed)
	e.text("reason", r.Reason)
	e.instant("from", r.From)
	e.instant("to", r.To)
}

// appendJudged appends the record to buf, with the seqs of the judged records
// directly before it: they are known only when all of them are committed.
func appendJudged(buf, record []byte, seq uint64, judged int) []byte {
	const end = "}}\n" // of the payload, the record and the line
	buf = append(buf, record[:len(record)-len(end)]...)
	buf = append(buf, `,"processors":[`...)
	for n := seq - uint64(judged); n < seq; n++ {
		if n > seq-uint64(judged) {
			buf = append(buf, ',')
		}
		buf = strconv.AppendUint(buf, n, 10)
	}
	return append(append(buf, ']'), end...)
}
