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

	Sealer

	// Name is the path of the segment relative to the data directory;
	// Identity tells files of one name apart.
	Name() string
	Identity() string
}

// A Sealer is a segment's part in the chain of its log's segments (E60). What it
// makes is on disk after the next SyncDir of the segment it belongs to.
type Sealer interface {
	// Number is the segment's place among those of its log, from 1.
	Number() int
	// Next makes the segment's successor and opens it. One that is there
	// already is an error.
	Next() (File, error)
	// OpenSealed opens the earlier segment n of the log for reading;
	// fs.ErrNotExist says that the operator moved it away (E63).
	OpenSealed(n int) (SealedFile, error)
	// Unsummed returns which earlier segments have no summary.
	Unsummed() ([]int, error)
	// Summarize replaces the summary of the earlier segment n as a whole.
	Summarize(n int, summary []byte) error
}

// A SealedFile is a segment to which nothing is appended any more.
type SealedFile interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// ErrLocked is what File.TryLock answers while somebody else has the lock.
var ErrLocked = errors.New("the log is locked by another writer")
