package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
)

// A web is every host there is, for edges whose requests all leave through one
// next proxy. It notes what reaches each host, and when.
type web struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	hosts    map[string]http.HandlerFunc
	robots   map[string]string // a 404 where there is none
	arrivals []arrival
}

// An arrival is one request at a host.
type arrival struct {
	host, target string
	at           time.Time
}

func startWeb(t *testing.T) *web {
	w := &web{t: t, hosts: map[string]http.HandlerFunc{}, robots: map[string]string{}}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	return w
}

func (w *web) serve(rw http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.URL.Host, ":80")
	w.mu.Lock()
	w.arrivals = append(w.arrivals, arrival{host, r.URL.RequestURI(), time.Now()})
	h, robots := w.hosts[host], w.robots[host]
	w.mu.Unlock()
	switch {
	case r.URL.Path == "/robots.txt" && robots != "":
		fmt.Fprint(rw, robots)
	case h == nil && r.URL.Path == "/robots.txt":
		http.NotFound(rw, r)
	case h == nil:
		fmt.Fprint(rw, "page")
	default:
		h(rw, r)
	}
}

// host has h answer for a host, its robots.txt too where it states none here.
func (w *web) host(name, robots string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robots[name] = robots
	w.hosts[name] = h
}

// asked returns what a host was asked for, in order.
func (w *web) asked(host string) (targets []string) {
	for _, a := range w.seen(host) {
		targets = append(targets, a.target)
	}
	return targets
}

func (w *web) seen(host string) (all []arrival) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.arrivals {
		if a.host == host {
			all = append(all, a)
		}
	}
	return all
}

// wantAsked checks what a host was asked for, in order.
func (w *web) wantAsked(t testing.TB, host string, targets ...string) {
	t.Helper()
	if diff := cmp.Diff(targets, w.asked(host)); diff != "" {
		t.Errorf("%s was asked for (-want +got):\n%s", host, diff)
	}
}

// edge starts an edge on the web.
func (w *web) edge(s edgeSetup) *testEdge {
	w.t.Helper()
	next, err := url.Parse(w.URL)
	must(w.t, err)
	s.upstream = func(o *UpstreamOptions) { o.Proxy = next }
	return startEdge(w.t, s)
}

// gets asks for a URL as session and returns the answer with its body.
func (e *testEdge) gets(session, url string) (*http.Response, string) {
	e.t.Helper()
	return get(e.t, e.client(session, false), url)
}

// stateOf is what is stored of a host.
func (e *testEdge) stateOf(host string) backoff.State {
	e.t.Helper()
	s, _, err := e.opt.Pacing.Store.Look(e.t.Context(), host)
	must(e.t, err)
	return s
}

// plant stores the state of a host.
func (e *testEdge) plant(s backoff.State) {
	e.t.Helper()
	dir := filepath.Join(e.data, "backoff")
	must(e.t, os.MkdirAll(dir, 0o700))
	if s.SetAt.Equal(frozen) { // a clock that stands still does not tell that this comes after what was answered
		s.SetAt = s.SetAt.Add(time.Second)
	}
	s.SetAt = backoff.Instant(s.SetAt)
	must(e.t, os.WriteFile(filepath.Join(dir, backoff.FileName(s.Host)+".json"), backoff.Encode(s), 0o600))
}

// failing is the state of a host that failed once, with a 503, and is to be left
// alone until then.
func failing(host string, until time.Time) backoff.State {
	return backoff.State{Host: host, SetAt: time.Now(), Backoff: backoff.Backoff{Failures: 1, Status: 503, Until: backoff.Instant(until)}}
}

// overdue is the state of a host that failed once, and whose wait is over.
func overdue(host string) backoff.State { return failing(host, time.Now().Add(-time.Second)) }

// waiting waits until n callers of the edge wait for a host.
func (e *testEdge) waiting(host string, n int) {
	e.t.Helper()
	e.joined(host, n, new(atomic.Int64))
}

// joined waits until n callers of the edge wait for a host or have their answer.
func (e *testEdge) joined(host string, n int, answered *atomic.Int64) {
	e.t.Helper()
	count := 0
	for range 6000 {
		count = int(answered.Load()) // before those that wait, so that nobody counts twice
		for _, w := range e.opt.Pacing.Dispatcher.Waiting() {
			if w.Host == host {
				count += w.Count
			}
		}
		if count == n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	e.t.Fatalf("%d wait for %s, want %d", count, host, n)
}

// frozen is a wall clock that stands still, for what is recorded to the
// millisecond. Waits take as long as ever.
var frozen = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// atNoon is a store whose clock stands at noon.
func atNoon() backoff.FileOptions {
	return backoff.FileOptions{Now: func() time.Time { return frozen }}
}

// files returns the names in the directory of what is paced; none where it is
// missing.
func (e *testEdge) paced() (names []string) {
	e.t.Helper()
	entries, err := os.ReadDir(filepath.Join(e.data, "backoff"))
	if err != nil && !os.IsNotExist(err) {
		e.t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// probes are the records of the requests for a kind of terms.
func (e *testEdge) probes(kind string) (all []record) {
	e.t.Helper()
	for _, r := range e.records() {
		if r.Event == "terms_probed" && r.at("kind") == kind {
			all = append(all, r)
		}
	}
	return all
}

// final is the last record of a crossing whose URL contains part.
func (e *testEdge) final(part string) record {
	e.t.Helper()
	e.crossing(part)
	all := e.crossings()
	slices.Reverse(all)
	i := slices.IndexFunc(all, func(r record) bool { return strings.Contains(fmt.Sprint(r.at("url")), part) })
	return all[i]
}

// wantAll checks a member of a record with all that is in it.
func (r record) wantAll(t testing.TB, path string, want any) {
	t.Helper()
	if diff := cmp.Diff(want, r.at(path)); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", r.Event, path, diff)
	}
}

// label is how the agent is told of the crossing that ended with this record.
func (r record) label() string { return fmt.Sprintf("%s/%d", r.session, r.Seq) }

// spaced checks that the arrivals from a host's nth on came no sooner than gap
// after one another, counted from a moment before the first was sent.
func spaced(t testing.TB, start time.Time, gap time.Duration, all []arrival) {
	t.Helper()
	for i, a := range all {
		if earliest := start.Add(time.Duration(i) * gap); a.at.Before(earliest) {
			t.Errorf("request %d came %v too early", i, earliest.Sub(a.at))
		}
	}
}
