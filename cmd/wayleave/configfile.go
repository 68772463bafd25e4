package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxConfig bounds a configuration file; the largest sensible one is far smaller.
const maxConfig = 1 << 20

// A setting is one key's value as the file, the environment or a flag has it.
type setting struct {
	key    *configKey
	at     position
	values []string            // exactly one for a scalar; a mapping is one of JSON
	places map[string]position // where each item and each value in it stands, by its whole path
}

// parseConfig reads the text of a configuration file strictly (A20, O2): it
// returns every setting that is written as its key wants it and every fault of
// form. Whether the values make sense is judged when they are applied. It never
// guesses: no value is trimmed, converted or dropped without a fault.
func parseConfig(name string, text []byte) ([]setting, faults) {
	r := newFileReader(name)
	root, ok := r.document(text)
	if ok && root != nil {
		r.mapping(root, "")
	}
	r.faults.sort()
	return r.settings, r.faults
}

// A fileReader walks one document.
type fileReader struct {
	name     string
	seen     map[string]int // line of each key met so far
	settings []setting
	places   map[string]position // of the values of the key that is read
	items    int                 // met so far of what maxItems bounds
	faults   faults
}

func newFileReader(name string) *fileReader {
	return &fileReader{name: name, seen: map[string]int{}, places: map[string]position{}}
}

// readConfig reads a configuration file, and no more of it than shows that it is
// too large: the name may be that of a device.
func readConfig(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConfig+1))
}

// at returns where n stands.
func (r *fileReader) at(n *yaml.Node) position { return position{r.name, n.Line, n.Column} }

// fault says why a value cannot be read.
func (r *fileReader) fault(at position, key, format string, args ...any) {
	r.note(at, key, true, fmt.Sprintf(format, args...))
}

// twice says that a key stands there again. The value that counts is the first.
func (r *fileReader) twice(at position, key, problem string) { r.note(at, key, false, problem) }

func (r *fileReader) note(at position, key string, unread bool, problem string) {
	if quoted := strconv.Quote(key); quoted != `"`+key+`"` {
		key = quoted // it would break the fault's line, or look like another key
	}
	r.faults = append(r.faults, fault{at, key, problem, unread})
}

// yamlLine finds the line in the YAML reader's own error texts.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// document returns the root mapping, nil for an empty file.
func (r *fileReader) document(text []byte) (*yaml.Node, bool) {
	if len(text) > maxConfig {
		r.fault(position{r.name, 1, 1}, "", "is larger than %d bytes", maxConfig)
		return nil, false
	}
	var doc, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		r.syntax(err)
		return nil, false
	}
	if err := dec.Decode(&next); err == nil {
		r.fault(r.at(&next), "", "a second document begins here; use one")
		return nil, false
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
		return nil, false
	}
	root := resolve(doc.Content[0])
	if isNull(root) {
		return nil, true
	}
	if root.Kind != yaml.MappingNode {
		r.fault(r.at(root), "", "is no mapping of keys to values")
		return nil, false
	}
	return root, true
}

func (r *fileReader) syntax(err error) {
	line, problem := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		line, problem = max(line, 1), m[2]
	}
	r.fault(position{r.name, line, 1}, "", "is no YAML: %s", problem)
}

// mapping reads the keys of a section. Every level of known sections is finite,
// so an alias that leads back to its own parent ends as an unknown key.
func (r *fileReader) mapping(n *yaml.Node, section string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolve(n.Content[i+1])
		path, at := join(section, k.Value), r.at(k)
		if first, twice := r.seen[path]; twice {
			r.twice(at, path, fmt.Sprintf("given twice; it stands in line %d already", first))
			continue
		}
		r.seen[path] = k.Line
		key := findKey(path)
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" || strings.Contains(k.Value, "."):
			r.fault(at, path, "%s", r.notAKey(k.Value, section))
		case key != nil:
			r.value(key, v, at)
		case isSection(path):
			r.section(v, path, at)
		default:
			r.fault(at, path, "%s", unknownKey(k.Value, knownUnder(section)))
		}
	}
}

// notAKey explains a key that cannot be one of ours, dotted ones in particular:
// the documentation writes them so, but the file nests them.
func (r *fileReader) notAKey(name, section string) string {
	if findKey(join(section, name)) != nil {
		return "unknown key; in the file dotted keys are nested, such as admin: {listen: 127.0.0.1:3129}"
	}
	return unknownKey(name, knownUnder(section))
}

// section reads a mapping. One without content is one without keys: everything
// under it may have been commented out.
func (r *fileReader) section(v *yaml.Node, path string, at position) {
	switch {
	case v.Kind == yaml.MappingNode:
		r.mapping(v, path)
	case !isNull(v):
		r.fault(at, path, "is no mapping; known under it: %s", strings.Join(knownUnder(path), ", "))
	}
}

// value reads the value of key, whose name stands at the given place. A list that
// cannot be read is set to a hole: other keys are judged by what is in it, and
// must not be found wrong because of this fault.
func (r *fileReader) value(key *configKey, v *yaml.Node, at position) {
	var value any
	r.places[key.name] = at
	if isNull(v) {
		r.fault(at, key.name, "has no value; leave the key out for the default")
	} else {
		value = r.read(&key.shape, v, key.name, at)
	}
	if r.items > maxItems {
		r.fault(at, key.name, "%s", tooMany)
		value = nil
	}
	if value == nil && key.list() {
		value = []any{key.hole()}
	}
	if value == "" && (key.form == formText || key.form == formWord) {
		r.fault(at, key.name, "is empty; leave the key out for the default")
		value = nil
	}
	s := setting{key: key, at: at, places: r.takePlaces()}
	switch value := value.(type) {
	case string:
		s.values = []string{value}
	case []any:
		s.values = []string{} // an empty list is not the same as none
		for _, item := range value {
			s.values = append(s.values, itemText(item))
		}
	default:
		return
	}
	r.settings = append(r.settings, s)
}

// itemText returns an item of a list as a set function takes it.
func itemText(item any) string {
	if text, ok := item.(string); ok {
		return text
	}
	text, err := json.Marshal(item)
	if err != nil {
		panic("wayleave: encoding an item: " + err.Error()) // of strings, numbers and lists
	}
	return string(text)
}

func join(section, name string) string {
	if section == "" {
		return name
	}
	return section + "." + name
}

// knownUnder returns the names that may stand in a section, "" for the file.
func knownUnder(section string) []string {
	var names []string
	for _, k := range configKeys {
		rest, ok := strings.CutPrefix(k.name, join(section, ""))
		if section == "" {
			rest, ok = k.name, true
		}
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
