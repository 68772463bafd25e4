package backoff

import (
	"errors"
	"io"
	"time"
)

// FS is the directory of a FileStore. Every call by which a state is read,
// locked or written goes through it and File, so that a test can count the calls
// and make each of them fail. A nil FS in FileOptions is the disk. Names are
// relative to the directory; errors are those of package os, or bare errno
// values.
type FS interface {
	// Read returns the octets of a regular file, at most maxState and one more.
	Read(name string) ([]byte, error)
	// MakeDir makes the directory, and is on disk when it returns.
	MakeDir() error
	// TryLock takes the exclusive advisory lock of a file, which it makes if
	// need be, without waiting. Closing what it returns gives the lock up.
	// ErrLocked says that another holder has it.
	TryLock(name string) (io.Closer, error)
	// Create makes a new file that only this user may read and write. One that
	// is there already is an error.
	Create(name string) (File, error)
	// Replace gives the file from the name to. What had that name keeps its
	// blocks until old is closed, which may take as long as writing them did;
	// nil: there was nothing.
	Replace(from, to string) (old io.Closer, err error)
	Remove(name string) error
	// SyncDir returns when the names in the directory are on disk.
	SyncDir() error
	// Owner returns the uid, in decimal, of who owns a file, or the directory
	// if name is empty; it follows no symbolic link.
	Owner(name string) (uid string, err error)
}

// A File is a new file that is being written.
type File interface {
	io.WriteCloser
	// Sync returns when the content is on disk.
	Sync() error
}

// ErrLocked is what FS.TryLock answers while somebody else has the lock.
var ErrLocked = errors.New("the lock is held")

// FileOptions are what a FileStore may be told.
type FileOptions struct {
	Config Config
	Now    func() time.Time // the wall clock; nil: time.Now
	FS     FS               // nil: the disk
}
