package terms

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

func TestT122ANeighboursAnswerIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, text("User-agent: *\nAllow: /\n"))
		dir := t.TempDir()
		a, b := w.open(dir), w.open(dir)
		a.Robots(t.Context(), o)
		synctest.Wait() // until the file is written
		if got := b.Robots(t.Context(), o); got.Cache != rulings.CacheReused || w.asked() != 1 {
			t.Errorf("a first crossing of the neighbour: %+v after %d probes", got.Term, w.asked())
		}
		s.set(text(rules))
		time.Sleep(25 * time.Hour)
		b.Robots(t.Context(), o)
		synctest.Wait()
		if got := a.Robots(t.Context(), o); got.Cache != rulings.CacheReused || refuses(o, "/private", got) != rulings.RobotsDisallow || w.asked() != 2 {
			t.Errorf("with an expired copy in memory: %+v after %d probes", got.Term, w.asked())
		}
	})
}

// Two books probe at the same time, and the one that ends first is answered. The
// other's failure must not take the answer away from either.
func TestT122T123ANeighboursFailureDoesNotReplaceALiveAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, slowly(time.Second, text(rules)))
		dir := t.TempDir()
		a, b := w.open(dir), w.open(dir)
		done := make(chan rulings.RobotsTerms, 2)
		go func() { done <- a.Robots(t.Context(), o) }()
		synctest.Wait()
		s.set(slowly(2*time.Second, status(503)))
		go func() { done <- b.Robots(t.Context(), o) }()
		if got := <-done; got.Outcome != rulings.TermRead {
			t.Errorf("the first to end: %+v", got.Term)
		}
		synctest.Wait()
		replaced := watch(t, a.robots.path(place{origin: o}))
		if got := <-done; got.Outcome != rulings.TermUnreachable {
			t.Errorf("the second to end: %+v", got.Term)
		}
		synctest.Wait()
		if replaced() {
			t.Error("the file was replaced")
		}
		for name, book := range map[string]*Book{"a": a, "b": b, "a third": w.open(dir)} {
			if got := book.Robots(t.Context(), o); got.Cache != rulings.CacheReused || got.Outcome != rulings.TermRead {
				t.Errorf("%s then has %+v", name, got.Term)
			}
		}
		if w.asked() != 2 {
			t.Errorf("%d probes", w.asked())
		}
	})
}

// watch returns a function that reports whether the file at path was replaced
// since. The file is kept open, or a new one could get its inode.
func watch(t *testing.T, path string) (replaced func() bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() bool {
		before, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return !os.SameFile(before, after)
	}
}

func TestT122MergeOfTwoProcesses(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	read := func(age, life time.Duration) *visit {
		return &visit{Outcome: rulings.TermRead, FetchedAt: now.Add(-age), ExpiresAt: now.Add(life - age)}
	}
	miss := func(age time.Duration) *visit {
		return &visit{Outcome: rulings.TermUnreachable, FetchedAt: now.Add(-age), ExpiresAt: now.Add(failureLife - age)}
	}
	live, older, expired, future := read(time.Hour, day), read(2*time.Hour, day), read(48*time.Hour, day), read(-time.Hour, day)
	fresh, stale := miss(time.Minute), miss(time.Hour/2)
	for _, tt := range []struct {
		name       string
		a, b, want ledger
	}{
		{"nothing and nothing", ledger{}, ledger{}, ledger{}},
		{"an answer and nothing", ledger{answered: live}, ledger{}, ledger{answered: live}},
		{"a failure and nothing", ledger{missed: fresh}, ledger{}, ledger{missed: fresh}},
		{"of two answers the newer", ledger{answered: live}, ledger{answered: older}, ledger{answered: live}},
		{"of two failures the newer", ledger{missed: fresh}, ledger{missed: stale}, ledger{missed: fresh}},
		{"a failure newer than a live answer", ledger{answered: live}, ledger{missed: fresh}, ledger{answered: live}},
		{"a failure newer than an expired answer", ledger{answered: expired}, ledger{missed: fresh}, ledger{answered: expired, missed: fresh}},
		{"a failure older than an answer", ledger{answered: read(0, 0)}, ledger{missed: fresh}, ledger{answered: read(0, 0)}},
		{"a held copy survives a neighbour that had none", ledger{answered: expired, missed: stale}, ledger{missed: fresh}, ledger{answered: expired, missed: fresh}},
		{"an answer of the future and nothing", ledger{answered: future}, ledger{}, ledger{answered: future}},
		{"an answer of the future is not newer than another", ledger{answered: expired}, ledger{answered: future}, ledger{answered: expired}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := merge(tt.a, tt.b, now); !got.same(tt.want) {
				t.Errorf("%+v", got)
			}
			if got := merge(tt.b, tt.a, now); !got.same(tt.want) {
				t.Errorf("the other way round: %+v", got)
			}
		})
	}
}

// childDir names the book of a child process that probes without end.
const childDir = "WAYLEAVE_TERMS_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		probeForEver(dir)
	}
	os.Exit(m.Run())
}

// A restless client answers every probe at once, now with another document, now
// with 503, and with a life of 0, so that every crossing probes and every probe
// changes what is on disk.
type restless struct{ n int }

func (r *restless) Get(_ context.Context, url string, _ http.Header) (*http.Response, error) {
	r.n++
	if r.n%3 == 0 {
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	}
	body := fmt.Sprintf("User-agent: *\nDisallow: /private\n# %d of %d\n", r.n, os.Getpid())
	if strings.HasSuffix(url, ".xml") {
		body = fmt.Sprintf("%s<!-- %d of %d -->", rsl, r.n, os.Getpid())
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Cache-Control": {"max-age=0"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// probeForEver is the child: it ends when its parent kills it.
func probeForEver(dir string) {
	b, err := Open(dir, Options{Client: &restless{}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	o := hostkey.Origin{Scheme: "https", Host: "site.test", Port: 443}
	for {
		b.Refresh(context.Background(), o)
		b.RefreshLicence(context.Background(), byRobots("https://site.test/l.xml"), o, nil, nil)
	}
}

// startChild starts a child on dir and waits until it probes.
func startChild(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	cmd.Wait()
}

// A watcher reads the file of one place while others replace it.
type watcher struct {
	t     *testing.T
	shelf *shelf
	place place
	last  ledger
}

// watchers watch what the children of a directory probe: a robots.txt, and a
// licence, of which no answer is held beside a failure.
func watchers(t *testing.T, b *Book) []*watcher {
	o := origin(t, "https", "site.test")
	return []*watcher{
		{t: t, shelf: b.robots, place: place{origin: o}},
		{t: t, shelf: b.licences, place: place{origin: o, url: "https://site.test/l.xml"}},
	}
}

// look reads the file, which must be whole, name objects that are there, not
// have grown older and not have lost its held copy. It reports whether the file
// has changed since.
func (w *watcher) look() bool {
	w.t.Helper()
	data, err := readRegular(w.shelf.path(w.place), maxCacheFile)
	if os.IsNotExist(err) && w.last.last() == nil {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := w.shelf.parseFile(data, w.place)
	if err != nil {
		w.t.Fatalf("%v:\n%s", err, data)
	}
	if l.answered != nil {
		if _, err := w.shelf.book.Object(l.answered.Object); err != nil {
			w.t.Fatal(err)
		}
	}
	before := w.last
	w.last = l
	if before.last() == nil {
		return true
	}
	if l.last().FetchedAt.Before(before.last().FetchedAt) {
		w.t.Fatalf("%+v was replaced by the older %+v", before.last(), l.last())
	}
	if !w.shelf.holds {
		return !l.same(before)
	}
	if before.answered != nil && (l.answered == nil || l.answered.FetchedAt.Before(before.answered.FetchedAt)) {
		w.t.Fatalf("the held copy %+v was replaced by %+v", before.answered, l.answered)
	}
	return !l.same(before)
}

// see looks until the file has changed n times.
func (w *watcher) see(n int) {
	w.t.Helper()
	for n > 0 {
		if w.look() {
			n--
		}
		time.Sleep(time.Millisecond)
	}
}

func TestT122AKillDuringACacheWriteLeavesTheOldFileOrTheNew(t *testing.T) {
	dir := t.TempDir()
	b := newWorld(t).open(dir)
	watched := watchers(t, b)
	o := watched[0].place.origin
	for i := range 8 {
		child := startChild(t, dir)
		watched[i%2].see(2 + rand.IntN(4)) // the next write is then on its way
		kill(t, child)
		for _, w := range watched {
			w.look()
		}
		if held, ok := b.HeldRobots(o); !ok || refuses(o, "/private", held) != rulings.RobotsDisallow {
			t.Fatalf("%+v, %v", held, ok)
		}
	}
}

func TestT122TwoProcessesShareADirectory(t *testing.T) {
	dir := t.TempDir()
	first, second := startChild(t, dir), startChild(t, dir)
	watched := watchers(t, newWorld(t).open(dir))
	for _, w := range watched {
		w.see(20)
	}
	kill(t, first)
	for _, w := range watched {
		w.see(5) // the lock of the dead is free
	}
	kill(t, second)
	for _, w := range watched {
		w.look()
	}
}
