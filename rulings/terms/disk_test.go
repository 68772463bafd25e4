package terms

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// originFiles returns the names in origins/ that are no temporary or lock files.
func originFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "origins", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
}

func TestT13T14SpellingsOfAnOriginShareAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, address := range []string{"a.example:443", "a.example:80", "a.example:8080", "192.0.2.1:80"} {
			w.serve(address, text(rules))
		}
		dir := t.TempDir()
		b := w.open(dir)
		for _, o := range [][2]string{
			{"https", "A.Example."}, {"https", "a.example"}, {"https", "a.example:443"}, {"https", "%61.example"},
			{"http", "a.example"}, {"http", "a.example:8080"}, {"http", "3221225985"}, {"http", "192.0.2.1"},
		} {
			b.Robots(t.Context(), origin(t, o[0], o[1]))
		}
		closeBook(t, b)
		want := []string{"192.0.2.1_http_80.json", "a.example.json", "a.example_http_80.json", "a.example_http_8080.json"}
		if diff := cmp.Diff(want, originFiles(t, dir)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		if w.asked() != len(want) {
			t.Errorf("%d probes for %d origins", w.asked(), len(want))
		}
	})
}

func TestT14AnOriginsFileHoldsWhatWasAskedAndAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, hops(1, text(rules)))
		dir := t.TempDir()
		b := w.open(dir)
		b.Robots(t.Context(), o)
		time.Sleep(36 * time.Hour)
		s.set(status(502))
		b.Robots(t.Context(), o)
		closeBook(t, b)
		got, err := os.ReadFile(filepath.Join(dir, "origins", "site.test_http_80.json"))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"format":"wayleave-terms-origin/1","origin":"http://site.test","asked":"http://site.test/robots.txt",` +
			`"status":502,"outcome":"unreachable","cause":"it was answered with status 502",` +
			`"fetched_at":"2000-01-02T12:00:00Z","expires_at":"2000-01-02T12:05:00Z",` +
			`"held":{"status":200,"outcome":"read","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-02T00:00:00Z",` +
			`"final_url":"http://site.test/1","redirects":["http://site.test/1"],` +
			`"object":"` + rulings.Digest(sha256.Sum256([]byte(rules))).String() + `","size":33}}` + "\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("file (-want +got):\n%s", diff)
		}
	})
}

// A file that cannot be understood costs a probe and nothing else. Each damage
// is done to a whole, live file.
func TestT20AnUnreadableCacheFileReadsAsEmpty(t *testing.T) {
	const name = "origins/site.test_http_80.json"
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"no octets", rewrite(name, func([]byte) []byte { return nil })},
		{"half of it", rewrite(name, func(b []byte) []byte { return b[:len(b)/2] })},
		{"no JSON", rewrite(name, func([]byte) []byte { return []byte("read\n") })},
		{"two values", rewrite(name, func(b []byte) []byte { return append(b, b...) })},
		{"another format", rewrite(name, replace("wayleave-terms-origin/1", "wayleave-terms-origin/2"))},
		{"another origin", rewrite(name, replace(`"origin":"http://site.test"`, `"origin":"http://site.test:8080"`))},
		{"another URL", rewrite(name, replace(`"asked":"http://site.test/robots.txt"`, `"asked":"http://site.test/"`))},
		{"an unknown outcome", rewrite(name, replace(`"outcome":"read"`, `"outcome":"allowed"`))},
		{"an outcome that the status does not have", rewrite(name, replace(`"status":200`, `"status":503`))},
		{"no object", rewrite(name, replace(`"object":"sha256:`, `"objekt":"sha256:`))},
		{"a digest that is none", rewrite(name, replace(`"object":"sha256:`, `"object":"sha256:00`))},
		{"a life beyond a day", rewrite(name, replace(`"expires_at":"2000-01-02`, `"expires_at":"2020-01-02`))},
		{"a probe in the future", rewrite(name, replace(`2000-01-0`, `2001-01-0`))},
		{"no time", rewrite(name, replace(`"fetched_at":"2000-01-01T`, `"fetched_at":"0001-01-01T`))},
		{"more octets than a file has", rewrite(name, func(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), maxCacheFile)...) })},
		{"a directory in its place", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, name))
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link in its place", func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path)); err != nil {
				t.Fatal(err)
			}
		}},
		{"its object gone", func(t *testing.T, dir string) { remove(t, objectOf(dir, rules)) }},
		{"its object damaged", func(t *testing.T, dir string) { write(t, objectOf(dir, rules), strings.ToUpper(rules)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, o := site(t, text(rules))
				dir := t.TempDir()
				b := w.open(dir)
				b.Robots(t.Context(), o)
				closeBook(t, b)
				tt.damage(t, dir)

				b = w.open(dir)
				if got := b.Robots(t.Context(), o); got.Cache != rulings.CacheFetched || refuses(o, "/private", got) != rulings.RobotsDisallow {
					t.Errorf("%+v", got)
				}
				if w.asked() != 2 {
					t.Errorf("%d requests, want a second one", w.asked())
				}
			})
		})
	}
}

// The undamaged file is used, or the test above would show nothing.
func TestT20AWholeCacheFileIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rules))
		dir := t.TempDir()
		b := w.open(dir)
		first := b.Robots(t.Context(), o)
		closeBook(t, b)
		got := w.open(dir).Robots(t.Context(), o)
		first.Cache = rulings.CacheReused
		if diff := cmp.Diff(first.Term, got.Term); diff != "" || w.asked() != 1 {
			t.Errorf("after %d requests (-before +after):\n%s", w.asked(), diff)
		}
	})
}

func rewrite(name string, change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(bytes.Clone(data))
		if bytes.Equal(changed, data) {
			t.Fatal("the damage changed nothing")
		}
		write(t, path, string(changed))
	}
}

func replace(from, to string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
}

func objectOf(dir, body string) string {
	sum := rulings.Digest(sha256.Sum256([]byte(body))).String()
	return filepath.Join(dir, "objects", strings.TrimPrefix(sum, "sha256:"))
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// block puts a file where the directory sub of the book was, so that nobody,
// root included, can write or read in it. It returns what undoes that.
func block(t *testing.T, dir, sub string) (unblock func()) {
	t.Helper()
	path := filepath.Join(dir, sub)
	if err := os.Rename(path, path+".aside"); err != nil {
		t.Fatal(err)
	}
	write(t, path, "")
	return func() {
		remove(t, path)
		if err := os.Rename(path+".aside", path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestT20ACacheThatCannotBeWrittenCostsAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rules))
		dir := t.TempDir()
		var logged bytes.Buffer
		b := w.open(dir, func(opt *Options) { opt.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
		defer block(t, dir, "origins")()
		for range 2 {
			if got := b.Robots(t.Context(), o); got.Unwritten || refuses(o, "/private", got) != rulings.RobotsDisallow {
				t.Errorf("%+v", got)
			}
		}
		if w.asked() != 1 {
			t.Errorf("%d probes by one book", w.asked())
		}
		closeBook(t, b)
		if !strings.Contains(logged.String(), "terms cache not written") {
			t.Errorf("logged: %s", &logged)
		}
		if got := w.open(dir+"-other").Robots(t.Context(), o); got.Outcome != rulings.TermRead || w.asked() != 2 {
			t.Errorf("%+v after %d probes", got, w.asked())
		}
	})
}
