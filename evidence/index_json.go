package evidence

import (
	"bytes"
	"unicode/utf8"
)

// Bounds of one line (E6).
const (
	maxLineBytes = 1 << 20 // without the line's end
	maxNesting   = 64
)

// A lineFault says what is wrong with a line, in words fit for any reader. The
// empty fault is none.
type lineFault string

const (
	faultEmpty     lineFault = "empty line"
	faultTooLong   lineFault = "longer than 1 MiB"
	faultBOM       lineFault = "byte order mark"
	faultCR        lineFault = "carriage return at the end of the line"
	faultUTF8      lineFault = "invalid UTF-8"
	faultSurrogate lineFault = "lone surrogate"
	faultDuplicate lineFault = "a member is named twice"
	faultNesting   lineFault = "nested more than 64 deep"
	faultJSON      lineFault = "not JSON"
	faultEnvelope  lineFault = "not an envelope"
)

// A jsonMember is one member of an object: its name as written between the
// quotes and its value, both pointing into the line.
type jsonMember struct{ name, value []byte }

// A jsonCheck reads one line as JSON, more strictly than encoding/json does:
// that takes repeated names, lone surrogates and invalid UTF-8 without a word,
// and each of them lets two readers see two different records (E42). It keeps
// the members of the outermost object and of its member "payload".
type jsonCheck struct {
	b     []byte
	i     int
	depth int

	controls bool // the line holds control characters, so its strings may

	names [][]byte                            // of the objects that are open, innermost last
	wide  [maxNesting + 1]map[string]struct{} // the same for an object of many members, by depth

	inPayload    bool
	top, payload []jsonMember
}

// wideObject is how many names of one object are compared one by one; beyond
// that a map takes over, so that no line costs quadratic time.
const wideObject = 64

// check reads line and returns its fault. The kept members are good until the
// next call and as long as line is.
func (c *jsonCheck) check(line []byte) lineFault {
	switch {
	case len(line) == 0:
		return faultEmpty
	case len(line) > maxLineBytes:
		return faultTooLong
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return faultBOM
	case line[len(line)-1] == '\r':
		return faultCR
	case !utf8.Valid(line):
		return faultUTF8
	case line[0] != '{' || line[len(line)-1] != '}':
		return faultJSON
	}
	c.b, c.i, c.depth, c.controls = line, 0, 0, hasControls(line)
	c.names, c.top, c.payload, c.inPayload = c.names[:0], c.top[:0], c.payload[:0], false
	if fault := c.value(); fault != "" {
		return fault
	}
	if c.i != len(line) {
		return faultJSON
	}
	return ""
}

func (c *jsonCheck) value() lineFault {
	switch c.peek() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		return c.text()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

// peek returns the octet that is next, 0 at the end.
func (c *jsonCheck) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// next skips white space and returns the octet after it, which is consumed. A
// carriage return is no white space here: a record is one line.
func (c *jsonCheck) next() byte {
	c.space()
	b := c.peek()
	c.i++
	return b
}

func (c *jsonCheck) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t') {
		c.i++
	}
}

func (c *jsonCheck) object() lineFault {
	if c.depth++; c.depth > maxNesting {
		return faultNesting
	}
	base := len(c.names)
	c.wide[c.depth] = nil
	c.i++
	if c.space(); c.peek() == '}' {
		c.i++
		c.depth--
		return ""
	}
	for {
		c.space()
		start := c.i
		if c.peek() != '"' {
			return faultJSON
		}
		if fault := c.text(); fault != "" {
			return fault
		}
		name := c.b[start+1 : c.i-1]
		if !c.fresh(base, name) {
			return faultDuplicate
		}
		if c.next() != ':' {
			return faultJSON
		}
		if fault := c.member(name); fault != "" {
			return fault
		}
		switch c.next() {
		case ',':
		case '}':
			c.names = c.names[:base]
			c.depth--
			return ""
		default:
			return faultJSON
		}
	}
}

// member reads the value of the member name and keeps it where it is wanted.
func (c *jsonCheck) member(name []byte) lineFault {
	c.space()
	start := c.i
	if c.depth == 1 {
		c.inPayload = string(name) == "payload"
	}
	if fault := c.value(); fault != "" {
		return fault
	}
	switch m := (jsonMember{name, c.b[start:c.i]}); {
	case c.depth == 1:
		c.top = append(c.top, m)
	case c.depth == 2 && c.inPayload:
		c.payload = append(c.payload, m)
	}
	return ""
}

// fresh notes name for the object whose names begin at base and reports whether
// it is new there. Names are compared as what they say, not as they are written.
func (c *jsonCheck) fresh(base int, name []byte) bool {
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(unquote(name))
	}
	if c.wide[c.depth] == nil && len(c.names)-base == wideObject {
		c.wide[c.depth] = make(map[string]struct{})
		for _, n := range c.names[base:] {
			c.wide[c.depth][string(n)] = struct{}{}
		}
	}
	if wide := c.wide[c.depth]; wide != nil {
		before := len(wide)
		wide[string(name)] = struct{}{}
		return len(wide) > before
	}
	for _, n := range c.names[base:] {
		if bytes.Equal(n, name) {
			return false
		}
	}
	c.names = append(c.names, name)
	return true
}

func (c *jsonCheck) array() lineFault {
	if c.depth++; c.depth > maxNesting {
		return faultNesting
	}
	c.i++
	if c.space(); c.peek() == ']' {
		c.i++
		c.depth--
		return ""
	}
	for {
		c.space()
		if fault := c.value(); fault != "" {
			return fault
		}
		switch c.next() {
		case ',':
		case ']':
			c.depth--
			return ""
		default:
			return faultJSON
		}
	}
}
