package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wayleave/wayleave/internal/durable"
)

// openAppend opens the file at path and closes it when the test ends.
func openAppend(t *testing.T, path string, create bool) (f *os.File, made bool, err error) {
	t.Helper()
	fd, made, err := durable.OpenAppend(unix.AT_FDCWD, path, create)
	if err != nil {
		return nil, made, err
	}
	f = os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f, made, nil
}

func TestOpenAppendMakesAFileOnce(t *testing.T) {
	looseUmask(t, 0o777)
	path := filepath.Join(t.TempDir(), "f")
	if _, _, err := openAppend(t, path, false); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a missing file that is not to be made: %v, want ENOENT", err)
	}
	f, made, err := openAppend(t, path, true)
	if err != nil || !made {
		t.Fatalf("the first: made %v, error %v", made, err)
	}
	first, err := durable.Admit(f, made)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := f.Stat(); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v, want 0600 under any umask", st.Mode(), err)
	}

	again, made, err := openAppend(t, path, true)
	if err != nil || made {
		t.Fatalf("the second: made %v, error %v", made, err)
	}
	if id, err := durable.Admit(again, made); err != nil || id != first {
		t.Errorf("the second is %v, the first %v: %v", id, first, err)
	}
}

func TestWhatIsNotToBeAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openAppend(t, path, true); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link: %v, want ELOOP", err)
	}
	for name, plant := range map[string]func(path string) error{
		"a FIFO": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a file everybody may write": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602))
		},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		f, made, err := openAppend(t, path, true)
		if err != nil || made {
			t.Fatalf("%s: made %v, error %v", name, made, err)
		}
		if _, err := durable.Admit(f, made); err == nil {
			t.Errorf("%s was admitted", name)
		}
	}
}

func TestTheLockIsOfTheOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var fds [2]int
	for i := range fds {
		f, _, err := openAppend(t, path, true)
		if err != nil {
			t.Fatal(err)
		}
		fds[i] = int(f.Fd())
	}
	try := func(fd int, want bool) {
		t.Helper()
		if locked, err := durable.TryLock(fd); err != nil || locked != want {
			t.Errorf("locked %v, error %v, want %v", locked, err, want)
		}
	}
	try(fds[0], true)
	try(fds[1], false)
	if err := durable.Unlock(fds[0]); err != nil {
		t.Fatal(err)
	}
	try(fds[1], true)
}
