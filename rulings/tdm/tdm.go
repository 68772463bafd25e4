package tdm

import "strings"

// A Reservation is what a source says about text and data mining of a page. The
// stricter of two is the greater, so max puts several together.
type Reservation uint8

const (
	Unset       Reservation = iota // nothing is said
	NotReserved                    // recorded; it lifts nothing said elsewhere (T97)
	Reserved
)

// String returns the word used in records.
func (r Reservation) String() string {
	switch r {
	case NotReserved:
		return "not_reserved"
	case Reserved:
		return "reserved"
	}
	return "unset"
}

// Field reads the lines of the tdm-reservation field, or the contents of the
// metas of that name. Of several values a 1 wins (T95). A line may have been
// joined from several on the way (RFC 9110, section 5.3), so it is read as a list.
func Field(values []string) Reservation {
	r := Unset
	for _, line := range values {
		for value := range strings.SplitSeq(line, ",") {
			r = max(r, reservationOf(strings.Trim(value, " \t\r\n\f")))
		}
	}
	return r
}

// reservationOf reads a value that is text: 1, 0, or nothing that is known.
func reservationOf(value string) Reservation {
	switch value {
	case "1":
		return Reserved
	case "0":
		return NotReserved
	}
	return Unset
}
