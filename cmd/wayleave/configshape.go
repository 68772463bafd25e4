package main

import (
	"strings"
)

// A form is how a value is written.
type form uint8

const (
	formText      form = iota // one string
	formWord                  // one string, of a few
	formMoney                 // one string; never a number, which could not be exact
	formPath                  // one string; relative to the file that names it
	formBool                  // true or false
	formCount                 // a whole number
	formDuration              // one string with its unit
	formSize                  // a number of bytes, or one string with its unit
	formList                  // a list of strings
	formPorts                 // a list of numbers and strings
	formOneOrMany             // one string, or a list of them
	formMapping               // a mapping of members, or one string of a few
	formRecords               // a list of mappings
)

// A shape is how the value of a key, or of a member of a mapping, is written.
type shape struct {
	form    form
	words   []string // with formWord and formList all that may stand there; with formMapping what may stand in its place
	members []member // with formMapping and formRecords
	short   string   // with formRecords the member that an item may be, in place of a mapping
	filled  bool     // a list may not be empty
	as      string   // in place of all that: the key or section that this is written as
}

// A member is one key of a mapping that is no section of the file.
type member struct {
	name string
	shape
	optional bool
	doc      string
}

// Shapes of the table of keys.
var (
	aText       = shape{form: formText}
	aPath       = shape{form: formPath}
	aBool       = shape{form: formBool}
	aCount      = shape{form: formCount}
	aDuration   = shape{form: formDuration}
	aSize       = shape{form: formSize}
	aList       = shape{form: formList}
	aFilledList = shape{form: formList, filled: true}
	somePorts   = shape{form: formPorts, filled: true}
	oneOrMany   = shape{form: formOneOrMany, filled: true}
	anAmount    = shape{form: formMoney}
	onOff       = oneWord("on", "off")
)

func oneWord(words ...string) shape      { return shape{form: formWord, words: words} }
func listOf(words ...string) shape       { return shape{form: formList, words: words, filled: true} }
func recordsOf(members ...member) shape  { return shape{form: formRecords, members: members} }
func like(key string) shape              { return shape{as: key} }
func (s shape) or(words ...string) shape { s.words = words; return s }
func mappingOf(members ...member) shape  { return shape{form: formMapping, members: members} }

// resolved returns the shape itself in place of a reference.
func (s *shape) resolved() *shape {
	if s.as == "" {
		return s
	}
	if key := findKey(s.as); key != nil {
		return &key.shape
	}
	section := &shape{form: formMapping}
	for i := range configKeys {
		if name, ok := strings.CutPrefix(configKeys[i].name, s.as+"."); ok {
			section.members = append(section.members, member{name: name, shape: configKeys[i].shape, optional: true, doc: configKeys[i].doc})
		}
	}
	return section
}

// list reports whether there may be more than one value. In the environment they
// are parted by commas, but mappings are a JSON array.
func (s *shape) list() bool {
	switch s.form {
	case formList, formPorts, formOneOrMany, formRecords:
		return true
	}
	return false
}

// hole is what stands for an item that cannot be read. It is refused by whatever
// reads it further.
func (s *shape) hole() any {
	if s.form == formRecords {
		return map[string]any{}
	}
	return ""
}

// wants says in words how each form is written.
var wants = map[form]string{
	formText:      "wants text",
	formWord:      "wants one of ",
	formMoney:     `wants an amount as quoted text, such as "5.00"`,
	formPath:      "wants a path as text",
	formBool:      "wants true or false",
	formCount:     "wants a whole number, such as 100",
	formDuration:  "wants a duration with its unit, such as 30s",
	formSize:      "wants a number of bytes, or a size with its unit, such as 64MiB",
	formList:      "wants a list of text, such as [a, b]",
	formPorts:     `wants a list of ports and ranges, such as [443, "9000-9999"]`,
	formOneOrMany: "wants text, or a list of it",
	formMapping:   "wants a mapping",
	formRecords:   "wants a list of mappings",
}

// wants says in words how a value is written.
func (s *shape) wants() string {
	text := wants[s.form]
	switch s.form {
	case formWord:
		return text + strings.Join(s.words, ", ")
	case formMapping, formRecords:
		text += " {" + strings.Join(memberNames(s.members), ", ") + "}"
	}
	switch {
	case s.form == formMapping && len(s.words) > 0:
		text += ", or one of " + strings.Join(s.words, ", ")
	case s.short != "":
		text += ", or of text, each a " + s.short
	}
	return text
}

func memberNames(members []member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return names
}
