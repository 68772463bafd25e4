package backoff_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// TestP38_FaultTable shows the table of faults, row by row, as far as it needs no
// other user: what reached the origin, what the agent reads, what is named, and
// that the next request goes once it is repaired (P41).
func TestP38_FaultTable(t *testing.T) {
	const (
		sent    = "asked, 200"
		notUsed = "asked, 503 pacing_store"
		notSent = "not asked, 503 pacing_store"
		binds   = "not asked, 429 backoff"
	)
	type column struct {
		host   string
		status int
	}
	columns := map[column][]string{}
	row := func(of column, cells ...string) { columns[of] = cells }
	rows := []struct {
		fault string
		class backoff.Fault
		names string // extension of the file named; empty: the directory
	}{
		{"directory_read_only", backoff.DirectoryNotWritable, ""},
		{"directory_full", backoff.DirectoryNotWritable, ""},
		{"directory_owned", backoff.DirectoryNotWritable, ""},
		{"state_not_json", backoff.StateUnreadable, ".json"},
		{"state_empty", backoff.StateUnreadable, ".json"},
		{"state_other_host", backoff.StateUnreadable, ".json"},
		{"state_impossible", backoff.StateUnreadable, ".json"},
		{"state_unreadable", backoff.StateUnreadable, ".json"},
		{"lock_not_openable", backoff.LockNotOpenable, ".lock"},
		{"write_fails", backoff.StateNotWritable, ""},
		{"sync_fails", backoff.StateNotWritable, ""},
		{"rename_fails", backoff.StateNotWritable, ""},
	}
	row(column{"healthy", 200}, sent, sent, sent, notSent, notSent, notSent, notSent, notSent, sent, sent, sent, sent)
	row(column{"healthy", 503}, notUsed, notUsed, notUsed, notSent, notSent, notSent, notSent, notSent, notUsed, notUsed, notUsed, notUsed)
	row(column{"paced", 200}, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent)
	row(column{"in_backoff", 200}, binds, binds, binds, notSent, notSent, notSent, notSent, notSent, binds, binds, binds, binds)
	row(column{"backoff_ended", 200}, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent, notSent)
	for of, cells := range columns {
		for i, r := range rows {
			t.Run(r.fault+" and a host "+of.host+" that answers "+strconv.Itoa(of.status), func(t *testing.T) {
				s := newStage(t)
				hosts[of.host](t, s)
				faults[r.fault](t, s)
				delay := map[string]time.Duration{"paced": pacedDelay}[of.host]
				for range 2 { // and so does the next request
					c := cross(t.Context(), s.store, delay, backoff.Answer{Status: of.status})
					if got := c.String(); got != cells[i] {
						t.Fatalf("%s, want %s (%v)", got, cells[i], c.err)
					}
					if c.err != nil {
						path := s.dir
						if r.names != "" {
							path = s.path(r.names)
						}
						wantFault(t, c.err, r.class, path)
					}
				}
				s.repair(t)
				if c := cross(t.Context(), s.store, delay, backoff.Answer{Status: 200}); c.err != nil || c.asked == 0 && of.host != "in_backoff" {
					t.Errorf("after repair: %s, %v", c, c.err)
				}
			})
		}
	}
}

// repair does what the messages say.
func (s *stage) repair(t *testing.T) {
	s.fs.failing(false, nil)
	_, _, err := s.store.Look(t.Context(), host)
	if e := (*backoff.StoreError)(nil); errors.As(err, &e) && e.Fault == backoff.StateUnreadable {
		must(t, s.fs.Remove(host+".json"))
	}
}

func (c crossed) String() string {
	asked := "asked, "
	if c.asked == 0 {
		asked = "not asked, "
	}
	if c.reason == "" {
		return asked + strconv.Itoa(c.agent)
	}
	return asked + strconv.Itoa(c.agent) + " " + string(c.reason)
}

// A turn that was kept and an answer that cannot be dated: the answer is not
// used, and the turn stays.
func TestP40_AnAnswerThatCannotBeDatedIsNotUsed(t *testing.T) {
	s := newStage(t)
	faults["write_fails_after_turn"](t, s)
	c := cross(t.Context(), s.store, pacedDelay, backoff.Answer{Status: 200})
	if c.String() != "asked, 503 pacing_store" {
		t.Errorf("%s, %v", c, c.err)
	}
	wantFault(t, c.err, backoff.StateNotWritable, s.dir)
	if found := s.look(t); !found.Turn.Reserved.Equal(after(0)) || !found.Turn.Answered.IsZero() {
		t.Errorf("the state is %+v", found)
	}
}

func TestP32_EveryFaultSaysWhatItIsAndWhatRepairsIt(t *testing.T) {
	said := map[string]backoff.Fault{}
	for f := backoff.FaultUnknown; f <= backoff.StateNotWritable; f++ {
		e := &backoff.StoreError{Fault: f, Path: "/data/backoff/x", Owner: "0", Err: errors.New("cause")}
		if other, twice := said[f.String()]; twice {
			t.Errorf("%d and %d are both %q", f, other, f)
		}
		said[f.String()] = f
		for _, part := range []string{"/data/backoff/x", "uid 0", "cause", e.Remedy()} {
			if !strings.Contains(e.Error(), part) {
				t.Errorf("%q lacks %q", e.Error(), part)
			}
		}
		for _, part := range []string{"@", "/", "uid", "cause", "  "} {
			if strings.Contains(e.Told(), part) {
				t.Errorf("the agent reads %q", e.Told())
			}
		}
	}
	if got := backoff.Fault(99).String(); got != backoff.FaultUnknown.String() {
		t.Errorf("an unknown fault is %q", got)
	}
	fixed := &backoff.StoreError{Fault: backoff.StateUnreadable, Path: "server", Fix: "start the server"}
	if fixed.Remedy() != "start the server" || !strings.Contains(fixed.Told(), "start the server") {
		t.Errorf("a store's own remedy: %q", fixed.Told())
	}
}
