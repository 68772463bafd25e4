package evidence

import (
	"context"
	"fmt"
	"testing"
)

// Sessions cost a name each and descriptors are few: a log beyond the bound
// gives its own up behind each batch, and loses nothing by it.
func TestStoreE1ManySessionsShareFewDescriptors(t *testing.T) {
	const sessions, rounds = maxOpenFiles + 20, 2
	dir := t.TempDir()
	s, err := Open(dir, Options{FS: newTracedFS(t, dir)})
	must(t, err)
	for range rounds {
		for i := range sessions {
			l, err := s.Session(fmt.Sprintf("s%d", i))
			must(t, err)
			_, err = l.Append(context.Background(), opened("x"))
			must(t, err)
		}
	}
	if n := s.files.Load(); n > maxOpenFiles {
		t.Errorf("%d logs are held open", n)
	}
	must(t, s.Close(context.Background()))
	if n := s.files.Load(); n != 0 {
		t.Errorf("%d logs are left open", n)
	}
	for _, i := range []int{0, sessions - 1} {
		id := fmt.Sprintf("s%d", i)
		records := readMarked(t, dir, id)
		if n := countEvent(records, EventCrossingOpened); n != rounds || countEvent(records, "evidence_gap") != 0 || countEvent(records, "edge_started") != 1 {
			t.Errorf("session %s: %d crossings in %v", id, n, records)
		}
	}
}
