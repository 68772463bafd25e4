package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// A witness stands between an edge and both its clients and its log. Each time
// the log is about to be synced it notes how far the clients' connections had
// come, which is what was released before those records were durable.
type witness struct {
	// onSync is called with each event that is about to become durable, before
	// it is. Nil does nothing. Set it before the edge starts.
	onSync func(event string)

	mu      sync.Mutex
	said    bytes.Buffer // all octets written to clients
	ended   bool         // a client's connection was closed
	moments []moment
	ctx     context.Context // of the latest request whose terms were looked up
	before  string          // what had been said when they were
}

// A moment is one record and what had been said to clients when it became
// durable.
type moment struct {
	event, url, outcome string
	said                string
	ended               bool
}

// watch makes a witness of the edge that s describes.
func watch(t *testing.T, s *edgeSetup) *witness {
	t.Helper()
	w := &witness{}
	s.data = t.TempDir()
	sessions := filepath.Join(s.data, "sessions")
	must(t, os.Mkdir(sessions, 0o700))
	disk, err := evidence.Disk(s.data)
	must(t, err)
	s.evidence = func(o *evidence.Options) { o.FS = &witnessFS{disk, w} }
	s.listen = func(l net.Listener) net.Listener { return &witnessListener{l, w} }
	s.options = func(o *Options) { o.Terms = &witnessTerms{o.Terms, w} }
	return w
}

// soFar returns what was said to clients since the last forget, and what of it
// was said before the latest request was ruled: the opening of its tunnel.
func (w *witness) soFar() (all, before string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String(), w.before
}

// forget starts anew.
func (w *witness) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said.Reset()
	w.moments, w.ended, w.before = nil, false, ""
}

// at returns the moment at which the only record of that event became durable.
func (w *witness) at(t *testing.T, event string) moment {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []moment
	for _, m := range w.moments {
		if m.event == event {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d records %s, want 1: %v", len(found), event, w.moments)
	}
	return found[0]
}

// none checks that no record of that event was written.
func (w *witness) none(t *testing.T, event string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.moments {
		if m.event == event {
			t.Errorf("there is a record %s of %s", event, m.url)
		}
	}
}

// request returns the context of the latest request.
func (w *witness) request() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx
}

type witnessFS struct {
	evidence.FS
	w *witness
}

func (f *witnessFS) OpenLog(session string) (evidence.File, error) {
	file, err := f.FS.OpenLog(session)
	if err != nil {
		return nil, err
	}
	return &witnessFile{File: file, w: f.w}, nil
}

// A witnessFile keeps what was written since the last sync.
type witnessFile struct {
	evidence.File
	w       *witness
	pending []byte
}

func (f *witnessFile) Write(p []byte) (int, error) {
	f.pending = append(f.pending, p...)
	return f.File.Write(p)
}

func (f *witnessFile) Sync() error {
	for line := range bytes.Lines(f.pending) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if f.w.onSync != nil {
			f.w.onSync(r.Event)
		}
		url, _ := r.at("url").(string)
		outcome, _ := r.at("outcome").(string)
		f.w.mu.Lock()
		f.w.moments = append(f.w.moments, moment{r.Event, url, outcome, f.w.said.String(), f.w.ended})
		f.w.mu.Unlock()
	}
	f.pending = nil
	return f.File.Sync()
}

type witnessListener struct {
	net.Listener
	w *witness
}

func (l *witnessListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &witnessConn{c, l.w}, nil
}

type witnessConn struct {
	net.Conn
	w *witness
}

func (c *witnessConn) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	c.w.said.Write(p)
	c.w.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *witnessConn) Close() error {
	c.w.mu.Lock()
	c.w.ended = true
	c.w.mu.Unlock()
	return c.Conn.Close()
}

type witnessTerms struct {
	Terms
	w *witness
}

func (f *witnessTerms) Rule(ctx context.Context, req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling {
	f.w.mu.Lock()
	f.w.ctx, f.w.before = ctx, f.w.said.String()
	f.w.mu.Unlock()
	return f.Terms.Rule(ctx, req, known, policy)
}

// logged returns the records in the files of crossings whose URL contains part:
// those that opened one, and those by which one ended.
func (e *testEdge) logged(part string) (opened, final []record) {
	e.t.Helper()
	for _, r := range e.records() {
		url, _ := r.at("url").(string)
		if !strings.Contains(url, part) {
			continue
		}
		switch r.Event {
		case evidence.EventCrossingOpened:
			opened = append(opened, r)
		case evidence.EventCrossingMediated, evidence.EventCrossingRefused:
			final = append(final, r)
		}
	}
	return opened, final
}

// onlyOpened returns the one crossing_opened of a URL that contains part.
func (e *testEdge) onlyOpened(part string) record {
	e.t.Helper()
	opened, _ := e.logged(part)
	if len(opened) != 1 {
		e.t.Fatalf("%d records crossing_opened of %s, want 1", len(opened), part)
	}
	return opened[0]
}

// only returns the one record of that event.
func (e *testEdge) only(event string) record {
	e.t.Helper()
	var found []record
	for _, r := range e.records() {
		if r.Event == event {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		e.t.Fatalf("%d records %s, want 1", len(found), event)
	}
	return found[0]
}
