package backoff

import (
	"slices"
	"strings"
	"time"
)

var (
	shortDays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	longDays  = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	months    = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// httpDate reads an HTTP-date in one of its three forms (RFC 9110, section
// 5.6.7), to the letter: time.Parse also takes other letter cases, fractions and
// short hours, and http.ParseTime other zones. The day of the week must be one
// and need not be the date's. now is for the two-digit years of RFC 850.
func httpDate(s string, now time.Time) (time.Time, bool) {
	switch day, rest, comma := strings.Cut(s, ", "); {
	case comma && slices.Contains(shortDays, day):
		return imfFixdate(rest)
	case comma && slices.Contains(longDays, day):
		return rfc850Date(rest, now)
	case len(s) == len("Mon Nov 30 12:01:00 2026") && slices.Contains(shortDays, s[:3]):
		return asctimeDate(s[3:])
	}
	return time.Time{}, false
}

// imfFixdate reads what follows the day in "Mon, 30 Nov 2026 12:01:00 GMT".
func imfFixdate(s string) (time.Time, bool) {
	if !shaped(s, "00 xxx 0000 00:00:00 GMT") {
		return time.Time{}, false
	}
	return date(number(s[7:11]), s[3:6], s[:2], s[12:20])
}

// rfc850Date reads what follows the day in "Monday, 30-Nov-26 12:01:00 GMT". Of
// the years that end so it is the latest that is not more than 50 years ahead.
func rfc850Date(s string, now time.Time) (time.Time, bool) {
	if !shaped(s, "00-xxx-00 00:00:00 GMT") {
		return time.Time{}, false
	}
	now = now.UTC()
	ahead := now.AddDate(50, 0, 0)
	year := now.Year() - now.Year()%100 + 100 + number(s[7:9])
	for {
		t, ok := date(year, s[3:6], s[:2], s[10:18])
		if year <= now.Year() || ok && !t.After(ahead) {
			return t, ok
		}
		year -= 100
	}
}

// asctimeDate reads what follows the day in "Mon Nov  6 12:01:00 2026".
func asctimeDate(s string) (time.Time, bool) {
	if !shaped(s, " xxx 00 00:00:00 0000") && !shaped(s, " xxx  0 00:00:00 0000") {
		return time.Time{}, false
	}
	return date(number(s[17:21]), s[1:4], strings.TrimSpace(s[5:7]), s[8:16])
}

// shaped reports whether s has digits where shape has 0, anything where it has
// x, and is shape elsewhere.
func shaped(s, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := range len(s) {
		switch digit := '0' <= s[i] && s[i] <= '9'; {
		case shape[i] == 'x', shape[i] == '0' && digit, shape[i] != '0' && s[i] == shape[i]:
		default:
			return false
		}
	}
	return true
}

func number(digits string) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

// date puts a date together; false if there is no such day or time of day. A
// leap second is the first of the next minute.
func date(year int, month, day, clock string) (time.Time, bool) {
	m := slices.Index(months, month) + 1
	d, hour, minute, second := number(day), number(clock[:2]), number(clock[3:5]), number(clock[6:])
	midnight := time.Date(year, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if m == 0 || midnight.Day() != d || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	return midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second), true
}
