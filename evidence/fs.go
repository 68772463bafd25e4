package evidence

import (
	"errors"
	"io"
)

// FS opens logs. Every call by which a record reaches the disk goes through it
// and File, so that a test can count the calls and make each of them fail (E35).
// A nil FS in Options is the disk.
type FS interface {
	// OpenLog opens the active segment of the session's log, its highest, for
	// append, and makes what is missing. It follows no symbolic link and opens
	// nothing but a regular file that not everybody may write (E4).
	OpenLog(session string) (File, error)
}

// A File is one open segment. Only one goroutine uses it at a time.
type File interface {
	io.ReaderAt
	io.Writer // appends, in one call, and returns how much was taken
	io.Closer // gives up the lock too

	// TryLock takes the exclusive advisory lock without waiting. ErrLocked
	// says that another descriptor has it.
	TryLock() error
	Unlock() error

	// Current reports whether this is still the segment to append to: false
	// when its path names another file or none, or when it has a successor.
	Current() (bool, error)
	Size() (int64, error)

	// Sync returns when the file's content and size are on disk.
	Sync() error
	// SyncDir returns when the file's name is on disk, and its directory's.
	SyncDir() error

	// Name is the path of the segment relative to the data directory;
	// Identity tells files of one name apart.
	Name() string
	Identity() string
}

// ErrLocked is what File.TryLock answers while somebody else has the lock.
var ErrLocked = errors.New("the log is locked by another writer")
