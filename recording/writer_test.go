package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestO62_TheFormOfARecording(t *testing.T) {
	w, dir := newWriter(t)
	x := page("https://page.example/a?b=<c>&d")
	x.RequestSHA256 = sumOfQuestion
	record(w, x, Head{Status: 200, Fields: []Field{{"content-type", "text/html"}, {"Set-Cookie", "secret=1"}, {"X-A", "1"}, {"WWW-Authenticate", "Basic"}, {"X-A", "2"}, {"SET-COOKIE", "secret=2"}}}, "<p>one")
	s, err := w.Close()
	must(t, err)
	head := `{"fields":[["content-type","text/html"],["X-A","1"],["WWW-Authenticate","Basic"],["X-A","2"]],"status":200}`
	headSum, bodySum := strings.TrimPrefix(digest([]byte(head)), "sha256:"), strings.TrimPrefix(digest([]byte("<p>one")), "sha256:")
	want := map[string]string{
		"heads/" + headSum + ".json": head,
		"bodies/" + bodySum:          "<p>one",
		manifestName: `{
  "format": "wayleave-recording/1",
  "created_at": "2026-03-01T12:00:00.000Z",
  "ruleset": "wayleave-rules/1",
  "exchanges": [
    {
      "n": 1,
      "kind": "page",
      "method": "GET",
      "url": "https://page.example/a?b=<c>&d",
      "request_sha256": "` + sumOfQuestion + `",
      "captured_at": "2026-03-01T12:00:00.000Z",
      "head": "heads/` + headSum + `.json",
      "head_sha256": "sha256:` + headSum + `",
      "body": "bodies/` + bodySum + `",
      "body_sha256": "sha256:` + bodySum + `",
      "body_bytes": 6
    }
  ]
}
`}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s.Digest != digest([]byte(want[manifestName])) || len(s.Exchanges) != 1 || len(s.LeftOut) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestO62_OnlyThisUserReadsARecording(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := recordAnew(t)
	must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	}))
}

func TestO62_HeadsComeBackAsTheyWere(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, h := range map[string]Head{
		"no fields":           {Status: 204},
		"fields of one name":  {Status: 200, Fields: []Field{{"Link", "<a>"}, {"X", ""}, {"Link", "<b>"}, {"link", "<c>"}}},
		"every octet":         {Status: 599, Fields: []Field{{"X", string(every)}}},
		"UTF-8, quotes, HTML": {Status: 200, Fields: []Field{{"X", "é\u2028\"\\<&>\x7f"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newWriter(t)
			record(w, page(site), h, "")
			_, err := w.Close()
			must(t, err)
			s, err := open(t, dir).Take("GET", site, "")
			must(t, err)
			defer s.Body.Close()
			if diff := cmp.Diff(h, s.Head); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestO62_CredentialsAndCookiesAreLeftOut(t *testing.T) {
	for _, name := range []string{"Set-Cookie", "set-cookie", "SET-COOKIE2", "Authentication-Info", "proxy-authentication-info", "Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-CSRF-Token"} {
		if !Secret(name) {
			t.Errorf("%s would be recorded", name)
		}
	}
	for _, name := range []string{"WWW-Authenticate", "Proxy-Authenticate", "Location", "Link", "Content-Signal", "Crawler-Price", "Payment-Response", "Retry-After"} {
		if Secret(name) {
			t.Errorf("%s would be left out, and terms hang on it", name)
		}
	}
	w, dir := newWriter(t)
	const canary = "canary-4711"
	var fields []Field
	for _, name := range secrets {
		fields = append(fields, Field{name, canary}, Field{strings.ToLower(name), canary})
	}
	record(w, page(site), html(fields...), "")
	_, err := w.Close()
	must(t, err)
	for name, text := range files(t, dir) {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds a credential: %s", name, text)
		}
	}
}

func TestO62_ExchangesAtOnceAreRecordedInTheirOrder(t *testing.T) {
	w, dir := newWriter(t)
	const n = 60
	entries := make([]*Entry, n)
	for i := range n {
		entries[i] = w.Add(page(fmt.Sprintf("https://page.example/%d", i)), html())
	}
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			for range 1 + i%7 {
				fmt.Fprintf(e, "part of %d;", i%5) // bodies that are alike share a file
			}
			e.Done()
		})
	}
	wg.Wait()
	_, err := w.Close()
	must(t, err)
	r := open(t, dir)
	for i, x := range r.Exchanges() {
		_, text := take(t, r, "GET", fmt.Sprintf("https://page.example/%d", i), "")
		if want := strings.Repeat(fmt.Sprintf("part of %d;", i%5), 1+i%7); text != want || x.N != i+1 || !strings.HasSuffix(x.URL, fmt.Sprintf("/%d", i)) {
			t.Errorf("exchange %d: %q, want %q: %+v", i+1, text, want, x)
		}
	}
}

func TestO62_ABodyThatBrokeOffIsLeftOut(t *testing.T) {
	w, dir := newWriter(t)
	record(w, page(site), html(), "one")
	cut := w.Add(page(site), html())
	_, _ = io.WriteString(cut, "tw")
	cut.Abandon("the upstream broke off")
	cut.Done()
	record(w, page(site), html(), "three")
	s, err := w.Close()
	must(t, err)
	if diff := cmp.Diff([]LeftOut{{"GET", site, "the upstream broke off"}}, s.LeftOut); diff != "" {
		t.Error(diff)
	}
	r := open(t, dir)
	for n, want := range []string{"one", "three"} {
		if got, text := take(t, r, "GET", site, ""); got != n+1 || text != want {
			t.Errorf("%d %q, want %d %q", got, text, n+1, want)
		}
	}
	wantFiles(t, dir, 1+1+2)
}

// wantFiles fails unless dir holds n files, and no part of one.
func wantFiles(t *testing.T, dir string, n int) {
	t.Helper()
	all := files(t, dir)
	for name := range all {
		if strings.Contains(filepath.Base(name), ".part") || strings.Contains(name, ".tmp-") {
			t.Errorf("%s was left", name)
		}
	}
	if len(all) != n {
		t.Errorf("%d files, want %d: %v", len(all), n, all)
	}
}

func TestO62_ADirectoryThatHoldsSomethingIsNoneForARecording(t *testing.T) {
	dir := recorded(t)
	before := files(t, dir)
	if w, err := Create(dir, Options{Ruleset: "r"}); !errors.Is(err, ErrNotEmpty) || w != nil {
		t.Errorf("%v, %v", w, err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := Create(filepath.Join(dir, manifestName), Options{Ruleset: "r"}); err == nil {
		t.Error("a file passes for a directory")
	}
	empty := t.TempDir()
	if _, err := Create(empty, Options{}); err == nil {
		t.Error("a recording of no rule set")
	}
	w, err := Create(empty, Options{Ruleset: "r"})
	must(t, err)
	_, err = w.Close()
	must(t, err)
	if r := open(t, empty); len(r.Exchanges()) != 0 {
		t.Error(r.Exchanges())
	}
}

// A disk that takes no more never reaches the agent, and leaves nothing that could
// be taken for a recording.
func TestO62_AFaultMakesTheRecordingIncomplete(t *testing.T) {
	bodies := func(dir string) string { return filepath.Join(dir, bodiesDir) }
	for name, fault := range map[string]func(dir string, e *Entry) error{
		"no directory for bodies":  func(dir string, _ *Entry) error { return os.Rename(bodies(dir), bodies(dir)+"x") },
		"no directory for heads":   func(dir string, _ *Entry) error { return os.Remove(filepath.Join(dir, headsDir)) },
		"a descriptor that failed": func(_ string, e *Entry) error { return e.file.Close() },
		"no recording any more":    func(dir string, _ *Entry) error { return os.RemoveAll(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newWriter(t)
			e := w.Add(page(site), html())
			must(t, fault(dir, e))
			if n, err := io.WriteString(e, "<p>one"); n != 6 || err != nil {
				t.Errorf("the agent's body: %d, %v", n, err)
			}
			e.Done()
			record(w, page(site), html(), "two")
			var incomplete *IncompleteError
			if s, err := w.Close(); !errors.As(err, &incomplete) || len(incomplete.Faults) == 0 || !strings.Contains(err.Error(), "GET of page.example") || s.Digest != "" {
				t.Errorf("%+v, %v", s, err)
			}
			var faults *FaultsError
			if _, err := Open(dir, nil); !errors.As(err, &faults) {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

func TestO62_WhatNoRecordingCanHold(t *testing.T) {
	for name, x := range map[string]Exchange{
		"a relative URL":         page("/a"),
		"an opaque URL":          page("https:a"),
		"another scheme":         page("ftp://page.example/a"),
		"a user in the URL":      page("https://u:p@page.example/a"),
		"a URL that is no UTF-8": page("https://page.example/\xff"),
		"no method":              {Kind: Page, URL: site},
		"no kind":                {Method: "GET", URL: site},
		"no digest":              {Kind: Page, Method: "GET", URL: site, RequestSHA256: "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newWriter(t)
			record(w, x, html(), "x")
			var incomplete *IncompleteError
			if _, err := w.Close(); !errors.As(err, &incomplete) {
				t.Errorf("%v", err)
			}
			wantFiles(t, dir, 0)
		})
	}
	w, _ := newWriter(t)
	record(w, page(site), Head{Status: 200, Fields: []Field{{"a b", ""}}}, "x")
	record(w, page(site), Head{}, "x")
	var incomplete *IncompleteError
	if _, err := w.Close(); !errors.As(err, &incomplete) || len(incomplete.Faults) != 2 {
		t.Errorf("%v", err)
	}
}

func TestO62_AnExchangeThatDoesNotEndIsMissing(t *testing.T) {
	w, dir := newWriter(t)
	e := w.Add(page(site), html())
	var incomplete *IncompleteError
	if _, err := w.Close(); !errors.As(err, &incomplete) {
		t.Errorf("%v", err)
	}
	_, _ = io.WriteString(e, "late")
	e.Done()
	record(w, page(site), html(), "later")
	if _, err := w.Close(); err == nil {
		t.Error("closed twice")
	}
	if _, err := os.Stat(filepath.Join(dir, manifestName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a manifest: %v", err)
	}
}
