package backoff_test

import (
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/wayleave/wayleave/backoff"
)

// A tracedFS passes every call on to the disk, notes it, and fails those that a
// test wants to fail.
type tracedFS struct {
	backoff.FS
	mu    sync.Mutex
	trace []string                // guarded by mu
	fail  func(call string) error // guarded by mu; nil: nothing
	after bool                    // guarded by mu; failing calls are made nevertheless
}

func newTracedFS(dir string) *tracedFS { return &tracedFS{FS: backoff.Disk(dir)} }

// failing sets which calls fail from now on, and notes from now on. after: a
// call fails although it was made.
func (f *tracedFS) failing(after bool, fail func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.after, f.trace = fail, after, nil
}

// calls returns the names of the calls noted, parted by blanks.
func (f *tracedFS) calls() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.trace, " ")
}

// do notes a call and makes it, or fails it.
func (f *tracedFS) do(call string, make func() error) error {
	f.mu.Lock()
	f.trace = append(f.trace, call)
	var err error
	if f.fail != nil {
		err = f.fail(call)
	}
	after := f.after
	f.mu.Unlock()
	if err == nil {
		return make()
	}
	if after {
		_ = make() // what it says is lost with the fault
	}
	return err
}

func (f *tracedFS) Read(name string) (data []byte, err error) {
	err = f.do("read", func() (err error) { data, err = f.FS.Read(name); return err })
	return data, err
}

func (f *tracedFS) MakeDir() error { return f.do("mkdir", f.FS.MakeDir) }

func (f *tracedFS) TryLock(name string) (c io.Closer, err error) {
	err = f.do("lock", func() (err error) { c, err = f.FS.TryLock(name); return err })
	if err != nil && c != nil {
		c.Close()
	}
	return &tracedLock{c, f}, err
}

func (f *tracedFS) Create(name string) (file backoff.File, err error) {
	err = f.do("create", func() (err error) { file, err = f.FS.Create(name); return err })
	if err != nil && file != nil {
		file.Close()
	}
	return &tracedFile{file, f}, err
}

func (f *tracedFS) Rename(from, to string) error {
	return f.do("rename", func() error { return f.FS.Rename(from, to) })
}

func (f *tracedFS) Remove(name string) error {
	call := "remove"
	if strings.HasSuffix(name, ".tmp") {
		call = "clear"
	}
	return f.do(call, func() error { return f.FS.Remove(name) })
}

func (f *tracedFS) SyncDir() error { return f.do("syncdir", f.FS.SyncDir) }

type tracedLock struct {
	io.Closer
	fs *tracedFS
}

func (l *tracedLock) Close() error { return l.fs.do("unlock", l.Closer.Close) }

type tracedFile struct {
	backoff.File
	fs *tracedFS
}

func (w *tracedFile) Write(data []byte) (n int, err error) {
	err = w.fs.do("write", func() (err error) { n, err = w.File.Write(data); return err })
	return n, err
}

func (w *tracedFile) Sync() error  { return w.fs.do("sync", w.File.Sync) }
func (w *tracedFile) Close() error { return w.fs.do("close", w.File.Close) }

// only fails the calls of these names with err.
func only(err error, names ...string) func(string) error {
	return func(call string) error {
		if slices.Contains(names, call) {
			return err
		}
		return nil
	}
}
