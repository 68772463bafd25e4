package recording

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
)

const (
	headsDir  = "heads"
	bodiesDir = "bodies"
)

// Options are what a Writer is told.
type Options struct {
	Ruleset string           // of the run that is recorded
	Now     func() time.Time // nil: time.Now
	Logger  *slog.Logger     // nil: nothing is logged
}

// A Writer records exchanges. Any number of goroutines may use it. No fault of the
// disk reaches who adds an exchange: it makes the recording incomplete, and Close
// says so.
type Writer struct {
	dir     string
	o       Options
	created time.Time

	mu     sync.Mutex
	added  int
	open   map[*Entry]bool
	done   []finished
	left   []LeftOut
	faults []error
	closed bool
}

// A finished exchange, and its place among those added.
type finished struct {
	place int
	x     Exchange
}

// ErrNotEmpty says that there is something in the directory of a new recording.
var ErrNotEmpty = errors.New("the directory of a recording must be empty")

// Create begins a recording in dir, which is made if it is missing and must hold
// nothing. Nobody but this user can read what is put into it.
func Create(dir string, o Options) (*Writer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ruleset == "" {
		return nil, errors.New("a recording needs to know its rule set")
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%w: %s holds %s", ErrNotEmpty, dir, entries[0].Name())
	}
	for _, sub := range []string{headsDir, bodiesDir} {
		if err := durable.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return &Writer{dir: dir, o: o, created: o.Now(), open: map[*Entry]bool{}}, nil
}

// A LeftOut is an exchange that the recording does not hold.
type LeftOut struct{ Method, URL, Why string }

// A Summary is what was recorded.
type Summary struct {
	Digest    string // of recording.json
	Exchanges []Exchange
	LeftOut   []LeftOut
}

// An IncompleteError says what a recording lacks. There is no manifest then, so
// that nobody takes it for a whole one.
type IncompleteError struct{ Faults []error }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the recording is incomplete (%d faults) and cannot be replayed: %v", len(e.Faults), e.Faults[0])
}

// Unwrap returns the faults.
func (e *IncompleteError) Unwrap() []error { return e.Faults }

// Close writes the manifest, which is on disk when Close returns. Exchanges that
// have not ended by now make the recording incomplete, as did each fault before: the
// error is an *IncompleteError then.
func (w *Writer) Close() (Summary, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return Summary{}, errors.New("the recording was closed before")
	}
	w.closed = true
	for e := range w.open {
		w.faults = append(w.faults, fmt.Errorf("recording %s: it did not end", e.name))
	}
	slices.SortFunc(w.done, func(a, b finished) int { return a.place - b.place })
	s := Summary{LeftOut: w.left}
	for i, f := range w.done {
		f.x.N = i + 1
		s.Exchanges = append(s.Exchanges, f.x)
	}
	if len(w.faults) == 0 {
		s.Digest = w.publish(s.Exchanges)
	}
	if len(w.faults) > 0 {
		return s, &IncompleteError{w.faults}
	}
	return s, nil
}

// Discard removes what there is of the recording, which was of nothing, so that the
// directory can be used again.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for _, name := range []string{manifestName, bodiesDir, headsDir} {
		errs = append(errs, os.RemoveAll(filepath.Join(w.dir, name)))
	}
	return errors.Join(errs...)
}

// publish writes the manifest and returns its digest.
func (w *Writer) publish(all []Exchange) string {
	text := encodeManifest(w.created, w.o.Ruleset, all)
	err := errors.Join(durable.SyncDir(filepath.Join(w.dir, bodiesDir)), durable.SyncDir(filepath.Join(w.dir, headsDir)))
	if err == nil {
		err = durable.WriteNew(filepath.Join(w.dir, manifestName), text, 0o600)
	}
	if err != nil {
		_ = os.Remove(filepath.Join(w.dir, manifestName)) // its name may be there, and not on disk
		w.faults = append(w.faults, err)
	}
	return digest(text)
}
