package backoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxState bounds the octets of a stored state. Ours have a few hundred.
const maxState = 64 << 10

// instantForm is how an instant is written: RFC 3339, UTC, milliseconds.
const instantForm = "2006-01-02T15:04:05.000Z"

// Encode returns s as it is stored (P35): one JSON object and a line end. Parts
// that are not there are left out, members of a newer version stand behind
// ours. Decode reads it back.
func Encode(s State) []byte {
	b := appendText(append(make([]byte, 0, 512), '{'), "host", s.Host)
	b = appendInstant(b, "set_at", s.SetAt)
	if !s.Turn.none() {
		b = append(b, `,"turn":{`...)
		b = appendInstant(b, "reserved", s.Turn.Reserved)
		b = appendInstant(b, "answered", s.Turn.Answered)
		b = appendInstant(b, "handed", s.Turn.Handed)
		b = appendExtra(b, s.Turn.extra)
	}
	if !s.Backoff.none() {
		b = appendBackoff(append(b, `,"backoff":{`...), s.Backoff)
	}
	if !s.Reservation.none() {
		b = appendText(append(b, `,"reservation":{`...), "id", s.Reservation.ID)
		b = appendInstant(b, "deadline", s.Reservation.Deadline)
		b = appendText(b, "by", s.Reservation.By)
		b = appendExtra(b, s.Reservation.extra)
	}
	return append(appendExtra(b, s.extra), '\n')
}

func appendBackoff(b []byte, o Backoff) []byte {
	b = strconv.AppendInt(append(b, `"failures":`...), int64(o.Failures), 10)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(o.Status), 10)
	b = appendInstant(b, "until", o.Until)
	b = strconv.AppendBool(append(b, `,"retry_after":`...), o.RetryAfter)
	b = strconv.AppendBool(append(b, `,"capped":`...), o.Capped)
	b = strconv.AppendBool(append(b, `,"date":`...), o.Date)
	b = appendText(b, "by", o.By)
	return appendExtra(b, o.extra)
}

// appendName appends a member's name, behind a comma unless it is the first.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), '"', ':')
}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return b
	}
	return append(appendName(b, name), quoted...)
}

func appendInstant(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(appendName(b, name), '"')
	return append(t.UTC().AppendFormat(b, instantForm), '"')
}

// appendExtra appends members as members.rest returns them and ends the object.
func appendExtra(b []byte, extra string) []byte {
	if extra != "" && b[len(b)-1] == '{' {
		extra = extra[1:]
	}
	return append(append(b, extra...), '}')
}

// Decode reads the stored state of host. Members it does not know were written
// by a newer version; Encode writes them again. Everything else must be as
// Encode writes it or could have: another host, a value of another type or one
// that cannot be is an error, and no part of the state is returned with it.
func Decode(data []byte, host string) (State, error) {
	if s, ok := decodeOwn(data, host); ok {
		return s, nil
	}
	s, err := decode(data, host)
	if err != nil {
		return State{}, err
	}
	return s, nil
}

func decode(data []byte, host string) (s State, err error) {
	if len(data) > maxState {
		return s, fmt.Errorf("longer than %d octets", maxState)
	}
	all, err := object(data)
	if err != nil {
		return s, err
	}
	turn, err1 := object(all.take("turn"))
	backoff, err2 := object(all.take("backoff"))
	reservation, err3 := object(all.take("reservation"))
	err = errors.Join(err1, err2, err3,
		all.text("host", &s.Host), all.instant("set_at", &s.SetAt),
		turn.instant("reserved", &s.Turn.Reserved), turn.instant("answered", &s.Turn.Answered), turn.instant("handed", &s.Turn.Handed),
		backoff.decode("failures", &s.Backoff.Failures), backoff.decode("status", &s.Backoff.Status), backoff.instant("until", &s.Backoff.Until),
		backoff.decode("retry_after", &s.Backoff.RetryAfter), backoff.decode("capped", &s.Backoff.Capped), backoff.decode("date", &s.Backoff.Date), backoff.text("by", &s.Backoff.By),
		reservation.text("id", &s.Reservation.ID), reservation.instant("deadline", &s.Reservation.Deadline), reservation.text("by", &s.Reservation.By))
	s.extra, s.Turn.extra, s.Backoff.extra, s.Reservation.extra = all.rest(), turn.rest(), backoff.rest(), reservation.rest()
	if err != nil {
		return s, err
	}
	return s, s.possible(host, backoff != nil, reservation != nil)
}

// possible reports what of s no store can have written.
func (s State) possible(host string, backoff, reservation bool) error {
	b, r := s.Backoff, s.Reservation
	switch {
	case s.Host != host:
		return fmt.Errorf("it is the state of another host, %q", s.Host)
	case s.SetAt.IsZero():
		return errors.New("set_at is missing")
	case backoff && (b.Until.IsZero() || !Failed(b.Status) || b.Failures < 0 || b.Failures > math.MaxInt32):
		return errors.New("backoff has impossible values")
	case reservation && (r.ID == "" || r.Deadline.IsZero()):
		return errors.New("reservation has impossible values")
	}
	return nil
}

// members are those of a JSON object that were not read yet; nil is none.
type members map[string]json.RawMessage

// object reads the members of an object; no octets, or null, are none.
func object(data []byte) (m members, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	return m, nil
}

// take returns a member and removes it from those that are left.
func (m members) take(name string) json.RawMessage {
	raw := m[name]
	delete(m, name)
	return raw
}

// decode reads a member into a value, which stays as it is without it.
func (m members) decode(name string, value any) error {
	raw := m.take(name)
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (m members) text(name string, to *string) error { return m.decode(name, to) }

// latest bounds instants so that the difference of any two is a time.Duration.
var latest = epoch.AddDate(290, 0, 0)

func (m members) instant(name string, to *time.Time) error {
	var text *string
	if err := m.decode(name, &text); err != nil || text == nil {
		return err
	}
	t, err := time.Parse(time.RFC3339, *text)
	if err == nil && (t.Before(epoch) || t.After(latest)) {
		err = errors.New("no instant that can be")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*to = Instant(t)
	return nil
}

// rest returns what is left, in order of the names, as `,"name":value...`.
func (m members) rest() string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key, err := json.Marshal(name)
		if err != nil { // a string always encodes
			continue
		}
		b.WriteByte(',')
		b.Write(key)
		b.WriteByte(':')
		if err := json.Compact(&b, m[name]); err != nil {
			b.WriteString("null") // it was valid a moment ago
		}
	}
	return b.String()
}
