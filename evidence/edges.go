package evidence

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/wayleave/wayleave/internal/durable"
	"golang.org/x/sys/unix"
)

// NewEdgeID returns a new id for an edge that starts at now (E3).
func NewEdgeID(now time.Time) string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

var edgeID = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{16}$`)

// An edgeLock is the file edges/<id>.lock of a running edge: as long as the edge
// holds the exclusive advisory lock on it, the edge is alive (E3).
type edgeLock struct {
	path string
	file *os.File
}

// lockEdge makes and locks the lock file of the edge id.
func lockEdge(dir, id string) (*edgeLock, error) {
	l := &edgeLock{path: lockPath(dir, id)}
	if err := l.publish(nil); err != nil {
		return nil, fmt.Errorf("locking %s: %w", filepath.Base(l.path), err)
	}
	if err := durable.SyncDir(dir); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

func lockPath(dir, id string) string { return filepath.Join(dir, id+".lock") }

// publish replaces the content of the lock file. The new file is locked before it
// gets the name and the old one is let go after, so whoever looks at the name
// finds a locked file at every instant.
func (l *edgeLock) publish(content []byte) error {
	temp := l.path + ".tmp"
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Chmod(0o600), unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = os.Rename(temp, l.path)
	}
	if err != nil {
		f.Close()
		os.Remove(temp)
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

// remove ends the edge's life cleanly: the file goes first, so that nobody finds
// it unlocked and takes the edge for a dead one.
func (l *edgeLock) remove() error { return errors.Join(os.Remove(l.path), l.release()) }

// release lets go of the lock and leaves the file, as the death of the process
// would.
func (l *edgeLock) release() error { return l.file.Close() }

// A LiveEdge is a running edge and what it published about itself: the content of
// its ready-file, empty before it is ready.
type LiveEdge struct {
	ID    string
	Ready []byte
}

// Edges returns the edges that run on dataDir, oldest first.
func Edges(dataDir string) ([]LiveEdge, error) {
	dir := filepath.Join(dataDir, "edges")
	ids, err := lockFiles(dir)
	if err != nil {
		return nil, err
	}
	var live []LiveEdge
	for _, id := range ids {
		alive, ready, err := probeEdge(dir, id)
		if err != nil {
			return nil, fmt.Errorf("looking at edge %s: %w", id, err)
		}
		if alive {
			live = append(live, LiveEdge{id, ready})
		}
	}
	return live, nil
}

// lockFiles returns the ids of the edges whose lock file is in dir, oldest first.
func lockFiles(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir) // sorted, and an id begins with its time
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".lock"); ok && edgeID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// probeEdge reports whether the edge id is alive and returns what its lock file
// holds. The lock it tries is a shared one, so two that look at once do not take
// each other for a living edge. After an error the edge may be either.
func probeEdge(dir, id string) (alive bool, ready []byte, err error) {
	path := lockPath(dir, id)
	for {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil, nil
		}
		if err != nil {
			return false, nil, err
		}
		replaced, alive, err := probeLock(f, path)
		if alive && err == nil {
			ready, err = io.ReadAll(io.LimitReader(f, 1<<20))
		}
		f.Close()
		if !replaced || err != nil {
			return alive, ready, err
		}
	}
}

// probeLock reports whether f, opened at path, is locked. A file that is not may
// have been let go because a newer one took its name (publish).
func probeLock(f *os.File, path string) (replaced, alive bool, err error) {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err {
	case nil:
	case unix.EWOULDBLOCK:
		return false, true, nil
	default:
		return false, false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, false, err
	}
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	return err == nil && !os.SameFile(mine, now), false, err
}
