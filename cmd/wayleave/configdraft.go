package main

import (
	"encoding/json"
	"slices"
)

// draftName is the file that faults of a draft name.
const draftName = "draft"

// withDraft puts a draft in place of the section policy of a file. It is a JSON
// object, or a JSON string that holds YAML, whose lines are told.
func withDraft(settings []setting, found faults, draft []byte) ([]setting, faults) {
	settings = slices.DeleteFunc(settings, func(s setting) bool { return inPolicy(s.key.name) })
	_, found = found.split()
	drafted, wrong := parseDraft(draft)
	return append(settings, drafted...), append(found, wrong...)
}

// parseDraft reads a draft of the section policy as parseConfig reads a file.
func parseDraft(draft []byte) ([]setting, faults) {
	r := newFileReader(draftName)
	var text string
	if json.Unmarshal(draft, &text) == nil {
		if root, ok := r.document([]byte(text)); ok && root != nil {
			r.mapping(root, "policy")
		}
	} else if root, err := jsonNode(string(draft)); err != nil {
		r.fault(position{source: draftName}, "policy", "is no JSON: %v", err)
	} else {
		r.section(root, "policy", position{source: draftName})
	}
	for i := range r.faults {
		if r.faults[i].key == "" { // the text as a whole
			r.faults[i].key = "policy"
		}
	}
	r.faults.sort()
	return r.settings, r.faults
}
