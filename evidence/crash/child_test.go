package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wayleave/wayleave/evidence"
)

const (
	sessionID    = "s"
	segmentBytes = 20 << 10
	writers      = 8
)

// TestMain runs the child instead of the tests when the parent asked for it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CRASH_CHILD"); dir != "" {
		if err := load(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// load is the child: an edge whose agents never stop, and that says on standard
// output what was acknowledged to them, a line for each record. A pipe keeps what
// a dead process wrote to it.
func load(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "sessions"), 0o700); err != nil {
		return err
	}
	disk, err := evidence.Disk(dir)
	if err != nil {
		return err
	}
	s, err := evidence.Open(dir, evidence.Options{FS: newDeadlyFS(disk), SegmentBytes: segmentBytes})
	if err != nil {
		return err
	}
	fmt.Println("edge", s.EdgeID())
	l, err := s.Session(sessionID)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range 200 { // somebody kills it long before
				cross(l, fmt.Sprintf("%s-%d-%d", s.EdgeID(), i, n))
			}
		})
	}
	wg.Wait()
	return s.Close(context.Background())
}

// cross records one crossing, marked so that the parent knows it again.
func cross(l *evidence.Log, mark string) {
	c := &evidence.Crossing{Grade: evidence.Mediated, Class: "source", Method: mark, URL: "https://site.example/",
		Gaps: []evidence.Gap{{Reason: "filler", Detail: strings.Repeat("x", rand.IntN(3000))}}}
	seq, err := l.Append(context.Background(), evidence.CrossingOpened{Crossing: c})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("ack", evidence.EventCrossingOpened, mark)
	ended := *c
	ended.Opened, ended.Outcome = seq, evidence.Delivered
	if _, err := l.Append(context.Background(), evidence.CrossingEnded{Crossing: &ended}); err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("ack", evidence.EventCrossingMediated, mark)
}
