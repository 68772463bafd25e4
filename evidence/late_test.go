package evidence

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A hangingFS keeps logs in memory and can be made to hang in Sync, which waits
// on a channel of the test's bubble where a disk would wait in the kernel.
type hangingFS struct {
	mu   sync.Mutex
	logs map[string]*bytes.Buffer
	hung chan struct{} // closed when syncs go on; nil: they never hang
	err  error         // of those that hung
}

func (f *hangingFS) hang() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hung = make(chan struct{})
}

func (f *hangingFS) goOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.hung)
	f.hung = nil
}

// fail lets the syncs that hang end with err.
func (f *hangingFS) fail(err error) {
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	f.goOn()
}

// log returns the lines of a session's log.
func (f *hangingFS) log(t *testing.T, session string) (records []logged) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range strings.Lines(f.logs[session].String()) {
		r, ok := parseLogged(strings.TrimSuffix(line, "\n"))
		if !ok {
			t.Errorf("no record: %q", line)
		}
		records = append(records, r)
	}
	return records
}

func (f *hangingFS) OpenLog(session string) (File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs == nil {
		f.logs = make(map[string]*bytes.Buffer)
	}
	if f.logs[session] == nil {
		f.logs[session] = new(bytes.Buffer)
	}
	return &hangingFile{f, session}, nil
}

type hangingFile struct {
	fs      *hangingFS
	session string
}

func (f *hangingFile) buffer() *bytes.Buffer { return f.fs.logs[f.session] }

func (f *hangingFile) ReadAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return bytes.NewReader(f.buffer().Bytes()).ReadAt(b, off)
}

func (f *hangingFile) Write(b []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.buffer().Write(b)
}

func (f *hangingFile) Sync() error {
	f.fs.mu.Lock()
	hung := f.fs.hung
	f.fs.mu.Unlock()
	if hung == nil {
		return nil
	}
	<-hung
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.fs.err
}

func (f *hangingFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(f.buffer().Len()), nil
}

func (f *hangingFile) TryLock() error         { return nil }
func (f *hangingFile) Unlock() error          { return nil }
func (f *hangingFile) Current() (bool, error) { return true, nil }
func (f *hangingFile) SyncDir() error         { return nil }
func (f *hangingFile) Close() error           { return nil }
func (f *hangingFile) Name() string           { return "sessions/" + f.session + "/000001.jsonl" }
func (f *hangingFile) Identity() string       { return f.session }

// A log in memory has one segment, which is never full.

func (f *hangingFile) Number() int                        { return 1 }
func (f *hangingFile) Next() (File, error)                { return nil, errors.ErrUnsupported }
func (f *hangingFile) OpenSealed(int) (SealedFile, error) { return nil, errors.ErrUnsupported }
func (f *hangingFile) Unsummed() ([]int, error)           { return nil, nil }
func (f *hangingFile) Summarize(int, []byte) error        { return errors.ErrUnsupported }

// inBubble runs test with a store on fs in a bubble of its own, where time is
// what the test makes of it.
func inBubble(t *testing.T, o Options, test func(t *testing.T, fs *hangingFS, s *Store, l *Log)) {
	synctest.Test(t, func(t *testing.T) {
		fs := &hangingFS{}
		o.FS = fs
		s := openStore(t, t.TempDir(), o)
		l, err := s.Session("s")
		must(t, err)
		_, err = l.Append(t.Context(), opened("first"))
		must(t, err)
		test(t, fs, s, l)
	})
}

func TestAppendE29AHungDiskStopsNobodyAndLateRecordsAreTold(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
		fs.hang()
		began := time.Now()
		var wg sync.WaitGroup
		for range 3 { // the first is in the batch that hangs, the others wait behind it
			wg.Go(func() {
				if _, err := l.Append(t.Context(), opened("late")); !errors.Is(err, ErrLate) {
					t.Errorf("Append = %v", err)
				}
			})
		}
		wg.Wait()
		if waited := time.Since(began); waited > 10*time.Second || waited < 9*time.Second {
			t.Errorf("the callers waited %v", waited)
		}
		if n := s.Owed(); n != 3 || s.Healthy() == nil {
			t.Errorf("%d records are owed while the disk hangs, Healthy = %v", n, s.Healthy())
		}
		fs.goOn()
		synctest.Wait()
		if n := s.Owed(); n != 0 {
			t.Errorf("%d records are owed afterwards", n)
		}
		records := fs.log(t, "s")
		var late, told []any
		for _, r := range records {
			if r.get("method") == "late" {
				late = append(late, float64(r.seq))
			}
			if r.get("reason") == gapLateRecord {
				told = append(told, r.get("crossings").([]any)...)
			}
		}
		if diff := cmp.Diff(late, told); diff != "" || len(late) != 3 {
			t.Errorf("late records and those told of (-want +got):\n%s", diff)
		}
	})
}

func TestAppendE29ACallerThatGoesAwayLeavesNoLateRecord(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
		fs.hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Append(ctx, opened("left")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Append = %v", err)
		}
		fs.goOn()
		synctest.Wait()
		if got := events(fs.log(t, "s")); !cmp.Equal(got, []string{EventEdgeStarted, EventCrossingOpened, EventCrossingOpened}) {
			t.Errorf("events are %v", got)
		}
	})
}

func TestAppendE29MemoryStaysBoundedBehindAHungDisk(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
		fs.hang()
		heap := heapAfterCollection()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		full, record := 0, CrossingEnded{typical()}
		for range 100_000 {
			switch _, err := l.Append(ctx, record); {
			case errors.Is(err, ErrQueueFull):
				full++
			case !errors.Is(err, context.Canceled):
				t.Fatal(err)
			}
		}
		if grown := heapAfterCollection() - heap; grown > 3*maxQueueBytes {
			t.Errorf("the heap grew by %d octets for %d records that wait", grown, 100_000-full)
		}
		if full == 0 {
			t.Fatal("the queue takes everything")
		}
		if n := s.Owed(); n != full {
			t.Errorf("%d records are owed, want the %d that were not taken", n, full)
		}
		fs.goOn()
		synctest.Wait()
		_, err := l.Append(t.Context(), opened("next"))
		must(t, err)
		count := 0
		for _, r := range fs.log(t, "s") {
			if r.event == EventCrossingMediated {
				count++
			}
			if r.get("reason") == gapWriteFailed && (r.get("fault") != "queue_full" || r.get("lost.count") != float64(full)) {
				t.Errorf("the gap is %v", r)
			}
		}
		if count != 100_000-full {
			t.Errorf("%d records in the log, want %d", count, 100_000-full)
		}
	})
}

func heapAfterCollection() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestStoreE32WhatIsOwedIsTriedAgainEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := newTracedFS(t, dir)
		s := openStore(t, dir, Options{FS: fs})
		l, _ := s.Session("s")
		fs.failing(always(callWrite, errShort))
		l.Append(t.Context(), opened("lost"))
		fs.failing(nil)
		if n := s.Owed(); n != 1 {
			t.Fatalf("%d records are owed", n)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := s.Owed(); n != 0 {
			t.Errorf("%d records are owed after the writer tried by itself", n)
		}
		if got := events(readLog(t, dir, "s")); !cmp.Equal(got, []string{gapWriteFailed, EventEdgeStarted}) {
			t.Errorf("events are %v", got)
		}
	})
}

func TestStoreCloseE41AHungDiskIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &hangingFS{}
		dir := t.TempDir()
		s, err := Open(dir, Options{FS: fs})
		must(t, err)
		fs.hang()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, ErrOwed) {
			t.Errorf("Close = %v", err)
		}
		if ids, _ := lockFiles(s.edges()); len(ids) != 1 {
			t.Error("the lock file is gone though the edge did not stop cleanly")
		}
		fs.goOn()
	})
}

func TestSessionClosesWhenIdleAndOpensAgain(t *testing.T) {
	inBubble(t, Options{SessionIdle: 10 * time.Minute}, func(t *testing.T, fs *hangingFS, s *Store, l *Log) {
		first, _ := s.Session("s")
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := events(fs.log(t, "s")); got[len(got)-1] != EventCrossingOpened {
			t.Fatalf("a log with a crossing under way was closed: %v", got)
		}
		_, err := l.Append(t.Context(), CrossingEnded{&Crossing{Grade: Mediated, Opened: 2}})
		must(t, err)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		records := fs.log(t, "s")
		last := records[len(records)-1]
		if last.event != EventSessionClosed || last.get("reason") != "idle" || last.get("appended") != 2.0 || last.get("lost") != 0.0 {
			t.Fatalf("the last record is %v", last)
		}
		// Whoever still holds the old log and whoever asks for it anew write
		// to the same one.
		_, err = first.Append(t.Context(), opened("again"))
		must(t, err)
		second, _ := s.Session("s")
		_, err = second.Append(t.Context(), opened("again"))
		must(t, err)
		records = fs.log(t, "s")[len(records):]
		if got := events(records); !cmp.Equal(got, []string{EventEdgeStarted, EventCrossingOpened, EventCrossingOpened}) || records[0].get("resumed") != true {
			t.Errorf("after the closing come %v", records)
		}
	})
}
