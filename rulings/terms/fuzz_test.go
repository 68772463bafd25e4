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

// fileSeeds are whole files of a kind, one of each shape.
func fileSeeds(f *testing.F, kd *kind, p place, shapes []ledger) [][]byte {
	var seeds [][]byte
	for _, l := range shapes {
		data, err := kd.formatFile(p, l)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	return seeds
}

// fuzzFile fuzzes the files of a kind: whatever is read can be written and read
// again to the same end.
func fuzzFile(f *testing.F, kd *kind, p place, shapes []ledger) {
	seeds := fileSeeds(f, kd, p, shapes)
	if len(seeds) == 0 {
		f.Fatal("there are no seeds")
	}
	for _, seed := range seeds {
		if l, err := kd.parseFile(seed, p); err != nil || l.last() == nil {
			f.Fatalf("a seed is not read: %v\n%s", err, seed)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := kd.parseFile(data, p)
		if err != nil {
			return
		}
		if l.last() == nil || l.answered != nil && !l.answered.answers() || l.missed != nil && l.missed.answers() {
			t.Fatalf("read as %+v", l)
		}
		if kept := kd.kept(l); kept != l {
			t.Fatalf("%+v is more than is kept", l)
		}
		once, err := kd.formatFile(p, l)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		l2, err := kd.parseFile(once, p)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, once)
		}
		if twice, err := kd.formatFile(p, l2); err != nil || !bytes.Equal(once, twice) || !l.same(l2) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
		if len(once) > maxCacheFile {
			t.Fatalf("%d octets of file would not be read again", len(once))
		}
		_ = newKnown(kd, kd.url(p), l, kd.nothing, nil) // no ledger is one that cannot be told
	})
}

var (
	fuzzTime = time.Date(2030, 1, 1, 0, 0, 0, 5, time.UTC)
	fuzzWay  = []string{"http://site.test/", "https://other.test/r?a=1&b=2"}
)

func FuzzParseOrigin(f *testing.F) {
	at := fuzzTime
	read := &visit{
		Outcome: rulings.TermRead, Status: 200, FetchedAt: at, ExpiresAt: at.Add(time.Hour), Object: rulings.Digest{1}, Size: 700_000, Truncated: true,
		FinalURL: fuzzWay[1], Redirects: fuzzWay,
	}
	none := &visit{Outcome: rulings.TermNoRules, Status: 404, FetchedAt: at, ExpiresAt: at.Add(day)}
	missed := &visit{Outcome: rulings.TermUnreachable, Status: 503, Cause: "status", FetchedAt: at.Add(time.Hour), ExpiresAt: at.Add(time.Hour + failureLife)}
	fuzzFile(f, robotsKind, place{origin: fuzzOrigin}, []ledger{{answered: read}, {answered: none}, {missed: missed}, {read, missed}, {none, missed}})
}

// documentShapes are the ledgers that a licence or a tdmrep.json can have.
func documentShapes(missing time.Duration) []ledger {
	at := fuzzTime
	visits := []visit{
		{Outcome: rulings.TermRead, Status: 200, Object: rulings.Digest{1}, Size: 524_288, FinalURL: fuzzWay[1], Redirects: fuzzWay, ExpiresAt: at.Add(time.Hour)},
		{Outcome: rulings.TermMissing, Status: 410, ExpiresAt: at.Add(missing)},
		{Outcome: rulings.TermUnread, Status: 200, Cause: "invalid: x", Object: rulings.Digest{1}, Size: 1, ExpiresAt: at.Add(day)},
		{Outcome: rulings.TermUnread, Status: 206, Cause: "too_large: x", Truncated: true, ExpiresAt: at},
		{Outcome: rulings.TermUnread, Status: 503, Cause: "status: x", ExpiresAt: at.Add(failureLife)},
		{Outcome: rulings.TermUnread, Cause: "transport: x", ExpiresAt: at.Add(failureLife)},
		{Outcome: rulings.TermUnread, Status: 302, Cause: "robots: x", FinalURL: fuzzWay[1], Redirects: fuzzWay, ExpiresAt: at.Add(day)},
	}
	var all []ledger
	for i := range visits {
		v := &visits[i]
		if v.FetchedAt = at; v.answers() {
			all = append(all, ledger{answered: v})
		} else {
			all = append(all, ledger{missed: v})
		}
	}
	return all
}

func FuzzParseLicenceFile(f *testing.F) {
	fuzzFile(f, licenceKind, place{origin: fuzzOrigin, url: "https://site.test/l.xml?a=1&b=2"}, documentShapes(licenceMissing))
}

func FuzzParseTDMRepFile(f *testing.F) {
	fuzzFile(f, tdmKind, place{origin: fuzzOrigin}, documentShapes(tdmMissing))
}

// A URL of a licence that is asked for is one, and asking for what was asked for
// is the same.
func FuzzLicencePlace(f *testing.F) {
	for _, seed := range []string{licenceURL, "HTTPS://A.test.:443/l?x y#f", "http://user@a.test/", "http://3221225985/", "//a.test/", "http://[::1]:8080", "https://b%C3%BCcher.example/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, ok := licencePlace(raw)
		if !ok {
			return
		}
		again, ok := licencePlace(p.url)
		if !ok || again != p {
			t.Fatalf("%q is %+v, which is %+v, %v", raw, p, again, ok)
		}
		if u, err := url.Parse(p.url); err != nil || u.RequestURI() != p.target() {
			t.Fatalf("%q is asked for by %q, ruled by %q (%v)", raw, u.RequestURI(), p.target(), err)
		}
		if !strings.HasPrefix(p.url, p.origin.String()) || strings.Contains(p.url, "#") || len(p.url) > maxURL {
			t.Fatalf("%q is %+v", raw, p)
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
