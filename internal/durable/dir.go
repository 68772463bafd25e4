package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// SyncDir puts the names in dir on disk: whatever was made, renamed or removed
// in it before the call survives a crash after it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing directory: %w", err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("syncing directory %s: %w", dir, err)
	}
	return nil
}

// MkdirAll makes path and the parents it lacks, and syncs the parent of each
// directory it made. Directories it makes have exactly the permissions perm,
// whatever the umask; those that exist are left as they are. A path that exists
// and is no directory is an error.
//
// A directory that another process has made and not yet synced is taken as it
// is found: whoever made it answers for it.
func MkdirAll(path string, perm fs.FileMode) error {
	path = filepath.Clean(path)
	err := mkdir(path, perm)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err := MkdirAll(filepath.Dir(path), perm); err != nil {
			return err
		}
		err = mkdir(path, perm)
	}
	if errors.Is(err, fs.ErrExist) {
		return requireDir(path)
	}
	return err
}

// mkdir makes one directory and syncs its parent.
func mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		return err
	}
	if err := os.Chmod(path, perm); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Usable returns why files cannot be made in dir; nil where they can, as long as
// there is room.
func Usable(dir string) error {
	if err := requireDir(dir); err != nil {
		return err
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

func requireDir(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("exists and is no directory")}
	}
	return err
}
