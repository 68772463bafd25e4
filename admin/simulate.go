package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Bounds of one simulation.
const (
	defaultSimulated = 10_000
	maxSimulated     = 100_000
)

// A SimulateRequest asks what a draft of the section policy would have made of
// recorded crossings (A12).
type SimulateRequest struct {
	Draft []byte         // as of CheckPolicy
	Over  evidence.Query // session, window and cursor
	Most  int            // crossings to look at
}

// A Simulation is the answer. Each crossing is taken by itself, as if all others
// had gone as they did, and is counted once.
type Simulation struct {
	PolicyDigest  string         `json:"policy_digest"` // of the draft, without its overlays
	Crossings     int            `json:"crossings"`     // looked at
	NewlyRefused  Change         `json:"newly_refused"`
	NewlyCarried  Change         `json:"newly_carried"`  // let through with a breach that is not on record
	NewlyAdmitted Change         `json:"newly_admitted"` // let through without a breach
	Unchanged     int            `json:"unchanged"`
	NotSimulated  map[string]int `json:"not_simulated"`    // what the record cannot tell, by cause
	Next          string         `json:"next,omitempty"`   // a cursor; there are more crossings
	Faulty        []string       `json:"faulty,omitempty"` // sessions whose logs could not be read whole
}

// A Change is what would come of some crossings, and did not.
type Change struct {
	Count int `json:"count"`

	// Reasons counts crossings by reason: those of the draft, and for crossings
	// newly admitted those on record.
	Reasons map[rulings.Reason]int `json:"reasons"`

	// AnswerUnseen are those of Count which were refused before all of the answer
	// was ruled: what it would have been ruled for is not known.
	AnswerUnseen int `json:"answer_unseen,omitempty"`

	Examples []Example `json:"examples"` // the newest
}

// An Example is a crossing that would have gone another way.
type Example struct {
	Crossing string           `json:"crossing"` // session and number
	URL      string           `json:"url"`      // as recorded; of a tunnel host and port
	Was      []rulings.Reason `json:"was"`      // refused for or breached
	Reasons  []rulings.Reason `json:"reasons"`  // what the draft refuses for or carries
}

// simulateBody is a SimulateRequest as it is sent.
type simulateBody struct {
	Policy  json.RawMessage `json:"policy"`
	Session string          `json:"session"`
	From    string          `json:"from"`
	To      string          `json:"to"`
	Limit   *int            `json:"limit"`
	Cursor  string          `json:"cursor"`
}

// request checks b.
func (b simulateBody) request() (SimulateRequest, error) {
	r := SimulateRequest{Draft: b.Policy, Over: evidence.Query{Cursor: b.Cursor}, Most: defaultSimulated}
	if err := checkDraftForm(b.Policy); err != nil {
		return r, err
	}
	for _, filter := range []struct{ name, value string }{{"session", b.Session}, {"from", b.From}, {"to", b.To}} {
		if filter.value == "" {
			continue
		}
		if ok, must := setFilter(&r.Over, filter.name, filter.value); !ok {
			return r, badParameter(filter.name, must)
		}
	}
	if b.Limit != nil {
		if r.Most = *b.Limit; r.Most < 1 || r.Most > maxSimulated {
			return r, badParameter("limit", "A limit is a whole number from 1 to 100000.")
		}
	}
	return r, nil
}

// postSimulate writes nothing: neither a record nor a policy.
func (d *desk) postSimulate(w http.ResponseWriter, r *http.Request) error {
	var body simulateBody
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	req, err := body.request()
	if err != nil {
		return err
	}
	if d.Simulate == nil {
		return errUnavailable
	}
	found, faults, err := d.Simulate(r.Context(), req)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "The crossings could not be gone through in time.")
	case err != nil:
		return err
	case len(faults) > 0:
		return writeFaults(w, "The draft does not load.", faults)
	}
	return writeJSON(w, http.StatusOK, found)
}
