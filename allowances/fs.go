package allowances

import (
	"errors"
	"io"
)

// FS opens ledgers. Every call by which money is read or written goes through it
// and File, so that a test can make each of them fail. A nil FS in Options is the
// disk.
type FS interface {
	// Open opens the ledger of an allowance for append. It follows no symbolic
	// link and opens nothing but a regular file that not everybody may write
	// (specs: evidence, E4). One that is missing is made if create is true, and
	// is fs.ErrNotExist otherwise.
	Open(name string, create bool) (File, error)
}

// A File is one open ledger. Only one goroutine uses it at a time.
type File interface {
	io.ReaderAt
	io.Writer // appends, in one call, and returns how much was taken
	io.Closer // gives up the lock too

	// TryLock takes the exclusive advisory lock without waiting. ErrLocked says
	// that another descriptor has it.
	TryLock() error
	Unlock() error

	// Current reports whether the ledger's name still names this file.
	Current() (bool, error)
	Size() (int64, error)

	// Sync returns when the file's content and size are on disk.
	Sync() error
	// SyncDir returns when the file's name is on disk.
	SyncDir() error
}

// ErrLocked is what File.TryLock answers while somebody else has the lock.
var ErrLocked = errors.New("the ledger is locked by another process")
