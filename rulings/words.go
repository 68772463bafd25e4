package rulings

import (
	"strconv"
	"strings"
	"time"
)

// Words is a sentence an agent may read. It goes straight into a model's
// context, so nothing in it may be chosen by a source or a redirect hop. Only
// Say makes Words, from constant text, numbers and times; a source's own text
// does not fit its parameters.
type Words struct{ text string }

// String returns the sentence.
func (w Words) String() string { return w.text }

// constant is satisfied outside this package by untyped constants only, which
// is what keeps text met at run time out of Words.
type constant string

// A Part is a value that Say may put into a sentence.
type Part interface{ part() string }

// Number is a count, a position or a status.
type Number int64

func (n Number) part() string { return strconv.FormatInt(int64(n), 10) }

// Seconds is a length of time, told in seconds as exactly as it is.
type Seconds time.Duration

func (s Seconds) part() string {
	return strconv.FormatFloat(time.Duration(s).Seconds(), 'f', -1, 64)
}

// Instant is a point in time, told in UTC to the second: see WholeSecond.
type Instant time.Time

func (t Instant) part() string { return WholeSecond(time.Time(t)).UTC().Format(time.RFC3339) }

// WholeSecond rounds t up, so that who asks again at the instant that is told,
// which is one to the second, does not come too early.
func WholeSecond(t time.Time) time.Time {
	if down := t.Truncate(time.Second); !down.Equal(t) {
		return down.Add(time.Second)
	}
	return t
}

// part tells p only where it is one of the purposes there are: a Purpose can be
// made of any text.
func (p Purpose) part() string {
	if !p.Known() {
		return "unknown"
	}
	return string(p)
}

func (s StatementSource) part() string {
	if s.reason() == UndecidedReason {
		return "unknown"
	}
	return string(s)
}

func (c Cause) part() string {
	if !c.known() {
		return "unknown"
	}
	return string(c)
}

// Say makes Words: each % in format is replaced by the next part. Parts that
// find no % are left out.
func Say(format constant, parts ...Part) Words {
	var b strings.Builder
	for _, r := range string(format) {
		if r == '%' && len(parts) > 0 {
			b.WriteString(parts[0].part())
			parts = parts[1:]
			continue
		}
		b.WriteRune(r)
	}
	return Words{b.String()}
}
