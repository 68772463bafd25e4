package backoff_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

// children are what the test binary can do when it runs again as a process of
// its own, for tests that need several processes or one to kill.
var children = map[string]func(args []string) error{
	"turns":   childTurns,
	"reserve": childReserve,
	"stop":    childStop,
}

// TestMain runs a child instead of the tests when the parent asked for one.
func TestMain(m *testing.M) {
	if name := os.Getenv("BACKOFF_TEST_CHILD"); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A child is a running process of this test binary.
type child struct {
	*exec.Cmd
	stdout *bufio.Scanner
	stdin  io.WriteCloser
}

// startChild runs a child, which ends with the test at the latest.
func startChild(t *testing.T, name string, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "BACKOFF_TEST_CHILD="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	return &child{cmd, bufio.NewScanner(out), in}
}

// rest returns what the child says until it ends, a line each.
func (c *child) rest(t *testing.T) (lines []string) {
	t.Helper()
	for c.stdout.Scan() {
		lines = append(lines, c.stdout.Text())
	}
	must(t, c.Wait())
	return lines
}

const (
	childDelay = 10 * time.Millisecond
	childCount = 20
)

// childTurns takes turns in the store of a directory and says when they are.
func childTurns(args []string) error {
	store := backoff.NewFileStore(args[0], backoff.FileOptions{Config: patient})
	for range childCount {
		turn, err := store.Turn(context.Background(), host, childDelay, time.Minute)
		if err != nil {
			return err
		}
		fmt.Println(turn.At.Format(time.RFC3339Nano))
	}
	return nil
}

// childReserve looks, says so, and reserves as soon as it is told to.
func childReserve(args []string) error {
	store := backoff.NewFileStore(args[0], backoff.FileOptions{Config: patient, Now: newClock().now})
	seen, _, err := store.Look(context.Background(), host)
	if err != nil {
		return err
	}
	fmt.Println("looked")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	_, err = store.Reserve(context.Background(), host, seen, backoff.Sender{ID: args[1]}, time.Second)
	fmt.Println(err)
	return nil
}

// childStop fails the host and stops for good before the nth call of the file
// interface.
func childStop(args []string) error {
	var nth int
	if _, err := fmt.Sscan(args[1], &nth); err != nil {
		return err
	}
	traced := newTracedFS(args[0])
	calls := 0
	traced.failing(false, func(string) error {
		if calls++; calls <= nth {
			return nil
		}
		fmt.Println("stopped")
		_, err := io.ReadAll(os.Stdin)
		return err
	})
	c := newClock()
	c.set(after(time.Second))
	store := backoff.NewFileStore(args[0], backoff.FileOptions{Config: patient, Now: c.now, FS: traced})
	_, err := store.Answered(context.Background(), host, backoff.Answer{Status: 503, RetryAfter: []string{"60"}})
	fmt.Println("done")
	return err
}

func TestP9_TurnsOfSeveralProcessesAreSpaced(t *testing.T) {
	dir := t.TempDir()
	running := make([]*child, 3)
	for i := range running {
		running[i] = startChild(t, "turns", dir)
	}
	taken := map[time.Time]bool{}
	for _, c := range running {
		for _, line := range c.rest(t) {
			at, err := time.Parse(time.RFC3339Nano, line)
			must(t, err)
			for other := range taken {
				if d := at.Sub(other).Abs(); d < childDelay {
					t.Errorf("two turns are %v apart", d)
				}
			}
			taken[at] = true
		}
	}
	if len(taken) != childCount*len(running) {
		t.Errorf("%d turns were taken", len(taken))
	}
}

func TestP25_OneOfSeveralProcessesReserves(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, failing(0))
	var running []*child
	for _, id := range []string{"A", "B", "C"} {
		c := startChild(t, "reserve", dir, id)
		if !c.stdout.Scan() || c.stdout.Text() != "looked" {
			t.Fatalf("a child said %q", c.stdout.Text())
		}
		running = append(running, c)
	}
	for _, c := range running {
		must(t, c.stdin.Close())
	}
	reserved := 0
	for _, c := range running {
		switch said := strings.Join(c.rest(t), "\n"); said {
		case "<nil>":
			reserved++
		case backoff.ErrLookAgain.Error():
		default:
			t.Errorf("a child said %q", said)
		}
	}
	if reserved != 1 {
		t.Errorf("%d processes reserved the host", reserved)
	}
}

// TestP46_AKilledProcessLeavesTheOldStateOrTheNewOne kills a process at each
// call that storing makes.
func TestP46_AKilledProcessLeavesTheOldStateOrTheNewOne(t *testing.T) {
	before := failing(0)
	stages := map[bool]int{} // by whether the new state was there
	for nth := 0; ; nth++ {
		dir := t.TempDir()
		plant(t, dir, before)
		c := startChild(t, "stop", dir, fmt.Sprint(nth))
		if !c.stdout.Scan() {
			t.Fatal("the child said nothing")
		}
		said := c.stdout.Text()
		must(t, c.Process.Kill())
		_ = c.Wait() // killed
		if said == "done" {
			break
		}
		clock := newClock()
		clock.set(after(2 * time.Second))
		traced := newTracedFS(dir)
		store := backoff.NewFileStore(dir, backoff.FileOptions{Config: patient, Now: clock.now, FS: traced})
		found, _, err := store.Look(t.Context(), host)
		must(t, err)
		stored := found.Backoff.Until.Equal(after(61 * time.Second))
		if !stored && !found.Equal(before) {
			t.Errorf("killed at call %d: the state is %+v", nth, found)
		}
		stages[stored]++
		if _, err := store.Answered(t.Context(), host, backoff.Answer{Status: 429, RetryAfter: []string{"70"}}); err != nil {
			t.Errorf("killed at call %d: %v", nth, err)
		}
		for path := range snapshot(t, dir) {
			if strings.HasSuffix(path, ".tmp") {
				t.Errorf("killed at call %d: the next visit leaves %s", nth, path)
			}
		}
	}
	if stages[true] == 0 || stages[false] < 5 {
		t.Errorf("the process was killed %d times before the change and %d times after it", stages[false], stages[true])
	}
}

func TestP11_ARestartKeepsTheSpacing(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	var last time.Time
	for range 5 {
		store := backoff.NewFileStore(dir, backoff.FileOptions{Config: patient, Now: clock.now})
		turn, err := store.Turn(t.Context(), host, 3*time.Second, 10*time.Second)
		must(t, err)
		if turn.At.Sub(last) < 3*time.Second {
			t.Errorf("the turn at %v follows one at %v", turn.At, last)
		}
		last = turn.At
		clock.advance(time.Second)
	}
	if want := backofftest.Start.Add(12 * time.Second); !last.Equal(want) {
		t.Errorf("the last turn is at %v, want %v", last, want)
	}
}
