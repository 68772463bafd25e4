package backoff

import (
	"strings"
	"time"
)

// A RetryAfter is how Retry-After was read (P18, P19). The zero value is one
// that is not usable.
type RetryAfter struct {
	Usable bool
	End    time.Time // when the stated wait ends, an Instant
	Capped bool      // it was longer than MaxInterval, and End is cut to that
	Date   bool      // End is exactly the date that was stated, uncut and not past
}

// ReadRetryAfter reads the field lines of a Retry-After at now. Each line is
// delta-seconds or an HTTP-date (RFC 9110, section 10.2.3); lines that are
// neither are passed over, and of the others the latest end counts. A date in
// the past ends now. Time and memory are linear in the octets given.
func ReadRetryAfter(lines []string, now time.Time) RetryAfter {
	var latest RetryAfter
	for _, line := range lines {
		r := readLine(strings.Trim(line, " \t"), now)
		// Of equal ends the number is kept: a date may be told to others (P33).
		if r.Usable && (!latest.Usable || r.End.After(latest.End) || r.End.Equal(latest.End) && latest.Date) {
			latest = r
		}
	}
	if most := Instant(now.Add(MaxInterval)); latest.End.After(most) { // which end at whole milliseconds, too
		latest.End, latest.Capped, latest.Date = most, true, false
	}
	return latest
}

// readLine reads one line without its blanks; the end is not cut yet.
func readLine(line string, now time.Time) RetryAfter {
	if seconds, ok := deltaSeconds(line); ok {
		return RetryAfter{Usable: true, End: Instant(now.Add(time.Duration(seconds) * time.Second))}
	}
	date, ok := httpDate(line, now)
	switch {
	case !ok:
		return RetryAfter{}
	case !date.After(now):
		return RetryAfter{Usable: true, End: Instant(now)}
	}
	return RetryAfter{Usable: true, End: date, Date: true}
}

// deltaSeconds reads 1*DIGIT of any length. Beyond what is kept anyway the
// number is MaxInterval and a second more.
func deltaSeconds(s string) (n int64, ok bool) {
	const most = int64(MaxInterval/time.Second) + 1
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	for i := 0; i < len(s) && n < most; i++ {
		n = 10*n + int64(s[i]-'0')
	}
	return min(n, most), true
}
