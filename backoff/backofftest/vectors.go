package backofftest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// A Vector is one sequence of steps of a pacing.json.
type Vector struct {
	ID, Title string
	Given     *state
	Steps     []Step
}

// A Step is one operation and what must come of it. Members are in
// milliseconds from Start where they are times.
type Step struct {
	At     float64
	Do     map[string]json.RawMessage
	Expect map[string]json.RawMessage
}

// state is a backoff.State as vectors write it.
type state struct {
	SetAt *float64 `json:"set_at"`
	Turn  *struct {
		Reserved, Answered *float64
	}
	Backoff *struct {
		Failures, Status int
		Until            float64
		RetryAfter       bool `json:"retry_after"`
		Capped, Date     bool
	}
	Reservation *struct {
		ID       string
		Deadline float64
	}
}

// Op returns the name of the step's operation.
func (s Step) Op(t testing.TB) string { return Member[string](t, s.Do, "op") }

// Member reads a member of a step; one that is not there is the zero value.
func Member[T any](t testing.TB, of map[string]json.RawMessage, name string) (value T) {
	t.Helper()
	if raw, ok := of[name]; ok {
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return value
}

// Time returns the instant of the step.
func (s Step) Time() time.Time { return at(s.At) }

// Compare fails the test unless got has every member the step expects, and its
// value. Instants in got are times.
func (s Step) Compare(t testing.TB, got map[string]any) {
	t.Helper()
	for name, raw := range s.Expect {
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(milliseconds(got[name]))
		if err != nil {
			t.Fatal(err)
		}
		var have any
		if err := json.Unmarshal(plain, &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("at %v %s: %s is not as expected (-want +got):\n%s", s.At, s.Do["op"], name, diff)
		}
	}
}

// milliseconds returns times as vectors write them.
func milliseconds(value any) any {
	switch v := value.(type) {
	case time.Time:
		return float64(v.Sub(Start)) / float64(time.Millisecond)
	case time.Duration:
		return float64(v) / float64(time.Millisecond)
	}
	return value
}

// Read returns the vectors of every pacing.json below dir. None is fatal.
func Read(t testing.TB, dir string) (vectors []Vector) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "pacing.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file struct{ Vectors []Vector }
		err = json.Unmarshal(data, &file)
		vectors = append(vectors, file.Vectors...)
		return err
	})
	if err == nil && len(vectors) == 0 {
		err = errors.New("no vectors in " + dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

// state returns the given state of v as a store has it.
func (v Vector) state() backoff.State {
	s := backoff.State{Host: host}
	if v.Given == nil {
		return s
	}
	s.SetAt = at(min(0, v.Steps[0].At))
	if v.Given.SetAt != nil {
		s.SetAt = at(*v.Given.SetAt)
	}
	if g := v.Given.Turn; g != nil {
		s.Turn.Reserved, s.Turn.Answered = optional(g.Reserved), optional(g.Answered)
	}
	if g := v.Given.Backoff; g != nil {
		s.Backoff = backoff.Backoff{Failures: g.Failures, Status: g.Status, Until: at(g.Until), RetryAfter: g.RetryAfter, Capped: g.Capped, Date: g.Date}
	}
	if g := v.Given.Reservation; g != nil {
		s.Reservation = backoff.Reservation{ID: g.ID, Deadline: at(g.Deadline)}
	}
	return s
}

func optional(ms *float64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return at(*ms)
}

// written returns s as vectors write states: nil for one without parts. They do
// not write when a request went that was late.
func written(s backoff.State) any {
	parts := map[string]any{}
	turn := map[string]any{}
	for name, t := range map[string]time.Time{"reserved": s.Turn.Reserved, "answered": s.Turn.Answered} {
		if !t.IsZero() {
			turn[name] = milliseconds(t)
		}
	}
	if len(turn) > 0 {
		parts["turn"] = turn
	}
	if b := s.Backoff; !b.Until.IsZero() {
		parts["backoff"] = map[string]any{"failures": b.Failures, "status": b.Status, "until": milliseconds(b.Until), "retry_after": b.RetryAfter, "capped": b.Capped, "date": b.Date}
	}
	if r := s.Reservation; r.ID != "" {
		parts["reservation"] = map[string]any{"id": r.ID, "deadline": milliseconds(r.Deadline)}
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}
