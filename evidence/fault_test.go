package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Calls of the file interface, by the names tests use.
const (
	callOpen    = "open"
	callLock    = "lock"
	callWrite   = "write"
	callSync    = "sync"
	callSyncDir = "syncdir"
	callUnlock  = "unlock"
	callClose   = "close"
	callNext    = "next"
	callSummary = "summary"
)

// A tracedFS passes every call on to the disk, notes it, and fails those that a
// test wants to fail.
type tracedFS struct {
	FS
	mu    sync.Mutex
	trace []string
	fail  func(call string, nth int) error // nth counts calls of this name from 1
	taken int                              // how many octets a failing write takes; -1: all
}

func newTracedFS(t *testing.T, dir string) *tracedFS {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "sessions"), 0o700))
	disk, err := Disk(dir)
	must(t, err)
	return &tracedFS{FS: disk}
}

func (f *tracedFS) note(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trace = append(f.trace, call)
	if f.fail == nil {
		return nil
	}
	return f.fail(call, f.countLocked(call))
}

// failing sets which calls fail from now on, and counts from now on.
func (f *tracedFS) failing(fail func(call string, nth int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.trace = fail, nil
}

func (f *tracedFS) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countLocked(call)
}

func (f *tracedFS) countLocked(call string) (n int) {
	for _, c := range f.trace {
		if c == call {
			n++
		}
	}
	return n
}

func (f *tracedFS) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.trace)
}

func (f *tracedFS) OpenLog(session string) (File, error) {
	if err := f.note(callOpen); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenLog(session)
	if err != nil {
		return nil, err
	}
	return &tracedFile{file, f}, nil
}

type tracedFile struct {
	File
	fs *tracedFS
}

func (f *tracedFile) TryLock() error {
	if err := f.fs.note(callLock); err != nil {
		return err
	}
	return f.File.TryLock()
}

func (f *tracedFile) Unlock() error {
	if err := f.fs.note(callUnlock); err != nil {
		return err
	}
	return f.File.Unlock()
}

func (f *tracedFile) Write(b []byte) (int, error) {
	err := f.fs.note(callWrite)
	if err == nil {
		return f.File.Write(b)
	}
	taken := f.fs.taken
	if taken < 0 || taken > len(b) {
		taken = len(b)
	}
	n, _ := f.File.Write(b[:taken])
	if errors.Is(err, errShort) {
		err = nil
	}
	return n, err
}

// errShort makes a write take less than it was given and say nothing of it.
var errShort = errors.New("short write")

func (f *tracedFile) Sync() error {
	err := f.fs.note(callSync)
	if err == nil {
		return f.File.Sync()
	}
	return err
}

func (f *tracedFile) SyncDir() error {
	err := f.fs.note(callSyncDir)
	if err == nil {
		return f.File.SyncDir()
	}
	return err
}

func (f *tracedFile) Close() error {
	f.fs.note(callClose)
	return f.File.Close()
}

func (f *tracedFile) Next() (File, error) {
	if err := f.fs.note(callNext); err != nil {
		return nil, err
	}
	next, err := f.File.Next()
	if err != nil {
		return nil, err
	}
	return &tracedFile{next, f.fs}, nil
}

func (f *tracedFile) Summarize(n int, summary []byte) error {
	if err := f.fs.note(callSummary); err != nil {
		return err
	}
	return f.File.Summarize(n, summary)
}

// once fails the first call of the given name.
func once(call string, err error) func(string, int) error {
	return func(c string, nth int) error {
		if c == call && nth == 1 {
			return err
		}
		return nil
	}
}

// always fails every call of the given name.
func always(call string, err error) func(string, int) error {
	return func(c string, _ int) error {
		if c == call {
			return err
		}
		return nil
	}
}

// A logged record is one line of a log as a test reads it.
type logged struct {
	seq     uint64
	at      int64 // timestamp in milliseconds since 1970
	event   string
	payload map[string]any
}

// get returns what stands at path in the payload.
func (l logged) get(path string) any { return lookUp(l.payload, path) }

func (l logged) String() string { return fmt.Sprint(l.seq, " ", l.event, " ", l.payload) }

// readLog reads the log of a session and fails on any line that is no record.
func readLog(t *testing.T, dir, session string) (records []logged) {
	t.Helper()
	octets, err := os.ReadFile(filepath.Join(dir, "sessions", session, "000001.jsonl"))
	must(t, err)
	if len(octets) > 0 && octets[len(octets)-1] != '\n' {
		t.Errorf("the log of %s does not end with a line end", session)
	}
	for line := range strings.Lines(string(octets)) {
		record, ok := parseLogged(strings.TrimSuffix(line, "\n"))
		if !ok {
			t.Errorf("no record: %q", line)
			continue
		}
		records = append(records, record)
	}
	return records
}

func parseLogged(line string) (logged, bool) {
	var l logLine
	if l.read([]byte(line)) != "" {
		return logged{}, false
	}
	return logged{l.seq, l.at, l.event, payloadOf(line)}, true
}

// events returns the names of the records' events; a gap's is its reason.
func events(records []logged) (names []string) {
	for _, r := range records {
		name := r.event
		if reason, ok := r.payload["reason"].(string); ok && r.event == EventEvidenceGap {
			name = reason
		}
		names = append(names, name)
	}
	return names
}

var diskFaults = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.EACCES}

// readFile returns the octets of a session's log.
func readFile(t *testing.T, dir, session string) string {
	t.Helper()
	octets, err := os.ReadFile(filepath.Join(dir, "sessions", session, "000001.jsonl"))
	must(t, err)
	return string(octets)
}
