package main

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// wants says in words how each form is written.
var wants = map[form]string{
	formText:      "wants text",
	formPath:      "wants a path as text",
	formBool:      "wants true or false",
	formCount:     "wants a whole number, such as 100",
	formDuration:  "wants a duration with its unit, such as 30s",
	formSize:      "wants a size with its unit, such as 64MiB",
	formList:      "wants a list of text, such as [a, b]",
	formPorts:     `wants a list of ports and ranges, such as [443, "9000-9999"]`,
	formHosts:     "wants a list of hosts, such as [api.example, {host: git.example}]",
	formOneOrMany: "wants text, or a list of it",
	formRecords:   "wants a list of mappings",
}

// wants says in words how the value of k is written.
func (k *configKey) wants() string {
	if k.form == formRecords {
		return wants[k.form] + " {" + strings.Join(memberNames(recordMembers[k.name]), ", ") + "}"
	}
	return wants[k.form]
}

// scalar reads a value that is not written as a list.
func (r *fileReader) scalar(key *configKey, v *yaml.Node, line int) (item, bool) {
	tag := "!!str"
	switch key.form {
	case formBool:
		tag = "!!bool"
	case formCount:
		tag = "!!int"
	}
	if key.list() && key.form != formOneOrMany || v.Kind != yaml.ScalarNode || v.ShortTag() != tag {
		r.fault(line, key.name, "%s, not %s", key.wants(), describe(v))
		return item{}, false
	}
	it := item{text: v.Value, at: position{r.name, line}}
	if key.form == formPath && v.Value != "" && !filepath.IsAbs(v.Value) {
		it.text = filepath.Join(filepath.Dir(r.name), v.Value)
	}
	return it, true
}

// item reads one item of a list.
func (r *fileReader) item(key *configKey, v *yaml.Node, path string) (item, bool) {
	switch {
	case key.form == formRecords:
		return r.recordItem(key, v, path)
	case key.form == formHosts && v.Kind == yaml.MappingNode:
		return r.host(v, path)
	}
	tag := v.ShortTag()
	if v.Kind != yaml.ScalarNode || tag != "!!str" && !(key.form == formPorts && tag == "!!int") {
		r.fault(v.Line, path, "%s; this is %s", key.wants(), describe(v))
		return item{}, false
	}
	return item{text: v.Value, at: position{r.name, v.Line}}, true
}

// host reads a service written as a mapping.
func (r *fileReader) host(v *yaml.Node, path string) (item, bool) {
	rec, ok := r.record(v, path, serviceMembers)
	if !ok {
		return item{}, false
	}
	return item{text: rec.values["host"].(string), at: rec.at[".host"]}, true
}

// describe says what a node is, in the words of somebody who writes YAML.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number (quote it for text)"
	case "!!bool":
		return "true or false (quote it for text)"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date (quote it for text)"
	}
	return n.ShortTag()
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// resolve follows an alias. YAML lets an anchor hold only what is not an alias
// itself, so once is enough.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
