package allowances

import "time"

// A Period is how long an allowance lasts before it begins anew. The zero value
// is none, and an allowance without a period is unenforceable.
type Period string

// The periods of O30.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Bounds returns the period that t lies in: from is its first instant and to the
// first one after it. A day or month begins at the first instant whose date in loc
// is of it; a nil loc is UTC. Where a clock change makes midnight happen twice or
// not at all, periods still follow each other without overlap or hole. Anything
// but Day and Month has no bounds, and both are zero.
func (p Period) Bounds(t time.Time, loc *time.Location) (from, to time.Time) {
	if loc == nil {
		loc = time.UTC
	}
	if p != Day && p != Month {
		return time.Time{}, time.Time{}
	}
	y, m, d := t.In(loc).Date()
	begin := func(n int) time.Time {
		if p == Month {
			return firstOf(y, m+time.Month(n), 1, loc)
		}
		return firstOf(y, m, d+n, loc)
	}
	// A clock put back over midnight shows a date again that has ended already,
	// or ends one again: then t is not in the period its date names.
	n := 0
	for t.Before(begin(n)) {
		n--
	}
	for !t.Before(begin(n + 1)) {
		n++
	}
	return begin(n), begin(n + 1)
}

// firstOf returns the first instant, to the second, whose date in loc is not
// before the one given.
//
// time.Date cannot tell it: of a midnight that does not exist or exists twice it
// returns one of two instants and does not say which.
func firstOf(y int, m time.Month, d int, loc *time.Location) time.Time {
	const reach = 26 * 60 * 60 // no clock is that far from UTC
	date := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	before, after := date.Unix()-reach, date.Unix()+reach
	for after-before > 1 {
		middle := before + (after-before)/2
		ly, lm, ld := time.Unix(middle, 0).In(loc).Date()
		if time.Date(ly, lm, ld, 0, 0, 0, 0, time.UTC).Before(date) {
			before = middle
		} else {
			after = middle
		}
	}
	return time.Unix(after, 0).In(loc)
}
