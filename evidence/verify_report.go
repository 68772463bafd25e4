package evidence

// A LogReport is what verifying one log found (E80, E83).
type LogReport struct {
	Log       string                    `json:"log"`
	Verdict   Verdict                   `json:"verdict"`
	Segments  int                       `json:"segments"`
	Records   int                       `json:"records"`
	Crossings map[Grade]map[Outcome]int `json:"crossings"` // the two grades are never added up
	Gaps      map[string]int            `json:"gaps"`
	Tears     int                       `json:"tears"`                // torn lines that a gap names
	OpenEdges []string                  `json:"open_edges,omitempty"` // living edges that may still append

	// Faults make the log unsound, doubts keep the verdict from being that it is
	// sound. Each list has the first ones, in the order in which they stand in
	// the log; the counts are of all.
	Faulty  int       `json:"fault_count"`
	Faults  []Finding `json:"faults,omitempty"`
	Doubted int       `json:"doubt_count"`
	Doubts  []Finding `json:"doubts,omitempty"`

	Rulings *RulingsReport `json:"rulings,omitempty"` // nil when none was to be recomputed
}

// A Finding is something that is not as it should be, at its place in the log.
// Segment, Line and Offset are 0 for what is about a segment or the log as a whole.
type Finding struct {
	Log     string `json:"log"`
	Segment int    `json:"segment,omitempty"`
	Line    int    `json:"line,omitempty"`
	Offset  int64  `json:"offset"` // octets from the start of the segment to the line
	What    string `json:"what"`
}

// RulingsReport counts the rulings that were made again (E82). The counts are
// apart and never added up: what could not be recomputed was not found right.
type RulingsReport struct {
	Same          int            `json:"same"`
	Different     int            `json:"different"`
	NotRecomputed int            `json:"not_recomputable"`
	Causes        map[string]int `json:"causes,omitempty"` // of NotRecomputed

	// Beside counts crossings that the decision let pass or never saw and that
	// something else stopped: the guard when the name was resolved, a fault of
	// the edge, a request that cannot be ruled, a tunnel in which none could be read.
	Beside int `json:"beside"`
}

// FirstFault returns the first finding that makes the log unsound, else the
// first that leaves it in doubt, else nil.
func (r *LogReport) FirstFault() *Finding {
	switch {
	case len(r.Faults) > 0:
		return &r.Faults[0]
	case len(r.Doubts) > 0:
		return &r.Doubts[0]
	}
	return nil
}

// keptFindings is how many findings of a kind are named.
const keptFindings = 16

func (v *logVerifier) fault(at lineAt, what string) {
	if v.report.Faulty++; len(v.report.Faults) < keptFindings {
		v.report.Faults = append(v.report.Faults, Finding{v.place.name, at.segment, at.line, at.off, what})
	}
}

func (v *logVerifier) doubt(at lineAt, what string) {
	if v.report.Doubted++; len(v.report.Doubts) < keptFindings {
		v.report.Doubts = append(v.report.Doubts, Finding{v.place.name, at.segment, at.line, at.off, what})
	}
}

// conclude draws the verdict.
func (v *logVerifier) conclude() {
	r := &v.report
	r.Records, r.Crossings, r.Gaps = v.state.tally.records, v.state.tally.crossings, v.state.tally.gaps
	if r.Crossings == nil {
		r.Crossings = map[Grade]map[Outcome]int{}
	}
	if r.Gaps == nil {
		r.Gaps = map[string]int{}
	}
	r.Verdict = Sound
	if r.Doubted > 0 || len(r.Gaps) > 0 || r.Rulings != nil && r.Rulings.NotRecomputed > 0 {
		r.Verdict = CouldNotTell
	}
	if r.Faulty > 0 {
		r.Verdict = Unsound
	}
}
