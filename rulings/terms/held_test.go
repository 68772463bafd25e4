package terms

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A run that is recorded asks for all that it needs, or its recording would lack what
// another run had asked for (specs: policy, O62).
func TestO62_ABookThatHoldsElsewhereAsksAnewAndKeepsItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		dir, held := t.TempDir(), t.TempDir()
		for i, elsewhere := range []string{"", held, held, ""} {
			b := newWorld(t).open(dir, func(o *Options) { o.Client, o.Held = answering(rules, &asked), elsewhere })
			got := b.Robots(t.Context(), hostkey.Origin{Scheme: "http", Host: "site.test", Port: 80})
			if err := b.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := int64(1)
			if i > 0 {
				want = 2 // the second book alone did not find what the first had asked for
			}
			if asked.Load() != want || got.Outcome != rulings.TermRead {
				t.Errorf("book %d: %d probes, want %d: %+v", i, asked.Load(), want, got.Term)
			}
		}
		if objects, err := os.ReadDir(filepath.Join(dir, "objects")); err != nil || len(objects) != 1 {
			t.Errorf("%d objects, %v", len(objects), err)
		}
		if entries, err := os.ReadDir(filepath.Join(held, "objects")); err == nil {
			t.Errorf("objects elsewhere: %v", entries)
		}
	})
}

type kindClient struct {
	Client
	kinds *[]string
}

func (c kindClient) Get(ctx context.Context, url string, h http.Header) (*http.Response, error) {
	*c.kinds = append(*c.kinds, url+" "+string(KindOf(ctx)))
	return c.Client.Get(ctx, url, h)
}

func TestO62_AClientIsToldWhatKindOfDocumentItAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", hops(1, text(rules)))
		var kinds []string
		b := w.open(t.TempDir(), func(o *Options) { o.Client = kindClient{o.Client, &kinds} })
		b.Robots(t.Context(), hostkey.Origin{Scheme: "http", Host: "site.test", Port: 80})
		if diff := cmp.Diff([]string{"http://site.test/robots.txt robots", "http://site.test/1 robots"}, kinds); diff != "" {
			t.Error(diff)
		}
	})
}
