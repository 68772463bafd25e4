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
	Crossings map[Outcome]int `json:"crossings,omitempty"` // mediated ones

	StartedAt    string `json:"started_at,omitempty"`
	CompletedAt  string `json:"completed_at"`
	PolicyDigest string `json:"policy_digest,omitempty"`
}

// RunLogFacts are the measure of a run's log as it stood when it was closed.
type RunLogFacts struct {
	Records *int   `json:"records,omitempty"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
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
