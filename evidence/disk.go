package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/internal/durable"
)

// disk is the FS of a data directory. It works on handles with the *at calls and
// not with os.Root, which follows symbolic links that stay inside the root,
// while a log is never opened through a link at all (E4).
type disk struct {
	sessions *os.File // the directory sessions/, opened once at the start
}

// Disk returns the FS that keeps logs under dataDir/sessions, which must exist.
func Disk(dataDir string) (FS, error) {
	fd, err := durable.OpenAt(unix.AT_FDCWD, filepath.Join(dataDir, "sessions"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the directory of logs: %w", err)
	}
	return &disk{os.NewFile(uintptr(fd), "sessions")}, nil
}

// OpenLog implements FS.
func (d *disk) OpenLog(session string) (File, error) {
	dir, err := d.openDir(session)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		dir.Close()
		return nil, err
	}
	s := d.segment(dir, session, max(1, highestSegment(names)))
	if err := s.open(); err != nil {
		dir.Close()
		return nil, err
	}
	return s, nil
}

// segment returns segment number of the session's log in dir, not yet opened.
func (d *disk) segment(dir *os.File, session string, number int) *segment {
	return &segment{disk: d, dir: dir, session: session, number: number, name: segmentName(number),
		path: session + "/" + segmentName(number), successor: session + "/" + segmentName(number+1)}
}

// openDir opens the directory of a session's log and makes it if it is missing.
func (d *disk) openDir(session string) (*os.File, error) {
	root, name := int(d.sessions.Fd()), filepath.Join("sessions", session)
	err := unix.Mkdirat(root, session, 0o700)
	made := err == nil
	if err != nil && err != unix.EEXIST {
		return nil, &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	fd, err := durable.OpenAt(root, session, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	dir := os.NewFile(uintptr(fd), name)
	if made {
		err = dir.Chmod(0o700) // whatever the umask took away
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// A segment is one open segment of a log on disk.
type segment struct {
	disk    *disk
	dir     *os.File // the log's directory
	session string
	number  int
	name    string // in dir

	file *os.File
	fd   int // of file
	id   durable.Identity

	// Of the segment and its successor, relative to the directory of logs.
	path, successor string
}

// open opens the segment's file and makes it if it is missing. What is no regular
// file is closed again, untouched.
func (s *segment) open() error {
	fd, made, err := durable.OpenAppend(int(s.dir.Fd()), s.name, true)
	if err != nil {
		return &fs.PathError{Op: "open", Path: s.Name(), Err: err}
	}
	return s.adopt(fd, made)
}

// adopt makes fd the segment's descriptor, or closes it.
func (s *segment) adopt(fd int, made bool) error {
	s.fd, s.file = fd, os.NewFile(uintptr(fd), s.Name())
	var err error
	if s.id, err = durable.Admit(s.file, made); err != nil {
		s.file.Close()
		return &fs.PathError{Op: "open", Path: s.Name(), Err: err}
	}
	return nil
}

// TryLock implements File.
func (s *segment) TryLock() error {
	locked, err := durable.TryLock(s.fd)
	if err == nil && !locked {
		return ErrLocked
	}
	return err
}

// Unlock implements File.
func (s *segment) Unlock() error { return durable.Unlock(s.fd) }

// Current implements File.
func (s *segment) Current() (bool, error) {
	var st unix.Stat_t
	root := int(s.disk.sessions.Fd())
	err := unix.Fstatat(root, s.path, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT || err == nil && (durable.Identity{Dev: uint64(st.Dev), Ino: st.Ino}) != s.id {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = unix.Fstatat(root, s.successor, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return true, nil
	}
	return false, err
}

// Size implements File.
func (s *segment) Size() (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(s.fd, &st)
	return st.Size, err
}

// Sync implements File.
func (s *segment) Sync() error { return syncData(s.file) }

// SyncDir implements File. The directory of logs is synced as well, since the
// log's own directory may be as new as the log.
func (s *segment) SyncDir() error {
	return errors.Join(s.dir.Sync(), s.disk.sessions.Sync())
}

func (s *segment) ReadAt(b []byte, off int64) (int, error) { return s.file.ReadAt(b, off) }
func (s *segment) Write(b []byte) (int, error)             { return s.file.Write(b) }
func (s *segment) Close() error                            { return errors.Join(s.file.Close(), s.dir.Close()) }

// Name implements File.
func (s *segment) Name() string { return "sessions/" + s.path }

// Identity implements File.
func (s *segment) Identity() string { return fmt.Sprintf("%d:%d", s.id.Dev, s.id.Ino) }

// segmentName returns the file name of a log's nth segment (E1).
func segmentName(n int) string { return fmt.Sprintf("%06d.jsonl", n) }

// highestSegment returns the highest number among the segments in names, 0 if
// there is none.
func highestSegment(names []string) (highest int) {
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".jsonl")
		if n, err := strconv.Atoi(digits); ok && err == nil && segmentName(n) == name {
			highest = max(highest, n)
		}
	}
	return highest
}
