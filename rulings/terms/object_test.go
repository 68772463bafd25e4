package terms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

func TestT117T119TheObjectIsOnDiskBeforeTheRecordThatNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := append(lines(robots.MaxBytes-5), "Disallow: /cut\n"...)
		for _, tt := range []struct {
			name         string
			handler      http.Handler
			want         []byte // nil: no object
			wantOutcome  rulings.TermOutcome
			wantTruncate bool
		}{
			{"as served", text(rules), []byte(rules), rulings.TermRead, false},
			{"without its coding", coded("gzip", gzipped([]byte(rules+"#"))), []byte(rules + "#"), rulings.TermRead, false},
			{"cut at the last whole line", text(string(long)), long[:bytes.LastIndexByte(long[:robots.MaxBytes], '\n')+1], rulings.TermRead, true},
			{"empty", text(""), []byte{}, rulings.TermRead, false},
			{"none of a 4xx", status(404), nil, rulings.TermNoRules, false},
			{"none of an unreachable site", status(500), nil, rulings.TermUnreachable, false},
		} {
			w, _, o := site(t, tt.handler)
			var recorded []byte
			var b *Book
			b = w.open(t.TempDir(), func(opt *Options) {
				opt.Record = func(_ context.Context, p Probe) {
					if p.Object == (rulings.Digest{}) {
						return
					}
					body, err := b.Object(p.Object)
					if err != nil {
						t.Errorf("%s: when recorded: %v", tt.name, err)
					}
					recorded = body
				}
			})
			got := b.Robots(t.Context(), o)
			if !bytes.Equal(recorded, tt.want) || (tt.want == nil) != (got.Object == rulings.Digest{}) {
				t.Errorf("%s: object of %d octets, want %d", tt.name, len(recorded), len(tt.want))
			}
			if got.Outcome != tt.wantOutcome || got.Truncated != tt.wantTruncate {
				t.Errorf("%s: %+v", tt.name, got.Term)
			}
		}
	})
}

// T121: an object that cannot be written is a gap, and the ruling stands. When
// it can be written again, the gap ends with it.
func TestT121AnUnwrittenObjectIsAGapAndTheRulingStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rules))
		dir := t.TempDir()
		var probe Probe
		b := w.open(dir, func(opt *Options) { opt.Record = func(_ context.Context, p Probe) { probe = p } })
		unblock := block(t, dir, "objects")
		for range 2 {
			got := b.Robots(t.Context(), o)
			if !got.Unwritten || got.Object != (rulings.Digest{}) || refuses(o, "/private", got) != rulings.RobotsDisallow {
				t.Errorf("%+v", got)
			}
		}
		if probe.Object != (rulings.Digest{}) {
			t.Error("the record names an object that is not there")
		}
		synctest.Wait()
		if files := originFiles(t, dir); len(files) > 0 {
			t.Errorf("%v name an object that is not there", files)
		}
		time.Sleep(objectRetry)
		if got := b.Robots(t.Context(), o); !got.Unwritten {
			t.Errorf("while nothing can be written: %+v", got)
		}
		unblock()
		time.Sleep(objectRetry)
		got := b.Robots(t.Context(), o)
		if got.Unwritten || got.Object != sha256.Sum256([]byte(rules)) || w.asked() != 1 {
			t.Errorf("%+v after %d probes", got, w.asked())
		}
		if _, err := b.Object(got.Object); err != nil {
			t.Error(err)
		}
		closeBook(t, b)
		if files := originFiles(t, dir); len(files) != 1 {
			t.Errorf("files: %v", files)
		}
	})
}

func TestT117ObjectsAreWrittenOnceAndVerified(t *testing.T) {
	b := newWorld(t).open(t.TempDir())
	d, err := b.PutObject([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	replaced := watch(t, objectOf(b.dir, rules))
	if again, err := b.PutObject([]byte(rules)); again != d || err != nil {
		t.Errorf("a second time: %v, %v", again, err)
	}
	if replaced() {
		t.Error("the object was written twice")
	}
	if got, err := b.Object(d); err != nil || string(got) != rules {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Object(rulings.Digest{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that was never put: %v", err)
	}
}

func TestT117DamagedObjectsAreNamedAndReplaced(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	write(t, elsewhere, rules)
	for _, tt := range []struct {
		name    string
		damage  func(t *testing.T, path string)
		healed  bool
		missing bool
	}{
		{"one octet another", func(t *testing.T, path string) { write(t, path, "u"+rules[1:]) }, true, false},
		{"shorter", func(t *testing.T, path string) { write(t, path, rules[1:]) }, true, false},
		{"longer", func(t *testing.T, path string) { write(t, path, rules+"\n") }, true, false},
		{"gone", remove, true, true},
		{"a link", func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Symlink(elsewhere, path); err != nil {
				t.Fatal(err)
			}
		}, true, false},
		{"a directory", func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newWorld(t).open(t.TempDir())
			d, err := b.PutObject([]byte(rules))
			if err != nil {
				t.Fatal(err)
			}
			tt.damage(t, objectOf(b.dir, rules))
			if _, err := b.Object(d); !errors.Is(err, ErrDamaged) != tt.missing || errors.Is(err, fs.ErrNotExist) != tt.missing {
				t.Errorf("reading it: %v", err)
			}
			if _, err := b.PutObject([]byte(rules)); (err == nil) != tt.healed {
				t.Errorf("putting it again: %v", err)
			}
			if _, err := b.Object(d); (err == nil) != tt.healed {
				t.Errorf("reading it again: %v", err)
			}
		})
	}
}

func TestOpenNeedsADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "")
	if _, err := Open(path, Options{}); err == nil {
		t.Error("a book was opened in a file")
	}
}
