package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wayleave/wayleave/evidence"
)

// kills is how often one run of the random test kills.
const kills = 100

func TestCrashE35E62KilledAtEveryStep(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBattlefield(t)
			for _, nth := range []int{1, 2, 7} {
				if strings.HasPrefix(step, "open ") && nth > 1 {
					break // an edge opens a log once
				}
				b.run(t, fmt.Sprint(step, " ", nth), 0)
			}
			b.conclude(t)
		})
	}
}

func TestCrashE31E36E40KilledAtRandom(t *testing.T) {
	b := newBattlefield(t)
	for i := range kills {
		if i%2 == 0 {
			b.run(t, "", time.Duration(rand.IntN(40_000))*time.Microsecond)
			continue
		}
		// Half of them end in the middle of something, where a signal from
		// outside seldom meets them.
		b.run(t, fmt.Sprint(steps[4+rand.IntN(len(steps)-4)], " ", 1+rand.IntN(4)), 0)
	}
	b.conclude(t)
}

// A battlefield is a data directory in which one edge after another is killed.
type battlefield struct {
	dir   string
	edges []string        // killed
	acked map[string]bool // "event mark" of what was acknowledged, until it was seen
	trail trail
}

func newBattlefield(t *testing.T) *battlefield {
	return &battlefield{dir: t.TempDir(), acked: make(map[string]bool), trail: newTrail()}
}

// run starts an edge, which dies at a step or is killed after a while, and checks
// what it left.
func (b *battlefield) run(t *testing.T, step string, after time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CRASH_CHILD="+b.dir, "CRASH_STEP="+step)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "edge":
			b.edges = append(b.edges, rest)
			if step == "" {
				time.AfterFunc(after, func() { cmd.Process.Kill() })
			}
		case "ack":
			b.acked[rest] = true
		default:
			t.Errorf("the edge says: %s", lines.Text())
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("killed at %q: the edge ended with %v", step, err)
	}
	b.check(t, step, evidence.ReadForecast)
}

// check reads on in the log and fails unless it holds all that was acknowledged.
func (b *battlefield) check(t *testing.T, step string, mode evidence.ReadMode) {
	t.Helper()
	seen, err := b.trail.follow(b.dir, mode)
	if err != nil {
		t.Fatalf("killed at %q: %v", step, err)
	}
	for key := range seen {
		delete(b.acked, key)
	}
	for key := range b.acked {
		t.Errorf("killed at %q: %s was acknowledged and is not in the log", step, key)
	}
	clear(b.acked)
	if t.Failed() {
		t.FailNow()
	}
}

// conclude opens the log once more, in an edge that stops cleanly, after which
// nothing may be left to say: not in the session's log and in no dead edge's own.
func (b *battlefield) conclude(t *testing.T) {
	t.Helper()
	s, err := evidence.Open(b.dir, evidence.Options{SegmentBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := s.Session(sessionID)
	_, err = l.Append(t.Context(), evidence.CrossingEnded{Crossing: &evidence.Crossing{Grade: evidence.Mediated, Method: "last"}})
	if err := errors.Join(err, s.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	b.check(t, "conclude", evidence.ReadRefuse)
	if open := b.trail.open(); open != "" {
		t.Errorf("behind all edges %s", open)
	}
	whole := newTrail() // a reading from the beginning says the same
	whole.summed = true
	if _, err := whole.follow(b.dir, evidence.ReadRefuse); err != nil {
		t.Error(err)
	}
	if whole.records != b.trail.records {
		t.Errorf("a whole reading finds %d records, the resumed ones found %d", whole.records, b.trail.records)
	}
	for _, edge := range b.edges {
		if _, err := os.Stat(b.dir + "/edges/" + edge + ".lock"); err == nil {
			t.Errorf("the lock file of edge %s is left", edge)
		}
		own := newTrail()
		own.session = "edge-" + edge
		if _, err := own.follow(b.dir, evidence.ReadRefuse); err != nil {
			t.Errorf("the own log of edge %s: %v", edge, err)
		} else if open := own.open(); open != "" {
			t.Errorf("in the own log of edge %s %s", edge, open)
		}
	}
}
