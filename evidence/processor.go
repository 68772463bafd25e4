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

// appendJudged appends the seqs of the judged records directly before that of seq.
func appendJudged(buf []byte, seq uint64, judged int) []byte {
	buf = append(buf, `,"processors":[`...)
	for n := seq - uint64(judged); n < seq; n++ {
		if n > seq-uint64(judged) {
			buf = append(buf, ',')
		}
		buf = strconv.AppendUint(buf, n, 10)
	}
	return append(buf, ']')
}
