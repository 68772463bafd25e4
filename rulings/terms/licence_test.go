package terms

import (
	"context"
	"net/http"
	"strings"
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
	{name: "what is not XML is unread for its life", handler: maxAge(60, "User-agent: *"), want: rulings.Term{Outcome: "unread", Status: 200, Size: 13, Cause: "xml: text outside the root element at octet 0"}, life: time.Minute, unread: "xml"},
	{name: "an empty body is no XML", handler: text(""), want: rulings.Term{Outcome: "unread", Status: 200, Cause: "xml: no root element at octet 0"}, life: day, unread: "xml"},
	{name: "XML that is not RSL is unread for its life", handler: text(noRSL), want: rulings.Term{Outcome: "unread", Status: 200, Size: int64(len(noRSL)), Cause: "not_rsl: root element that is not rsl at octet 0"}, life: day, unread: "not_rsl"},
	{name: "RSL without content is unread for its life", handler: text(noContent), want: rulings.Term{Outcome: "unread", Status: 200, Size: int64(len(noContent)), Cause: "invalid: no content element at octet 47"}, life: day, unread: "invalid"},

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
