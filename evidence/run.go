package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
	"github.com/wayleave/wayleave/rulings"
	"golang.org/x/sys/unix"
)

// Errors of CreateRun.
var (
	// ErrRunInvalid says that a run cannot have the id: it is none by E2.
	ErrRunInvalid = errors.New("the run id is not valid")
	// ErrCannotReplace says that a run of this name is published and the file
	// system cannot exchange two directories in one step (E72).
	ErrCannotReplace = errors.New("the file system cannot replace a published run in one step")
)

// A Run is a batch run that is being made: one process, one log (E70). Its files
// are in a staging folder until it is published under its name.
//
//	runs/.<run>.staging-<edge id>/evidence.jsonl
//	                              policy.json
//	                              summary.json
type Run struct {
	id, execution string
	started       time.Time
	policy        rulings.Digest
	recording     string // digest of the recording that it has to do with, once it is known; empty: none

	runs    string // the directory runs
	staging string // the folder's name in it
	fs      *runFS

	held     *os.File                // the staging folder, locked until the run is published or discarded
	exchange func(a, b string) error // swaps two directories in one step
}

// RunOptions say what a run is.
type RunOptions struct {
	ID        string
	Edge      string // the edge id
	Execution string // live (the default), replay, offline
	Policy    []byte // the effective policy's canonical form
	Recording string // of a replay: the digest of the recording's manifest (specs: policy, O66)
}

// CreateRun makes the staging folder of a run, with an empty log and the effective
// policy. Where a run of that name is published it is found out now whether it
// could be replaced.
func CreateRun(dataDir string, o RunOptions) (*Run, error) { return createRun(dataDir, o, exchange) }

func createRun(dataDir string, o RunOptions, exchange func(a, b string) error) (_ *Run, err error) {
	if !ValidSession(o.ID) {
		return nil, ErrRunInvalid
	}
	r := &Run{id: o.ID, execution: cmp.Or(o.Execution, "live"), started: time.Now(), policy: digestOfBytes(o.Policy), recording: o.Recording,
		runs: filepath.Join(dataDir, "runs"), staging: "." + o.ID + ".staging-" + o.Edge, exchange: exchange}
	if err := durable.MkdirAll(r.runs, 0o700); err != nil {
		return nil, err
	}
	if err := r.canReplace(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.dir(), 0o700); err != nil {
		return nil, fmt.Errorf("making the staging folder of run %s: %w", o.ID, err)
	}
	defer func() {
		if err != nil {
			r.Discard()
		}
	}()
	if r.held, err = os.Open(r.dir()); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(r.held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, err
	}
	if err := os.Chmod(r.dir(), 0o700); err != nil { // whatever the umask took away
		return nil, err
	}
	if err := durable.WriteNew(filepath.Join(r.dir(), runPolicyName), o.Policy, 0o600); err != nil {
		return nil, err
	}
	r.fs, err = newRunFS(r.runs, r.staging)
	return r, err
}

func (r *Run) dir() string { return filepath.Join(r.runs, r.staging) }

// Dir returns the staging folder, which has another name once the run is
// published. What is put there is published with it.
func (r *Run) Dir() string { return r.dir() }

// ID returns the run's id.
func (r *Run) ID() string { return r.id }

// Discard removes the staging folder of a run that came to nothing, and lets go
// of it. What was published stays.
func (r *Run) Discard() error {
	r.letGo()
	return os.RemoveAll(r.dir())
}

func (r *Run) letGo() {
	if r.held != nil {
		r.held.Close()
		r.held = nil
	}
	if r.fs != nil {
		r.fs.runs.sessions.Close() // only read from: there is nothing to lose
		r.fs = nil
	}
}

// canReplace tries an exchange beside the published run, if there is one.
func (r *Run) canReplace() error {
	if _, err := os.Lstat(filepath.Join(r.runs, r.id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	a, err := os.MkdirTemp(r.runs, ".exchange-")
	if err != nil {
		return err
	}
	defer os.Remove(a)
	b, err := os.MkdirTemp(r.runs, ".exchange-")
	if err != nil {
		return err
	}
	defer os.Remove(b)
	if err := r.exchange(a, b); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotReplace, err)
	}
	return nil
}

// Start writes the run's first record. A record that cannot be written is owed,
// as any other, and shows when the run ends.
func (r *Run) Start(ctx context.Context, s *Store) {
	_, _ = s.Own().Append(ctx, runRecord{event: EventRunStarted, run: r})
}

// Complete writes the run's terminal record, which counts what is in the log and
// names the recording that was made, if any: its digest. No request may be under way
// any more. What is owed is tried once more, and the store still owes it then (E71).
func (r *Run) Complete(ctx context.Context, s *Store, recorded string) {
	r.recording = cmp.Or(recorded, r.recording)
	rec := runRecord{event: EventRunCompleted, run: r}
	// What still waits or is owed would come to stand behind what is counted.
	if _, err := s.Own().Append(ctx); err == nil && s.Owed() == 0 {
		if read, err := r.readBack(ctx); err == nil {
			rec.counted, rec.crossings, rec.gaps = true, read.state.tally.crossings[Mediated], total(read.state.tally.gaps)
		}
	}
	if _, err := s.Own().Append(ctx, rec); err != nil {
		rec.counted = false // a gap that tells of the first attempt stands before it
		_, _ = s.Own().Append(ctx, rec)
	}
}

// A runFS keeps the one log of a run.
type runFS struct {
	runs    *disk // its directory of logs is runs/
	staging string
}

// newRunFS makes the run's log, which must not be there yet.
func newRunFS(runs, staging string) (*runFS, error) {
	fd, err := durable.OpenAt(unix.AT_FDCWD, runs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the directory of runs: %w", err)
	}
	r := &runFS{&disk{os.NewFile(uintptr(fd), "runs")}, staging}
	s, err := r.file()
	if err == nil {
		if fd, err = durable.OpenAt(int(s.dir.Fd()), s.name, durable.AppendFlags|unix.O_CREAT|unix.O_EXCL, 0o600); err == nil {
			err = s.adopt(fd, true)
		}
		if err == nil {
			err = s.file.Close()
		}
		s.dir.Close()
	}
	if err != nil {
		r.runs.sessions.Close()
		return nil, fmt.Errorf("making the log of a run: %w", err)
	}
	return r, nil
}

// file is the run's log, not yet opened.
func (r *runFS) file() (*segment, error) {
	fd, err := durable.OpenAt(int(r.runs.sessions.Fd()), r.staging, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "runs/" + r.staging, Err: err}
	}
	return &segment{disk: r.runs, dir: os.NewFile(uintptr(fd), r.staging), session: r.staging, number: 1, name: runLogName,
		path: r.staging + "/" + runLogName, successor: r.staging + "/" + segmentName(2)}, nil
}

// OpenLog implements FS.
func (r *runFS) OpenLog(string) (File, error) {
	s, err := r.file()
	if err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		s.dir.Close()
		return nil, err
	}
	return runFile{s}, nil
}

// A runFile is the log of a run.
type runFile struct{ *segment }

// Name implements File.
func (f runFile) Name() string { return "runs/" + f.path }
