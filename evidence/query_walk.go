package evidence

import (
	"bytes"
	"container/heap"
	"os"
	"slices"
)

// A walk goes backwards through several logs at once. It holds one block's
// octets at a time, and of the other logs only where their next records stand.
type walk struct {
	root  *os.Root
	match *matcher
	end   rank // only records before it
	limit int

	logs logHeap
	out  Page
	last rank  // of the last item
	size int64 // octets of the items
	read int64 // octets read of the logs

	line   logLine
	buffer []byte

	file *os.File // the segment read last
	of   rank     // its session and number
}

// A walkedLog is one log on its way backwards.
type walkedLog struct {
	state *logState
	head  rank    // behind the next record, or behind all of the next block
	found []found // of the block read last, what is still to come, newest last
	next  int     // index of the block to read after those
}

// A found record matches and stands in length octets at its rank.
type found struct {
	rank
	length int
}

// page collects the page from the logs of states.
func (w *walk) page(states []*logState) (Page, error) {
	for _, s := range states {
		if s.damaged > 0 || s.fault != "" {
			w.out.Faulty = append(w.out.Faulty, s.id)
		}
		if c := (&walkedLog{state: s, next: s.blocks()}); w.back(c) {
			w.logs = append(w.logs, c)
		}
	}
	heap.Init(&w.logs)
	for len(w.logs) > 0 && !w.match.over(w.logs[0].head) {
		c := w.logs[0]
		if at, full := w.full(c); full {
			w.out.Next = at.String()
			break
		}
		if w.step(c) && w.back(c) {
			heap.Fix(&w.logs, 0)
		} else {
			heap.Pop(&w.logs)
		}
	}
	slices.Sort(w.out.Faulty)
	w.out.Faulty = slices.Compact(w.out.Faulty)
	return w.out, nil
}

// full reports whether the page ends before c's next step, and the rank behind
// which the next page begins.
func (w *walk) full(c *walkedLog) (rank, bool) {
	switch {
	case len(w.out.Items) == w.limit:
		return w.last, true
	case len(c.found) == 0:
		return c.head, w.read >= scanBytes
	}
	next := c.found[len(c.found)-1]
	return c.head, len(w.out.Items) > 0 && w.size+int64(next.length) > pageBytes
}

// step takes the next record of c onto the page, or reads c's next block. It
// reports whether c could be read.
func (w *walk) step(c *walkedLog) bool {
	var err error
	if len(c.found) == 0 {
		err = w.load(c)
	} else {
		err = w.take(c)
	}
	if err != nil {
		w.out.Faulty = append(w.out.Faulty, c.state.id)
	}
	return err == nil
}

// back sets c's head to what comes next, reading nothing, and reports whether
// anything does.
func (w *walk) back(c *walkedLog) bool {
	if n := len(c.found); n > 0 {
		c.head = c.found[n-1].rank
		c.head.off++
		return true
	}
	for c.next--; c.next >= 0; c.next-- {
		b := c.state.block(c.next)
		if w.match.block(b) && b.firstRank(c.state.id).compare(w.end) < 0 {
			c.head = b.beyond(c.state.id)
			if w.end.compare(c.head) < 0 {
				c.head = w.end
			}
			return true
		}
	}
	return false
}

// load reads the block c.next and finds what matches in it.
func (w *walk) load(c *walkedLog) error {
	b := c.state.block(c.next)
	octets, err := w.octets(c.state.id, b.segment, b.off, int(b.end-b.off))
	if err != nil {
		return err
	}
	w.read += int64(len(octets))
	at := rank{at: b.before, session: c.state.id, segment: b.segment, off: b.off}
	for len(octets) > 0 {
		line, rest, _ := bytes.Cut(octets, []byte{'\n'})
		if w.line.read(line) == "" {
			at.at = max(at.at, w.line.at)
			if at.compare(w.end) < 0 && w.match.record(&w.line) {
				c.found = append(c.found, found{at, len(line)})
			}
		}
		at.off += int64(len(line)) + 1
		octets = rest
	}
	return nil
}

// take moves the newest found record of c to the page.
func (w *walk) take(c *walkedLog) error {
	f := c.found[len(c.found)-1]
	c.found = c.found[:len(c.found)-1]
	octets, err := w.octets(f.session, f.segment, f.off, f.length)
	if err != nil {
		return err
	}
	w.out.Items = append(w.out.Items, Item{Session: f.session, Record: bytes.Clone(octets)})
	w.last = f.rank
	w.size += int64(f.length)
	return nil
}

// octets returns length octets of a segment, good until the next call.
func (w *walk) octets(session string, segment int, off int64, length int) ([]byte, error) {
	if want := (rank{session: session, segment: segment}); w.file == nil || w.of != want {
		w.close()
		dir, err := openDir(w.root, session)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		if w.file, _, err = openRegular(dir, segmentName(segment)); err != nil {
			return nil, err
		}
		w.of = want
	}
	w.buffer = slices.Grow(w.buffer[:0], length)[:length]
	_, err := w.file.ReadAt(w.buffer, off)
	return w.buffer, err
}

func (w *walk) close() {
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}

// A logHeap has the log with the newest head on top.
type logHeap []*walkedLog

func (h logHeap) Len() int           { return len(h) }
func (h logHeap) Less(i, j int) bool { return h[i].head.compare(h[j].head) > 0 }
func (h logHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *logHeap) Push(x any)        { *h = append(*h, x.(*walkedLog)) }

// Pop implements heap.Interface.
func (h *logHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
