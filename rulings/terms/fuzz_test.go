package terms

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

var fuzzOrigin = hostkey.Origin{Scheme: "https", Host: "site.test", Port: 443}

// originSeeds are whole files, one of each shape.
func originSeeds(f *testing.F) [][]byte {
	at := time.Date(2030, 1, 1, 0, 0, 0, 5, time.UTC)
	read := &visit{
		Outcome: rulings.TermRead, Status: 200, FetchedAt: at, ExpiresAt: at.Add(time.Hour), Object: rulings.Digest{1}, Size: 700_000, Truncated: true,
		FinalURL: "https://other.test/r?a=1&b=2", Redirects: []string{"http://site.test/", "https://other.test/r?a=1&b=2"},
	}
	none := &visit{Outcome: rulings.TermNoRules, Status: 404, FetchedAt: at, ExpiresAt: at.Add(day)}
	missed := &visit{Outcome: rulings.TermUnreachable, Status: 503, Cause: "status", FetchedAt: at.Add(time.Hour), ExpiresAt: at.Add(time.Hour + failureLife)}
	var seeds [][]byte
	for _, l := range []ledger{{answered: read}, {answered: none}, {missed: missed}, {read, missed}, {none, missed}} {
		data, err := robotsKind.formatFile(place{origin: fuzzOrigin}, l)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	return seeds
}

// Whatever is read can be written and read again to the same end.
func FuzzParseOrigin(f *testing.F) {
	for _, seed := range originSeeds(f) {
		if l, err := robotsKind.parseFile(seed, place{origin: fuzzOrigin}); err != nil || l.last() == nil {
			f.Fatalf("a seed is not read: %v\n%s", err, seed)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := robotsKind.parseFile(data, place{origin: fuzzOrigin})
		if err != nil {
			return
		}
		if l.last() == nil || l.missed != nil && l.answered != nil && l.answered.Outcome == rulings.TermUnreachable {
			t.Fatalf("read as %+v", l)
		}
		once, err := robotsKind.formatFile(place{origin: fuzzOrigin}, l)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		l2, err := robotsKind.parseFile(once, place{origin: fuzzOrigin})
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, once)
		}
		if twice, err := robotsKind.formatFile(place{origin: fuzzOrigin}, l2); err != nil || !bytes.Equal(once, twice) || !l.same(l2) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
		if len(once) > maxCacheFile {
			t.Fatalf("%d octets of file would not be read again", len(once))
		}
	})
}

// A target that is followed is a plain URL over http or https, without userinfo
// or fragment, that a request line can hold.
func FuzzRedirectTarget(f *testing.F) {
	for _, seed := range []string{"/r", "//other.test/r?a b", "https://user@a.test/", "http://3221225985/", "ftp://a.test", "http://[::1%25en0]/", "?é", "http:opaque", "http://a.test:0/", "#x"} {
		f.Add("https://site.test/robots.txt", seed)
	}
	f.Fuzz(func(t *testing.T, from, location string) {
		target, ok := redirectTarget(from, location)
		if !ok {
			return
		}
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Host == "" || len(target) > maxURL {
			t.Fatalf("%q leads to %q", location, target)
		}
		if strings.ContainsFunc(u.RequestURI(), func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
			t.Fatalf("%q leads to %q, which no request line holds", location, u.RequestURI())
		}
		if o, err := hostkey.ParseOrigin(u.Scheme, u.Host); err != nil || !strings.HasPrefix(target, o.String()) {
			t.Fatalf("%q is not under %q (%v)", target, o, err)
		}
	})
}

func FuzzCacheControl(f *testing.F) {
	for _, seed := range []string{"max-age=60", `a="b, c", MAX-AGE="5"`, `"`, `\`, ",,=", "max-age=1, max-age=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if d := life([]string{line}); d < 0 || d > longestLife {
			t.Fatal(d)
		}
	})
}
