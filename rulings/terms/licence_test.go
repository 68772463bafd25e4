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

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// rsl is a whole RSL document; noRSL is XML that is none.
const (
	rsl   = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`
	noRSL = `<rss version="2.0"></rss>`

	noContent = `<rsl xmlns="https://rslstandard.org/rsl"></rsl>` // invalid (T74)
)

// licenceOf asks b for the licence at url on account of a page of the origin page.
func licenceOf(t *testing.T, b *Book, page hostkey.Origin, url string) rulings.LicenceTerms {
	t.Helper()
	return b.Licence(t.Context(), byRobots(url), page, []string{"wayleave"}, rulings.DefaultPolicy())
}

func byRobots(url string) rulings.Need {
	return rulings.Need{Kind: rulings.TermLicence, URL: url, Mechanism: rulings.ByRobots}
}

// pages answers each path by its handler and every other with 404.
type pages map[string]http.Handler

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p[r.URL.Path]
	if h == nil {
		h = http.NotFoundHandler()
	}
	h.ServeHTTP(w, r)
}

// askedFor returns host and target of the requests that reached an origin.
func (w *world) askedFor() []string {
	var all []string
	for _, r := range w.seen() {
		all = append(all, r.Host+r.RequestURI)
	}
	return all
}

const licenceURL = "http://site.test/l.xml"

// Every line of the table of T69, each with its variants, for a licence on the
// page's own origin.
var licenceFetches = []struct {
	name    string
	handler http.HandlerFunc
	prepare func(*world)
	want    rulings.Term // Outcome, Status, FinalURL, Truncated, Size and Cause count
	life    time.Duration
	unread  rulings.Cause
	barred  rulings.Reason
	kind    FailureKind
}{
	{name: "a whole 200 is read", handler: text(rsl), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rsl))}, life: day},
	{name: "a 203 is read like any 2xx", handler: says(203, rsl), want: rulings.Term{Outcome: "read", Status: 203, Size: int64(len(rsl))}, life: day},
	{name: "a shorter max-age is its life", handler: maxAge(60, rsl), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rsl))}, life: time.Minute},
	{name: "a gzip body is read without its coding", handler: coded("gzip", gzipped([]byte(rsl))), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rsl))}, life: day},
	{name: "524,288 octets are read", handler: text(rsl + strings.Repeat(" ", robots.MaxBytes-len(rsl))), want: rulings.Term{Outcome: "read", Status: 200, Size: robots.MaxBytes}, life: day},
	{name: "five redirects are followed", handler: hops(5, text(rsl)), want: rulings.Term{Outcome: "read", Status: 200, FinalURL: "http://site.test/5", Size: int64(len(rsl))}, life: day},

	{name: "a 404 is missing", handler: status(404), want: rulings.Term{Outcome: "missing", Status: 404}, life: 5 * time.Minute},
	{name: "a 410 is missing", handler: status(410), want: rulings.Term{Outcome: "missing", Status: 410}, life: 5 * time.Minute},
	{name: "redirects that end in 404 are missing", handler: hops(2, status(404)), want: rulings.Term{Outcome: "missing", Status: 404, FinalURL: "http://site.test/2"}, life: 5 * time.Minute},

	{name: "a 403 is unread", handler: status(403), want: rulings.Term{Outcome: "unread", Status: 403, Cause: "status: it was answered with status 403"}, life: 5 * time.Minute, unread: "status"},
	{name: "a 429 is unread", handler: status(429), want: rulings.Term{Outcome: "unread", Status: 429, Cause: "status: it was answered with status 429"}, life: 5 * time.Minute, unread: "status"},
	{name: "a 500 is unread", handler: status(500), want: rulings.Term{Outcome: "unread", Status: 500, Cause: "status: it was answered with status 500"}, life: 5 * time.Minute, unread: "status"},
	{name: "a 304 is unread", handler: status(304), want: rulings.Term{Outcome: "unread", Status: 304, Cause: "status: it was answered with status 304"}, life: 5 * time.Minute, unread: "status"},
	{name: "a 999 is unread", handler: status(999), want: rulings.Term{Outcome: "unread", Status: 999, Cause: "status: it was answered with status 999"}, life: 5 * time.Minute, unread: "status"},
	{name: "a sixth redirect is unread", handler: hops(6, text(rsl)), want: rulings.Term{Outcome: "unread", Status: 302, FinalURL: "http://site.test/5", Cause: "status: it redirects more than 5 times (redirect 5)"}, life: 5 * time.Minute, unread: "status", kind: FailureRedirectLimit},
	{name: "a redirect to ftp is unread", handler: redirectTo("ftp://site.test/l.xml"), want: rulings.Term{Outcome: "unread", Status: 302, Cause: "status: it redirects to nothing that can be asked (redirect 1)"}, life: 5 * time.Minute, unread: "status", kind: FailureRedirectUnusable},
	{name: "a redirect that the address guard stops is unread", handler: redirectTo("http://169.254.169.254/l.xml"), want: rulings.Term{Outcome: "unread", Status: 302, FinalURL: "http://169.254.169.254/l.xml", Cause: "status: the edge may not follow a redirect (redirect 1) (private_address)"}, life: 5 * time.Minute, unread: "status", kind: FailureRedirectRefused},

	{name: "a name that does not resolve is unread", prepare: func(w *world) { w.remove("site.test:80", nil) }, want: rulings.Term{Outcome: "unread", Cause: "transport: the name could not be resolved"}, life: 5 * time.Minute, unread: "transport", kind: FailureDNS},
	{name: "a refused connection is unread", prepare: func(w *world) { w.remove("site.test:80", syscall.ECONNREFUSED) }, want: rulings.Term{Outcome: "unread", Cause: "transport: no connection gave an answer"}, life: 5 * time.Minute, unread: "transport", kind: FailureConnect},
	{name: "silence for 5 s is unread", handler: silent, want: rulings.Term{Outcome: "unread", Cause: "transport: no whole answer came within 5 seconds"}, life: 5 * time.Minute, unread: "transport", kind: FailureTimeout},
	{name: "redirects share the 5 s", handler: slowly(1500*time.Millisecond, hops(3, text(rsl))), want: rulings.Term{Outcome: "unread", FinalURL: "http://site.test/3", Cause: "transport: no whole answer came within 5 seconds (redirect 3)"}, life: 5 * time.Minute, unread: "transport", kind: FailureTimeout},
	{name: "a body that breaks off is unread", handler: breakOff(rsl, 1), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "transport: the body ended before it was whole"}, life: 5 * time.Minute, unread: "transport", kind: FailureBrokenBody},
	{name: "a coding that was not asked for is unread", handler: coded("br", []byte(rsl)), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "transport: the content coding of the body could not be undone"}, life: 5 * time.Minute, unread: "transport", kind: FailureBadCoding},

	{name: "one octet too many is too large for its life", handler: maxAge(60, strings.Repeat(" ", robots.MaxBytes+1)), want: rulings.Term{Outcome: "unread", Status: 200, Truncated: true, Cause: "too_large: it is longer than 524,288 octets"}, life: time.Minute, unread: "too_large"},
	{name: "an endless body is too large", handler: endless, want: rulings.Term{Outcome: "unread", Status: 200, Truncated: true, Cause: "too_large: it is longer than 524,288 octets"}, life: day, unread: "too_large"},
	{name: "a gzip bomb is too large behind its coding", handler: bomb, want: rulings.Term{Outcome: "unread", Status: 200, Truncated: true, Cause: "too_large: it is longer than 524,288 octets"}, life: day, unread: "too_large"},
	{name: "what is not XML is unread for its life", handler: maxAge(60, "User-agent: *"), want: rulings.Term{Outcome: "unread", Status: 200, Size: 13, Cause: "xml: what stands there is no XML that is read"}, life: time.Minute, unread: "xml"},
	{name: "an empty body is no XML", handler: text(""), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "xml: what stands there is no XML that is read"}, life: day, unread: "xml"},
	{name: "XML that is not RSL is unread for its life", handler: text(noRSL), want: rulings.Term{Outcome: "unread", Status: 200, Size: int64(len(noRSL)), Cause: "not_rsl: what stands there is no RSL document"}, life: day, unread: "not_rsl"},
	{name: "RSL without content is unread for its life", handler: text(noContent), want: rulings.Term{Outcome: "unread", Status: 200, Size: int64(len(noContent)), Cause: "invalid: what stands there is not valid RSL"}, life: day, unread: "invalid"},

	{name: "a back-off that does not fit is cut short", handler: text(rsl), prepare: func(w *world) { w.setEdge(FailureBackoff) }, want: rulings.Term{Outcome: "cut_short", Cause: "the back-off of the host does not fit the budget"}, kind: FailureBackoff},
	{name: "a host the guard bars is cut short for that reason", handler: text(rsl), prepare: bar("site.test", rulings.PrivateAddress), want: rulings.Term{Outcome: "cut_short", Cause: "the edge may not ask this host (private_address)"}, barred: rulings.PrivateAddress, kind: FailureProhibited},
}

// says answers with code and body.
func says(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		w.Write([]byte(body))
	}
}

func TestT69EveryLineOfTheTable(t *testing.T) {
	for _, tt := range licenceFetches {
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
				page := origin(t, "http", "site.test")
				got := licenceOf(t, b, page, licenceURL)
				seen := rulings.Term{
					Outcome: got.Outcome, Status: got.Status, FinalURL: got.FinalURL, Truncated: got.Truncated, Size: got.Size, Cause: got.Cause,
				}
				if diff := cmp.Diff(tt.want, seen); diff != "" {
					t.Errorf("term (-want +got):\n%s", diff)
				}
				if life := got.ExpiresAt.Sub(got.FetchedAt); life != tt.life {
					t.Errorf("good for %v, want %v", life, tt.life)
				}
				if got.Unread != tt.unread || got.Barred != tt.barred || (got.Licence != nil) != (tt.want.Outcome == "read") {
					t.Errorf("%+v", got)
				}
				if got.Kind != rulings.TermLicence || got.Mechanism != rulings.ByRobots || got.URL != licenceURL || got.OverHTTP {
					t.Errorf("named as %+v", got)
				}
				if probe.Kind != rulings.TermLicence || probe.URL != licenceURL || probe.Failure.Kind != tt.kind {
					t.Errorf("recorded as %+v", probe)
				}
				again := licenceOf(t, b, page, licenceURL)
				if kept := again.Cache == rulings.CacheReused; kept != (tt.life > 0) {
					t.Errorf("a second use got %+v", again.Term)
				}
			})
		})
	}
}

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
