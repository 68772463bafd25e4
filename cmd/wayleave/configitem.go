package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxItems bounds the items of all lists of a file taken together. No file needs
// so many, but by aliases a small one could stand for any number.
const maxItems = 1 << 16

var tooMany = fmt.Sprintf("is too many; all lists of a file hold at most %d items", maxItems)

// read returns what v says: a string, for a list a []any, for a mapping a
// map[string]any, or nil. Whatever is wrong with it is a fault, and what can be
// read is read all the same, so that all its faults are found: an item that cannot
// be keeps its place as a hole. Where each value stands goes to r.places.
func (r *fileReader) read(s *shape, v *yaml.Node, path string, at position) any {
	s = s.resolved()
	r.places[path] = at
	switch {
	case s.list() && v.Kind == yaml.SequenceNode:
		return r.list(s, v, path)
	case s.form == formMapping && v.Kind == yaml.MappingNode:
		return r.members(s, v, path, at)
	case s.form == formOneOrMany && isText(v):
		return []any{v.Value} // known by the path alone
	case s.list():
		r.fault(at, path, "%s, not %s", s.wants(), describe(v))
		return []any{s.hole()}
	}
	if text, ok := r.scalar(s, v); ok {
		return text
	}
	r.fault(at, path, "%s, not %s", s.wants(), describe(v))
	return nil
}

// scalar returns a value that is neither list nor mapping as it would be written
// in the environment.
func (r *fileReader) scalar(s *shape, v *yaml.Node) (text string, ok bool) {
	if v.Kind != yaml.ScalarNode {
		return "", false
	}
	switch tag := v.ShortTag(); s.form {
	case formBool:
		return v.Value, tag == "!!bool"
	case formCount:
		return v.Value, tag == "!!int"
	case formSize:
		if tag == "!!int" {
			return v.Value + "B", true
		}
		return v.Value, tag == "!!str"
	case formMapping:
		return v.Value, tag == "!!str" && len(s.words) > 0
	case formPath:
		if tag == "!!str" && v.Value != "" && !filepath.IsAbs(v.Value) {
			return filepath.Join(filepath.Dir(r.name), v.Value), true
		}
	}
	return v.Value, isText(v)
}

func (r *fileReader) list(s *shape, v *yaml.Node, path string) any {
	items := []any{}
	if r.items += len(v.Content); r.items > maxItems {
		return items // value says so
	}
	for i, child := range v.Content {
		place := fmt.Sprintf("%s[%d]", path, i)
		r.places[place] = r.at(child)
		items = append(items, r.item(s, resolve(child), place))
	}
	return items
}

// item reads one item of a list.
func (r *fileReader) item(s *shape, v *yaml.Node, path string) any {
	at := r.places[path]
	switch {
	case s.form == formRecords && v.Kind == yaml.MappingNode:
		return r.members(s, v, path, at)
	case s.form == formRecords && s.short != "" && isText(v):
		return map[string]any{s.short: v.Value}
	case s.form != formRecords && isText(v), s.form == formPorts && v.Kind == yaml.ScalarNode && v.ShortTag() == "!!int":
		return v.Value
	}
	r.fault(at, path, "%s; this is %s", s.wants(), describe(v))
	return s.hole()
}

// members reads a mapping that is no section of the file.
func (r *fileReader) members(s *shape, v *yaml.Node, path string, at position) map[string]any {
	values, seen := map[string]any{}, map[string]bool{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k, child := v.Content[i], resolve(v.Content[i+1])
		m := findMember(s.members, k)
		switch {
		case m == nil:
			r.fault(r.at(k), path+"."+k.Value, "%s", unknownKey(k.Value, memberNames(s.members)))
		case seen[m.name]:
			r.twice(r.at(k), path+"."+m.name, "given twice")
		default:
			seen[m.name] = true
			if value := r.member(m, child, path+"."+m.name, r.at(k)); value != nil {
				values[m.name] = value
			}
		}
	}
	for _, m := range s.members {
		if !seen[m.name] && !m.optional {
			r.places[path+"."+m.name] = at
			r.fault(at, path+"."+m.name, "is missing; known here: %s", strings.Join(memberNames(s.members), ", "))
		}
	}
	return values
}

// member reads the value of a member into what JSON has for it.
func (r *fileReader) member(m *member, v *yaml.Node, path string, at position) any {
	value := r.read(&m.shape, v, path, at)
	text, ok := value.(string)
	switch {
	case !ok:
		return value
	case text == "":
		r.fault(at, path, "is empty")
		return nil
	}
	typed, err := m.resolved().typed(text)
	if err != nil {
		r.fault(at, path, "%v", err)
		return nil
	}
	return typed
}

// typed returns the value in JSON of a text of the environment's form.
func (s *shape) typed(text string) (any, error) {
	switch s.form {
	case formBool:
		var on bool
		err := setBool(&on, text)
		return on, err
	case formSize:
		var n int64
		err := setSize(&n, text, 1)
		return n, err
	}
	return text, nil
}

func findMember(known []member, k *yaml.Node) *member {
	if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
		return nil
	}
	if i := slices.IndexFunc(known, func(m member) bool { return m.name == k.Value }); i >= 0 {
		return &known[i]
	}
	return nil
}

// takePlaces returns where the values read since the last call stand.
func (r *fileReader) takePlaces() map[string]position {
	places := maps.Clone(r.places)
	clear(r.places)
	return places
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// resolve follows an alias. YAML lets an anchor hold only what is not an alias
// itself, so once is enough.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
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
