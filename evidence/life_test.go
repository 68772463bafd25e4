package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendE7E28ThreeProcessesShareOneLog(t *testing.T) {
	dir := t.TempDir()
	const each = 200
	var children []*child
	for range 3 {
		children = append(children, startChild(t, "write", dir, "s", fmt.Sprint(each)))
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	records, written := readLog(t, dir, "s"), 0
	for i, r := range records {
		if i > 0 && r.seq <= records[i-1].seq {
			t.Errorf("seq %d stands behind %d", r.seq, records[i-1].seq)
		}
		if r.event == EventCrossingMediated {
			written++
			if !checkSummed(r) {
				t.Errorf("record %d is not as it was written", r.seq)
			}
		}
	}
	if written != 3*each {
		t.Errorf("%d records, want %d", written, 3*each)
	}
	for _, event := range []string{EventEdgeStarted, EventEdgeStopped} {
		if n := countEvent(records, event); n != 3 {
			t.Errorf("%d %s", n, event)
		}
	}
}

func countEvent(records []logged, event string) (n int) {
	for _, r := range records {
		if r.event == event {
			n++
		}
	}
	return n
}

func TestAppendE28ABusyProcessDoesNotStarveAnother(t *testing.T) {
	dir := t.TempDir()
	busy := startChild(t, "starve", dir, "s")
	busy.says(t, "writing")
	s := openStore(t, dir, Options{})
	l, _ := s.Session("s")
	for range 10 {
		if _, err := l.Append(t.Context(), opened("mine")); err != nil {
			t.Fatal(err)
		}
	}
	busy.Process.Kill()
	busy.Wait()
}

// linger starts a child that leaves two crossings open in session s, and returns
// it with its edge id and the crossings' numbers.
func linger(t *testing.T, dir string) (c *child, edge string, left []any) {
	t.Helper()
	c = startChild(t, "linger", dir, "s")
	edge = c.says(t, "edge ")
	var second, third float64
	if _, err := fmt.Sscan(c.says(t, "left "), &second, &third); err != nil {
		t.Fatal(err)
	}
	return c, edge, []any{second, third}
}

func kill(t *testing.T, c *child) {
	t.Helper()
	must(t, c.Process.Kill())
	c.Wait() // says that it was killed
}

// uncleanStops returns the edges that a log says stopped uncleanly, and the
// crossings it says are unfinished.
func uncleanStops(records []logged) (edges, crossings []any) {
	for _, r := range records {
		switch r.get("reason") {
		case gapUncleanStop:
			edges = append(edges, r.get("of"))
		case gapUnfinishedCrossing:
			crossings = append(crossings, r.get("crossing"))
		}
	}
	return edges, crossings
}

func TestOpenE3E40AKilledEdgeIsTheGapItLeft(t *testing.T) {
	dir := t.TempDir()
	living, livingID, _ := linger(t, dir)
	dead, deadID, left := linger(t, dir)
	if got := liveIDs(t, dir); !slices.Equal(got, sortedPair(livingID, deadID)) {
		t.Errorf("the edges %v live, want %s and %s", got, livingID, deadID)
	}
	kill(t, dead)
	if got := liveIDs(t, dir); !slices.Equal(got, []string{livingID}) {
		t.Errorf("the edges %v live, want %s", got, livingID)
	}
	for range 2 { // the second opening finds nothing left to say
		s, err := Open(dir, Options{})
		must(t, err)
		l, _ := s.Session("s")
		_, err = l.Append(t.Context(), CrossingEnded{typical()})
		must(t, err, s.Close(context.Background()))
	}
	edges, crossings := uncleanStops(readLog(t, dir, "s"))
	if diff := cmp.Diff([]any{deadID}, edges); diff != "" {
		t.Errorf("unclean stops (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(left, crossings); diff != "" {
		t.Errorf("unfinished crossings (-want +got):\n%s", diff)
	}
	edges, _ = uncleanStops(readLog(t, dir, "edge-"+deadID))
	if diff := cmp.Diff([]any{deadID}, edges); diff != "" {
		t.Errorf("unclean stops in the dead edge's own log (-want +got):\n%s", diff)
	}
	ids, err := lockFiles(filepath.Join(dir, "edges"))
	must(t, err)
	if !slices.Equal(ids, []string{livingID}) {
		t.Errorf("the lock files of %v are left", ids)
	}
	kill(t, living)
}

func sortedPair(a, b string) []string { return slices.Sorted(slices.Values([]string{a, b})) }

func liveIDs(t *testing.T, dir string) (ids []string) {
	t.Helper()
	live, err := Edges(dir)
	must(t, err)
	for _, e := range live {
		if string(e.Ready) != `{"ready":true}` {
			t.Errorf("edge %s published %q", e.ID, e.Ready)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func TestOpenE40OrderIsEndsThenTheNewEdge(t *testing.T) {
	dir := t.TempDir()
	dead, deadID, _ := linger(t, dir)
	kill(t, dead)
	before := readLog(t, dir, "s")
	s := openStore(t, dir, Options{Version: "v9"})
	l, _ := s.Session("s")
	_, err := l.Append(t.Context(), opened("next"))
	must(t, err)
	records := readLog(t, dir, "s")[len(before):]
	if diff := cmp.Diff([]string{gapUncleanStop, gapUnfinishedCrossing, gapUnfinishedCrossing, EventEdgeStarted, EventCrossingOpened}, events(records)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if got := records[0].get("of"); got != deadID {
		t.Errorf("of is %v", got)
	}
	if from := records[0].get("from"); from != timestamp(before[len(before)-1]) {
		t.Errorf("from is %v, want the time of the edge's last record", from)
	}
	for path, want := range map[string]any{"version": "v9", "ruleset": "wayleave-rules/3", "execution": "session", "session": "s", "tenancy": "single", "resumed": true} {
		if got := records[3].get(path); got != want {
			t.Errorf("edge_started has %s = %v, want %v", path, got, want)
		}
	}
}

// timestamp returns the timestamp of r as written.
func timestamp(r logged) string { return string(appendInstant(nil, time.UnixMilli(r.at))) }

func TestStoreE41ACleanStopLeavesNothingToSay(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	for _, id := range []string{"a", "b"} {
		l, _ := s.Session(id)
		_, err := l.Append(t.Context(), CrossingEnded{typical()})
		must(t, err)
	}
	must(t, s.Close(context.Background()))
	for id, appended := range map[string]float64{"a": 1, "b": 1, s.Own().ID(): 0} {
		records := readLog(t, dir, id)
		last := records[len(records)-1]
		if last.event != EventEdgeStopped || last.get("appended") != appended || last.get("lost") != 0.0 {
			t.Errorf("the log of %s ends with %v", id, last)
		}
	}
	if live, err := Edges(dir); err != nil || len(live) != 0 {
		t.Errorf("edges %v live (%v)", live, err)
	}
	l, _ := openStore(t, dir, Options{}).Session("a")
	_, err = l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err)
	if edges, crossings := uncleanStops(readLog(t, dir, "a")); edges != nil || crossings != nil {
		t.Errorf("the next edge says that %v stopped uncleanly and %v are unfinished", edges, crossings)
	}
}

func TestStoreE41AfterCloseNothingIsTaken(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	l, _ := s.Session("s")
	must(t, s.Close(context.Background()))
	if _, err := l.Append(t.Context(), opened("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Append = %v", err)
	}
	if _, err := s.Session("other"); !errors.Is(err, ErrClosed) {
		t.Errorf("Session = %v", err)
	}
	if err := s.Close(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("a second Close = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sessions", "s")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that was never used exists (%v)", err)
	}
}

func TestStoreE41WhatIsStillOwedAtTheEndIsAnError(t *testing.T) {
	dir := t.TempDir()
	fs := newTracedFS(t, dir)
	s, err := Open(dir, Options{FS: fs})
	must(t, err)
	l, _ := s.Session("s")
	fs.failing(always(callWrite, errShort))
	l.Append(t.Context(), opened("lost"))
	fs.failing(always(callWrite, errShort))
	if err := s.Close(context.Background()); !errors.Is(err, ErrOwed) {
		t.Errorf("Close = %v", err)
	}
	if n := fs.count(callWrite); n != 4 {
		t.Errorf("the two logs were tried %d times, want twice each", n)
	}
	// The next edge finds the window of this one open.
	s2 := openStore(t, dir, Options{})
	edges, _ := uncleanStops(readLog(t, dir, s.Own().ID()))
	if diff := cmp.Diff([]any{s.EdgeID()}, edges); diff != "" {
		t.Errorf("unclean stops (-want +got):\n%s", diff)
	}
	if s2.EdgeID() == s.EdgeID() {
		t.Error("two edges have one id")
	}
}

func TestStoreClosesASessionForTheOperator(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	l, _ := s.Session("s")
	_, err := l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err, s.CloseSession(t.Context(), "s"), s.CloseSession(t.Context(), "s"), s.CloseSession(t.Context(), "none"))
	_, err = l.Append(t.Context(), CrossingEnded{typical()})
	must(t, err)
	records := readLog(t, dir, "s")
	want := []string{EventEdgeStarted, EventCrossingMediated, EventSessionClosed, EventEdgeStarted, EventCrossingMediated}
	if diff := cmp.Diff(want, events(records)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := records[2].get("reason"); got != "operator" {
		t.Errorf("the session was closed for %v", got)
	}
}

func TestEdgesE3TwoThatLookAtOnceSeeNoLivingEdge(t *testing.T) {
	dir := t.TempDir()
	dead, deadID, _ := linger(t, dir)
	kill(t, dead)
	held := make(chan struct{})
	go func() { // somebody who looks all the time
		defer close(held)
		for range 500 {
			Edges(dir)
		}
	}()
	for range 500 {
		if live, err := Edges(dir); err != nil || len(live) != 0 {
			t.Fatalf("edge %s is dead; live are %v (%v)", deadID, live, err)
		}
	}
	<-held
}

func TestPublishE3NeverLetsALivingEdgePassForDead(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			s.Publish([]byte(`{"ready":true}`))
		}
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		if live, err := Edges(dir); err != nil || len(live) != 1 {
			t.Fatalf("live are %v (%v)", live, err)
		}
	}
	if got := liveIDs(t, dir); !slices.Equal(got, []string{s.EdgeID()}) {
		t.Errorf("live are %v", got)
	}
}
