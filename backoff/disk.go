package backoff

import (
	"io"
	"os"
	"strconv"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/internal/durable"
)

// disk is the FS of a directory, which need not be there.
type disk struct{ dir string }

// Disk returns the FS that keeps files in dir on disk.
func Disk(dir string) FS { return disk{dir} }

func (d disk) path(name string) string { return d.dir + "/" + name }

// Neither a link nor a FIFO put in a file's place is followed or waited for.
const guarded = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// Read implements FS. It is what each look at a healthy host costs, so that is
// one system call that fails. The call takes no descriptor: an edge that has run
// out of them still knows that nothing binds a host without a state.
func (d disk) Read(name string) ([]byte, error) {
	var st unix.Stat_t
	if err := lstat(d.path(name), &st); err != nil {
		return nil, err
	}
	fd, err := open(d.path(name), unix.O_RDONLY|guarded)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EINVAL
	}
	return readAll(fd, make([]byte, min(st.Size, maxState)+1))
}

// readAll reads into buf until the file ends or buf is full. Files are replaced
// as a whole, so the size they had when they were opened is the one they have.
func readAll(fd int, buf []byte) ([]byte, error) {
	for n := 0; ; {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		}
		if n += m; m == 0 || n == len(buf) {
			return buf[:n], nil
		}
	}
}

func lstat(path string, st *unix.Stat_t) (err error) {
	for {
		if err = unix.Lstat(path, st); err != unix.EINTR {
			return err
		}
	}
}

func open(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// MakeDir implements FS.
func (d disk) MakeDir() error { return durable.MkdirAll(d.dir, 0o700) }

// TryLock implements FS.
func (d disk) TryLock(name string) (io.Closer, error) {
	l := flock.New(d.path(name), flock.SetFlag(os.O_CREATE|os.O_RDONLY|guarded), flock.SetPermissions(0o600))
	locked, err := l.TryLock()
	if err == nil && !locked {
		err = ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Create implements FS.
func (d disk) Create(name string) (File, error) {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Replace implements FS. The descriptor that it opens of the old file keeps
// rename(2) from freeing it.
func (d disk) Replace(from, to string) (old io.Closer, err error) {
	if fd, err := open(d.path(to), unix.O_RDONLY|guarded); err == nil {
		old = descriptor(fd)
	}
	if err = unix.Rename(d.path(from), d.path(to)); err != nil && old != nil {
		old.Close()
		old = nil
	}
	return old, err
}

// A descriptor is an open file of which nothing is wanted.
type descriptor int

func (fd descriptor) Close() error { return unix.Close(int(fd)) }

// Remove implements FS.
func (d disk) Remove(name string) error { return unix.Unlink(d.path(name)) }

// SyncDir implements FS.
func (d disk) SyncDir() error { return durable.SyncDir(d.dir) }

// Owner implements FS.
func (d disk) Owner(name string) (string, error) {
	path := d.dir
	if name != "" {
		path = d.path(name)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(st.Uid), 10), nil
}
