package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/internal/durable"
)

// Number implements Sealer.
func (s *segment) Number() int { return s.number }

// Next implements Sealer.
func (s *segment) Next() (File, error) {
	dirfd, err := durable.OpenAt(int(s.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: s.dir.Name(), Err: err}
	}
	next := s.disk.segment(os.NewFile(uintptr(dirfd), s.dir.Name()), s.session, s.number+1)
	fd, err := durable.OpenAt(dirfd, next.name, durable.AppendFlags|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		err = &fs.PathError{Op: "create", Path: next.Name(), Err: err}
	} else {
		err = next.adopt(fd, true)
	}
	if err != nil {
		next.dir.Close()
		return nil, err
	}
	return next, nil
}

// OpenSealed implements Sealer.
func (s *segment) OpenSealed(n int) (SealedFile, error) {
	fd, err := durable.OpenAt(int(s.dir.Fd()), segmentName(n), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	name := "sessions/" + s.session + "/" + segmentName(n)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := sealedFile{os.NewFile(uintptr(fd), name)}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, errors.New("not a regular file"))}
	}
	return f, nil
}

// A sealedFile is a SealedFile on disk.
type sealedFile struct{ *os.File }

// Size implements SealedFile.
func (f sealedFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Unsummed implements Sealer.
func (s *segment) Unsummed() ([]int, error) {
	fd, err := durable.OpenAt(int(s.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: s.dir.Name(), Err: err}
	}
	dir := os.NewFile(uintptr(fd), s.dir.Name())
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var missing []int
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".jsonl")
		n, err := strconv.Atoi(digits)
		if ok && err == nil && n > 0 && n < s.number && segmentName(n) == name && !slices.Contains(names, summaryName(n)) {
			missing = append(missing, n)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// Summarize implements Sealer. The lock of the active segment is held, so no two
// write the same temporary file.
func (s *segment) Summarize(n int, summary []byte) error {
	dir, name := int(s.dir.Fd()), summaryName(n)
	temp := "." + name + ".tmp"
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := durable.OpenAt(dir, temp, flags, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: temp, Err: err}
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(summary)
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0) // best effort: the first fault is the one to report
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// summaryName returns the name of the summary of a log's nth segment (E60).
func summaryName(n int) string { return fmt.Sprintf("%06d.json", n) }
