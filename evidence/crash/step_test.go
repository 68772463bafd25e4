package crash

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/wayleave/wayleave/evidence"
	"golang.org/x/sys/unix"
)

// steps are the calls of the file interface at which a child can end itself, in
// the order of an append and then of a seal. "write part" ends it after a part of
// the octets are in the file.
var steps = []string{
	"open before", "open after", "lock before", "lock after",
	"write before", "write part", "write after", "sync before", "sync after", "syncdir before", "syncdir after",
	"unlock before", "unlock after",
	"next before", "next after", "summary before", "summary after",
}

// A deadlyFS passes every call on to the disk and ends the process at one of
// them: at the nth time that step comes.
type deadlyFS struct {
	evidence.FS
	step string
	left int
}

// newDeadlyFS reads the step and its count from CRASH_STEP, as "write part 3". It
// is empty for a child that somebody else kills.
func newDeadlyFS(disk evidence.FS) *deadlyFS {
	f := &deadlyFS{FS: disk}
	if words := strings.Fields(os.Getenv("CRASH_STEP")); len(words) == 3 {
		f.step = words[0] + " " + words[1]
		f.left, _ = strconv.Atoi(words[2])
	}
	return f
}

// due reports whether step is the one to die at.
func (f *deadlyFS) due(step string) bool {
	if step == f.step {
		f.left--
	}
	return step == f.step && f.left == 0
}

func (f *deadlyFS) at(step string) {
	if f.due(step) {
		die()
	}
}

// die ends the process as a crash would: nothing deferred runs.
func die() {
	unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}

func (f *deadlyFS) OpenLog(session string) (evidence.File, error) {
	if session != sessionID {
		return f.FS.OpenLog(session) // the edge's own log, written at the same time
	}
	f.at("open before")
	file, err := f.FS.OpenLog(session)
	f.at("open after")
	if err != nil {
		return nil, err
	}
	return &deadlyFile{file, f}, nil
}

type deadlyFile struct {
	evidence.File
	fs *deadlyFS
}

// around does a call between its two steps.
func (f *deadlyFile) around(call string, do func() error) error {
	f.fs.at(call + " before")
	err := do()
	f.fs.at(call + " after")
	return err
}

func (f *deadlyFile) TryLock() error { return f.around("lock", f.File.TryLock) }
func (f *deadlyFile) Unlock() error  { return f.around("unlock", f.File.Unlock) }
func (f *deadlyFile) Sync() error    { return f.around("sync", f.File.Sync) }
func (f *deadlyFile) SyncDir() error { return f.around("syncdir", f.File.SyncDir) }

func (f *deadlyFile) Write(b []byte) (n int, err error) {
	if f.fs.due("write part") {
		// A repair that is cut right behind the line end it begins with leaves
		// a line that nobody can tell from damage (E38): that one place is
		// left out here, and has a test of its own in package evidence.
		part := 2 + rand.IntN(len(b)-2)
		f.File.Write(b[:part])
		die()
	}
	err = f.around("write", func() error {
		n, err = f.File.Write(b)
		return err
	})
	return n, err
}

func (f *deadlyFile) Summarize(n int, summary []byte) error {
	return f.around("summary", func() error { return f.File.Summarize(n, summary) })
}

func (f *deadlyFile) Next() (next evidence.File, err error) {
	err = f.around("next", func() error {
		next, err = f.File.Next()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &deadlyFile{next, f.fs}, nil
}
