package backoff

import (
	"bytes"
	"time"
)

// decodeOwn reads what Encode writes, octet by octet as it writes it, in a tenth
// of the time that JSON takes. ok is false for anything else, members of a newer
// version and strings with escapes included: decode reads that, and finds what
// is wrong with it. FuzzDecode holds that the two read alike.
func decodeOwn(data []byte, host string) (s State, ok bool) {
	r := reader{rest: data}
	r.skip(`{"host":"`)
	r.skip(host)
	r.skip(`",`)
	s.Host, s.SetAt = host, r.instant("set_at")
	if r.skips(`,"turn":{`) {
		s.Turn = r.turns()
	}
	backoff := r.skips(`,"backoff":{`)
	if backoff {
		s.Backoff = r.backoff()
	}
	reservation := r.skips(`,"reservation":{"id":"`)
	if reservation {
		s.Reservation.ID = r.text()
		r.skip(",")
		s.Reservation.Deadline = r.instant("deadline")
		s.Reservation.By = r.by()
		r.skip("}")
	}
	r.skip("}\n")
	return s, !r.failed && len(r.rest) == 0 && s.possible(host, backoff, reservation) == nil
}

// turns takes the instants that are there, of which one must be, and the end of
// the object.
func (r *reader) turns() (t Turns) {
	some := false
	t.Reserved = r.optional("reserved", &some)
	t.Answered = r.optional("answered", &some)
	t.Handed = r.optional("handed", &some)
	r.failed = r.failed || !some
	r.skip("}")
	return t
}

// optional takes a member that is an instant if it comes next, behind a comma if
// some came before it.
func (r *reader) optional(name string, some *bool) time.Time {
	rest := r.rest
	if *some {
		rest = bytes.TrimPrefix(rest, comma)
	}
	if len(rest) <= len(name) || rest[0] != '"' || string(rest[1:len(name)+1]) != name || *some == (len(rest) == len(r.rest)) {
		return time.Time{}
	}
	r.rest, *some = rest, true
	return r.instant(name)
}

var comma = []byte{','}

// A reader takes what it expects from the front of rest; after the first thing
// it did not expect, nothing it returns means anything.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) ahead(text string) bool {
	return len(r.rest) >= len(text) && string(r.rest[:len(text)]) == text
}

func (r *reader) skips(text string) bool {
	if !r.ahead(text) {
		return false
	}
	r.rest = r.rest[len(text):]
	return true
}

func (r *reader) skip(text string) {
	if !r.skips(text) {
		r.failed = true
	}
}

// instant takes a member that is an instant in the form of instantForm.
func (r *reader) instant(name string) (t time.Time) {
	r.skip(`"`)
	r.skip(name)
	r.skip(`":"`)
	const n = len(instantForm)
	if r.failed || len(r.rest) < n || r.rest[n-1] != 'Z' || t.UnmarshalText(r.rest[:n]) != nil || t.Before(epoch) || t.After(latest) {
		r.failed = true
		return time.Time{}
	}
	r.rest = r.rest[n:]
	r.skip(`"`)
	return t
}

func (r *reader) backoff() (b Backoff) {
	r.skip(`"failures":`)
	b.Failures = r.number()
	r.skip(`,"status":`)
	b.Status = r.number()
	r.skip(",")
	b.Until = r.instant("until")
	r.skip(`,"retry_after":`)
	b.RetryAfter = r.flag()
	r.skip(`,"capped":`)
	b.Capped = r.flag()
	r.skip(`,"date":`)
	b.Date = r.flag()
	b.By = r.by()
	r.skip("}")
	return b
}

// number takes digits as Encode writes a number; ten of them are too many.
func (r *reader) number() (n int) {
	digits := 0
	for digits < len(r.rest) && '0' <= r.rest[digits] && r.rest[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 9 || digits > 1 && r.rest[0] == '0' {
		r.failed = true
		return 0
	}
	for _, d := range r.rest[:digits] {
		n = 10*n + int(d-'0')
	}
	r.rest = r.rest[digits:]
	return n
}

func (r *reader) flag() bool {
	if r.skips("true") {
		return true
	}
	r.skip("false")
	return false
}

func (r *reader) by() string {
	if !r.skips(`,"by":"`) {
		return ""
	}
	return r.text()
}

// text takes a string up to its closing quote. One with escapes, or with octets
// that JSON may read as others, is for decode.
func (r *reader) text() string {
	end := bytes.IndexByte(r.rest, '"')
	if end <= 0 {
		r.failed = true
		return ""
	}
	text := r.rest[:end]
	for _, c := range text {
		if c < ' ' || c == '\\' || c > '~' {
			r.failed = true
			return ""
		}
	}
	r.rest = r.rest[end+1:]
	return string(text)
}
