package backoff_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP18_RetryAfter(t *testing.T) {
	in := func(d time.Duration) backoff.RetryAfter { return backoff.RetryAfter{Usable: true, End: after(d)} }
	date := func(d time.Duration) backoff.RetryAfter {
		return backoff.RetryAfter{Usable: true, End: after(d), Date: true}
	}
	hour := backoff.RetryAfter{Usable: true, End: after(time.Hour), Capped: true}
	var unusable backoff.RetryAfter
	for _, tt := range []struct {
		name  string
		lines []string
		want  backoff.RetryAfter
	}{
		{"seconds", []string{"120"}, in(2 * time.Minute)},
		{"blanks round them", []string{" \t120\t "}, in(2 * time.Minute)},
		{"leading zeros", []string{strings.Repeat("0", 1000) + "120"}, in(2 * time.Minute)},
		{"any number of digits", []string{strings.Repeat("9", 100_000)}, hour},
		{"an hour", []string{"3600"}, in(time.Hour)},
		{"an hour and a second", []string{"3601"}, hour},
		{"no line", nil, unusable},
		{"an empty line", []string{" "}, unusable},
		{"the latest of several", []string{"5", "60", "30"}, in(time.Minute)},
		{"the usable ones of several", []string{"soon", "5", "120s"}, in(5 * time.Second)},
		{"a date among several", []string{"5", "Mon, 30 Nov 2026 12:01:00 GMT"}, date(time.Minute)},
		{"of equal ends the number", []string{"Mon, 30 Nov 2026 12:01:00 GMT", "60"}, in(time.Minute)},
		{"a date too far is no date", []string{"Mon, 30 Nov 2026 13:00:01 GMT", "3600"}, hour},
		{"exactly an hour is a date", []string{"Mon, 30 Nov 2026 13:00:00 GMT"}, date(time.Hour)},
		{"a date now", []string{"Mon, 30 Nov 2026 12:00:00 GMT"}, in(0)},
		{"the past and a number", []string{"Mon, 30 Nov 2026 11:00:00 GMT", "1"}, in(time.Second)},
		{"the year 0", []string{"Mon, 30 Nov 0000 11:00:00 GMT"}, in(0)},
		{"the year 9999", []string{"Mon, 30 Nov 9999 11:00:00 GMT"}, hour},

		// Case B07, and what else the forms allow.
		{"RFC 850", []string{"Monday, 30-Nov-26 12:01:00 GMT"}, date(time.Minute)},
		{"asctime", []string{"Mon Nov 30 12:01:00 2026"}, date(time.Minute)},
		{"asctime with a day of one digit", []string{"Sun Nov  1 12:01:00 2026"}, in(0)},
		{"another day of the week", []string{"Sun, 30 Nov 2026 12:01:00 GMT"}, date(time.Minute)},
		{"a leap second", []string{"Mon, 30 Nov 2026 12:00:60 GMT"}, date(time.Minute)},
		{"a leap day", []string{"Tue, 29 Feb 2028 12:01:00 GMT"}, hour},

		// Case B03, and what else is no number.
		{"trailing junk", []string{"120s"}, unusable},
		{"a point behind", []string{"1."}, unusable},
		{"a plus", []string{"+5"}, unusable},
		{"a minus", []string{"-5"}, unusable},
		{"hexadecimal", []string{"0x10"}, unusable},
		{"a list", []string{"1,2"}, unusable},
		{"blanks inside", []string{"1 2"}, unusable},
		{"digits of another script", []string{"٣٠"}, unusable},
		{"a line break", []string{"5\n"}, unusable},

		{"no such day", []string{"Mon, 31 Nov 2026 12:01:00 GMT"}, unusable},
		{"day 0", []string{"Mon, 00 Nov 2026 12:01:00 GMT"}, unusable},
		{"no leap year", []string{"Mon, 29 Feb 2027 12:01:00 GMT"}, unusable},
		{"hour 24", []string{"Mon, 30 Nov 2026 24:00:00 GMT"}, unusable},
		{"minute 60", []string{"Mon, 30 Nov 2026 12:60:00 GMT"}, unusable},
		{"second 61", []string{"Mon, 30 Nov 2026 12:01:61 GMT"}, unusable},
		{"another zone", []string{"Mon, 30 Nov 2026 12:01:00 UTC"}, unusable},
		{"an offset", []string{"Mon, 30 Nov 2026 12:01:00 +0000"}, unusable},
		{"lower case", []string{"mon, 30 nov 2026 12:01:00 gmt"}, unusable},
		{"capitals", []string{"MON, 30 NOV 2026 12:01:00 GMT"}, unusable},
		{"no day of the week", []string{"30 Nov 2026 12:01:00 GMT"}, unusable},
		{"an unknown day", []string{"Tag, 30 Nov 2026 12:01:00 GMT"}, unusable},
		{"an unknown month", []string{"Mon, 30 Nox 2026 12:01:00 GMT"}, unusable},
		{"a short hour", []string{"Mon, 30 Nov 2026 1:01:00 GMT"}, unusable},
		{"a fraction", []string{"Mon, 30 Nov 2026 12:01:00.5 GMT"}, unusable},
		{"a day without its zero", []string{"Mon, 1 Nov 2026 12:01:00 GMT"}, unusable},
		{"a short day in RFC 850", []string{"Mon, 30-Nov-26 12:01:00 GMT"}, unusable},
		{"a long day in IMF-fixdate", []string{"Monday, 30 Nov 2026 12:01:00 GMT"}, unusable},
		{"four digits of a year in RFC 850", []string{"Monday, 30-Nov-2026 12:01:00 GMT"}, unusable},
		{"asctime with a zone", []string{"Mon Nov 30 12:01:00 2026 GMT"}, unusable},
		{"asctime with one blank before a day of one digit", []string{"Sun Nov 1 12:01:00 2026"}, unusable},
		{"ISO 8601", []string{"2026-11-30T12:01:00Z"}, unusable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := backoff.ReadRetryAfter(tt.lines, after(0)); got != tt.want {
				t.Errorf("%q: %+v, want %+v", tt.lines, got, tt.want)
			}
		})
	}
}

// A clock between two milliseconds makes no hour longer than an hour (P19, P35).
func TestP19_AnHourIsNotCutWhateverTheClock(t *testing.T) {
	now := after(500 * time.Microsecond)
	for seconds, capped := range map[string]bool{"3600": false, "3601": true} {
		want := backoff.RetryAfter{Usable: true, End: after(time.Hour + time.Millisecond), Capped: capped}
		if got := backoff.ReadRetryAfter([]string{seconds}, now); got != want {
			t.Errorf("%s: %+v, want %+v", seconds, got, want)
		}
	}
}

// RFC 9110, section 5.6.7: a year of two digits that appears to be more than 50
// years ahead is the last one in the past that ended so.
func TestP18_YearsOfTwoDigits(t *testing.T) {
	for _, tt := range []struct {
		name, now, line string
		past            bool
	}{
		{"50 years ahead", "2026-11-30T12:00:00Z", "Monday, 30-Nov-76 12:00:00 GMT", false},
		{"a second more is past", "2026-11-30T12:00:00Z", "Monday, 30-Nov-76 12:00:01 GMT", true},
		{"the next century", "2080-01-01T00:00:00Z", "Monday, 30-Nov-10 12:00:00 GMT", false},
		{"at its turn", "2099-12-31T23:59:00Z", "Friday, 01-Jan-00 00:00:00 GMT", false},
		{"a leap day there was last in 2000", "2026-11-30T12:00:00Z", "Tuesday, 29-Feb-00 12:00:00 GMT", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tt.now)
			must(t, err)
			if r := backoff.ReadRetryAfter([]string{tt.line}, now); !r.Usable || r.End.Equal(now) != tt.past {
				t.Errorf("%s at %s: %+v", tt.line, tt.now, r)
			}
		})
	}
}

// Case B09: the origin's clock is ten minutes ahead, and its date is kept.
func TestP19_ADateEndsTheWaitWhateverTheOriginsClock(t *testing.T) {
	answer := backoff.Answer{Status: 503, RetryAfter: []string{"Mon, 30 Nov 2026 12:11:00 GMT"}, Date: "Mon, 30 Nov 2026 12:10:00 GMT"}
	s, _ := rules.Answered(backoff.State{Host: host}, after(1500*time.Microsecond), answer)
	if !s.Backoff.Until.Equal(after(11*time.Minute)) || !s.Backoff.Date {
		t.Errorf("%+v", s.Backoff)
	}
	if next := s.Next(after(time.Second), "", 20*time.Second); next.Step != backoff.StepRefuse || next.Wait != 11*time.Minute-time.Second {
		t.Errorf("%+v", next)
	}
}
