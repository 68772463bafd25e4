package evidence

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// A logLine is one line of a log read as a record (E6). It points into the line
// and is good until the next call of read.
type logLine struct {
	check jsonCheck

	seq   uint64
	at    int64 // timestamp in milliseconds since 1970
	event string
}

// read takes line, without its end, apart. Members the envelope does not know
// are no fault (E9).
func (l *logLine) read(line []byte) lineFault {
	if fault := l.check.check(line); fault != "" {
		return fault
	}
	var seen int
	for _, m := range l.check.top {
		ok := true
		switch string(m.name) {
		case "seq":
			l.seq, ok = readSeq(m.value)
		case "timestamp":
			l.at, ok = readInstant(m.value)
		case "event":
			l.event = eventName(m.value)
			ok = l.event != ""
		case "payload":
			ok = m.value[0] == '{'
		default:
			continue
		}
		if !ok {
			return faultEnvelope
		}
		seen++
	}
	if seen != 4 {
		return faultEnvelope
	}
	return ""
}

// member returns the value of the payload's member name as written, nil when
// the payload has none.
func (l *logLine) member(name string) []byte {
	for _, m := range l.check.payload {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

// text returns the string the payload's member name holds, "" when it holds
// none. The result is a copy.
func (l *logLine) text(name string) string { return readText(l.member(name)) }

// number returns the unsigned integer the payload's member name holds, else 0.
func (l *logLine) number(name string) uint64 {
	n, _ := strconv.ParseUint(string(l.member(name)), 10, 64)
	return n
}

// decode reads the payload's member name into v and reports whether there was
// one that fits.
func (l *logLine) decode(name string, v any) bool {
	raw := l.member(name)
	return raw != nil && json.Unmarshal(raw, v) == nil
}

// final reports whether the record ends a crossing.
func (l *logLine) final() bool {
	switch l.event {
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
		return true
	}
	return false
}

// readSeq reads an unsigned integer from 1 (E7).
func readSeq(raw []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil && n > 0
}

// readInstant reads an instant of the one form that records have (E8), in
// milliseconds since 1970.
func readInstant(raw []byte) (int64, bool) {
	const form = `"2006-01-02T15:04:05.000Z"`
	if len(raw) != len(form) {
		return 0, false
	}
	for i, b := range raw {
		if digit := form[i] >= '0' && form[i] <= '9'; digit != (b >= '0' && b <= '9') || !digit && b != form[i] {
			return 0, false
		}
	}
	two := func(i int) int { return int(raw[i]-'0')*10 + int(raw[i+1]-'0') }
	year, month, day, hour, minute, second := two(1)*100+two(3), two(6), two(9), two(12), two(15), two(18)
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// time.Date carries 31 February over into March; what it changed was no date.
	if t.Day() != day || int(t.Month()) != month || t.Hour() != hour || t.Minute() != minute || t.Second() != second {
		return 0, false
	}
	return t.UnixMilli() + int64(two(21))*10 + int64(raw[23]-'0'), true
}

// formatInstant is the twin of readInstant, without the quotes.
func formatInstant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// readText returns what the JSON string raw says, "" when raw is no string.
func readText(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return unquote(raw[1 : len(raw)-1])
}

// unquote resolves the escapes of a string already checked, given without its
// quotes.
func unquote(inner []byte) string {
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(append(append([]byte{'"'}, inner...), '"'), &s); err != nil {
		return ""
	}
	return s
}

// eventName returns the name of an event without allocating for those that are
// known.
func eventName(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	switch inner := raw[1 : len(raw)-1]; string(inner) {
	case EventCrossingMediated:
		return EventCrossingMediated
	case EventCrossingRefused:
		return EventCrossingRefused
	case EventCrossingOpened:
		return EventCrossingOpened
	case EventCrossingObserved:
		return EventCrossingObserved
	case EventTermsProbed:
		return EventTermsProbed
	default:
		return unquote(inner)
	}
}
