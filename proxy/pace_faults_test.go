package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/rulings"
)

// A brokenFS passes every call on to the disk, counts it, and fails those that a
// test wants to fail.
type brokenFS struct {
	backoff.FS
	mu    sync.Mutex
	calls map[string]int          // since it was last broken or repaired; guarded by mu
	fail  func(call string) error // guarded by mu; nil: nothing
}

func newBrokenFS(dir string) *brokenFS { return &brokenFS{FS: backoff.Disk(dir)} }

// failing sets which calls fail from now on, and counts anew.
func (f *brokenFS) failing(fail func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.calls = fail, map[string]int{}
}

// count is how often any of these calls was made.
func (f *brokenFS) count(calls ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		n += f.calls[c]
	}
	return n
}

func (f *brokenFS) met(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls != nil {
		f.calls[call]++
	}
	if f.fail == nil {
		return nil
	}
	return f.fail(call)
}

func (f *brokenFS) Read(name string) ([]byte, error) {
	if err := f.met("read"); err != nil {
		return nil, err
	}
	return f.FS.Read(name)
}

func (f *brokenFS) MakeDir() error {
	if err := f.met("mkdir"); err != nil {
		return err
	}
	return f.FS.MakeDir()
}

func (f *brokenFS) TryLock(name string) (io.Closer, error) {
	call := "lock"
	if _, err := f.FS.Owner(name); err != nil {
		call = "first lock" // which makes its file
	}
	if err := f.met(call); err != nil {
		return nil, err
	}
	return f.FS.TryLock(name)
}

func (f *brokenFS) Create(name string) (backoff.File, error) {
	if err := f.met("create"); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return &brokenFile{file, f}, err
}

func (f *brokenFS) Replace(from, to string) (io.Closer, error) {
	if err := f.met("rename"); err != nil {
		return nil, err
	}
	return f.FS.Replace(from, to)
}

func (f *brokenFS) Remove(name string) error {
	if strings.HasSuffix(name, ".tmp") {
		return f.FS.Remove(name)
	}
	if err := f.met("remove"); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *brokenFS) SyncDir() error {
	if err := f.met("syncdir"); err != nil {
		return err
	}
	return f.FS.SyncDir()
}

type brokenFile struct {
	backoff.File
	fs *brokenFS
}

func (w *brokenFile) Write(data []byte) (int, error) {
	if err := w.fs.met("write"); err != nil {
		return 0, err
	}
	return w.File.Write(data)
}

func (w *brokenFile) Sync() error {
	if err := w.fs.met("sync"); err != nil {
		return err
	}
	return w.File.Sync()
}

// A stage is an edge whose pacing directory can be broken, and one host.
type stage struct {
	*testEdge
	web    *web
	fs     *brokenFS
	dir    string
	status atomic.Int64 // of the host's pages
}

const stagePage = "CANARY page"

// newStage returns an edge that knows the robots.txt of page.test and waits so long
// for a lock. Its clock is now, or else the machine's.
func newStage(t *testing.T, robots string, lockWait time.Duration, now func() time.Time) *stage {
	s := &stage{web: startWeb(t)}
	s.status.Store(200)
	s.web.host("page.test", robots, func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(int(s.status.Load()))
		io.WriteString(rw, stagePage)
	})
	data := t.TempDir()
	s.dir = filepath.Join(data, "backoff")
	s.fs = newBrokenFS(s.dir)
	s.testEdge = s.web.edge(edgeSetup{data: data, files: backoff.FileOptions{FS: s.fs, Now: now},
		pace: backoff.Config{MaxWait: 5 * time.Second, LockWait: lockWait}})
	if resp, body := s.gets("", "http://page.test/warm"); resp.StatusCode != 200 {
		t.Fatal(resp.Status, body)
	}
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// fails makes calls of the file interface fail with err.
func fails(err error, calls ...string) func(*testing.T, *stage) {
	return func(_ *testing.T, s *stage) {
		s.fs.failing(func(call string) error {
			if slices.Contains(calls, call) {
				return err
			}
			return nil
		})
	}
}

// holds stores octets as the state of the host.
func holds(octets string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) {
		must(t, os.MkdirAll(s.dir, 0o700))
		must(t, os.WriteFile(s.path("page.test.json"), []byte(octets), 0o600))
	}
}

// A storeFault is a row of the table of faults: how it comes about on the disk,
// or in the file interface where that takes another user, what is named, and what
// the agent is told.
type storeFault struct {
	name   string
	breaks func(*testing.T, *stage)
	repair func(*testing.T, *stage) // nil: nothing fails any more
	names  string                   // in the directory; empty: the directory itself
	remedy string                   // in the record
	told   string                   // behind what became of the request
	reads  bool                     // what is stored cannot be read, so that nothing is sent at all
}

// lockWait is how long an edge that meets f waits for a lock: no longer than it
// has to where the lock is never given back, else longer than a busy machine takes.
func (f *storeFault) lockWait() time.Duration {
	if f.told == toldHeld {
		return 200 * time.Millisecond
	}
	return time.Minute
}

const (
	toldNotSent = "The pace of the site could not be kept, so it is not asked: "
	toldNotUsed = "The site answered, but its pace could not be kept, so the answer is not used: "

	toldWrite = "the edge's pacing directory cannot be written. The operator has to make it writable."
	toldRead  = "what is stored of it cannot be read. The operator has to repair access to it or remove it."
	toldHeld  = "another process holds its lock."
	toldLock  = "its lock belongs to another user. The operator has to make it usable or remove it."

	remedyWrite = "make it a directory that this user can write, with room left"
	remedyLock  = "make it readable and writable by this user, or remove it once any wayleave process run as another user, such as under sudo, has been stopped"
)

func removing(name string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) { must(t, os.RemoveAll(s.path(name))) }
}

var storeFaults = []storeFault{
	{name: "the directory is read-only", breaks: fails(syscall.EROFS, "first lock", "create", "mkdir", "rename", "remove"), remedy: remedyWrite, told: toldWrite},
	{name: "the directory is full", breaks: fails(syscall.ENOSPC, "first lock", "create", "mkdir"), remedy: remedyWrite, told: toldWrite},
	{name: "the directory is another's", breaks: fails(syscall.EACCES, "first lock", "create", "mkdir", "rename", "remove"), remedy: remedyWrite, told: toldWrite},
	{name: "the state cannot be written", breaks: fails(syscall.EIO, "write"), remedy: remedyWrite, told: toldWrite},
	{name: "the state is not on disk", breaks: fails(syscall.EIO, "sync"), remedy: remedyWrite, told: toldWrite},
	{name: "the state cannot be renamed", breaks: fails(syscall.EIO, "rename"), remedy: remedyWrite, told: toldWrite},
	{name: "the lock is held", breaks: holdLock, names: "page.test.lock", remedy: "find out why that process holds it so long", told: toldHeld},
	{name: "the lock is another's", breaks: func(t *testing.T, s *stage) {
		must(t, os.MkdirAll(s.dir, 0o700))
		must(t, os.WriteFile(s.path("page.test.lock"), nil, 0o600))
		fails(syscall.EACCES, "lock")(t, s)
	}, names: "page.test.lock", remedy: remedyLock, told: toldLock},
	{name: "the lock is a directory", breaks: func(t *testing.T, s *stage) {
		must(t, os.RemoveAll(s.path("page.test.lock")))
		must(t, os.MkdirAll(s.path("page.test.lock"), 0o700))
	}, repair: removing("page.test.lock"), names: "page.test.lock", remedy: remedyLock, told: toldLock},
	{name: "the state is another's", breaks: fails(syscall.EACCES, "read"), names: "page.test.json", remedy: "repair access to it or remove it", told: toldRead, reads: true},
	{name: "the state is not JSON", breaks: holds("nonsense"), repair: removing("page.test.json"), names: "page.test.json", remedy: "repair access to it or remove it", told: toldRead, reads: true},
	{name: "the state is empty", breaks: holds(""), repair: removing("page.test.json"), names: "page.test.json", remedy: "repair access to it or remove it", told: toldRead, reads: true},
	{name: "the state is another host's", breaks: holds(`{"host":"other.test","set_at":"2026-11-30T12:00:00.000Z"}`), repair: removing("page.test.json"), names: "page.test.json",
		remedy: "repair access to it or remove it", told: toldRead, reads: true},
	{name: "the state has values that cannot be", breaks: holds(`{"host":"page.test","set_at":"2026-11-30T12:00:00.000Z","backoff":{"failures":-1,"status":503,"until":"2026-11-30T12:00:00.000Z"}}`),
		repair: removing("page.test.json"), names: "page.test.json", remedy: "repair access to it or remove it", told: toldRead, reads: true},
	{name: "the state is a directory", breaks: func(t *testing.T, s *stage) {
		must(t, os.RemoveAll(s.path("page.test.json")))
		must(t, os.MkdirAll(s.path("page.test.json"), 0o700))
	}, repair: removing("page.test.json"), names: "page.test.json", remedy: "repair access to it or remove it", told: toldRead, reads: true},
}

// holdLock takes the lock of the host as another process would.
func holdLock(t *testing.T, s *stage) {
	must(t, os.MkdirAll(s.dir, 0o700))
	l := flock.New(s.path("page.test.lock"))
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.fs.failing(nil)
	unlock := sync.OnceFunc(func() { l.Unlock() })
	t.Cleanup(unlock)
	s.unlocks(unlock)
}

// unlocks are what repair has to do for a lock that is held.
func (s *stage) unlocks(f func()) { heldLocks.Store(s, f) }

var heldLocks sync.Map

// mend does what the message says.
func (s *stage) mend(t *testing.T, f *storeFault) {
	s.fs.failing(nil)
	if unlock, ok := heldLocks.LoadAndDelete(s); ok {
		unlock.(func())()
	}
	if f.repair != nil {
		f.repair(t, s)
	}
}

// toldOfStore checks the whole body of a refusal for a fault of the store.
func toldOfStore(t testing.TB, resp *http.Response, body, detail string, r record) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Errorf("%v: %q", err, body)
		return
	}
	want := problemBody("pacing_store", "The pace of the site could not be kept", 503, detail, "edge", p.RetryAt, r.label())
	if diff := cmp.Diff(want, body); diff != "" || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "30" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v (-want +got):\n%s", resp.Status, resp.Header, diff)
	}
	at, err := time.Parse(time.RFC3339, p.RetryAt)
	if err != nil || time.Until(at) > 31*time.Second {
		t.Errorf("retry_at %q", p.RetryAt)
	}
	r.want(t, map[string]any{"told.status": 503, "told.reason": "pacing_store", "told.detail": detail})
	if got := fmt.Sprint(r.at("told.retry_at")); got != strings.Replace(p.RetryAt, "Z", ".000Z", 1) {
		t.Errorf("recorded as told: %s, told %s", got, p.RetryAt)
	}
}

// named checks that the record's gap names what is broken and what repairs it.
func (s *stage) named(t testing.TB, r record, f *storeFault) {
	t.Helper()
	if got := r.gapReasons(); !slices.Equal(got, []string{"store_unavailable"}) {
		t.Errorf("gaps %v: %s", got, r.raw)
		return
	}
	detail := r.list("gaps", "detail")[0]
	path := filepath.Join(s.dir, f.names)
	if !strings.Contains(detail, path+" ") || !strings.Contains(detail, f.remedy) {
		t.Errorf("the gap says %q, and names not %s or not: %s", detail, path, f.remedy)
	}
	if f.remedy == remedyLock && !strings.Contains(detail, fmt.Sprintf("its owner is uid %d", os.Getuid())) {
		t.Errorf("the gap says %q, and not whose it is", detail)
	}
}

// TestP38_FaultTable is the table of store faults as the exchange keeps it: what
// reaches the origin, what the agent is told, what is recorded, and that the next
// request goes once it is repaired (P32, P38 to P41; cases B21, B23).
func TestP38_FaultTable(t *testing.T) {
	const (
		sent    = "sent"
		notUsed = "not used"
		notSent = "not sent"
		binds   = "a stored wait binds"
	)
	for _, column := range []struct {
		host   string
		robots string
		status int64
		state  func() backoff.State // nil: none
		cell   string               // where what is stored can be read
	}{
		{"healthy", "User-agent: *\n", 200, nil, sent},
		{"that fails", "User-agent: *\n", 503, nil, notUsed},
		{"that limits", "User-agent: *\n", 429, nil, notUsed},
		{"with a delay", "User-agent: *\nCrawl-delay: 0.02\n", 200, nil, notSent},
		{"in back-off", "User-agent: *\n", 200, func() backoff.State { return failing("page.test", time.Now().Add(time.Hour)) }, binds},
		{"whose back-off is over", "User-agent: *\n", 200, func() backoff.State { return overdue("page.test") }, notSent},
	} {
		for i := range storeFaults {
			f := &storeFaults[i]
			t.Run(f.name+", and a host "+column.host, func(t *testing.T) {
				s := newStage(t, column.robots, f.lockWait(), nil)
				if column.state != nil {
					s.plant(column.state())
				}
				s.status.Store(column.status)
				s.fs.failing(nil)
				f.breaks(t, s)
				cell := column.cell
				if f.reads {
					cell = notSent
				}
				for n := range 2 { // and so does the next request
					seen := len(s.web.seen("page.test"))
					url := fmt.Sprintf("http://page.test/page?%d", n)
					resp, body := s.gets("", url)
					asked, r := len(s.web.seen("page.test"))-seen, s.final(url)
					if want := map[string]int{sent: 1, notUsed: 1}[cell]; asked != want {
						t.Errorf("%d requests were sent, want %d", asked, want)
					}
					switch cell {
					case sent:
						if resp.StatusCode != 200 || body != stagePage {
							t.Errorf("%s %s", resp.Status, body)
						}
						r.want(t, map[string]any{"outcome": "delivered", "gaps": nil, "pacing": nil})
						if made := s.fs.count("lock", "first lock", "create", "mkdir", "write", "rename", "remove"); made > 0 {
							t.Errorf("%d calls were made", made)
						}
					case binds:
						if resp.StatusCode != 429 || reasonOf(resp) != "backoff" {
							t.Errorf("%s %s", resp.Status, body)
						}
						r.want(t, map[string]any{"refusal.reason": "backoff", "gaps": nil})
					case notSent:
						toldOfStore(t, resp, body, toldNotSent+f.told, r)
						s.named(t, r, f)
						r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "pacing_store", "refusal.whose": "edge", "refusal.stage": "before",
							"requested_at": nil, "http_status": nil, "failure": nil, "delivered": nil})
						unavailableRecord(t, r, f)
					case notUsed:
						toldOfStore(t, resp, body, toldNotUsed+f.told, r)
						s.named(t, r, f)
						r.want(t, map[string]any{"outcome": "unavailable", "refusal": nil, "http_status": column.status, "failure.kind": "pacing_store", "delivered": nil,
							"retrieved_bytes": len(stagePage), "retrieved_hash": sum(stagePage)})
						if said := fmt.Sprint(r.at("failure.detail")); !strings.Contains(said, fmt.Sprintf("the host answered with status %d, which was not used", column.status)) ||
							!strings.Contains(said, f.remedy) {
							t.Errorf("the failure says %q", said)
						}
						if r.at("requested_at") == nil || r.Event != "crossing_mediated" {
							t.Errorf("recorded: %s", r.raw)
						}
						unavailableRecord(t, r, f)
					}
				}
				s.mend(t, f)
				s.status.Store(200)
				resp, body := s.gets("", "http://page.test/repaired")
				if want := map[bool]int{true: 429, false: 200}[column.cell == binds && (f.repair == nil || f.names != "page.test.json")]; resp.StatusCode != want {
					t.Errorf("after repair: %s %s", resp.Status, body)
				}
			})
		}
	}
}

// unavailableRecord checks that pacing's own record says what failed.
func unavailableRecord(t testing.TB, r record, f *storeFault) {
	t.Helper()
	said := fmt.Sprint(r.at("pacing.delay.unavailable"), r.list("pacing.backoff", "unavailable"))
	if !strings.Contains(said, f.remedy) || !strings.Contains(fmt.Sprint(r.at("pacing.delay.outcome"), r.list("pacing.backoff", "outcome")), "unavailable") {
		t.Errorf("pacing is recorded as %v", r.at("pacing"))
	}
}

// A directory that cannot be made is named as such, and so is a file in its place
// (P38).
func TestP38_ADirectoryThatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		breaks func(*testing.T, *stage)
		remedy string
	}{
		{"it cannot be made", fails(syscall.EACCES, "mkdir"), "make it, writable by this user"},
		{"a file is in its place", func(t *testing.T, s *stage) { must(t, os.WriteFile(s.dir, nil, 0o600)) }, remedyWrite},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, "User-agent: *\n", time.Minute, nil)
			f := &storeFault{breaks: c.breaks, remedy: c.remedy, told: toldWrite}
			f.breaks(t, s)
			if resp, body := s.gets("", "http://page.test/healthy"); resp.StatusCode != 200 {
				t.Errorf("%s %s", resp.Status, body)
			}
			s.status.Store(503)
			resp, body := s.gets("", "http://page.test/page")
			r := s.final("page.test/page")
			toldOfStore(t, resp, body, toldNotUsed+f.told, r)
			s.named(t, r, f)

			s.web.host("slow.test", "User-agent: *\nCrawl-delay: 1\n", nil)
			resp, body = s.gets("", "http://slow.test/page")
			r = s.final("slow.test/page")
			toldOfStore(t, resp, body, toldNotSent+f.told, r)
			s.named(t, r, f)
			s.web.wantAsked(t, "slow.test", "/robots.txt")
		})
	}
}

// Where what is stored cannot be read, robots.txt is not asked for either; where
// a wait is over that cannot be reserved, neither. The agent is not told that
// robots.txt could not be reached, nothing of it is kept, and who waited for the
// same answer is told the same (P32, P38, P39).
func TestP38_RobotsTxtIsNotAskedForEither(t *testing.T) {
	for i := range storeFaults {
		f := &storeFaults[i]
		t.Run(f.name, func(t *testing.T) {
			s := newStage(t, "", f.lockWait(), nil)
			s.web.host("page.test", "", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "User-agent: *\n") })
			cold := s.web.edge(edgeSetup{files: backoff.FileOptions{FS: s.fs}, pace: backoff.Config{LockWait: f.lockWait()}})
			cold.opt.Pacing.Store = s.opt.Pacing.Store
			s.testEdge = cold
			pace := backoff.NewFileStore(s.dir, backoff.FileOptions{FS: s.fs, Config: backoff.Config{LockWait: f.lockWait()}})
			cold.opt.Pacing.Dispatcher = backoff.NewDispatcher(pace, backoff.Config{})
			must(t, os.MkdirAll(s.dir, 0o700))
			o := overdue("page.test")
			must(t, os.WriteFile(s.path("page.test.json"), backoff.Encode(o), 0o600))
			f.breaks(t, s)
			seen := len(s.web.seen("page.test"))
			resp, body := s.gets("", "http://page.test/page")
			r := s.final("page.test/page")
			toldOfStore(t, resp, body, toldNotSent+f.told, r)
			s.named(t, r, f)
			r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "pacing_store", "refusal.whose": "edge", "requested_at": nil})
			unavailableRecord(t, r, f)
			p := s.probes("robots")
			p[len(p)-1].want(t, map[string]any{"failure.kind": "pacing_store", "http_status": nil, "cache_until": nil, "requested_at": nil})
			if asked := s.web.asked("page.test")[seen:]; len(asked) > 0 {
				t.Errorf("asked for %v", asked)
			}
			s.mend(t, f)
			if resp, body := s.gets("", "http://page.test/repaired"); resp.StatusCode != 200 {
				t.Errorf("after repair: %s %s", resp.Status, body)
			}
		})
	}
}

// A turn that was kept, and an answer that cannot be dated: it is not used (P10,
// P40).
func TestP40_AnAnswerThatCannotBeDatedIsNotUsed(t *testing.T) {
	s := newStage(t, "User-agent: *\nCrawl-delay: 0.02\n", time.Minute, nil)
	seen := len(s.web.seen("page.test"))
	s.fs.failing(func(call string) error {
		if call == "write" && len(s.web.seen("page.test")) > seen { // the page was asked for
			return syscall.EIO
		}
		return nil
	})
	resp, body := s.gets("", "http://page.test/page")
	r := s.final("page.test/page")
	f := &storeFault{remedy: remedyWrite}
	toldOfStore(t, resp, body, toldNotUsed+toldWrite, r)
	s.named(t, r, f)
	r.want(t, map[string]any{"outcome": "unavailable", "http_status": 200, "failure.kind": "pacing_store", "pacing.delay.delay_ms": 20, "delivered": nil, "retrieved_bytes": nil})
	if n := len(s.web.seen("page.test")) - seen; n != 1 {
		t.Errorf("%d requests", n)
	}
	s.fs.failing(nil)
	if resp, body := s.gets("", "http://page.test/repaired"); resp.StatusCode != 200 {
		t.Errorf("after repair: %s %s", resp.Status, body)
	}
}

// A turn that cannot be moved to when its request goes keeps it from going (P10,
// P39).
func TestP39_ATurnThatCannotBeHandedOverIsNotUsed(t *testing.T) {
	var looks atomic.Int64
	late := func() time.Time { return time.Now().Add(time.Duration(looks.Add(1)) * 10 * time.Millisecond) }
	s := newStage(t, "User-agent: *\nCrawl-delay: 0.02\n", time.Minute, late)
	renames := 0
	s.fs.failing(func(call string) error {
		switch {
		case call == "rename":
			renames++
		case call == "write" && renames == 1:
			return syscall.EIO
		}
		return nil
	})
	seen := len(s.web.seen("page.test"))
	resp, body := s.gets("", "http://page.test/page")
	r := s.final("page.test/page")
	toldOfStore(t, resp, body, toldNotSent+toldWrite, r)
	s.named(t, r, &storeFault{remedy: remedyWrite})
	r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "pacing_store", "requested_at": nil, "http_status": nil, "pacing.delay.delay_ms": 20})
	unavailableRecord(t, r, &storeFault{remedy: remedyWrite})
	if n := len(s.web.seen("page.test")) - seen; n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	s.fs.failing(nil)
	if resp, body := s.gets("", "http://page.test/repaired"); resp.StatusCode != 200 {
		t.Errorf("after repair: %s %s", resp.Status, body)
	}
}

// An answer whose head is out already is broken off where its pace cannot be
// kept; of what is still held, no octet goes out (P40).
func TestP40_AnAnswerThatIsUnderWayIsBrokenOff(t *testing.T) {
	for _, way := range ways {
		for name, framing := range map[string]func(body string) string{
			"of known length": func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) },
			"in chunks": func(body string) string {
				return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
			},
		} {
			t.Run(way.name+", "+name, func(t *testing.T) {
				data := t.TempDir()
				fs := newBrokenFS(filepath.Join(data, "backoff"))
				e := startEdge(t, edgeSetup{data: data, files: backoff.FileOptions{FS: fs}})
				body := strings.Repeat("x", wholeLimit+1)
				s := answering(t, way.secure, "HTTP/1.1 503 X\r\n"+framing(body))
				fs.failing(func(call string) error {
					if call == "lock" || call == "first lock" {
						return syscall.EROFS
					}
					return nil
				})
				resp, err := e.by(way).Get(s.url + "/page")
				must(t, err)
				defer resp.Body.Close()
				got, err := io.ReadAll(resp.Body)
				if err == nil || resp.StatusCode != 503 || reasonOf(resp) != "" {
					t.Errorf("%s, reason %q, %d octets and then %v", resp.Status, reasonOf(resp), len(got), err)
				}
				if strings.HasPrefix(name, "of known") && len(got) >= len(body) {
					t.Error("the last octet came")
				}
				r := e.crossing(s.url + "/page")
				r.want(t, map[string]any{"outcome": "unavailable", "http_status": 503, "failure.kind": "pacing_store", "delivered.complete": false, "told": nil,
					"retrieved_bytes": len(body), "retrieved_hash": sum(body), "bytes.down": len(body)})
				if got := r.gapReasons(); !slices.Equal(got, []string{"store_unavailable"}) {
					t.Errorf("gaps %v", got)
				}
			})
		}
	}
}

// However an answer is framed, none of it reaches the client where its pace
// cannot be kept, as long as its head is not out (P40).
func TestP40_NoOctetOfAnUnusedAnswerReachesTheClient(t *testing.T) {
	for _, octets := range []string{
		"HTTP/1.1 503 " + canary + "\r\n" + canaryFields + "Content-Length: 11\r\n\r\n" + canary,
		"HTTP/1.1 503 " + canary + "\r\n" + canaryFields + "Content-Length: 0\r\n\r\n",
		"HTTP/1.1 429 " + canary + "\r\n" + canaryFields + "Content-Type: text/html\r\nContent-Length: 24\r\n\r\n<p><b>" + canary + "</b><i>",
		fmt.Sprintf("HTTP/1.1 500 X\r\n"+canaryFields+"Content-Length: %d\r\n\r\n%s", len(strings.Repeat(canary, 5000)), strings.Repeat(canary, 5000)),
	} {
		for _, way := range ways {
			for _, method := range []string{"GET", "HEAD"} {
				data := t.TempDir()
				fs := newBrokenFS(filepath.Join(data, "backoff"))
				e := startEdge(t, edgeSetup{data: data, files: backoff.FileOptions{FS: fs}})
				s := startSite(t, way.secure, func(v *visit) {
					head, body, _ := strings.Cut(octets, "\r\n\r\n")
					if v.say(head + "\r\n\r\n"); method != "HEAD" {
						v.say(body)
					}
				})
				fs.failing(func(call string) error {
					if call == "lock" || call == "first lock" {
						return syscall.EROFS
					}
					return nil
				})
				got := e.fetch(way, method, s.addr, "/page")
				noCanary(t, way.name, got)
				if got.status != 503 || got.reason != "pacing_store" {
					t.Errorf("%s %s %.40q: %d %s", way.name, method, octets, got.status, got.octets)
				}
				e.crossing(s.url+"/page").want(t, map[string]any{"outcome": "unavailable", "failure.kind": "pacing_store", "delivered": nil})
			}
		}
	}
}

// A term's answer that may not be used refuses for that, and is asked for again
// (P32, P40).
func TestP40_AProbesAnswerThatIsNotUsedIsAskedForAgain(t *testing.T) {
	for _, c := range []struct{ name, robots, path, kind string }{
		{"robots.txt", "", "/robots.txt", "robots"}, {"a licence", "License: /l.xml\n", "/l.xml", "licence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWeb(t)
			var status atomic.Int64
			status.Store(503)
			w.host("page.test", c.robots, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == c.path {
					rw.WriteHeader(int(status.Load()))
				}
				if r.URL.Path == "/l.xml" {
					fmt.Fprint(rw, licenceFree)
				}
			})
			data := t.TempDir()
			s := &stage{web: w, dir: filepath.Join(data, "backoff")}
			s.fs = newBrokenFS(s.dir)
			s.testEdge = w.edge(edgeSetup{data: data, files: backoff.FileOptions{FS: s.fs}})
			fails(syscall.EROFS, "lock", "first lock", "mkdir")(t, s)
			f := &storeFault{remedy: remedyWrite, told: toldWrite}
			for n := range 2 {
				url := fmt.Sprintf("http://page.test/page?%d", n)
				resp, body := s.gets("", url)
				r := s.final(url)
				toldOfStore(t, resp, body, toldNotUsed+f.told, r)
				s.named(t, r, f)
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "pacing_store", "refusal.whose": "edge", "requested_at": nil})
				p := s.probes(c.kind)
				p[len(p)-1].want(t, map[string]any{"http_status": 503, "failure.kind": "pacing_store", "cache_until": nil, "object": nil})
				if said := fmt.Sprint(p[len(p)-1].at("failure.detail")); !strings.Contains(said, "answered with status 503, which was not used") || !strings.Contains(said, remedyWrite) {
					t.Errorf("the probe's failure says %q", said)
				}
			}
			asked := 0
			for _, target := range w.asked("page.test") {
				if target == c.path {
					asked++
				}
			}
			if asked != 2 || slices.ContainsFunc(w.asked("page.test"), func(s string) bool { return strings.HasPrefix(s, "/page") }) {
				t.Errorf("asked for %v", w.asked("page.test"))
			}
			s.fs.failing(nil)
			status.Store(200)
			if resp, body := s.gets("", "http://page.test/repaired"); resp.StatusCode != 200 {
				t.Errorf("after repair: %s %s", resp.Status, body)
			}
		})
	}
}

// Of an answer that is not used a failing one keeps its reservation, which is the
// only pause left, and any other gives it up (P40).
func TestP40_AnUnusedFailureKeepsItsReservation(t *testing.T) {
	for _, c := range []struct {
		status int64
		call   string // that fails, when the host is reserved
		keeps  bool
	}{
		{503, "write", true}, {200, "remove", false},
	} {
		s := newStage(t, "User-agent: *\n", time.Minute, nil)
		s.plant(overdue("page.test"))
		s.status.Store(c.status)
		writes := 0
		s.fs.failing(func(call string) error {
			if call == "write" {
				writes++
			}
			if call == c.call && writes > 1 || call == c.call && call == "remove" {
				return syscall.EIO
			}
			return nil
		})
		resp, body := s.gets("", "http://page.test/page")
		if resp.StatusCode != 503 || reasonOf(resp) != "pacing_store" {
			t.Errorf("%d: %s %s", c.status, resp.Status, body)
		}
		s.final("page.test/page").want(t, map[string]any{"outcome": "unavailable", "http_status": c.status})
		s.fs.failing(nil)
		st := s.stateOf("page.test")
		if held := st.Reservation.ID != ""; held != c.keeps || st.Backoff.Failures != 1 || c.keeps && st.Reservation.Deadline.Before(time.Now().Add(10*time.Second)) {
			t.Errorf("%d: the state is %+v", c.status, st)
		}
	}
}

// What is withheld on its terms is refused for them also where its pace could not
// be kept; the gap says so (T111, P40).
func TestP40_AWithheldAnswerIsRefusedForItsTerms(t *testing.T) {
	for _, method := range []string{"GET", "HEAD"} {
		s := newStage(t, "User-agent: *\n", time.Minute, nil)
		s.web.host("page.test", "User-agent: *\n", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Usage", "ai-use=n")
			io.WriteString(rw, stagePage)
		})
		s.plant(overdue("page.test"))
		s.fs.failing(func(call string) error {
			if call == "remove" {
				return syscall.EIO
			}
			return nil
		})
		resp, err := s.client("", false).Do(request(t, method, "http://page.test/page", nil))
		if text(t, resp, err); resp.StatusCode != 451 || reasonOf(resp) != string(rulings.ContentUsage) {
			t.Errorf("%s: %s", method, resp.Status)
		}
		r := s.final("page.test/page")
		r.want(t, map[string]any{"outcome": "refused", "refusal.reason": "content_usage", "withheld": nil})
		s.named(t, r, &storeFault{remedy: remedyWrite})
		if method == "GET" {
			r.want(t, map[string]any{"retrieved_bytes": len(stagePage), "retrieved_hash": sum(stagePage)})
		}
	}
}

// A request that got no answer is told as such, whatever the store says.
func TestP32_AFaultOfTheStoreIsNotToldAsNoAnswer(t *testing.T) {
	data := t.TempDir()
	fs := newBrokenFS(filepath.Join(data, "backoff"))
	e := startEdge(t, edgeSetup{data: data, files: backoff.FileOptions{FS: fs}})
	s := overdueSite(t, e, false, func(v *visit) {
		fs.failing(func(call string) error {
			if call == "lock" || call == "first lock" {
				return syscall.EROFS
			}
			return nil
		})
		v.Close()
	})
	resp, body := e.gets("", s.url+"/page")
	if resp.StatusCode != 502 || reasonOf(resp) != "connection_terminated" {
		t.Errorf("%s %s", resp.Status, body)
	}
	r := e.final(s.url + "/page")
	r.want(t, map[string]any{"outcome": "unavailable", "failure.kind": "connection_terminated"})
	if got := r.gapReasons(); !slices.Equal(got, []string{"dependency_unavailable", "store_unavailable"}) {
		t.Errorf("gaps %v", got)
	}
}

// Where a server keeps the pace there is nothing to remove: what is told is that it
// cannot be reached.
func TestP39_AServerThatIsAwayIsToldAsThat(t *testing.T) {
	const away = "the server that keeps it cannot be reached. The operator has to start it, or repair the way to it."
	fault := &backoff.StoreError{Fault: backoff.StateUnreadable, Path: "at redis://host.test:6379/0", Away: true}
	for want, err := range map[string]error{toldNotSent + away: fault, toldNotUsed + away: &errUnusable{503, fault}} {
		if got := storeWords(err).String(); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}
