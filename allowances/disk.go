package allowances

import (
	"errors"
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
	fd, err := openAt(unix.AT_FDCWD, d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	d.dir = os.NewFile(uintptr(fd), d.path)
	return d.dir, nil
}

// Open implements FS. O_NONBLOCK keeps a FIFO planted in the ledger's place from
// hanging the edge.
func (d *disk) Open(name string, create bool) (File, error) {
	dir, err := d.handle()
	if err != nil {
		return nil, err
	}
	const flags = unix.O_RDWR | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK
	f := &file{dir: dir, name: name + ".jsonl"}
	fd, err := openAt(int(dir.Fd()), f.name, flags, 0)
	made := false
	if err == unix.ENOENT && create {
		fd, err = openAt(int(dir.Fd()), f.name, flags|unix.O_CREAT|unix.O_EXCL, 0o600)
		made = err == nil
		if err == unix.EEXIST { // another process was first
			fd, err = openAt(int(dir.Fd()), f.name, flags, 0)
		}
	}
	path := filepath.Join(d.path, f.name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f.file = os.NewFile(uintptr(fd), path)
	if err := f.admit(made); err != nil {
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

	dev, ino uint64
}

// admit checks the opened file and notes its identity.
func (f *file) admit(made bool) error {
	if made {
		if err := f.file.Chmod(0o600); err != nil { // whatever the umask took away
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.file.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case st.Mode&0o002 != 0:
		return errors.New("everybody may write it")
	}
	f.dev, f.ino = uint64(st.Dev), st.Ino
	return nil
}

// TryLock implements File with flock(2) on the ledger's own descriptor. A lock file
// beside it would not lock what another program opens, and could be replaced. The
// kernel gives the lock up when the process dies, however it dies.
func (f *file) TryLock() error {
	for {
		switch err := unix.Flock(int(f.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrLocked
		default:
			return err
		}
	}
}

// Unlock implements File.
func (f *file) Unlock() error { return unix.Flock(int(f.file.Fd()), unix.LOCK_UN) }

// Current implements File.
func (f *file) Current() (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(f.dir.Fd()), f.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return false, nil
	}
	return err == nil && uint64(st.Dev) == f.dev && st.Ino == f.ino, err
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

// openAt is openat(2), tried again when a signal interrupts it.
func openAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode); err != unix.EINTR {
			return fd, err
		}
	}
}
