package recording

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestO64_EachExchangeIsServedOnceInRecordedOrder(t *testing.T) {
	r := open(t, recorded(t), "page.example", "API.example.")
	for _, step := range []struct {
		name, method, url, sum string
		n                      int
		text                   string
	}{
		{"another method", "HEAD", site, "", 0, ""},
		{"another letter case of it", "get", site, "", 0, ""},
		{"another URL", "GET", site + "?", "", 0, ""},
		{"a body where none was recorded", "GET", site, sumOfQuestion, 0, ""},
		{"no body where one was", "POST", model, "", 0, ""},
		{"the first of two", "GET", site, "", 2, "<p>one"},
		{"another request in between", "GET", robots, "", 1, ""},
		{"the second", "GET", site, "", 3, "<p>two"},
		{"no third", "GET", site, "", 0, ""},
		{"the same body", "POST", model, sumOfQuestion, 4, "answer"},
		{"it again", "POST", model, sumOfQuestion, 0, ""},
	} {
		if n, text := take(t, r, step.method, step.url, step.sum); n != step.n || text != step.text {
			t.Errorf("%s: %d %q, want %d %q", step.name, n, text, step.n, step.text)
		}
	}
	for _, u := range r.Uses() {
		if !u.Taken || u.Served != u.BodySHA256 {
			t.Errorf("not served: %+v", u)
		}
	}
}

func TestO66_WhatIsUnusedAndTheDigest(t *testing.T) {
	dir := recorded(t)
	r := open(t, dir)
	take(t, r, "GET", site, "")
	halfRead, err := r.Take("GET", site, "")
	must(t, err)
	_, err = io.ReadFull(halfRead.Body, make([]byte, 3))
	must(t, err)
	halfRead.Body.Close()
	type use struct {
		N      int
		Taken  bool
		Served string
	}
	var uses []use
	for _, u := range r.Uses() {
		uses = append(uses, use{u.N, u.Taken, u.Served})
	}
	if diff := cmp.Diff([]use{{1, false, ""}, {2, true, digest([]byte("<p>one"))}, {3, true, ""}, {4, false, ""}}, uses); diff != "" {
		t.Error(diff)
	}
	if want := digest([]byte(files(t, dir)[manifestName])); r.Digest() != want {
		t.Errorf("digest %s, want %s", r.Digest(), want)
	}
	if all := r.Exchanges(); len(all) != 4 || all[3].RequestSHA256 != sumOfQuestion || all[3].Host() != "api.example" || !all[3].CapturedAt.Equal(noon) || all[1].BodySHA256 != digest([]byte("<p>one")) {
		t.Errorf("%+v", all)
	}
}

func TestO64_RequestsAtOnceGetOneExchangeEach(t *testing.T) {
	w, dir := newWriter(t)
	const n = 100
	for range n {
		record(w, page(site), html(), "same")
	}
	_, err := w.Close()
	must(t, err)
	r := open(t, dir)
	var wg sync.WaitGroup
	served := make(chan int, 2*n)
	for range 2 * n {
		wg.Go(func() {
			if s, err := r.Take("GET", site, ""); err == nil {
				s.Body.Close()
				served <- s.N
			} else if !errors.Is(err, ErrNotRecorded) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(served)
	seen := map[int]bool{}
	for k := range served {
		if seen[k] {
			t.Errorf("%d was served twice", k)
		}
		seen[k] = true
	}
	if len(seen) != n {
		t.Errorf("%d were served, want %d", len(seen), n)
	}
}

func TestO63_ARecordingThatChangesWhileItIsServed(t *testing.T) {
	for name, change := range map[string]func(body, head string) error{
		"another body":     func(body, _ string) error { return os.WriteFile(body, []byte("<p>ONE"), 0o600) },
		"a longer body":    func(body, _ string) error { return os.WriteFile(body, []byte("<p>one more"), 0o600) },
		"a shorter body":   func(body, _ string) error { return os.WriteFile(body, []byte("<p>"), 0o600) },
		"no body":          func(body, _ string) error { return os.Remove(body) },
		"another head":     func(_, head string) error { return os.WriteFile(head, []byte(`{"fields":[],"status":200}`), 0o600) },
		"no head":          func(_, head string) error { return os.Remove(head) },
		"a link to a body": func(body, _ string) error { return errors.Join(os.Rename(body, body+"x"), os.Symlink(body+"x", body)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := recorded(t)
			r := open(t, dir)
			x := r.Exchanges()[1]
			must(t, change(filepath.Join(dir, x.Body), filepath.Join(dir, x.Head)))
			s, err := r.Take("GET", site, "")
			if err == nil {
				defer s.Body.Close()
				var text string
				text, err = readAll(iotest.OneByteReader(s.Body))
				if len(text) >= len("<p>one") {
					t.Errorf("a whole body of other octets: %q", text)
				}
			}
			if !errors.Is(err, ErrChanged) {
				t.Errorf("%v, want ErrChanged", err)
			}
		})
	}
}
