package evidence

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSessionE2IdsAreRefusedAndNeverCleaned(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	for _, id := range []string{"", "..", ".", ".a", "a/b", "a%2Fb", "a\x00b", "ä", "a b", "../x", "a\\b", strings.Repeat("a", 129)} {
		if _, err := s.Session(id); !errors.Is(err, ErrSessionInvalid) {
			t.Errorf("Session(%q) = %v", id, err)
		}
	}
	for _, id := range []string{"a", "A-1_b.c", "-", "a..b", strings.Repeat("a", 128)} {
		if l, err := s.Session(id); err != nil || l.ID() != id {
			t.Errorf("Session(%q) = %v", id, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "sessions"))
	if err != nil || len(entries) != 1 || entries[0].Name() != s.Own().ID() {
		t.Errorf("sessions holds %v (%v), want the edge's own log alone", entries, err)
	}
}

func TestSessionE2ALogThatNamesAnotherSessionIsRefused(t *testing.T) {
	// What a file system that ignores case does, done by hand.
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	l, _ := s.Session("agent")
	if _, err := l.Append(t.Context(), CrossingOpened{typical()}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("agent", filepath.Join(dir, "sessions", "AGENT")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session("AGENT"); !errors.Is(err, ErrSessionInvalid) {
		t.Errorf("Session = %v", err)
	}

	t.Run("also by the append that finds it out", func(t *testing.T) {
		late, _ := s.Session("Agent") // there is no such log yet
		if err := os.Rename(filepath.Join(dir, "sessions", "agent"), filepath.Join(dir, "sessions", "Agent")); err != nil {
			t.Fatal(err)
		}
		if _, err := late.Append(t.Context(), CrossingOpened{typical()}); !errors.Is(err, ErrSessionInvalid) {
			t.Errorf("Append = %v", err)
		}
		if n := late.owing(); n != 0 {
			t.Errorf("%d records are owed to the other session's log", n)
		}
	})
}

// plantings put something other than a log where a log belongs. Each returns a
// file whose content must not change.
var plantings = map[string]func(t *testing.T, log string) (target string){
	"a symbolic link to a file": func(t *testing.T, log string) string {
		target := filepath.Join(t.TempDir(), "target")
		must(t, os.WriteFile(target, []byte("mine"), 0o600), os.Mkdir(filepath.Dir(log), 0o700), os.Symlink(target, log))
		return target
	},
	"a symbolic link to nothing": func(t *testing.T, log string) string {
		must(t, os.Mkdir(filepath.Dir(log), 0o700), os.Symlink(filepath.Join(t.TempDir(), "target"), log))
		return ""
	},
	"a parent that is a link": func(t *testing.T, log string) string {
		elsewhere := t.TempDir()
		target := filepath.Join(elsewhere, filepath.Base(log))
		must(t, os.WriteFile(target, []byte("mine"), 0o600), os.Symlink(elsewhere, filepath.Dir(log)))
		return target
	},
	"a FIFO": func(t *testing.T, log string) string {
		must(t, os.Mkdir(filepath.Dir(log), 0o700), unix.Mkfifo(log, 0o600))
		return ""
	},
	"a directory": func(t *testing.T, log string) string {
		must(t, os.MkdirAll(log, 0o700))
		return ""
	},
	"a socket": func(t *testing.T, log string) string {
		// A socket's path is limited to about 100 octets, a log's is not.
		short, err := os.MkdirTemp("", "s")
		must(t, err, os.Mkdir(filepath.Dir(log), 0o700))
		t.Cleanup(func() { os.RemoveAll(short) })
		l, err := net.Listen("unix", filepath.Join(short, "s"))
		must(t, err)
		t.Cleanup(func() { l.Close() })
		must(t, os.Rename(filepath.Join(short, "s"), log))
		return ""
	},
	"a file that everybody may write": func(t *testing.T, log string) string {
		must(t, os.Mkdir(filepath.Dir(log), 0o700), os.WriteFile(log, []byte("mine"), 0o600), os.Chmod(log, 0o602))
		return log
	},
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestLogE4IsOpenedOnlyAsARegularFile(t *testing.T) {
	for name, plant := range plantings {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, Options{})
			log := filepath.Join(dir, "sessions", "x", "000001.jsonl")
			target := plant(t, log)
			l, err := s.Session("x")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(t.Context(), CrossingOpened{typical()}); err == nil || errors.Is(err, ErrLate) {
				t.Errorf("Append = %v", err)
			}
			if n := l.owing(); n != 1 {
				t.Errorf("%d records are owed, want the one lost", n)
			}
			if target != "" {
				if got, err := os.ReadFile(target); string(got) != "mine" {
					t.Errorf("the target holds %q (%v)", got, err)
				}
			}
			if _, err := os.Readlink(log); err == nil && target == "" {
				if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
					t.Error("the target of the dangling link was made")
				}
			}
		})
	}
}

func TestStoreE4ModesAreTightUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0, 0o277} {
		old := unix.Umask(mask)
		defer unix.Umask(old)
		dir := filepath.Join(t.TempDir(), "data")
		s, err := Open(dir, Options{})
		must(t, err)
		l, _ := s.Session("x")
		_, err = l.Append(t.Context(), CrossingOpened{typical()})
		must(t, err, s.Publish([]byte("{}")))
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("under umask %03o %s has mode %v", mask, path, info.Mode())
			}
			return err
		})
		must(t, err, s.Close(context.Background()))
	}
}

func TestStoreE24RefusesAKeyThatOthersCanRead(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	before := s.Redact("https://h/?token=abc")
	must(t, s.Close(context.Background()))

	s, err = Open(dir, Options{})
	must(t, err)
	if after := s.Redact("https://h/?token=abc"); after != before {
		t.Errorf("a later edge of the directory writes %s, the first wrote %s", after, before)
	}
	must(t, s.Close(context.Background()), os.Chmod(filepath.Join(dir, "redact.key"), 0o640))
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("the key is readable by the group and was used")
	}
}
