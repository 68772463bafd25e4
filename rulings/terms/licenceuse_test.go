package terms

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// What cannot be asked for is unread, and nothing is.
func TestT56ALicenceThatCannotBeAskedForIsUnread(t *testing.T) {
	w := newWorld(t)
	b := w.open(t.TempDir())
	page := origin(t, "https", "page.test")
	for _, url := range []string{
		"", "/l.xml", "ftp://page.test/l.xml", "https://", "https://a..b/l.xml", "https://user:secret@page.test/l.xml",
		"https://page.test:0/l.xml", "https:l.xml", "https://page.test/\x7f", "https://page.test/" + strings.Repeat("a", maxURL),
	} {
		got := licenceOf(t, b, page, url)
		if got.Outcome != rulings.TermUnread || got.Unread != rulings.CauseScheme || got.URL != url || got.Cause == "" || !got.ExpiresAt.IsZero() {
			t.Errorf("%.40q: %+v", url, got)
		}
		if held, ok := b.HeldLicence(byRobots(url), page, nil, nil); !ok || held.Unread != rulings.CauseScheme {
			t.Errorf("%.40q held: %+v, %v", url, held, ok)
		}
	}
	if n := w.asked(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// Spellings of one URL are one licence, told by the name each page gives it.
func TestT13SpellingsOfALicencesURLShareAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", text(rsl))
		b := w.open(t.TempDir())
		page := origin(t, "http", "site.test")
		for _, url := range []string{"http://site.test/l.xml", "HTTP://SITE.test.:80/l.xml", "http://site.test/l.xml#content"} {
			if got := licenceOf(t, b, page, url); got.Outcome != rulings.TermRead || got.URL != url || got.FinalURL != "" {
				t.Errorf("%+v", got.Term)
			}
		}
		if n := w.asked(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestT12FiftyCrossingsShareTheProbeOfALicence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("licences.test:80", pages{"/l.xml": slowly(time.Second, text(rsl))})
		b := w.open(t.TempDir())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got := licenceOf(t, b, origin(t, "http", "page.test"), "http://licences.test/l.xml")
				if got.Outcome != rulings.TermRead || got.Cache != rulings.CacheFetched {
					t.Errorf("%+v", got)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"licences.test/robots.txt", "licences.test/l.xml"}, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		for _, r := range w.seen() {
			want := http.Header{"User-Agent": {"wayleave/1.0"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"}}
			if diff := cmp.Diff(want, r.Header); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.URL, diff)
			}
		}
	})
}

func TestT69ALicenceOverHTTPForAPageOverHTTPSIsReadAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", pages{"/l.xml": text(rsl), "/up.xml": redirectTo("https://site.test/l.xml")})
		w.serve("site.test:443", pages{"/l.xml": text(rsl), "/down.xml": redirectTo("http://site.test/l.xml"), "/403.xml": redirectTo("http://site.test/gone.xml")})
		b := w.open(t.TempDir())
		for _, tt := range []struct {
			scheme, url string
			want        bool
		}{
			{"https", "http://site.test/l.xml", true},
			{"https", "HTTP://site.test/l.xml", true},
			{"https", "https://site.test/down.xml", true},
			{"https", "https://site.test/403.xml", true}, // missing there
			{"https", "http://site.test/up.xml", false},
			{"https", "https://site.test/l.xml", false},
			{"http", "http://site.test/l.xml", false},
			{"http", "https://site.test/down.xml", false},
		} {
			for _, use := range []string{"first", "second"} {
				got := licenceOf(t, b, origin(t, tt.scheme, "site.test"), tt.url)
				if got.OverHTTP != tt.want || got.Outcome != rulings.TermRead && got.Outcome != rulings.TermMissing {
					t.Errorf("%s for %s, %s use: %+v", tt.url, tt.scheme, use, got)
				}
			}
		}
	})
}

func TestT70AnExpiredLicenceThatCannotBeReadAgainIsUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, page := site(t, text(rsl))
		dir := t.TempDir()
		b := w.open(dir)
		licenceOf(t, b, page, licenceURL)
		s.set(status(503))
		time.Sleep(day - time.Nanosecond)
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead {
			t.Errorf("while it is live: %+v", got.Term)
		}
		time.Sleep(time.Nanosecond)
		got := licenceOf(t, b, page, licenceURL)
		if got.Outcome != rulings.TermUnread || got.Unread != rulings.CauseStatus || got.Licence != nil || got.Object != (rulings.Digest{}) {
			t.Errorf("when it is over: %+v", got)
		}
		closeBook(t, b)
		asked := w.asked()
		b = w.open(dir)
		again := licenceOf(t, b, page, licenceURL)
		got.Cache = rulings.CacheReused
		if diff := cmp.Diff(got.Term, again.Term); diff != "" || again.Licence != nil || w.asked() != asked {
			t.Errorf("after a restart and %d requests (-before +after):\n%s", w.asked()-asked, diff)
		}
		s.set(text(rsl))
		time.Sleep(5 * time.Minute)
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead {
			t.Errorf("5 minutes later: %+v", got.Term)
		}
	})
}

// Cut short is not kept either, and an expired copy does not rule meanwhile.
func TestT70ALicenceThatTheEdgeCannotAskForIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, page := site(t, maxAge(60, rsl))
		b := w.open(t.TempDir())
		licenceOf(t, b, page, licenceURL)
		time.Sleep(time.Minute)
		w.setEdge(FailureBackoff)
		got := licenceOf(t, b, page, licenceURL)
		if got.Outcome != rulings.TermCutShort || got.Licence != nil || got.Unread != "" || !got.ExpiresAt.IsZero() {
			t.Errorf("%+v", got)
		}
		w.setEdge("")
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead || got.Cache != rulings.CacheFetched {
			t.Errorf("asked again at once: %+v", got.Term)
		}
	})
}

func TestT123AFailureNeverReplacesALiveLicence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, page := site(t, text(rsl))
		b := w.open(t.TempDir())
		refresh := func() rulings.LicenceTerms {
			return b.RefreshLicence(t.Context(), byRobots(licenceURL), page, []string{"wayleave"}, rulings.DefaultPolicy())
		}
		first := licenceOf(t, b, page, licenceURL)
		time.Sleep(time.Hour)
		for name, h := range map[string]http.Handler{"503": status(503), "403": status(403), "broken off": breakOff(rsl, 9), "led astray": redirectTo("ftp://a.test")} {
			s.set(h)
			if got := refresh(); got.Outcome != rulings.TermRead || !got.ExpiresAt.Equal(first.ExpiresAt) || got.Cache != rulings.CacheReused {
				t.Errorf("%s left %+v", name, got.Term)
			}
		}
		w.setEdge(FailureShutdown)
		if got := refresh(); got.Outcome != rulings.TermRead {
			t.Errorf("a refresh that was cut short left %+v", got.Term)
		}
		w.setEdge("")

		// Whatever the source answers is its word.
		for _, tt := range []struct {
			h    http.Handler
			want rulings.TermOutcome
		}{{text(noRSL), rulings.TermUnread}, {text(rsl), rulings.TermRead}, {status(410), rulings.TermMissing}, {maxAge(600, rsl), rulings.TermRead}} {
			s.set(tt.h)
			refresh()
			if got := licenceOf(t, b, page, licenceURL); got.Outcome != tt.want || got.Cache != rulings.CacheReused {
				t.Errorf("%+v, want %s", got.Term, tt.want)
			}
		}
	})
}

func TestHeldLicenceNeverAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("licences.test:80", pages{"/l.xml": maxAge(3600, rsl), "/robots.txt": maxAge(7200, rules)})
		dir := t.TempDir()
		b := w.open(dir)
		page := origin(t, "http", "page.test")
		const url = "http://licences.test/l.xml"
		held := func() (rulings.LicenceTerms, bool) {
			return b.HeldLicence(byRobots(url), page, []string{"wayleave"}, rulings.DefaultPolicy())
		}
		if got, ok := held(); ok {
			t.Errorf("of a licence that was never asked for there is %+v", got)
		}
		b.Robots(t.Context(), origin(t, "http", "licences.test"))
		if got, ok := held(); ok {
			t.Errorf("with a robots.txt alone there is %+v", got)
		}
		licenceOf(t, b, page, url)
		closeBook(t, b)
		asked := w.asked()
		b = w.open(dir)
		if got, ok := held(); !ok || got.Outcome != rulings.TermRead || got.Licence == nil || got.Mechanism != rulings.ByRobots {
			t.Errorf("%+v, %v", got, ok)
		}
		if got, ok := b.HeldLicence(byRobots("http://licences.test/private/l.xml"), page, []string{"wayleave"}, nil); !ok || got.Unread != rulings.CauseRobots {
			t.Errorf("one that robots.txt refuses: %+v, %v", got, ok)
		}
		time.Sleep(time.Hour)
		if got, ok := held(); ok {
			t.Errorf("when its life is over there is %+v", got)
		}
		if w.asked() != asked {
			t.Error("it asked")
		}
	})
}

// The octets that the parser was given are kept, also of a document that it does
// not read (T118).
func TestT117TheOctetsOfALicenceAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, page := site(t, http.NotFoundHandler())
		var probe Probe
		b := w.open(t.TempDir(), func(o *Options) { o.Record = func(_ context.Context, p Probe) { probe = p } })
		for _, tt := range []struct {
			handler http.Handler
			want    string // empty: no object
		}{
			{maxAge(0, rsl), rsl},
			{maxAge(0, noRSL), noRSL},
			{maxAge(0, "no XML"), "no XML"},
			{maxAge(0, strings.Repeat(" ", robots.MaxBytes+1)), ""},
			{status(403), ""},
			{status(404), ""},
		} {
			s.set(tt.handler)
			time.Sleep(5 * time.Minute)
			got := licenceOf(t, b, page, licenceURL)
			var want rulings.Digest
			bytes := int64(-1)
			if tt.want != "" {
				want, bytes = sha256.Sum256([]byte(tt.want)), int64(len(tt.want))
				if body, err := b.Object(want); err != nil || string(body) != tt.want {
					t.Errorf("%q, %v", body, err)
				}
			}
			if got.Object != want || probe.Object != want || probe.Bytes != bytes || !probe.CacheUntil.Equal(got.ExpiresAt) {
				t.Errorf("%.20q: term %+v, probe %+v", tt.want, got.Term, probe)
			}
		}
	})
}

func TestEachKindOfProbeIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, page := site(t, pages{"/l.xml": text(rsl), "/.well-known/tdmrep.json": text("{}")})
		registry := prometheus.NewRegistry()
		b := w.open(t.TempDir(), func(o *Options) { o.Metrics = registry })
		b.Robots(t.Context(), page)
		licenceOf(t, b, page, licenceURL)
		b.TDM(t.Context(), page)
		s.set(http.NotFoundHandler())
		time.Sleep(day)
		licenceOf(t, b, page, licenceURL)
		w.setEdge(FailureShutdown)
		b.TDM(t.Context(), page)
		counts := map[string]float64{
			"wayleave_terms_fetches_total kind=robots outcome=no_rules":  1,
			"wayleave_terms_fetches_total kind=licence outcome=read":     1,
			"wayleave_terms_fetches_total kind=licence outcome=missing":  1,
			"wayleave_terms_fetches_total kind=tdmrep outcome=unread":    1,
			"wayleave_terms_fetches_total kind=tdmrep outcome=cut_short": 1,
			"wayleave_terms_cached_origins":                              1,
		}
		if diff := cmp.Diff(counts, series(t, registry)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestT121AnUnwrittenLicenceStandsAndIsWrittenLater(t *testing.T) {
	for name, body := range map[string]string{"read": rsl, "unread": noRSL} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := site(t, text(body))
				dir := t.TempDir()
				b := w.open(dir)
				unblock := block(t, dir, "objects")
				for range 2 {
					if got := licenceOf(t, b, page, licenceURL); !got.Unwritten || got.Object != (rulings.Digest{}) || string(got.Outcome) != name {
						t.Errorf("%+v", got.Term)
					}
				}
				unblock()
				time.Sleep(objectRetry)
				got := licenceOf(t, b, page, licenceURL)
				if got.Unwritten || got.Object != sha256.Sum256([]byte(body)) || w.asked() != 1 {
					t.Errorf("%+v after %d probes", got.Term, w.asked())
				}
			})
		})
	}
}
