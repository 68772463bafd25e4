package terms

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

const reservation = `[{"location":"/","tdm-reservation":1}]`

// Every line of T96, with the limits of T69.
func TestT96EveryLineOfTheTable(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		prepare func(*world)
		want    rulings.Term // Outcome, Status, Truncated and Cause count
		life    time.Duration
		object  string // octets that are kept; empty for none
	}{
		{name: "a 200 is read", handler: text(reservation), want: rulings.Term{Outcome: "read", Status: 200}, life: day, object: reservation},
		{name: "a shorter max-age is its life", handler: maxAge(60, reservation), want: rulings.Term{Outcome: "read", Status: 200}, life: time.Minute, object: reservation},
		{name: "gzip is undone", handler: coded("gzip", gzipped([]byte(reservation))), want: rulings.Term{Outcome: "read", Status: 200}, life: day, object: reservation},
		{name: "a redirect is followed, whatever the robots.txt there says", handler: redirectTo("http://other.test/tdm"), prepare: func(w *world) {
			w.serve("other.test:80", pages{"/tdm": text(reservation), "/robots.txt": text(refusesAll)})
		}, want: rulings.Term{Outcome: "read", Status: 200}, life: day, object: reservation},
		{name: "a 404 is missing for a day", handler: status(404), want: rulings.Term{Outcome: "missing", Status: 404}, life: day},
		{name: "a 410 is missing for a day", handler: status(410), want: rulings.Term{Outcome: "missing", Status: 410}, life: day},
		{name: "what is not JSON is unread for its life", handler: maxAge(60, `[{"location":"/"`), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "invalid: what stands there is no tdmrep.json"}, life: time.Minute, object: `[{"location":"/"`},
		{name: "what is no array is unread for its life", handler: text(`{"location":"/","tdm-reservation":1}`), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "invalid: what stands there is no tdmrep.json"}, life: day, object: `{"location":"/","tdm-reservation":1}`},
		{name: "one that is too long is unread for its life", handler: text(strings.Repeat(" ", robots.MaxBytes) + reservation), want: rulings.Term{Outcome: "unread", Status: 200, Truncated: true, Cause: "too_large: it is longer than 524,288 octets"}, life: day},
		{name: "a 403 is unread", handler: status(403), want: rulings.Term{Outcome: "unread", Status: 403, Cause: "status: it was answered with status 403"}, life: 5 * time.Minute},
		{name: "a 503 is unread", handler: status(503), want: rulings.Term{Outcome: "unread", Status: 503, Cause: "status: it was answered with status 503"}, life: 5 * time.Minute},
		{name: "a refused connection is unread", prepare: func(w *world) { w.remove("site.test:80", syscall.ECONNREFUSED) }, want: rulings.Term{Outcome: "unread", Cause: "transport: no connection gave an answer"}, life: 5 * time.Minute},
		{name: "silence for 5 s is unread", handler: silent, want: rulings.Term{Outcome: "unread", Cause: "transport: no whole answer came within 5 seconds"}, life: 5 * time.Minute},
		{name: "a back-off that does not fit is cut short", handler: text(reservation), prepare: func(w *world) { w.setEdge(FailureBackoff) }, want: rulings.Term{Outcome: "cut_short", Cause: "the back-off of the host does not fit the budget"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if tt.handler != nil {
					w.serve("site.test:80", tt.handler)
				}
				if tt.prepare != nil {
					tt.prepare(w)
				}
				var probe Probe
				b := w.open(t.TempDir(), func(o *Options) { o.Record = func(_ context.Context, p Probe) { probe = p } })
				o := origin(t, "http", "site.test")
				got := b.TDM(t.Context(), o)
				if diff := cmp.Diff(tt.want, rulings.Term{Outcome: got.Outcome, Status: got.Status, Truncated: got.Truncated, Cause: got.Cause}); diff != "" {
					t.Errorf("term (-want +got):\n%s", diff)
				}
				if life := got.ExpiresAt.Sub(got.FetchedAt); life != tt.life {
					t.Errorf("good for %v, want %v", life, tt.life)
				}
				var object rulings.Digest
				if tt.object != "" {
					object = sha256.Sum256([]byte(tt.object))
				}
				if got.Object != object || (got.File != nil) != (tt.want.Outcome == "read") {
					t.Errorf("%+v", got)
				}
				if u := "http://site.test/.well-known/tdmrep.json"; got.URL != u || probe.URL != u || probe.Kind != rulings.TermTDM || got.Kind != rulings.TermTDM {
					t.Errorf("term %+v, probe %+v", got.Term, probe)
				}
				asked := w.asked()
				if again := b.TDM(t.Context(), o); (again.Cache == rulings.CacheReused) != (tt.life > 0) {
					t.Errorf("a second use got %+v", again.Term)
				}
				if kept := w.asked() == asked; kept != (tt.life > 0 || tt.want.Outcome == "cut_short") {
					t.Errorf("%d requests for a second use", w.asked()-asked)
				}
			})
		})
	}
}

func TestT12FiftyCrossingsShareTheProbeOfTDMRep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, slowly(time.Second, text(reservation)))
		b := w.open(t.TempDir())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if got := b.TDM(t.Context(), o); got.Outcome != rulings.TermRead || got.File == nil {
					t.Errorf("%+v", got)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"site.test/.well-known/tdmrep.json"}, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// Nothing is held of a tdmrep.json whose life is over, and nothing takes a live
// one away before (T96, T123).
func TestT123TDMRepIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, text(reservation))
		b := w.open(t.TempDir())
		if got, ok := b.HeldTDM(o); ok {
			t.Errorf("before it was asked for there is %+v", got)
		}
		b.TDM(t.Context(), o)
		s.set(status(503))
		time.Sleep(time.Hour)
		if got := b.RefreshTDM(t.Context(), o); got.Outcome != rulings.TermRead || got.File == nil {
			t.Errorf("a refresh that failed left %+v", got.Term)
		}
		if got, ok := b.HeldTDM(o); !ok || got.File == nil {
			t.Errorf("held: %+v, %v", got, ok)
		}
		time.Sleep(23 * time.Hour)
		asked := w.asked()
		if got, ok := b.HeldTDM(o); ok || w.asked() != asked {
			t.Errorf("when its life is over there is %+v", got)
		}
		if got := b.TDM(t.Context(), o); got.Outcome != rulings.TermUnread || got.File != nil {
			t.Errorf("%+v", got)
		}
		s.set(text("[]"))
		if got := b.RefreshTDM(t.Context(), o); got.Outcome != rulings.TermRead {
			t.Errorf("a refresh that was answered: %+v", got.Term)
		}
	})
}
