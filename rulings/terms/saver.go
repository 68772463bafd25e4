package terms

import "sync"

// maxUnsaved bounds the entries that wait to be written. Beyond it a file is
// not written, which costs a repeated probe (T20).
const maxUnsaved = 4096

// A saver writes files of the cache behind the crossings' backs, one at a time (T122).
type saver struct {
	save func(e *entry, k *known)
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what follows
	more    sync.Cond  // something was queued, or stopped was set
	queue   []*entry   // each with unsaved set, each once
	stopped bool
}

// startSaver returns a saver whose goroutine calls save until stop.
func startSaver(save func(*entry, *known)) *saver {
	s := &saver{save: save, done: make(chan struct{})}
	s.more.L = &s.mu
	go s.run()
	return s
}

// add has the file of e written soon, with what is known by then.
func (s *saver) add(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.queue) >= maxUnsaved {
		return
	}
	e.mu.Lock()
	queued := e.unsaved
	e.unsaved = true
	e.mu.Unlock()
	if !queued {
		s.queue = append(s.queue, e)
		s.more.Signal()
	}
}

// next waits for an entry to write; nil when the saver has stopped and nothing
// is left.
func (s *saver) next() *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.stopped {
		s.more.Wait()
	}
	if len(s.queue) == 0 {
		return nil
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e
}

func (s *saver) run() {
	defer close(s.done)
	for e := s.next(); e != nil; e = s.next() {
		s.write(e)
	}
}

// write saves e until what is on disk is what is known: a look-up may have ended
// meanwhile.
func (s *saver) write(e *entry) {
	for {
		k := e.known.Load()
		s.save(e, k)
		e.mu.Lock()
		current := e.known.Load() == k
		if current {
			e.unsaved = false
		}
		e.mu.Unlock()
		if current {
			return
		}
	}
}

// stop has what is queued written and waits for it.
func (s *saver) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.more.Signal()
	<-s.done
}
