package tdm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// MaxBytes bounds the file (specs: terms T69, T96).
const MaxBytes = 524288

// Errors of Parse. All of them mean that the file states nothing.
var (
	errTooLarge = errors.New("longer than 524288 octets")
	errNotJSON  = errors.New("not JSON")
	errNotArray = errors.New("not an array")
)

// A File is a parsed tdmrep.json. The zero value states nothing. It does not
// change once made.
type File struct {
	// Entries are those that can match a page, in sequence. A caller that rules
	// many pages compiles each location once and keeps the patterns beside them.
	Entries []Entry
}

// An Entry is what the file says of a location.
type Entry struct {
	// Location is a path pattern as in robots.txt (T32). It begins with / or *.
	Location    string
	Reservation Reservation

	// Policy is the URL of a policy, as written, only where something is reserved
	// (T95). The record has it in the file itself.
	Policy string
}

// First returns the first entry in sequence that match reports to match, by its
// index. It decides for the reading of a path that match has in mind; over several
// readings the greatest reservation holds (T38, T96).
func (f *File) First(match func(index int) bool) (Entry, bool) {
	for i := range f.Entries {
		if match(i) {
			return f.Entries[i], true
		}
	}
	return Entry{}, false
}

// Parse reads a tdmrep.json: an array of objects, with or without a byte order
// mark before it. An element that is no object, or has no location, costs none of
// the others. The errors quote nothing of body. Time and memory are in proportion
// to body, which Parse does not keep.
func Parse(body []byte) (*File, error) {
	if len(body) > MaxBytes {
		return nil, errTooLarge
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !json.Valid(body) { // and not too deep
		return nil, errNotJSON
	}
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(body))}
	d.UseNumber()
	if d.next() != json.Delim('[') {
		return nil, errNotArray
	}
	f := new(File)
	for d.more() {
		if e, ok := d.entry(); ok {
			f.Entries = append(f.Entries, e)
		}
	}
	if d.failed {
		return nil, errNotJSON
	}
	return f, nil
}

// A decoder reads a text that is known to be JSON, one token after the other:
// package json by itself would take names of another letter case, and of a
// repeated name only the last.
type decoder struct {
	*json.Decoder
	failed bool // which valid JSON never does; what was begun ends
}

func (d *decoder) next() json.Token {
	t, err := d.Token()
	d.failed = d.failed || err != nil
	return t
}

func (d *decoder) more() bool { return !d.failed && d.More() }

// entry reads an element of the array, and reports whether it can match a page.
func (d *decoder) entry() (e Entry, ok bool) {
	if t := d.next(); t != json.Delim('{') {
		d.skip(t)
		return Entry{}, false
	}
	for d.more() {
		name, value := d.next(), d.next()
		switch name {
		case "location":
			e.Location, _ = value.(string)
		case "tdm-reservation":
			e.Reservation = max(e.Reservation, reservation(value)) // of repeated ones a 1 wins
		case "tdm-policy":
			e.Policy, _ = value.(string)
		}
		d.skip(value)
	}
	d.next()
	return e, e.settle()
}

// skip goes behind the end of the array or object that t begins.
func (d *decoder) skip(t json.Token) {
	for depth := 0; !d.failed; t = d.next() {
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return
		}
	}
}

// reservation reads a value of the file, where it may be a number, a text or a
// boolean (T95). 1.0 is the number 1.
func reservation(value json.Token) Reservation {
	switch v := value.(type) {
	case string:
		return reservationOf(v)
	case bool:
		if v {
			return Reserved
		}
		return NotReserved
	case json.Number:
		switch n, err := v.Float64(); {
		case err != nil:
		case n == 1:
			return Reserved
		case n == 0:
			return NotReserved
		}
	}
	return Unset
}

// settle brings the entry into the form that is promised, and reports whether it
// can match. A location that begins with neither / nor * is read with a slash
// before it where it reserves; elsewhere it is skipped, as in robots.txt an Allow
// is (T6, T32).
func (e *Entry) settle() bool {
	if e.Reservation != Reserved {
		e.Policy = ""
	}
	e.Location, _, _ = strings.Cut(e.Location, "#") // a fragment goes (T31)
	switch {
	case e.Location == "":
		return false
	case e.Location[0] == '/', e.Location[0] == '*':
		return true
	}
	e.Location = "/" + e.Location
	return e.Reservation == Reserved
}
