package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wayleave/wayleave/internal/durable"
)

// An Entry is an exchange whose body is being recorded. One goroutine uses it. Its
// methods never fail, and never say that the recording did.
type Entry struct {
	w      *Writer
	place  int
	name   string // for faults
	x      Exchange
	head   []byte
	file   *os.File
	sum    hash.Hash
	failed bool
	ended  bool
}

// Add begins an exchange with the members of x that are not about files, and the
// answer's head. Exchanges are recorded in the order in which they were added. Done
// or Abandon is to be called on what it returns.
func (w *Writer) Add(x Exchange, h Head) *Entry {
	if x.CapturedAt.IsZero() {
		x.CapturedAt = w.o.Now()
	}
	h = h.public()
	w.mu.Lock()
	w.added++
	e := &Entry{w: w, place: w.added, name: x.Method + " of " + x.Host(), x: x, head: h.encode(), sum: sha256.New()}
	closed := w.closed
	if !closed {
		w.open[e] = true
	}
	w.mu.Unlock()
	switch {
	case closed:
		e.failed = true
	case !x.valid() || !h.valid() || len(e.head) > maxHead:
		e.fail(errors.New("it is no exchange that a recording can hold"))
	default:
		file, err := os.OpenFile(e.part(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			e.fail(err)
		} else {
			e.file = file
		}
	}
	return e
}

// part is the name of the body's file while its hash is not known.
func (e *Entry) part() string {
	return filepath.Join(e.w.dir, bodiesDir, fmt.Sprintf(".%06d.part", e.place))
}

// Request says what the request's body was: the digest of it, empty if there was
// none. It may not be known before the answer has begun.
func (e *Entry) Request(bodySHA256 string) { e.x.RequestSHA256 = bodySHA256 }

// Write takes the next octets of the body, as they were served. It always takes all
// and returns no error.
func (e *Entry) Write(p []byte) (int, error) {
	if e.failed || e.ended {
		return len(p), nil
	}
	e.sum.Write(p)
	n, err := e.file.Write(p)
	e.x.BodyBytes += int64(n)
	if err != nil {
		e.fail(err)
	}
	return len(p), nil
}

// fail makes the recording incomplete.
func (e *Entry) fail(err error) {
	e.failed = true
	e.discard()
	err = fmt.Errorf("recording %s: %w", e.name, err)
	e.w.o.Logger.Error("the recording is incomplete", "error", err)
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	delete(e.w.open, e)
	e.w.faults = append(e.w.faults, err)
}

// discard removes what there is of the body.
func (e *Entry) discard() {
	if e.file == nil {
		return
	}
	_ = e.file.Close() // it goes with what it holds
	_ = os.Remove(e.part())
	e.file = nil
}

// Abandon leaves the exchange out, because its body did not come to its end: no
// replay could serve it as it was.
func (e *Entry) Abandon(why string) {
	if e.failed || e.ended {
		return
	}
	e.ended = true
	e.discard()
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	delete(e.w.open, e)
	e.w.left = append(e.w.left, LeftOut{Method: e.x.Method, URL: e.x.URL, Why: why})
}

// LeaveOut says that there is no recording of a request that was made, and why: it
// had no answer, or one that no recording can hold. The recording stays whole: a
// replay is told that it has none.
func (w *Writer) LeaveOut(method, url, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(w.left, LeftOut{Method: method, URL: url, Why: why})
}

// Done ends the exchange. Head and body are on disk when it returns, so an agent
// should not be kept waiting for it.
func (e *Entry) Done() {
	if e.failed || e.ended {
		return
	}
	if err := e.store(); err != nil {
		e.fail(err)
		return
	}
	e.ended = true
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	delete(e.w.open, e)
	if e.w.closed {
		return // Close counted it among those that did not end
	}
	e.w.done = append(e.w.done, finished{e.place, e.x})
}

// store puts body and head on disk, under the names of their hashes.
func (e *Entry) store() error {
	err := errors.Join(e.file.Sync(), e.file.Close())
	body := hex.EncodeToString(e.sum.Sum(nil))
	e.x.Body, e.x.BodySHA256 = bodiesDir+"/"+body, "sha256:"+body
	if err == nil {
		err = os.Rename(e.part(), filepath.Join(e.w.dir, e.x.Body))
	}
	if err != nil {
		return err
	}
	e.file = nil
	sum := sha256.Sum256(e.head)
	head := hex.EncodeToString(sum[:])
	e.x.Head, e.x.HeadSHA256 = headsDir+"/"+head+".json", "sha256:"+head
	err = durable.WriteNew(filepath.Join(e.w.dir, e.x.Head), e.head, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // an answer before had the same
	}
	return err
}
