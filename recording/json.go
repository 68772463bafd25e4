package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A node is a value of a JSON text that was read more strictly than encoding/json
// does, which takes repeated names, names in other letters, lone surrogates and
// invalid UTF-8 without a word.
type node struct {
	line    int
	value   any // string, json.Number, bool, nil, or a delimiter for the two below
	members []member
	items   []*node
}

type member struct {
	name  string
	line  int
	value *node
}

func (n *node) isObject() bool { return n.value == json.Delim('{') }
func (n *node) isArray() bool  { return n.value == json.Delim('[') }

// A lineError is a fault of a text and where it is.
type lineError struct {
	line int
	what string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// parseJSON parses a text that is one JSON value. Names that stand in an object
// twice are kept twice: what they mean is the caller's to refuse.
func parseJSON(text []byte) (*node, error) {
	p := &parser{text: text}
	if !utf8.Valid(text) {
		return nil, p.fault(firstInvalid(text), "it is not UTF-8")
	}
	if i := loneSurrogate(text); i >= 0 {
		return nil, p.fault(i, "a lone surrogate")
	}
	var any json.RawMessage
	if err := json.Unmarshal(text, &any); err != nil {
		var syntax *json.SyntaxError
		at := len(text)
		if errors.As(err, &syntax) {
			at = min(at, int(syntax.Offset))
		}
		return nil, p.fault(at, "it is not one JSON value: "+err.Error())
	}
	p.d = json.NewDecoder(bytes.NewReader(text))
	p.d.UseNumber()
	return p.value()
}

// A parser reads a valid text.
type parser struct {
	text []byte
	d    *json.Decoder

	at, lines int // up to where lines were counted
}

func (p *parser) fault(offset int, what string) error { return &lineError{p.line(offset), what} }

// line returns the line that offset is in. Offsets do not decrease.
func (p *parser) line(offset int) int {
	p.lines += bytes.Count(p.text[p.at:max(p.at, offset)], []byte("\n"))
	p.at = max(p.at, offset)
	return p.lines + 1
}

func (p *parser) value() (*node, error) {
	token, err := p.d.Token()
	if err != nil {
		return nil, p.fault(int(p.d.InputOffset()), err.Error())
	}
	n := &node{line: p.line(int(p.d.InputOffset())), value: token}
	if !n.isObject() && !n.isArray() {
		return n, nil
	}
	for p.d.More() {
		if err := p.into(n); err != nil {
			return nil, err
		}
	}
	_, err = p.d.Token()
	return n, err
}

// into reads the next member or item of n.
func (p *parser) into(n *node) error {
	var m member
	if n.isObject() {
		name, err := p.d.Token()
		if err != nil {
			return err
		}
		m.name, m.line = name.(string), p.line(int(p.d.InputOffset()))
	}
	v, err := p.value()
	if err != nil {
		return err
	}
	m.value = v
	if n.isObject() {
		n.members = append(n.members, m)
	} else {
		n.items = append(n.items, v)
	}
	return nil
}

func firstInvalid(text []byte) int {
	i := 0
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// loneSurrogate returns where text escapes half a character, -1 if nowhere.
func loneSurrogate(text []byte) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch half := escaped(text[i:]); {
		case half>>10 == 0xD800>>10 && escaped(text[i+6:])>>10 == 0xDC00>>10:
			i += 11
		case half>>11 == 0xD800>>11:
			return i
		default:
			i++ // whatever is escaped is no backslash of its own
		}
	}
	return -1
}

// escaped returns the number of the \u escape that text begins with, 0 if it begins
// with none.
func escaped(text []byte) uint64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return n
}
