package backoff

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// A FileStore is the Store of one machine: a directory with a file and a lock
// for each host, shared by every process that uses the directory. It needs no
// closing, and its clock is the machine's.
//
// A call that would change nothing reads the state without the lock and ends
// there; whatever changes something reads it again under the lock.
type FileStore struct {
	dir      string
	fs       FS
	now      func() time.Time
	lockWait time.Duration
	rules    Rules
	gates    gates
}

// NewFileStore returns the store in dir. Nothing is made or read yet: a
// directory that is missing is made by the first call that writes, and one that
// cannot be used is an error of the calls that need it.
func NewFileStore(dir string, o FileOptions) *FileStore {
	s := &FileStore{dir: filepath.Clean(dir), fs: o.FS, now: o.Now, lockWait: o.Config.WithDefaults().LockWait, rules: o.Config.Rules()}
	if s.fs == nil {
		s.fs = Disk(s.dir)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Extensions of a host's files. The lock file is never renamed or removed: two
// processes could otherwise hold two locks.
const (
	stateFile = ".json"
	lockFile  = ".lock"
	tempFile  = ".json.tmp" // one name a host: under the lock it can only be a dead process's
)

// Look implements Store.
func (s *FileStore) Look(ctx context.Context, host string) (State, time.Time, error) {
	found, err := s.look(ctx, host, FileName(host))
	if err != nil {
		return State{}, time.Time{}, err
	}
	now := s.now().Round(0)
	if found.SetAt.IsZero() {
		return found, now, nil
	}
	return s.rules.Recover(found, now), now, nil
}

// Turn implements Store.
func (s *FileStore) Turn(ctx context.Context, host string, delay, budget time.Duration) (t Turn, err error) {
	if delay <= 0 {
		_, t = s.rules.Turn(State{}, s.now(), 0, 0)
		return t, ctx.Err()
	}
	err = s.change(ctx, host, func(found State, now time.Time) (next State) {
		next, t = s.rules.Turn(found, now, delay, budget)
		return next
	})
	return result(t, err)
}

// Handed implements Store.
func (s *FileStore) Handed(ctx context.Context, host string, turn Turn, delay, lead time.Duration) (h Handover, err error) {
	err = s.change(ctx, host, func(found State, now time.Time) (next State) {
		next, h = s.rules.Handed(found, now, turn, delay, lead)
		return next
	})
	if !h.At.IsZero() {
		h.Left = h.At.Sub(s.now())
	}
	return result(h, err)
}

// GiveBack implements Store.
func (s *FileStore) GiveBack(ctx context.Context, host string, turn Turn) error {
	return s.change(ctx, host, func(found State, now time.Time) State { return s.rules.GiveBack(found, now, turn) })
}

// Reserve implements Store.
func (s *FileStore) Reserve(ctx context.Context, host string, seen State, sender Sender, length time.Duration) (r Reservation, err error) {
	reserved := false
	err = s.change(ctx, host, func(found State, now time.Time) (next State) {
		next, r, reserved = s.rules.Reserve(found, now, seen, sender, length)
		return next
	})
	if err == nil && !reserved {
		err = ErrLookAgain
	}
	return result(r, err)
}

// Answered implements Store.
func (s *FileStore) Answered(ctx context.Context, host string, a Answer) (c Change, err error) {
	name := FileName(host)
	found, err := s.look(ctx, host, name)
	if err != nil {
		return Change{}, err
	}
	if !found.concerns(a) {
		return Change{Event: EventNone, State: found}, nil
	}
	err = s.changeFrom(ctx, &found, name, func(found State, now time.Time) (next State) {
		next, c = s.rules.Answered(found, now, a)
		return next
	})
	return result(c, err)
}

// Release implements Store.
func (s *FileStore) Release(ctx context.Context, host string, id string) error {
	return s.change(ctx, host, func(found State, now time.Time) State { return s.rules.Release(found, now, id) })
}

// result is value, or the zero value with an error: what was computed and not
// stored is nobody's to use.
func result[T any](value T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// change replaces the state of host by what step makes of it. step is called
// with what is stored, and again under the lock if that would change it.
func (s *FileStore) change(ctx context.Context, host string, step func(found State, now time.Time) State) error {
	name := FileName(host)
	found, err := s.look(ctx, host, name)
	if err != nil {
		return err
	}
	return s.changeFrom(ctx, &found, name, step)
}

// changeFrom is change after found was read.
func (s *FileStore) changeFrom(ctx context.Context, found *State, name string, step func(found State, now time.Time) State) error {
	if step(*found, s.now().Round(0)).Equal(*found) {
		return nil
	}
	held, err := s.lock(ctx, found.Host, name)
	if err != nil {
		return err
	}
	defer held.release()
	locked, err := s.read(found.Host, name)
	if err != nil {
		return err
	}
	held.old, err = s.replace(name, locked, step(locked, s.now().Round(0)))
	return err
}

// look reads what is stored, for a caller that still waits for it.
func (s *FileStore) look(ctx context.Context, host, name string) (State, error) {
	if err := ctx.Err(); err != nil {
		return State{}, err
	}
	return s.read(host, name)
}

// read returns what is stored of host. No file, and nothing that could hold
// one, is a state that says nothing.
func (s *FileStore) read(host, name string) (State, error) {
	data, err := s.fs.Read(name + stateFile)
	if isMissing(err) {
		return State{Host: host}, nil
	}
	if err == nil {
		var found State
		if found, err = Decode(data, host); err == nil {
			return found, nil
		}
	}
	return State{}, s.unreadable(name, err)
}

func isMissing(err error) bool {
	return err == syscall.ENOENT || err != nil && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR))
}

// replace stores next in place of found, and returns what is to be closed of it.
// Whoever calls it holds the lock.
//
// The new state is on disk before it gets its name, so a crash at any point
// leaves the old one or the new one. A change of the turn alone does not wait
// for the directory: what a power cut could undo is one turn (P34).
func (s *FileStore) replace(name string, found, next State) (old io.Closer, err error) {
	if next.Equal(found) {
		return nil, nil
	}
	turnAlone := sameWait(found, next) && next.Recovered == "" && next.extra == found.extra
	if next.Empty() {
		err = s.remove(name)
	} else {
		old, err = s.write(name, Encode(next))
	}
	if err == nil && !turnAlone {
		err = s.fs.SyncDir()
	}
	if err != nil {
		return old, s.unwritable(err)
	}
	return old, nil
}

// remove removes the host's state file, and a temporary file if there is one:
// the lock is held, so that it is of a process that died while it wrote.
func (s *FileStore) remove(name string) error {
	_ = s.fs.Remove(name + tempFile) // if it cannot be removed, writing says so
	err := s.fs.Remove(name + stateFile)
	if isMissing(err) {
		return nil
	}
	return err
}

// write puts data in place of the host's state file.
func (s *FileStore) write(name string, data []byte) (old io.Closer, err error) {
	f, err := s.fs.Create(name + tempFile)
	if errors.Is(err, fs.ErrExist) { // a dead process's, as in remove
		if err = s.fs.Remove(name + tempFile); err == nil {
			f, err = s.fs.Create(name + tempFile)
		}
	}
	if err != nil {
		return nil, err
	}
	if err = fill(f, data); err == nil {
		old, err = s.fs.Replace(name+tempFile, name+stateFile)
	}
	if err != nil {
		_ = s.fs.Remove(name + tempFile) // or the next visit does
	}
	return old, err
}

// fill writes data to f and closes it. A sync that failed is not tried again:
// the kernel may have dropped what it could not write.
func fill(f File, data []byte) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
