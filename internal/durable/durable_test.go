package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/wayleave/wayleave/internal/durable"
)

// looseUmask sets a umask under which a forgotten chmod shows.
func looseUmask(t *testing.T, mask int) {
	t.Helper()
	old := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(old) })
}

func TestWriteFileReplacesTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"a long first content", "short", ""} {
		if err := durable.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path, content)
	}
	wantOnly(t, filepath.Dir(path), "f")
}

func TestPermissionsAreExactUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0, 0o077, 0o777} {
		t.Run(fmt.Sprintf("umask %03o", mask), func(t *testing.T) {
			dir := t.TempDir()
			looseUmask(t, mask)
			if err := durable.WriteFile(filepath.Join(dir, "whole"), nil, 0o600); err != nil {
				t.Error(err)
			}
			if err := durable.WriteNew(filepath.Join(dir, "new"), nil, 0o640); err != nil {
				t.Error(err)
			}
			if err := durable.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
				t.Error(err)
			}
			for name, want := range map[string]fs.FileMode{"whole": 0o600, "new": 0o640, "a": 0o700 | fs.ModeDir, "a/b": 0o700 | fs.ModeDir} {
				info, err := os.Lstat(filepath.Join(dir, name))
				if err != nil {
					t.Error(err)
				} else if info.Mode() != want {
					t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
				}
			}
		})
	}
}

func TestWriteFileReplacesALinkAndLeavesItsTarget(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("mine"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantContent(t, target, "mine")
	wantContent(t, link, "new")
}

func TestWriteNewLeavesWhatIsThere(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"a file":          func(p string) error { return os.WriteFile(p, []byte("first"), 0o600) },
		"a dangling link": func(p string) error { return os.Symlink("nowhere", p) },
		"a directory":     func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			if err := durable.WriteNew(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("WriteNew = %v, want fs.ErrExist", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("what was at the path was replaced (%v)", err)
			}
			wantOnly(t, filepath.Dir(path), "f")
		})
	}
}

func TestWriteNewHasOneWinnerWhoseContentStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	won := make(chan string, 16)
	for i := range 16 {
		wg.Go(func() {
			content := fmt.Sprint("writer ", i)
			switch err := durable.WriteNew(path, []byte(content), 0o600); {
			case err == nil:
				won <- content
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	winners := []string{}
	for w := range won {
		winners = append(winners, w)
	}
	if len(winners) != 1 {
		t.Fatalf("winners: %q", winners)
	}
	wantContent(t, path, winners[0])
	wantOnly(t, filepath.Dir(path), "f")
}

func TestFaultsAreReportedAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"a missing directory":          func() error { return durable.WriteFile(filepath.Join(dir, "no/f"), nil, 0o600) },
		"a new file without directory": func() error { return durable.WriteNew(filepath.Join(dir, "no/f"), nil, 0o600) },
		"a file as parent":             func() error { return durable.MkdirAll(filepath.Join(file, "sub"), 0o700) },
		"a file as directory":          func() error { return durable.MkdirAll(file, 0o700) },
		"syncing no directory":         func() error { return durable.SyncDir(filepath.Join(dir, "no")) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil {
				t.Error("no error")
			}
		})
	}
	wantOnly(t, dir, "file")
}

func TestARenameThatFailsLeavesTheOldContentAndNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "f/held"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err == nil {
		t.Error("a file replaced a directory")
	}
	wantOnly(t, dir, "f")
}

func TestMkdirAllTakesWhatExists(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a/b/c")
	for range 2 {
		if err := durable.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("stat: %v, %v", info, err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

// wantOnly fails when dir holds anything but name, such as a temporary file.
func wantOnly(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != name {
			t.Errorf("%s was left in %s", e.Name(), dir)
		}
	}
}

// Whether files can be made in a directory is told without making one.
func TestUsableDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := durable.Usable(dir); err != nil {
		t.Errorf("a directory: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(dir, "missing")} {
		if durable.Usable(path) == nil {
			t.Errorf("%s is usable", filepath.Base(path))
		}
	}
}
