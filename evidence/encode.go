package evidence

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wayleave/wayleave/rulings"
)

// Bounds of what a source, an agent or a redirect chose (E10).
const (
	maxText      = 4096
	maxURL       = 64 << 10
	maxUserAgent = 512
)

// MaxItems is how many items of a list are recorded.
const MaxItems = 256

// bounds are how much of each value is kept. Those of E10 come first; a record
// that is over 1 MiB with them is written again with the next.
type bounds struct{ text, url, items int }

var everTighter = []bounds{
	{maxText, maxURL, MaxItems},
	{maxText, maxText, MaxItems},
	{512, 512, 128},
	{128, 128, 32},
}

// An encoder writes one payload after another as JSON: valid UTF-8, no line
// break, no name twice in an object. It is written by hand because a record is
// made for every request an agent sends, and because E10 and E23 must hold for
// every value whichever member it stands in.
//
// Members are written with a leading comma; closing an object or array turns its
// first comma into the bracket. So no member needs to know whether it is first,
// and an object whose members are all left out is left out itself (E9).
type encoder struct {
	b      []byte
	edge   string
	redact *Redactor
	bounds bounds
}

// A place is where an object or array begins.
type place struct{ start, body int }

// member writes the name of a member; its value must follow.
func (e *encoder) member(name string) {
	e.b = append(e.b, ',', '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

// key writes the name of a member that is itself a value. Different names stay
// different when they are rendered, so that none stands twice in an object.
func (e *encoder) key(name string) {
	if !utf8.ValidString(name) || strings.Contains(name, `\`) {
		name = render(name)
	}
	e.b = append(e.b, ',')
	e.value(name)
	e.b = append(e.b, ':')
}

// open begins the object or array that is the member name.
func (e *encoder) open(name string) place {
	start := len(e.b)
	e.member(name)
	return place{start, len(e.b)}
}

// openKey begins the object that is a member whose name is itself a value.
func (e *encoder) openKey(name string) place {
	start := len(e.b)
	e.key(name)
	return place{start, len(e.b)}
}

// item begins an object inside an array.
func (e *encoder) item() place {
	start := len(e.b)
	e.b = append(e.b, ',')
	return place{start, len(e.b)}
}

// close ends the object begun at p.
func (e *encoder) close(p place) { e.end(p, '{', '}') }

// closeKnown ends the object begun at p, which stays where it is empty: there was
// nothing, and that is known.
func (e *encoder) closeKnown(p place) {
	if len(e.b) == p.body {
		e.b = append(e.b, "{}"...)
		return
	}
	e.close(p)
}

// closeList ends the array begun at p.
func (e *encoder) closeList(p place) { e.end(p, '[', ']') }

func (e *encoder) end(p place, left, right byte) {
	if len(e.b) == p.body {
		e.b = e.b[:p.start]
		return
	}
	e.b[p.body] = left
	e.b = append(e.b, right)
}

// word writes one of our own fixed words; an empty one is left out.
func (e *encoder) word(name, v string) {
	if v == "" {
		return
	}
	e.member(name)
	e.b = appendString(e.b, v)
}

// flag writes v as it is.
func (e *encoder) flag(name string, v bool) {
	e.member(name)
	e.b = strconv.AppendBool(e.b, v)
}

// isTrue writes the member only when v is true.
func (e *encoder) isTrue(name string, v bool) {
	if v {
		e.flag(name, v)
	}
}

// number writes n as it is.
func (e *encoder) number(name string, n int64) {
	e.member(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

// positive writes n unless it is 0, which stands for unknown.
func (e *encoder) positive(name string, n int64) {
	if n != 0 {
		e.number(name, n)
	}
}

func (e *encoder) seq(name string, n uint64) {
	if n != 0 {
		e.member(name)
		e.b = strconv.AppendUint(e.b, n, 10)
	}
}

func (e *encoder) count(name string, c Count) {
	if c.Known {
		e.number(name, c.N)
	}
}

func (e *encoder) digest(name string, d rulings.Digest) {
	if d == (rulings.Digest{}) {
		return
	}
	e.member(name)
	e.b = append(e.b, `"sha256:`...)
	e.b = hex.AppendEncode(e.b, d[:])
	e.b = append(e.b, '"')
}

func (e *encoder) instant(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	e.member(name)
	e.b = append(e.b, '"')
	e.b = appendInstant(e.b, t)
	e.b = append(e.b, '"')
}

// millis writes a duration in milliseconds with at most three decimals (E8).
// What took any time at all is not written as nothing.
func (e *encoder) millis(name string, d time.Duration) {
	if d <= 0 {
		return
	}
	e.member(name)
	us := max(int64(d.Round(time.Microsecond)/time.Microsecond), 1)
	e.b = strconv.AppendInt(e.b, us/1000, 10)
	frac := us % 1000
	if frac == 0 {
		return
	}
	e.b = append(e.b, '.', '0'+byte(frac/100))
	if frac %= 100; frac != 0 {
		e.b = append(e.b, '0'+byte(frac/10))
		if frac %= 10; frac != 0 {
			e.b = append(e.b, '0'+byte(frac))
		}
	}
}

// appendInstant appends t as E8 has it: UTC, RFC 3339, milliseconds, Z. It is
// time.AppendFormat for one layout at a fraction of the price. Instants outside
// the years RFC 3339 can write become its first or last.
func appendInstant(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	switch {
	case year < 0:
		return append(b, "0000-01-01T00:00:00.000Z"...)
	case year > 9999:
		return append(b, "9999-12-31T23:59:59.999Z"...)
	}
	hour, minute, second := t.Clock()
	b = append(b, '0'+byte(year/1000), '0'+byte(year/100%10))
	b = append(appendTwo(b, year%100), '-')
	b = append(appendTwo(b, int(month)), '-')
	b = append(appendTwo(b, day), 'T')
	b = append(appendTwo(b, hour), ':')
	b = append(appendTwo(b, minute), ':')
	b = append(appendTwo(b, second), '.')
	ms := t.Nanosecond() / 1e6
	b = append(b, '0'+byte(ms/100))
	return append(appendTwo(b, ms%100), 'Z')
}

func appendTwo(b []byte, n int) []byte { return append(b, '0'+byte(n/10), '0'+byte(n%10)) }
