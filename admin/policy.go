package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// A Policy is the operator's policy as it is ruled by (A14). Where the policy does
// not load it has no digest, and says why.
type Policy struct {
	Digest   string          `json:"digest,omitempty"`
	Policy   json.RawMessage `json:"policy,omitempty"` // canonical form, whose SHA-256 is the digest
	Sessions []SessionPolicy `json:"sessions,omitempty"`
	Faults   []PolicyFault   `json:"faults,omitempty"`
}

// A SessionPolicy is the effective policy of the sessions of some users, of which
// the first that matches counts.
type SessionPolicy struct {
	User   string          `json:"user"` // or its beginning and *
	Digest string          `json:"digest"`
	Policy json.RawMessage `json:"policy"`
}

// A PolicyFault is one thing wrong with a configuration. It names a file without
// its directory (A3).
type PolicyFault struct {
	At      string `json:"at"`             // file and line, or the variable or flag
	Line    int    `json:"line,omitempty"` // in the file
	Key     string `json:"key,omitempty"`  // dotted, with [n] for the nth item
	Problem string `json:"problem"`        // and what would be right
}

// A PolicyCheck is what a configuration comes to, whether it is in force or not.
type PolicyCheck struct {
	Loads   bool     `json:"loads"`
	Changed bool     `json:"changed"`           // from the policy in force
	Restart []string `json:"restart,omitempty"` // keys that differ from what the edge started with, and need a new start
	Policy
}

func (d *desk) getPolicy(w http.ResponseWriter, _ *http.Request) error {
	if d.Policy == nil {
		return errUnavailable
	}
	return writeJSON(w, http.StatusOK, d.Policy())
}

// policyDraft is the question of postPolicyCheck.
type policyDraft struct {
	Policy json.RawMessage `json:"policy"`
}

// postPolicyCheck judges a draft of the section policy, or without one what a
// reload would find. It changes nothing.
func (d *desk) postPolicyCheck(w http.ResponseWriter, r *http.Request) error {
	var draft policyDraft
	if err := readJSON(w, r, &draft); err != nil {
		return err
	}
	if err := checkDraftForm(draft.Policy); err != nil {
		return err
	}
	if d.CheckPolicy == nil {
		return errUnavailable
	}
	return writeJSON(w, http.StatusOK, d.CheckPolicy(draft.Policy))
}

// checkDraftForm errs where draft is given and is neither an object nor a string.
func checkDraftForm(draft []byte) error {
	if len(draft) > 0 && !bytes.ContainsAny(draft[:1], `"{`) {
		return badParameter("policy", "It is the section policy: an object, or a string that holds it in YAML. Without it the file is read.")
	}
	return nil
}

// policyProblem tells why a configuration does not load.
type policyProblem struct {
	*problem
	Faults []PolicyFault `json:"faults"`
}

// postPolicyReload reads the configuration and puts its policy in force if all of
// it loads; else the policy in force stays.
func (d *desk) postPolicyReload(w http.ResponseWriter, _ *http.Request) error {
	if d.ReloadPolicy == nil {
		return errUnavailable
	}
	got, err := d.ReloadPolicy()
	if err != nil {
		return err
	}
	if got.Loads {
		return writeJSON(w, http.StatusOK, got)
	}
	return writeFaults(w, "The configuration does not load; the policy in force stays.", got.Faults)
}

// writeFaults tells why a configuration or a draft of one does not load.
func writeFaults(w http.ResponseWriter, detail string, faults []PolicyFault) error {
	p := policyProblem{newProblem(http.StatusUnprocessableEntity, detail), faults}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = encode(w, p)
	return nil
}
