package valkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

var errOther = errors.New("the script answered something else")

// read reads what a script answers.
func read(values []any, host string) (backoff.State, time.Time, error) {
	if len(values) != 2 {
		return backoff.State{}, time.Time{}, errOther
	}
	clock, ok1 := values[0].(int64)
	fields, ok2 := values[1].([]any)
	if !ok1 || !ok2 {
		return backoff.State{}, time.Time{}, errOther
	}
	found, err := decode(fields, host)
	return found, time.UnixMicro(clock).UTC(), err
}

// decode reads the fields of a hash, names and values in turn, as strictly as the
// scripts do.
func decode(fields []any, host string) (backoff.State, error) {
	s := backoff.State{Host: host}
	if len(fields) == 0 {
		return s, nil
	}
	newer, named := map[string]string(nil), ""
	hasBackoff, hasReservation := false, false
	for ; len(fields) > 1; fields = fields[2:] {
		name, _ := fields[0].(string)
		value, _ := fields[1].(string)
		hasBackoff = hasBackoff || strings.HasPrefix(name, "backoff.")
		hasReservation = hasReservation || strings.HasPrefix(name, "reservation.")
		switch known, ok := set(&s, name, value); {
		case !ok:
			return s, fmt.Errorf("%s is %q", name, value)
		case name == "host":
			named = value
		case !known:
			if newer == nil {
				newer = map[string]string{}
			}
			newer[name] = value
		}
	}
	b, r := s.Backoff, s.Reservation
	switch {
	case named != host:
		return s, fmt.Errorf("it is the state of another host, %q", named)
	case s.SetAt.IsZero():
		return s, errors.New("set_at is missing")
	case hasBackoff && (b.Until.IsZero() || !backoff.Failed(b.Status) || b.Failures > math.MaxInt32):
		return s, errors.New("backoff has impossible values")
	case hasReservation && (r.ID == "" || r.Deadline.IsZero()):
		return s, errors.New("reservation has impossible values")
	case newer != nil:
		return withNewer(s, newer)
	}
	return s, nil
}

// set sets the member of s with this name; known is false if there is none, ok if
// the value is none that it can have.
func set(s *backoff.State, name, value string) (known, ok bool) {
	switch name {
	case "host":
		return true, value != ""
	case "set_at":
		return true, instant(&s.SetAt, value)
	case "turn.reserved":
		return true, instant(&s.Turn.Reserved, value)
	case "turn.answered":
		return true, instant(&s.Turn.Answered, value)
	case "turn.handed":
		return true, instant(&s.Turn.Handed, value)
	case "backoff.failures":
		return true, number(&s.Backoff.Failures, value)
	case "backoff.status":
		return true, number(&s.Backoff.Status, value)
	case "backoff.until":
		return true, instant(&s.Backoff.Until, value)
	case "backoff.retry_after":
		return true, truth(&s.Backoff.RetryAfter, value)
	case "backoff.capped":
		return true, truth(&s.Backoff.Capped, value)
	case "backoff.date":
		return true, truth(&s.Backoff.Date, value)
	case "backoff.by":
		s.Backoff.By = value
		return true, value != ""
	case "reservation.id":
		s.Reservation.ID = value
		return true, value != ""
	case "reservation.deadline":
		return true, instant(&s.Reservation.Deadline, value)
	case "reservation.by":
		s.Reservation.By = value
		return true, value != ""
	}
	return false, true
}

// number reads up to 13 digits, which last for instants until the year 2286.
func number(to *int, value string) bool {
	n, err := strconv.Atoi(value)
	*to = n
	return err == nil && digits(value) && len(value) <= 13
}

func instant(to *time.Time, value string) bool {
	var ms int
	ok := number(&ms, value)
	*to = time.UnixMilli(int64(ms)).UTC()
	return ok
}

func truth(to *bool, value string) bool {
	*to = value == "1"
	return *to || value == "0"
}

// withNewer returns s with the members of a newer version, by their path and in
// JSON. Only package backoff can put them into a State, from its stored form.
func withNewer(s backoff.State, newer map[string]string) (backoff.State, error) {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(backoff.Encode(s), &whole); err != nil {
		return s, err
	}
	for path, value := range newer {
		part, name, within := strings.Cut(path, ".")
		if !within {
			whole[path] = json.RawMessage(value)
			continue
		}
		members := map[string]json.RawMessage{}
		if raw, ok := whole[part]; ok {
			if err := json.Unmarshal(raw, &members); err != nil {
				return s, err
			}
		}
		members[name] = json.RawMessage(value)
		raw, err := json.Marshal(members)
		if err != nil {
			return s, err
		}
		whole[part] = raw
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return s, err
	}
	return backoff.Decode(raw, s.Host)
}
