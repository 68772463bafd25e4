package main

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// wants says in words how each form is written.
var wants = map[form]string{
	formText:      "wants text",
	formPath:      "wants a path as text",
	formBool:      "wants true or false",
	formDuration:  "wants a duration with its unit, such as 30s",
	formSize:      "wants a size with its unit, such as 64MiB",
	formList:      "wants a list of text, such as [a, b]",
	formPorts:     `wants a list of ports and ranges, such as [443, "9000-9999"]`,
	formHosts:     "wants a list of hosts, such as [api.example, {host: git.example}]",
	formOneOrMany: "wants text, or a list of it",
}

// scalar reads a value that is not written as a list.
func (r *fileReader) scalar(key *configKey, v *yaml.Node, line int) (item, bool) {
	tag := "!!str"
	if key.form == formBool {
		tag = "!!bool"
	}
	if key.list() && key.form != formOneOrMany || v.Kind != yaml.ScalarNode || v.ShortTag() != tag {
		r.fault(line, key.name, "%s, not %s", wants[key.form], describe(v))
		return item{}, false
	}
	it := item{v.Value, position{r.name, line}}
	if key.form == formPath && v.Value != "" && !filepath.IsAbs(v.Value) {
		it.text = filepath.Join(filepath.Dir(r.name), v.Value)
	}
	return it, true
}

// item reads one item of a list.
func (r *fileReader) item(key *configKey, v *yaml.Node, path string) (item, bool) {
	at := position{r.name, v.Line}
	if key.form == formHosts && v.Kind == yaml.MappingNode {
		return r.host(v, path)
	}
	tag := v.ShortTag()
	if v.Kind != yaml.ScalarNode || tag != "!!str" && !(key.form == formPorts && tag == "!!int") {
		r.fault(v.Line, path, "%s; this is %s", wants[key.form], describe(v))
		return item{}, false
	}
	return item{v.Value, at}, true
}

// host reads a service written as a mapping.
func (r *fileReader) host(v *yaml.Node, path string) (item, bool) {
	var host *yaml.Node
	ok := true
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], resolve(v.Content[i+1])
		switch {
		case k.Value != "host":
			r.fault(k.Line, path+"."+k.Value, "%s", unknownKey(k.Value, []string{"host"}))
			ok = false
		case host != nil:
			r.fault(k.Line, path+".host", "given twice")
			ok = false
		case child.Kind != yaml.ScalarNode || child.ShortTag() != "!!str":
			r.fault(k.Line, path+".host", "wants text, not %s", describe(child))
			host, ok = child, false
		default:
			host = child
		}
	}
	if host == nil {
		r.fault(v.Line, path+".host", "is missing; a service is named by its host")
		return item{}, false
	}
	return item{host.Value, position{r.name, host.Line}}, ok
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
