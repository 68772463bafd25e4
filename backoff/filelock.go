package backoff

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// Between two tries for a lock that another process holds, which is for as long
// as a write takes.
const (
	firstPoll = 500 * time.Microsecond
	lastPoll  = 8 * time.Millisecond
)

// lock takes the lock of host for this goroutine, and makes the directory if it
// is missing. It waits for lockWait at most.
func (s *FileStore) lock(ctx context.Context, host, name string) (unlock func(), err error) {
	limited, cancel := context.WithTimeout(ctx, s.lockWait)
	defer cancel()
	leave, err := s.gates.enter(limited, host)
	if err != nil {
		return nil, s.waitedOut(ctx, name, errors.New("by this process"))
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	made := false
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		held, err := s.fs.TryLock(name + lockFile)
		switch {
		case err == nil:
			// The descriptor of a lock that cannot be given up ends with the
			// process; the change that was made under it stands.
			return func() { _ = held.Close(); leave() }, nil
		case errors.Is(err, ErrLocked):
			if !sleep(limited, poll) {
				return nil, s.waitedOut(ctx, name, nil)
			}
		case errors.Is(err, syscall.ENOENT) && !made:
			if err := s.fs.MakeDir(); err != nil {
				return nil, s.fault(DirectoryMissing, "", err)
			}
			made = true
		default:
			return nil, s.notLockable(name, err)
		}
	}
}

// sleep waits for d; false: the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// waitedOut is the end of the caller's context, or else of lockWait.
func (s *FileStore) waitedOut(ctx context.Context, name string, cause error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.fault(LockHeld, name+lockFile, cause)
}

// fault returns the error that names the file of this name, or the directory.
func (s *FileStore) fault(f Fault, name string, err error) *StoreError {
	return &StoreError{Fault: f, Path: filepath.Join(s.dir, name), Err: err}
}

// notLockable classes what kept the lock file from being opened: the file that
// is there, or the directory that takes none.
func (s *FileStore) notLockable(name string, err error) error {
	if owner, lerr := s.fs.Owner(name + lockFile); lerr == nil {
		e := s.fault(LockNotOpenable, name+lockFile, err)
		e.Owner = owner
		return e
	}
	return s.directory(err)
}

// directory is the error of a directory that does not take files.
func (s *FileStore) directory(err error) error {
	e := s.fault(DirectoryNotWritable, "", err)
	if errors.Is(err, fs.ErrPermission) {
		e.Owner, _ = s.fs.Owner("")
	}
	return e
}

// unreadable classes what kept the state from being read. Where the directory
// cannot be searched nobody can say whether there is a state: it is not taken
// for none, and it is the directory that is to be repaired.
func (s *FileStore) unreadable(name string, err error) error {
	e := s.fault(StateUnreadable, name+stateFile, err)
	if !errors.Is(err, fs.ErrPermission) {
		return e
	}
	owner, lerr := s.fs.Owner(name + stateFile)
	if errors.Is(lerr, fs.ErrPermission) {
		e.Path, e.Fix = s.dir, "make the directory of the pacing state readable and writable by this user"
		owner, _ = s.fs.Owner("")
	}
	e.Owner = owner
	return e
}

// unwritable classes what kept the state from being stored.
func (s *FileStore) unwritable(err error) error {
	for _, of := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOENT, syscall.ENOTDIR} {
		if errors.Is(err, of) {
			return s.directory(err)
		}
	}
	return s.fault(StateNotWritable, "", err)
}
