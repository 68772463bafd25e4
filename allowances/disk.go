package allowances

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/wayleave/wayleave/internal/durable"
	"golang.org/x/sys/unix"
)

// disk is the FS of a directory. Ledgers are opened relative to a handle on it, so
// that nobody can plant a link in their way (E4).
type disk struct {
	path string

	mu  sync.Mutex
	dir *os.File // nil: not yet to be had
}

// Disk returns the FS that keeps ledgers in dir. A directory that is missing is
// made; one that cannot be had is an error of the calls that need it, and is tried
// again at the next.
func Disk(dir string) FS {
	d := &disk{path: filepath.Clean(dir)}
	_, _ = d.handle() // taken at the start where it can be; Open says what is wrong
	return d
}

func (d *disk) handle() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir != nil {
		return d.dir, nil
	}
	if err := durable.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	fd, err := durable.OpenAt(unix.AT_FDCWD, d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	d.dir = os.NewFile(uintptr(fd), d.path)
	return d.dir, nil
}

// Open implements FS.
func (d *disk) Open(name string, create bool) (File, error) {
	dir, err := d.handle()
	if err != nil {
		return nil, err
	}
	f := &file{dir: dir, name: name + ".jsonl"}
	fd, made, err := durable.OpenAppend(int(dir.Fd()), f.name, create)
	path := filepath.Join(d.path, f.name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f.file = os.NewFile(uintptr(fd), path)
	if f.id, err = durable.Admit(f.file, made); err != nil {
		f.file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// A file is one ledger on disk.
type file struct {
	dir  *os.File
	name string // in dir
	file *os.File

	id durable.Identity
}

// TryLock implements File.
func (f *file) TryLock() error {
	locked, err := durable.TryLock(int(f.file.Fd()))
	if err == nil && !locked {
		return ErrLocked
	}
	return err
}

// Unlock implements File.
func (f *file) Unlock() error { return durable.Unlock(int(f.file.Fd())) }

// Current implements File.
func (f *file) Current() (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(f.dir.Fd()), f.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return false, nil
	}
	return err == nil && durable.Identity{Dev: uint64(st.Dev), Ino: st.Ino} == f.id, err
}

// Size implements File.
func (f *file) Size() (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.file.Fd()), &st)
	return st.Size, err
}

func (f *file) ReadAt(b []byte, off int64) (int, error) { return f.file.ReadAt(b, off) }
func (f *file) Write(b []byte) (int, error)             { return f.file.Write(b) }
func (f *file) Close() error                            { return f.file.Close() }
func (f *file) Sync() error                             { return f.file.Sync() }
func (f *file) SyncDir() error                          { return f.dir.Sync() }
