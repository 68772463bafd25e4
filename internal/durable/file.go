package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces path with data as a whole: after a crash at any instant
// path holds either what it held before or all of data. The permissions are
// exactly perm, whatever the umask. Concurrent calls for one path are safe, the
// last rename wins. A symbolic link at path is replaced, not followed.
//
// When the rename succeeded and the sync of the directory failed, the new
// content is at path although an error is returned.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return place(path, data, perm, os.Rename)
}

// WriteNew makes path with data. Of any number of concurrent calls, in any
// number of processes, one succeeds; to the others, and wherever something is at
// path already, it answers an error that is fs.ErrExist. A name made by WriteNew
// is never seen with part of its content.
//
// The directory is synced before fs.ErrExist is returned too. So a caller that
// keeps objects under the digest of their content may take fs.ErrExist to mean
// that the object is on disk, also when another process has only just made it.
func WriteNew(path string, data []byte, perm fs.FileMode) error {
	err := refuseExisting(path)
	if err == nil {
		err = place(path, data, perm, linkNew)
	}
	if errors.Is(err, fs.ErrExist) {
		return errors.Join(err, SyncDir(filepath.Dir(path)))
	}
	return err
}

// refuseExisting saves the write of a file that would not get its name. The
// answer that counts is link(2)'s.
func refuseExisting(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return nil
}

// linkNew gives the file at temp the name path unless that is taken. It is
// link(2) and not rename(2) because rename takes names that are in use.
func linkNew(temp, path string) error {
	if err := os.Link(temp, path); err != nil {
		return err
	}
	os.Remove(temp) // a second name left behind harms nobody
	return nil
}

// place writes data to a temporary file beside path, gives it its name with
// name, and syncs in the order the package comment states.
func place(path string, data []byte, perm fs.FileMode, name func(temp, path string) error) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	temp, err := writeTemp(dir, base, data, perm)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := name(temp, path); err != nil {
		os.Remove(temp) // best effort: the first fault is the one to report
		return fmt.Errorf("naming %s: %w", path, err)
	}
	return SyncDir(dir)
}

// writeTemp returns the name of a new file in dir whose content and permissions
// are on disk. It leaves nothing behind when it fails.
func writeTemp(dir, base string, data []byte, perm fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(dir, "."+base+".tmp-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(perm); err != nil {
		return "", err
	}
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}
