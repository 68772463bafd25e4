package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenAt is openat(2), again after a signal, with close-on-exec: what is opened
// relative to a directory's descriptor cannot be led elsewhere by a link planted
// in the way to it.
func OpenAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode); err != unix.EINTR {
			return fd, err
		}
	}
}

// An Identity tells one file from any other that has, or had, its name.
type Identity struct{ Dev, Ino uint64 }

// Admit checks a file that several processes append to and returns its identity.
// It must be a regular file that not everybody may write. One that was just made
// is given to its owner alone, whatever the umask took away.
func Admit(f *os.File, made bool) (Identity, error) {
	if made {
		if err := f.Chmod(0o600); err != nil {
			return Identity{}, err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Identity{}, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return Identity{}, errors.New("not a regular file")
	case st.Mode&0o002 != 0:
		return Identity{}, errors.New("everybody may write it")
	}
	return Identity{uint64(st.Dev), st.Ino}, nil
}

// TryLock takes the exclusive advisory lock of an open file without waiting, and
// reports whether it has it. It is flock(2) on the file's own descriptor: a lock
// file beside it (which is what gofrs/flock offers, it opens a path of its own)
// would not lock what another program opens, and could be replaced. The kernel
// gives the lock up when the process dies, however it dies.
func TryLock(fd int) (bool, error) {
	for {
		switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// Unlock gives up what TryLock took.
func Unlock(fd int) error { return unix.Flock(fd, unix.LOCK_UN) }

// AppendFlags open a file that several processes append to: no link is followed,
// and a FIFO planted in its place hangs nobody.
const AppendFlags = unix.O_RDWR | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK

// OpenAppend opens the file name in dir with AppendFlags, and makes it if it is
// missing and create is set. made reports that it did; ENOENT is the error of one
// that is missing.
func OpenAppend(dir int, name string, create bool) (fd int, made bool, err error) {
	for {
		fd, err = OpenAt(dir, name, AppendFlags, 0)
		if err != unix.ENOENT || !create {
			return fd, false, err
		}
		fd, err = OpenAt(dir, name, AppendFlags|unix.O_CREAT|unix.O_EXCL, 0o600)
		if err != unix.EEXIST { // another process was first
			return fd, err == nil, err
		}
	}
}
