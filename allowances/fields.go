package allowances

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/wayleave/wayleave/internal/money"
)

// fields are the members of a line. Reading them keeps the first fault.
type fields struct {
	members []member
	room    [16]member // for the members of a line as it is written here
	err     error
}

// A member is one member of an object; the value is as written.
type member struct {
	name  string
	value []byte
}

// split finds the members of the JSON object that text is. A member named twice,
// which two readers could read differently, is an error.
func (f *fields) split(text []byte) error {
	if len(text) > maxLine || !utf8.Valid(text) {
		return errLine
	}
	f.members = f.room[:0]
	if !f.splitPlain(text) {
		f.members = f.room[:0]
		if err := f.splitAny(text); err != nil {
			return err
		}
	}
	for i, m := range f.members {
		for _, other := range f.members[:i] {
			if m.name == other.name {
				return fmt.Errorf("%w: a member is named twice", errLine)
			}
		}
	}
	return nil
}

// splitPlain splits an object of the form that nearly every line of a ledger has:
// no blanks, and strings without escapes for values, or true. false: it is another
// form, or no object. A long ledger is read several times faster for it.
func (f *fields) splitPlain(text []byte) bool {
	if len(text) < 2 || text[0] != '{' || bytes.IndexByte(text, '\\') >= 0 {
		return false
	}
	for i := 1; len(f.members) < len(f.room); i++ {
		n := stringEnd(text[i:])
		if n == 0 || i+n >= len(text) || text[i+n] != ':' {
			return false
		}
		name := string(text[i+1 : i+n-1])
		i += n + 1
		if n = stringEnd(text[i:]); n == 0 && bytes.HasPrefix(text[i:], []byte("true")) {
			n = len("true")
		}
		if n == 0 || i+n >= len(text) {
			return false
		}
		f.members = append(f.members, member{name, text[i : i+n]})
		i += n
		if text[i] == '}' {
			return i == len(text)-1
		}
		if text[i] != ',' {
			return false
		}
	}
	return false
}

// stringEnd returns how long the string without escapes is that text begins with;
// 0: it begins with none.
func stringEnd(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return 0
	}
	for i, c := range text[1:] {
		switch {
		case c == '"':
			return i + 2
		case c < ' ':
			return 0
		}
	}
	return 0
}

// splitAny splits any object.
func (f *fields) splitAny(text []byte) error {
	if !bytes.HasPrefix(text, []byte("{")) || !bytes.HasSuffix(text, []byte("}")) || !json.Valid(text) {
		return errLine
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return errLine
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return errLine
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errLine
		}
		if len(f.members) == maxMembers {
			return fmt.Errorf("%w: more than %d members", errLine, maxMembers)
		}
		f.members = append(f.members, member{name.(string), value})
	}
	return nil
}

// maxMembers bounds the comparing of names; every version so far writes fewer than
// 16.
const maxMembers = 64

// raw returns the value of a member, nil if there is none.
func (f *fields) raw(name string) []byte {
	for _, m := range f.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// read decodes a member into v. null is no value of any member.
func (f *fields) read(name string, v any) bool {
	raw := f.raw(name)
	if raw == nil || f.err != nil {
		return false
	}
	if string(raw) == "null" || json.Unmarshal(raw, v) != nil {
		f.fault(name)
	}
	return f.err == nil
}

func (f *fields) fault(name string) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: member %s", errLine, name)
	}
}

func (f *fields) text(name string) (s string) {
	if raw := f.raw(name); stringEnd(raw) == len(raw) && len(raw) > 0 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	f.read(name, &s)
	return s
}

func (f *fields) flag(name string) (b bool) {
	f.read(name, &b)
	return b
}

func (f *fields) lengths(name string) (lengths []int) {
	f.read(name, &lengths)
	for _, n := range lengths {
		if n < 0 {
			f.fault(name)
		}
	}
	return lengths
}

func (f *fields) instant(name string) time.Time {
	if f.raw(name) == nil {
		return time.Time{}
	}
	t, err := time.Parse(instantForm, f.text(name))
	if err != nil {
		f.fault(name)
	}
	return t
}

func (f *fields) money() *money.Money {
	amount, currency := f.text("amount"), f.text("currency")
	if amount == "" && currency == "" {
		return nil
	}
	m, err := money.New(amount, currency)
	if err != nil {
		f.fault("amount")
		return nil
	}
	return &m
}
