package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

const runPolicy = `{"format":"wayleave-policy/1"}`

// makeRun makes a run of n delivered crossings up to the moment before it is
// published.
func makeRun(t *testing.T, data, id string, n int, exchange func(a, b string) error) (r *Run, owed bool) {
	t.Helper()
	edge := NewEdgeID(time.Now())
	r, err := createRun(data, RunOptions{ID: id, Edge: edge, Policy: []byte(runPolicy)}, exchange)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(data, Options{EdgeID: edge, Run: r})
	if err != nil {
		t.Fatal(err)
	}
	r.Start(t.Context(), s)
	for range n {
		l, err := s.Session("any-client")
		if err != nil {
			t.Fatal(err)
		}
		c := &Crossing{Grade: Mediated, Class: rulings.Source, Outcome: Delivered, URL: "http://a.test/"}
		if _, err := l.Append(t.Context(), CrossingEnded{c}); err != nil {
			t.Fatal(err)
		}
	}
	r.Complete(t.Context(), s, "")
	return r, errors.Is(s.Close(t.Context()), ErrOwed)
}

func publishRun(t *testing.T, data, id string, n int) RunSummary {
	t.Helper()
	r, owed := makeRun(t, data, id, n, exchange)
	s, err := r.Publish(t.Context(), owed, RunRecording{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deliveredIn returns how many crossings the published run attests to, after
// verifying that it is whole.
func deliveredIn(t *testing.T, data, id string) int {
	t.Helper()
	dir := filepath.Join(data, "runs", id)
	if r := verifyOne(t, dir); r.Verdict != Sound {
		t.Fatalf("the published run is %s: %+v", r.Verdict, r.FirstFault())
	}
	var s RunSummary
	text, err := os.ReadFile(filepath.Join(dir, runSummaryName))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Crossings[Delivered]
}

func inRuns(t *testing.T, data string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestE70E71ARunIsOneLogThatItsSummaryAttestsTo(t *testing.T) {
	data := t.TempDir()
	got := publishRun(t, data, "nightly", 2)
	dir := filepath.Join(data, "runs", "nightly")
	log, err := os.ReadFile(filepath.Join(dir, runLogName))
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for line := range strings.Lines(string(log)) {
		var l logLine
		if fault := l.read([]byte(strings.TrimSuffix(line, "\n"))); fault != "" {
			t.Fatal(fault)
		}
		events = append(events, l.event)
	}
	want := []string{EventEdgeStarted, EventRunStarted, EventCrossingMediated, EventCrossingMediated, EventRunCompleted, EventEdgeStopped}
	if d := cmp.Diff(want, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if !strings.Contains(string(log), `"run":"nightly","execution":"live","policy_digest":"`+digestText(runPolicy)+`","crossings":{"delivered":2},"gaps":0}`) {
		t.Errorf("run_completed does not count what happened:\n%s", log)
	}
	if !got.Complete || *got.Log.Records != 6 || got.Log.Bytes != int64(len(log)) || got.Log.SHA256 != digestText(string(log)) ||
		*got.Gaps != 0 || got.Crossings[Delivered] != 2 || got.PolicyDigest != digestText(runPolicy) {
		t.Errorf("summary %+v", got)
	}
	if n := deliveredIn(t, data, "nightly"); n != 2 {
		t.Errorf("%d delivered, want 2", n)
	}
	for _, name := range []string{"", runLogName, runPolicyName, runSummaryName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if d := cmp.Diff([]string{"nightly"}, inRuns(t, data)); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
	if sessions, _ := os.ReadDir(filepath.Join(data, "sessions")); len(sessions) > 0 {
		t.Errorf("a run left a session: %v", sessions)
	}
}

// That there were none is known, and absent would be that it is not (E9, E71).
func TestE71ARunWithoutCrossingsSaysSo(t *testing.T) {
	data := t.TempDir()
	publishRun(t, data, "idle", 0)
	for name, want := range map[string]string{runLogName: `"crossings":{},"gaps":0}`, runSummaryName: `"crossings": {},`} {
		text, err := os.ReadFile(filepath.Join(data, "runs", "idle", name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s: %v\n%s", name, want, err, text)
		}
	}
	if n := deliveredIn(t, data, "idle"); n != 0 {
		t.Errorf("%d delivered, want 0", n)
	}
}

func TestO66TheRecordsOfARunAndItsSummaryNameTheRecording(t *testing.T) {
	for _, c := range []struct {
		name, execution  string
		replayed, record string // digests: of what is replayed, and of what was recorded
		started, summary string
	}{
		{"a live run has none", "live", "", "", "", ""},
		{"a live run that is recorded names what it made", "live", "", digestText("a"), "", digestText("a")},
		{"a replay names it from the start", "replay", digestText("b"), "", digestText("b"), digestText("b")},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, edge := t.TempDir(), NewEdgeID(time.Now())
			r, err := CreateRun(data, RunOptions{ID: "r", Edge: edge, Execution: c.execution, Policy: []byte(runPolicy), Recording: c.replayed})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(data, Options{EdgeID: edge, Run: r})
			if err != nil {
				t.Fatal(err)
			}
			r.Start(t.Context(), s)
			r.Complete(t.Context(), s, c.record)
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			used := false
			said, err := r.Publish(t.Context(), false, RunRecording{AllUsed: &used, Exchanges: []RunExchange{{N: 1, Recorded: digestText("x")}}})
			if err != nil {
				t.Fatal(err)
			}
			log, err := os.ReadFile(filepath.Join(data, "runs", "r", runLogName))
			if err != nil {
				t.Fatal(err)
			}
			var events []logLine
			for line := range strings.Lines(string(log)) {
				var l logLine
				if fault := l.read([]byte(strings.TrimSuffix(line, "\n"))); fault != "" {
					t.Fatal(fault)
				}
				events = append(events, l)
			}
			for i, want := range []string{"", c.started, c.summary} {
				if got := events[i].text("recordings"); got != want {
					t.Errorf("%s names %q, want %q", events[i].event, got, want)
				}
				if got := events[i].text("execution"); got != c.execution {
					t.Errorf("%s says execution %q, want %q", events[i].event, got, c.execution)
				}
			}
			if said.Recordings != c.summary || said.Execution != c.execution || *said.AllUsed || len(said.Exchanges) != 1 {
				t.Errorf("summary %+v", said)
			}
			if v := verifyOne(t, filepath.Join(data, "runs", "r")); v.Verdict != Sound {
				t.Errorf("%s: %+v", v.Verdict, v.FirstFault())
			}
		})
	}
}

func TestE70ALogThatIsThereIsNotUsed(t *testing.T) {
	data := t.TempDir()
	edge := NewEdgeID(time.Now())
	first, err := CreateRun(data, RunOptions{ID: "r", Edge: edge, Policy: []byte(runPolicy)})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Discard()
	if _, err := CreateRun(data, RunOptions{ID: "r", Edge: edge, Policy: []byte(runPolicy)}); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v, want os.ErrExist", err)
	}
	for _, id := range []string{"", "..", "a/b", ".r", strings.Repeat("r", 129)} {
		if _, err := CreateRun(data, RunOptions{ID: id, Edge: edge}); !errors.Is(err, ErrRunInvalid) {
			t.Errorf("%q: %v, want ErrRunInvalid", id, err)
		}
	}
	if _, err := newRunFS(first.runs, first.staging); !errors.Is(err, os.ErrExist) {
		t.Errorf("the log was made twice: %v", err)
	}
}

func TestE72ANewerRunTakesTheNameInOneStep(t *testing.T) {
	data := t.TempDir()
	publishRun(t, data, "r", 1)
	publishRun(t, data, "r", 3)
	if n := deliveredIn(t, data, "r"); n != 3 {
		t.Errorf("%d delivered, want those of the newer run", n)
	}
	if d := cmp.Diff([]string{"r"}, inRuns(t, data)); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
}

// A process that ends between two steps has done those before and no more.
func TestE72AnEndBetweenAnyTwoStepsLeavesAWholeRun(t *testing.T) {
	for done := range 6 {
		t.Run(fmt.Sprintf("after %d steps", done), func(t *testing.T) {
			data := t.TempDir()
			publishRun(t, data, "r", 1)
			r, owed := makeRun(t, data, "r", 3, exchange)
			defer r.letGo()
			s, err := r.summarize(t.Context(), owed)
			if err != nil {
				t.Fatal(err)
			}
			steps := r.publishing(s)
			if len(steps) != 5 {
				t.Fatalf("%d steps, this test knows 5", len(steps))
			}
			for _, step := range steps[:done] {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			want := 1
			if done >= 3 {
				want = 3
			}
			if n := deliveredIn(t, data, "r"); n != want {
				t.Errorf("%d delivered, want %d", n, want)
			}
			for _, name := range inRuns(t, data) {
				if name != "r" && !strings.HasPrefix(name, ".r.staging-") {
					t.Errorf("%s was left beside the run", name)
				}
			}
			if n := publishRun(t, data, "r", 5); n.Crossings[Delivered] != 5 || deliveredIn(t, data, "r") != 5 {
				t.Error("the next run was not published")
			}
		})
	}
}

func TestE72WhereNothingCanBeExchangedARunIsRefusedBeforeItStarts(t *testing.T) {
	data := t.TempDir()
	cannot := func(a, b string) error { return syscall.EINVAL }
	r, owed := makeRun(t, data, "r", 1, cannot) // there is none yet to be replaced
	if _, err := r.Publish(t.Context(), owed, RunRecording{}); err != nil {
		t.Fatal(err)
	}
	if _, err := createRun(data, RunOptions{ID: "r", Edge: NewEdgeID(time.Now())}, cannot); !errors.Is(err, ErrCannotReplace) {
		t.Errorf("%v, want ErrCannotReplace", err)
	}
	if n := deliveredIn(t, data, "r"); n != 1 {
		t.Errorf("%d delivered, want those of the older run", n)
	}
	if d := cmp.Diff([]string{"r"}, inRuns(t, data)); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
}

func TestE72TwoRunsAtOnceLeaveOneWholeRun(t *testing.T) {
	data := t.TempDir()
	a, owedA := makeRun(t, data, "r", 1, exchange)
	b, owedB := makeRun(t, data, "r", 2, exchange)
	done := make(chan error)
	publish := func(r *Run, owed bool) {
		_, err := r.Publish(t.Context(), owed, RunRecording{})
		done <- err
	}
	go publish(a, owedA)
	go publish(b, owedB)
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	if n := deliveredIn(t, data, "r"); n != 1 && n != 2 {
		t.Errorf("%d delivered", n)
	}
	if d := cmp.Diff([]string{"r"}, inRuns(t, data)); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
}

// E73: the run ends and is published, and says that it is not complete.
func TestE73ARunThatOwesEvidenceIsPublishedAsIncomplete(t *testing.T) {
	data := t.TempDir()
	r, _ := makeRun(t, data, "r", 1, exchange)
	s, err := r.Publish(t.Context(), true, RunRecording{})
	if err != nil || s.Complete {
		t.Errorf("complete %v, %v", s.Complete, err)
	}
	if v := verifyOne(t, filepath.Join(data, "runs", "r")); v.Verdict != CouldNotTell {
		t.Errorf("%s, want %s", v.Verdict, CouldNotTell)
	}
}

func TestE71ALogThatDoesNotReadBackWholeIsNotComplete(t *testing.T) {
	data := t.TempDir()
	r, _ := makeRun(t, data, "r", 1, exchange)
	log := filepath.Join(r.dir(), runLogName)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(log, int64(len(text)-5)); err != nil {
		t.Fatal(err)
	}
	s, err := r.Publish(t.Context(), false, RunRecording{})
	if err != nil || s.Complete || s.Log.Records != nil || s.Log.Bytes != int64(len(text)-5) {
		t.Errorf("%+v, %v", s, err)
	}
}
