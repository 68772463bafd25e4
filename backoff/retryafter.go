package backoff

import "time"

// A RetryAfter is how Retry-After was read (P18, P19).
type RetryAfter struct {
	Usable bool
	End    time.Time // when the stated wait ends
	Capped bool      // it was longer than MaxInterval, and End is cut to that
	Date   bool      // End is the date that was stated, uncut and not in the past
}
