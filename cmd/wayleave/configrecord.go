package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxRecords bounds the mappings of a file and the texts of lists inside them,
// taken together. No file needs so many, but by aliases a small one could stand
// for any number.
const maxRecords = 1 << 16

var tooMany = fmt.Sprintf("is too many; lists of mappings hold at most %d mappings and hosts in all", maxRecords)

// A member is one key of a mapping that is an item of a list.
type member struct {
	name     string
	list     bool // a list of text; otherwise text
	optional bool
}

// recordMembers are the members of the items of each key of formRecords. They
// are the JSON names of the type that the key's set function fills.
var recordMembers = map[string][]member{
	"policy.spend":            {{name: "user"}, {name: "hosts", list: true}},
	"policy.terms.reporting":  {{name: "profile"}, {name: "hosts", list: true}},
	"policy.terms.agreements": {{name: "host"}, {name: "reference"}, {name: "reporting", optional: true}},
}

// serviceMembers are the members of an item of formHosts that is a mapping.
var serviceMembers = []member{{name: "host"}}

// A record is a mapping as read.
type record struct {
	values map[string]any      // by member: a string or a []string
	at     map[string]position // where each value stands, by its path inside, such as ".hosts[1]"
}

// recordItem reads an item of formRecords. Its text is the mapping in JSON, which
// setRecords reads.
func (r *fileReader) recordItem(key *configKey, v *yaml.Node, path string) (item, bool) {
	if v.Kind != yaml.MappingNode {
		r.fault(v.Line, path, "%s; this is %s", key.wants(), describe(v))
		return item{}, false
	}
	if !r.room(1) {
		r.fault(v.Line, path, "%s", tooMany)
		return item{}, false
	}
	rec, ok := r.record(v, path, recordMembers[key.name])
	text, err := json.Marshal(rec.values)
	return item{text: string(text), at: position{r.name, v.Line}, within: rec.at}, ok && err == nil
}

// record reads a mapping of the known members and reports whether it is free of
// faults.
func (r *fileReader) record(v *yaml.Node, path string, known []member) (record, bool) {
	rec := record{map[string]any{}, map[string]position{}}
	before, seen := len(r.faults), map[string]bool{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], resolve(v.Content[i+1])
		m := findMember(known, k)
		switch {
		case m == nil:
			r.fault(k.Line, path+"."+k.Value, "%s", unknownKey(k.Value, memberNames(known)))
		case seen[m.name]:
			r.fault(k.Line, path+"."+m.name, "given twice")
		default:
			seen[m.name] = true
			r.member(rec, m, child, path, k.Line)
		}
	}
	for _, m := range known {
		if !seen[m.name] && !m.optional {
			r.fault(v.Line, path+"."+m.name, "is missing; known here: %s", strings.Join(memberNames(known), ", "))
		}
	}
	return rec, len(r.faults) == before
}

// member reads the value v of a member whose name stands in the given line.
func (r *fileReader) member(rec record, m *member, v *yaml.Node, path string, line int) {
	within := "." + m.name
	switch {
	case m.list && v.Kind == yaml.SequenceNode:
		rec.at[within] = position{r.name, line}
		rec.values[m.name] = r.texts(rec, v, path, within)
	case m.list:
		r.fault(line, path+within, "%s, not %s", wants[formList], describe(v))
	case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str":
		r.fault(line, path+within, "%s, not %s", wants[formText], describe(v))
	case v.Value == "" && !m.optional:
		r.fault(line, path+within, "is empty")
	default:
		rec.at[within] = position{r.name, v.Line}
		rec.values[m.name] = v.Value
	}
}

// texts reads a list of text inside a record.
func (r *fileReader) texts(rec record, list *yaml.Node, path, within string) []string {
	if !r.room(len(list.Content)) {
		r.fault(rec.at[within].line, path+within, "%s", tooMany)
		return nil
	}
	texts := []string{}
	for i, child := range list.Content {
		v, at := resolve(child), fmt.Sprintf("%s[%d]", within, i)
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" {
			r.fault(v.Line, path+at, "%s; this is %s", wants[formList], describe(v))
			continue
		}
		rec.at[at] = position{r.name, v.Line}
		texts = append(texts, v.Value)
	}
	return texts
}

// room counts n more of what maxRecords bounds.
func (r *fileReader) room(n int) bool {
	r.records += n
	return r.records <= maxRecords
}

func findMember(known []member, k *yaml.Node) *member {
	for i := range known {
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!str" && k.Value == known[i].name {
			return &known[i]
		}
	}
	return nil
}

func memberNames(known []member) []string {
	names := make([]string, len(known))
	for i, m := range known {
		names[i] = m.name
	}
	return names
}

// setRecords reads items that recordItem made, whose members are known to fit T.
func setRecords[T any](dst *[]T, values []string) error {
	list := make([]T, len(values))
	for i, v := range values {
		if err := json.Unmarshal([]byte(v), &list[i]); err != nil {
			return &itemError{i, err}
		}
	}
	*dst = list
	return nil
}
