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
)

// A fileFault is why a log or a part of it cannot be read, in words fit for any
// reader: the error of the system, with its paths, stays inside.
type fileFault string

func (f fileFault) Error() string { return "evidence: a log cannot be read: " + string(f) }

// openDir opens the directory name of root, but not through a symbolic link
// (E4): os.Root follows links that stay inside it.
func openDir(root *os.Root, name string) (*os.Root, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fileFault("it is no directory")
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := dir.Stat("."); err != nil || !os.SameFile(seen, got) {
		dir.Close()
		return nil, fileFault("its directory was replaced while it was opened")
	}
	return dir, nil
}

// openRegular opens the file name of dir for reading, only if it is a regular
// file that not everybody may write (E4). It never waits, as opening a FIFO
// would.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	seen, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !seen.Mode().IsRegular():
		return nil, nil, fileFault("a segment is no regular file")
	case seen.Mode().Perm()&0o002 != 0:
		return nil, nil, fileFault("everybody may write a segment")
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := f.Stat()
	if err != nil || !os.SameFile(seen, got) {
		f.Close()
		return nil, nil, fileFault("a segment was replaced while it was opened")
	}
	return f, got, nil
}

// listSegments returns the numbers of the segments in dir, in order.
func listSegments(dir *os.Root) ([]int, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".jsonl")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && segmentName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// missingSegments names the numbers that numbers leaves out, as "000001" or
// "000001-000004" (E63).
func missingSegments(numbers []int) []string {
	var out []string
	expected := 1
	for _, n := range numbers {
		switch n - expected {
		case 0:
		case 1:
			out = append(out, fmt.Sprintf("%06d", expected))
		default:
			out = append(out, fmt.Sprintf("%06d-%06d", expected, n-1))
		}
		expected = n + 1
	}
	return out
}

// beingWritten reports whether somebody holds the lock of an append on f (E26).
// It never waits.
func beingWritten(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return false
}

// faultWords returns what to tell of err: never its own text, which names paths.
func faultWords(err error) string {
	if fault, ok := errors.AsType[fileFault](err); ok {
		return string(fault)
	}
	if errors.Is(err, fs.ErrPermission) {
		return "the system does not permit reading it"
	}
	return "the system reports a fault on reading it"
}
