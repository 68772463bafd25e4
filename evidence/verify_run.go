package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
)

// A RunSummary is the file summary.json of a batch run (E71). It attests to the
// log beside it. Counts that could not be had are absent.
type RunSummary struct {
	Run       string      `json:"run"`
	Execution string      `json:"execution"`
	Log       RunLogFacts `json:"evidence_log"`
	Complete  bool        `json:"evidence_complete"`

	Gaps      *int            `json:"gaps,omitempty"`
	Crossings map[Outcome]int `json:"crossings,omitzero"` // mediated ones; nil: not known

	StartedAt    string `json:"started_at,omitempty"`
	CompletedAt  string `json:"completed_at"`
	PolicyDigest string `json:"policy_digest,omitempty"`

	Recordings string `json:"recordings,omitempty"` // digest of the recording that was made or replayed (specs: policy, O66)
	RunRecording
}

// A RunRecording is what a run made of a recording, or a replay used of one (specs:
// policy, O66). The zero value is neither.
type RunRecording struct {
	Exchanges []RunExchange `json:"exchanges,omitempty"`
	AllUsed   *bool         `json:"all_used,omitempty"` // of a replay
	LeftOut   []RunLeftOut  `json:"left_out,omitempty"`
	Faults    []string      `json:"recording_faults,omitempty"` // for which there is no recording, though there was to be one
}

// A RunExchange is an exchange of a recording. Its URL is redacted.
type RunExchange struct {
	N        int    `json:"n"`
	Kind     string `json:"kind"`
	Method   string `json:"method"`
	URL      string `json:"url"`
	Recorded string `json:"recorded"`         // digest of the body as it was recorded
	Served   string `json:"served,omitempty"` // of the body as it was served by a replay, to its end
}

// A RunLeftOut is a request whose answer the recording does not hold, and why.
type RunLeftOut struct {
	Method string `json:"method"`
	URL    string `json:"url"` // redacted
	Why    string `json:"why"`
}

// RunLogFacts are the measure of a run's log as it stood when it was closed.
type RunLogFacts struct {
	Records *int   `json:"records,omitempty"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// A ran is what the log of a run says of it.
type ran struct {
	run, policy string
	execution   string // empty: no record said so yet
	completed   bool
	recordings  string // as the terminal record has it
}

// noteRun takes what run_started or run_completed, in v.line, says of the run.
func (v *logVerifier) noteRun() {
	l := &v.line
	v.ran = ran{l.text("run"), l.text("policy_digest"), l.text("execution"), l.event == EventRunCompleted, l.text("recordings")}
	if !v.ran.completed {
		return
	}
	t := &v.state.tally
	var crossings map[Outcome]int
	if l.decode("crossings", &crossings) && !maps.Equal(crossings, withoutZero(t.crossings[Mediated])) {
		v.fault(v.at, "run_completed counts other crossings than stand before it")
	}
	if l.member("gaps") != nil && l.number("gaps") != uint64(total(t.gaps)) {
		v.fault(v.at, "run_completed counts other gaps than stand before it")
	}
}

// contradicts says what of a summary is not as the records have it, "" if nothing.
func (r *ran) contradicts(said *RunSummary) string {
	switch {
	case r.execution == "":
		return ""
	case r.run != said.Run:
		return fmt.Sprintf("run %s, it says %s", r.run, said.Run)
	case r.execution != said.Execution:
		return fmt.Sprintf("execution %s, it says %s", r.execution, said.Execution)
	case r.policy != said.PolicyDigest:
		return "the policy is another"
	case r.completed && r.recordings != said.Recordings:
		return "the recording is another"
	}
	return ""
}

// checkRun compares summary.json and policy.json with the log beside them.
func (v *logVerifier) checkRun(root *os.Root) {
	var said RunSummary
	switch err := readJSON(root, runSummaryName, &said); {
	case errors.Is(err, fs.ErrNotExist):
		v.doubt(lineAt{}, "the run has no summary.json")
		return
	case errors.Is(err, errNoJSON):
		v.fault(lineAt{}, "summary.json cannot be read")
		return
	case err != nil:
		v.doubt(lineAt{}, faultWords(err))
		return
	}
	v.checkRunLog(root, &said)
	v.checkRunPolicy(root, &said)
	if !said.Complete {
		v.doubt(lineAt{}, "the run says that its evidence is not complete")
	}
}

func (v *logVerifier) checkRunLog(root *os.Root, said *RunSummary) {
	wrong := func(what string) { v.fault(lineAt{}, "summary.json is not true of the log: "+what) }
	f, _, err := openRegular(root, v.place.file)
	if err != nil {
		return // a doubt already
	}
	defer f.Close()
	sum, size, err := digestOf(f)
	switch {
	case err != nil:
		v.doubt(lineAt{}, faultWords(err))
	case said.Log.Bytes != size:
		wrong(fmt.Sprintf("%d octets, it says %d", size, said.Log.Bytes))
	case said.Log.SHA256 != sum:
		wrong("its digest is another")
	}
	t := &v.state.tally
	if said.Log.Records != nil && *said.Log.Records != t.records {
		wrong(fmt.Sprintf("%d records, it says %d", t.records, *said.Log.Records))
	}
	if said.Gaps != nil && *said.Gaps != total(t.gaps) {
		wrong(fmt.Sprintf("%d gaps, it says %d", total(t.gaps), *said.Gaps))
	}
	if what := v.ran.contradicts(said); what != "" {
		wrong(what)
	}
	if said.Crossings != nil && !maps.Equal(said.Crossings, withoutZero(t.crossings[Mediated])) {
		wrong("the crossings are others")
	}
}

func (v *logVerifier) checkRunPolicy(root *os.Root, said *RunSummary) {
	if said.PolicyDigest == "" {
		return
	}
	policy, err := readSmall(root, runPolicyName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.doubt(lineAt{}, "the run has no policy.json")
	case err != nil:
		v.doubt(lineAt{}, faultWords(err))
	case digestOfBytes(policy).String() != said.PolicyDigest:
		v.fault(lineAt{}, "policy.json is not the policy of the run")
	}
}

func total[K comparable](counts map[K]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// withoutZero returns counts, never nil.
func withoutZero(counts map[Outcome]int) map[Outcome]int {
	out := make(map[Outcome]int)
	for outcome, n := range counts {
		if n != 0 {
			out[outcome] = n
		}
	}
	return out
}
