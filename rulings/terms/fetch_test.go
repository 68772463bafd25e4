package terms

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

const day = 24 * time.Hour

// status answers with code and a body that would forbid everything.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, "User-agent: *\nDisallow: /\n")
	}
}

// redirectTo answers with 302 and location; "" leaves the field out.
func redirectTo(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(http.StatusFound)
	}
}

// hops redirects n times within the origin before last answers.
func hops(n int, last http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := 0
		fmt.Sscanf(r.URL.Path, "/%d", &at)
		if at == n {
			last.ServeHTTP(w, r)
			return
		}
		redirectTo(fmt.Sprintf("/%d", at+1))(w, r)
	}
}

// coded sends body under a content coding.
func coded(coding string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Write(body)
	}
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(body)
	z.Close()
	return b.Bytes()
}

// endless sends comment lines until nobody reads them.
func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(lines(32 << 10)); err != nil {
			return
		}
	}
}

// bomb sends comment lines in gzip until nobody reads them.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	for {
		if _, err := z.Write(lines(1 << 20)); err != nil {
			return
		}
	}
}

// silent answers nothing until the client is gone.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const rules = "User-agent: *\nDisallow: /private\n"

// Every line of the table of T15, each with its variants.
var fetches = []struct {
	name    string
	handler http.HandlerFunc
	prepare func(*world) // nil: nothing but handler on http://site.test
	want    rulings.Term // Outcome, Status, FinalURL, Truncated, Size and Cause count
	life    time.Duration
	kind    FailureKind
}{
	{name: "a whole 200 is read", handler: text(rules), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rules))}, life: day},
	{name: "a 206 is read like any 2xx", handler: status(206), want: rulings.Term{Outcome: "read", Status: 206, Size: 26}, life: day},
	{name: "HTML is read and has no rules", handler: text("<!DOCTYPE html><p>Disallow: /"), want: rulings.Term{Outcome: "read", Status: 200, Size: 29}, life: day},
	{name: "a gzip body is read without its coding", handler: coded("gzip", gzipped([]byte(rules))), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rules))}, life: day},
	{name: "a coding named in another letter case is the same", handler: coded("X-GZip", gzipped([]byte(rules))), want: rulings.Term{Outcome: "read", Status: 200, Size: int64(len(rules))}, life: day},
	{name: "a coded body of no octets is empty", handler: coded("gzip", nil), want: rulings.Term{Outcome: "read", Status: 200}, life: day},

	{name: "524,288 octets are read whole", handler: text(string(lines(robots.MaxBytes))), want: rulings.Term{Outcome: "read", Status: 200, Size: robots.MaxBytes}, life: day},
	{name: "one octet more is cut, and the size is known by the length", handler: sized(robots.MaxBytes + 1), want: rulings.Term{Outcome: "read", Status: 200, Truncated: true, Size: robots.MaxBytes + 1}, life: day},
	{name: "an endless body is cut, and its size is not known", handler: endless, want: rulings.Term{Outcome: "read", Status: 200, Truncated: true}, life: day},
	{name: "an endless body behind a redirect is cut", handler: hops(1, http.HandlerFunc(endless)), want: rulings.Term{Outcome: "read", Status: 200, Truncated: true, FinalURL: "http://site.test/1"}, life: day},
	{name: "a gzip bomb is cut behind its coding", handler: bomb, want: rulings.Term{Outcome: "read", Status: 200, Truncated: true}, life: day},

	{name: "a 404 has no rules", handler: status(404), want: rulings.Term{Outcome: "no_rules", Status: 404}, life: day},
	{name: "a 401 has no rules", handler: status(401), want: rulings.Term{Outcome: "no_rules", Status: 401}, life: day},
	{name: "the body of a 4xx is not waited for", handler: stalls(404), want: rulings.Term{Outcome: "no_rules", Status: 404}, life: day},

	{name: "a 429 is unreachable", handler: status(429), want: rulings.Term{Outcome: "unreachable", Status: 429, Cause: "it was answered with status 429"}, life: 5 * time.Minute},
	{name: "a 500 is unreachable", handler: status(500), want: rulings.Term{Outcome: "unreachable", Status: 500, Cause: "it was answered with status 500"}, life: 5 * time.Minute},
	{name: "a 599 is unreachable", handler: status(599), want: rulings.Term{Outcome: "unreachable", Status: 599, Cause: "it was answered with status 599"}, life: 5 * time.Minute},
	{name: "a 999 is unreachable", handler: status(999), want: rulings.Term{Outcome: "unreachable", Status: 999, Cause: "it was answered with status 999"}, life: 5 * time.Minute},
	{name: "a 304 is unreachable", handler: status(304), want: rulings.Term{Outcome: "unreachable", Status: 304, Cause: "it was answered with status 304"}, life: 5 * time.Minute},
	{name: "a redirect without Location is unreachable", handler: redirectTo(""), want: rulings.Term{Outcome: "unreachable", Status: 302, Cause: "it redirects to nothing that can be asked (redirect 1)"}, life: 5 * time.Minute, kind: FailureRedirectUnusable},
	{name: "a redirect to a broken URL is unreachable", handler: redirectTo("http://%zz/"), want: rulings.Term{Outcome: "unreachable", Status: 302, Cause: "it redirects to nothing that can be asked (redirect 1)"}, life: 5 * time.Minute, kind: FailureRedirectUnusable},

	{name: "a name that does not resolve is unreachable", prepare: func(w *world) { w.remove("site.test:80", nil) }, want: rulings.Term{Outcome: "unreachable", Cause: "the name could not be resolved"}, life: 5 * time.Minute, kind: FailureDNS},
	{name: "a refused connection is unreachable", prepare: func(w *world) { w.remove("site.test:80", syscall.ECONNREFUSED) }, want: rulings.Term{Outcome: "unreachable", Cause: "no connection gave an answer"}, life: 5 * time.Minute, kind: FailureConnect},
	{name: "a TLS fault behind a redirect is unreachable", handler: redirectTo("https://plain.test/"), prepare: func(w *world) { w.speakNoTLS("plain.test:443") }, want: rulings.Term{Outcome: "unreachable", FinalURL: "https://plain.test/", Cause: "no TLS session could be agreed on (redirect 1)"}, life: 5 * time.Minute, kind: FailureTLS},
	{name: "silence for 5 s is unreachable", handler: silent, want: rulings.Term{Outcome: "unreachable", Cause: "no whole answer came within 5 seconds"}, life: 5 * time.Minute, kind: FailureTimeout},
	{name: "a body that stalls until 5 s are over is unreachable", handler: stalls(200), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "no whole answer came within 5 seconds"}, life: 5 * time.Minute, kind: FailureTimeout},
	{name: "redirects share the 5 s", handler: slowly(1500*time.Millisecond, hops(3, text(rules))), want: rulings.Term{Outcome: "unreachable", FinalURL: "http://site.test/3", Cause: "no whole answer came within 5 seconds (redirect 3)"}, life: 5 * time.Minute, kind: FailureTimeout},
	{name: "a body that breaks off is unreachable", handler: breakOff(rules, 1), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "the body ended before it was whole"}, life: 5 * time.Minute, kind: FailureBrokenBody},
	{name: "a coding that breaks off is unreachable", handler: coded("gzip", gzipped([]byte(rules))[:20]), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "the content coding of the body could not be undone"}, life: 5 * time.Minute, kind: FailureBadCoding},
	{name: "a coding with a wrong checksum is unreachable", handler: coded("gzip", spoil(gzipped([]byte(rules)))), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "the content coding of the body could not be undone"}, life: 5 * time.Minute, kind: FailureBadCoding},
	{name: "a coding that was not asked for is unreachable", handler: coded("br", []byte(rules)), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "the content coding of the body could not be undone"}, life: 5 * time.Minute, kind: FailureBadCoding},
	{name: "codings inside each other are unreachable", handler: coded("gzip, gzip", gzipped(gzipped([]byte(rules)))), want: rulings.Term{Outcome: "unreachable", Status: 200, Cause: "the content coding of the body could not be undone"}, life: 5 * time.Minute, kind: FailureBadCoding},

	{name: "five redirects are followed", handler: hops(5, text(rules)), want: rulings.Term{Outcome: "read", Status: 200, FinalURL: "http://site.test/5", Size: int64(len(rules))}, life: day},
	{name: "a redirect leads to any host, http or https", handler: redirectTo("https://OTHER.test:443/r?a=b c#top"), prepare: func(w *world) { w.serve("other.test:443", text(rules)) }, want: rulings.Term{Outcome: "read", Status: 200, FinalURL: "https://other.test/r?a=b%20c", Size: int64(len(rules))}, life: day},
	{name: "redirects that end in 404 have no rules", handler: hops(2, status(404)), want: rulings.Term{Outcome: "no_rules", Status: 404, FinalURL: "http://site.test/2"}, life: day},
	{name: "redirects that end in 503 are unreachable", handler: hops(1, status(503)), want: rulings.Term{Outcome: "unreachable", Status: 503, FinalURL: "http://site.test/1", Cause: "it was answered with status 503"}, life: 5 * time.Minute},

	{name: "a sixth redirect is unreachable", handler: hops(6, text(rules)), want: rulings.Term{Outcome: "unreachable", Status: 302, FinalURL: "http://site.test/5", Cause: "it redirects more than 5 times (redirect 5)"}, life: 5 * time.Minute, kind: FailureRedirectLimit},
	{name: "a redirect to ftp is unreachable", handler: redirectTo("ftp://site.test/robots.txt"), want: rulings.Term{Outcome: "unreachable", Status: 302, Cause: "it redirects to nothing that can be asked (redirect 1)"}, life: 5 * time.Minute, kind: FailureRedirectUnusable},
	{name: "a redirect with userinfo is unreachable", handler: redirectTo("http://user:pw-secret@site.test/"), want: rulings.Term{Outcome: "unreachable", Status: 302, Cause: "it redirects to nothing that can be asked (redirect 1)"}, life: 5 * time.Minute, kind: FailureRedirectUnusable},
	{name: "a redirect that the address guard stops is unreachable", handler: redirectTo("http://169.254.169.254/robots.txt"), prepare: bar("169.254.169.254", rulings.PrivateAddress), want: rulings.Term{Outcome: "unreachable", FinalURL: "http://169.254.169.254/robots.txt", Cause: "the edge may not follow a redirect (redirect 1) (private_address)"}, life: 5 * time.Minute, kind: FailureRedirectRefused},
	{name: "a redirect that policy stops is unreachable and names it", handler: redirectTo("http://denied.test/"), prepare: bar("denied.test", "host_denied"), want: rulings.Term{Outcome: "unreachable", FinalURL: "http://denied.test/", Cause: "the edge may not follow a redirect (redirect 1) (host_denied)"}, life: 5 * time.Minute, kind: FailureRedirectRefused},

	{name: "a back-off that does not fit is cut short", handler: text(rules), prepare: func(w *world) { w.setEdge(FailureBackoff) }, want: rulings.Term{Outcome: "cut_short", Cause: "the back-off of the host does not fit the budget"}, kind: FailureBackoff},
	{name: "a fault of the pacing store is cut short", handler: text(rules), prepare: func(w *world) { w.setEdge(FailurePacingStore) }, want: rulings.Term{Outcome: "cut_short", Cause: "the pacing state is not available"}, kind: FailurePacingStore},
	{name: "a host the guard bars is cut short, whatever it would have said", handler: text(rules), prepare: bar("site.test", rulings.PrivateAddress), want: rulings.Term{Outcome: "cut_short", Cause: "the edge may not ask this host (private_address)"}, kind: FailureProhibited},
}

func sized(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(n))
		w.Write(lines(n))
	}
}

// stalls sends a head and the beginning of a body, and then nothing.
func stalls(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(code)
		io.WriteString(w, rules)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// slowly lets d pass before each answer of h.
func slowly(d time.Duration, h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		h.ServeHTTP(w, r)
	}
}

func bar(host string, reason rulings.Reason) func(*world) {
	return func(w *world) { w.barred[host] = reason }
}

func spoil(gz []byte) []byte {
	gz[len(gz)-8] ^= 1 // of the CRC-32 at the end
	return gz
}

func TestT15EveryLineOfTheTable(t *testing.T) {
	for _, tt := range fetches {
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
				start := time.Now()
				got := b.Robots(t.Context(), origin(t, "http", "site.test"))
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("the probe took %v", took)
				}
				seen := rulings.Term{
					Outcome: got.Outcome, Status: got.Status, FinalURL: got.FinalURL, Truncated: got.Truncated, Size: got.Size, Cause: got.Cause,
				}
				if diff := cmp.Diff(tt.want, seen); diff != "" {
					t.Errorf("term (-want +got):\n%s", diff)
				}
				if life := got.ExpiresAt.Sub(got.FetchedAt); life != tt.life {
					t.Errorf("good for %v, want %v", life, tt.life)
				}
				if rules := got.Site != nil; rules != (tt.want.Outcome == "read" || tt.want.Outcome == "no_rules") {
					t.Errorf("a file rules: %v", rules)
				}
				if probe.Failure.Kind != tt.kind {
					t.Errorf("failure %q, want %q", probe.Failure.Kind, tt.kind)
				}
				if s := fmt.Sprint(probe, got); strings.Contains(s, "pw-secret") {
					t.Errorf("userinfo of a redirect is in %s", s)
				}
			})
		})
	}
}

// What guard or policy stops is never contacted, at no hop (C17 of the wire: N18).
func TestT15AProhibitedTargetIsNeverContacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", redirectTo("http://169.254.169.254/robots.txt"))
		w.serve("169.254.169.254:80", text("User-agent: *\nAllow: /\n"))
		w.barred["169.254.169.254"] = rulings.PrivateAddress
		b := w.open(t.TempDir())
		for range 2 {
			got := b.Robots(t.Context(), origin(t, "http", "site.test"))
			if got.Site != nil || got.Barred != "" {
				t.Errorf("%+v", got)
			}
		}
		if n := w.asked(); n != 1 {
			t.Errorf("%d requests, want the one that was redirected", n)
		}
	})
}

func TestT15OnlyWholeLinesOfACutBodyCount(t *testing.T) {
	utf16 := func(bom, s string) []byte {
		var b bytes.Buffer
		b.WriteString(bom)
		for _, c := range []byte(s) {
			if bom == "\xFF\xFE" {
				b.Write([]byte{c, 0})
			} else {
				b.Write([]byte{0, c})
			}
		}
		return b.Bytes()
	}
	for _, tt := range []struct{ name, in, want string }{
		{"a line without an end goes", "a\nb\nc", "a\nb\n"},
		{"a line that ends at the bound stays", "a\nb\n", "a\nb\n"},
		{"CR ends a line", "a\rb", "a\r"},
		{"CRLF ends a line", "a\r\nb", "a\r\n"},
		{"one endless line is nothing", "Disallow: /", ""},
		{"UTF-16 little endian", string(utf16("\xFF\xFE", "a\nb")), string(utf16("\xFF\xFE", "a\n"))},
		{"UTF-16 big endian", string(utf16("\xFE\xFF", "a\nb")), string(utf16("\xFE\xFF", "a\n"))},
		{"an octet 0A within a UTF-16 unit ends nothing", "\xFF\xFE\x0A\x01b\x00", ""},
		{"half a UTF-16 unit goes", "\xFF\xFEa\x00\n\x00b", "\xFF\xFEa\x00\n\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(wholeLines([]byte(tt.in))); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
