package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// writtenRecords makes the setting of a key of formRecords from a JSON text, the
// environment's form of it. It is judged as a file is, without lines.
func (k *configKey) writtenRecords(text string, at position) ([]setting, faults) {
	r := newFileReader(at.source)
	if root, err := jsonNode(text); err != nil {
		r.fault(at, k.name, "is no JSON: %v; here it %s as a JSON array", err, k.wants())
		r.settings = []setting{{key: k, at: at, values: []string{itemText(k.hole())}, places: map[string]position{k.name: at}}}
	} else {
		r.value(k, root, at)
	}
	return r.settings, r.faults
}

// jsonNode reads a JSON text into nodes of YAML, so that one reader judges both.
// Decoding into a Go type would let a member given twice pass, and one of another
// letter case.
func jsonNode(text string) (*yaml.Node, error) {
	var whole json.RawMessage // also bounds the depth
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	return nextNode(dec)
}

// errNoText is told of strings that encoding/json would change.
var errNoText = errors.New("a string in it is no Unicode text")

// nextNode reads one value, or the name of a member.
func nextNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	switch t := token.(type) {
	case json.Delim:
		return nestedNode(dec, t)
	case string:
		if strings.ContainsRune(t, utf8.RuneError) {
			return nil, errNoText
		}
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
		if strings.Trim(n.Value, "0123456789") == "" {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	}
	return n, nil
}

// nestedNode reads an array or an object up to its end.
func nestedNode(dec *json.Decoder, opened json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if opened == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for dec.More() {
		child, err := nextNode(dec)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	_, err := dec.Token()
	return n, err
}
