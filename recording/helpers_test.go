package recording

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWriter(t *testing.T) (*Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	w, err := Create(dir, Options{Ruleset: "wayleave-rules/1", Now: func() time.Time { return noon }})
	must(t, err)
	return w, dir
}

// page is an exchange for a page.
func page(url string) Exchange {
	return Exchange{Kind: Page, Method: "GET", URL: url, CapturedAt: noon}
}

// record records one whole exchange.
func record(w *Writer, x Exchange, h Head, body string) {
	e := w.Add(x, h)
	_, _ = io.WriteString(e, body)
	e.Done()
}

func html(fields ...Field) Head {
	return Head{Status: 200, Fields: append([]Field{{"Content-Type", "text/html"}}, fields...)}
}

const (
	site   = "https://page.example/a"
	robots = "https://page.example/robots.txt"
	model  = "https://api.example/v1"
)

var sumOfQuestion = digest([]byte("question"))

// recorded returns the directory of a recording of four exchanges, two of which are
// answers to one request.
func recorded(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	for name, text := range recordOnce(t) {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// A template is the recording that recorded copies, so that not every test waits
// for the disk.
var template struct {
	once  sync.Once
	files map[string]string
}

func recordOnce(t *testing.T) map[string]string {
	t.Helper()
	template.once.Do(func() { template.files = files(t, recordAnew(t)) })
	return template.files
}

func recordAnew(t *testing.T) string {
	t.Helper()
	w, dir := newWriter(t)
	record(w, Exchange{Kind: Robots, Method: "GET", URL: robots, CapturedAt: noon}, Head{Status: 404}, "")
	record(w, page(site), html(), "<p>one")
	record(w, page(site), html(), "<p>two")
	record(w, Exchange{Kind: Other, Method: "POST", URL: model, RequestSHA256: sumOfQuestion, CapturedAt: noon}, html(), "answer")
	_, err := w.Close()
	must(t, err)
	return dir
}

// open opens a recording that the test closes.
func open(t *testing.T, dir string, requires ...string) *Recording {
	t.Helper()
	r, err := Open(dir, requires)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// take serves a request and returns n and what it was served.
func take(t *testing.T, r *Recording, method, url, sum string) (n int, text string) {
	t.Helper()
	s, err := r.Take(method, url, sum)
	if errors.Is(err, ErrNotRecorded) {
		return 0, ""
	}
	must(t, err)
	defer s.Body.Close()
	text, err = readAll(s.Body)
	must(t, err)
	return s.N, text
}

func readAll(r io.Reader) (string, error) {
	text, err := io.ReadAll(r)
	return string(text), err
}

// files returns the content of every file in dir, and of links their target.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.Type()&os.ModeSymlink != 0 {
			all[rel], err = os.Readlink(name)
			return err
		}
		if !d.Type().IsRegular() {
			all[rel] = d.Type().String()
			return nil
		}
		text, err := os.ReadFile(name)
		all[rel] = string(text)
		return err
	}))
	return all
}

// edit replaces text in the manifest, once.
func edit(t *testing.T, dir, from, to string) {
	t.Helper()
	name := filepath.Join(dir, manifestName)
	text, err := os.ReadFile(name)
	must(t, err)
	if !strings.Contains(string(text), from) {
		t.Fatalf("the manifest has no %q", from)
	}
	must(t, os.WriteFile(name, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}
