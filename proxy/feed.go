package proxy

import (
	"io"
	"sync"
)

// A feed is a pipe whose Write can wait until the reader has made all of what was
// written and asks for more, so that what came of it is known before it is passed
// on. One goroutine writes and one reads.
type feed struct {
	step bool // Write waits for that, and not only until its octets were taken

	mu     sync.Mutex
	moved  sync.Cond
	left   []byte // of the piece that is being read
	given  int    // pieces written
	asked  int    // pieces after which the reader asked for more
	end    error  // what Read returns behind the last piece
	closed bool   // the reader takes no more
}

func newFeed(step bool) *feed {
	f := &feed{step: step}
	f.moved.L = &f.mu
	return f
}

// Read implements io.Reader.
func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.left) == 0 {
		if f.end != nil {
			return 0, f.end
		}
		f.asked = f.given
		f.moved.Broadcast()
		f.moved.Wait()
	}
	n := copy(p, f.left)
	if f.left = f.left[n:]; len(f.left) == 0 {
		f.moved.Broadcast()
	}
	return n, nil
}

// Write implements io.Writer. What the reader does not take is let go.
func (f *feed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(p) == 0 || f.closed {
		return len(p), nil
	}
	f.left = p
	f.given++
	f.moved.Broadcast()
	for !f.closed && (len(f.left) > 0 || f.step && f.asked < f.given) {
		f.moved.Wait()
	}
	f.left = nil
	return len(p), nil
}

// finish ends what there is to read: by io.EOF, or by err.
func (f *feed) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == nil {
		f.end = err
	}
	f.moved.Broadcast()
}

// Close says that the reader takes no more.
func (f *feed) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.moved.Broadcast()
	return nil
}

// ended reports whether the reader takes no more.
func (f *feed) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

var _ io.ReadWriteCloser = (*feed)(nil)
