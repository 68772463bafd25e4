package terms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// licenceFile is the name of the file of licenceURL.
var licenceFile = func() string {
	sum := sha256.Sum256([]byte(licenceURL))
	return "licences/" + hex.EncodeToString(sum[:]) + ".json"
}()

const tdmFile = "tdmrep/site.test_http_80.json"

// The files as they stand on disk, of each kind and shape.
func TestT122TheFilesOfLicencesAndTDMRep(t *testing.T) {
	object := func(body string) string { return rulings.Digest(sha256.Sum256([]byte(body))).String() }
	const licenceHead = `{"format":"wayleave-terms-licence/1","asked":"` + licenceURL + `",`
	const tdmHead = `{"format":"wayleave-terms-tdmrep/1","origin":"http://site.test","asked":"http://site.test/.well-known/tdmrep.json",`
	for _, tt := range []struct {
		name    string
		file    string
		handler pages
		want    string
	}{
		{"a licence that is read", licenceFile, pages{"/l.xml": hops(1, text(rsl)), "/1": text(rsl)}, licenceHead +
			`"status":200,"outcome":"read","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-02T00:00:00Z",` +
			`"final_url":"http://site.test/1","redirects":["http://site.test/1"],"object":"` + object(rsl) + `","size":128}`},
		{"a licence that is missing", licenceFile, pages{}, licenceHead +
			`"status":404,"outcome":"missing","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-01T00:05:00Z"}`},
		{"a licence that could not be had", licenceFile, pages{"/l.xml": status(503)}, licenceHead +
			`"status":503,"outcome":"unread","cause":"status: it was answered with status 503","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-01T00:05:00Z"}`},
		{"a licence that is no RSL", licenceFile, pages{"/l.xml": text(noRSL)}, licenceHead +
			`"status":200,"outcome":"unread","cause":"not_rsl: root element that is not rsl at octet 0","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-02T00:00:00Z",` +
			`"object":"` + object(noRSL) + `","size":25}`},
		{"a tdmrep.json that is read", tdmFile, pages{"/.well-known/tdmrep.json": text("[]")}, tdmHead +
			`"status":200,"outcome":"read","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-02T00:00:00Z","object":"` + object("[]") + `","size":2}`},
		{"a tdmrep.json that is missing", tdmFile, pages{}, tdmHead +
			`"status":404,"outcome":"missing","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-02T00:00:00Z"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := site(t, tt.handler)
				dir := t.TempDir()
				b := w.open(dir)
				licenceOf(t, b, page, licenceURL)
				b.TDM(t.Context(), page)
				closeBook(t, b)
				got, err := os.ReadFile(filepath.Join(dir, tt.file))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want+"\n", string(got)); diff != "" {
					t.Errorf("file (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A file that cannot be understood costs a probe and nothing else. Each damage
// is done to a whole, live file.
func TestT20AnUnreadableFileOfALicenceReadsAsEmpty(t *testing.T) {
	object := "objects/" + hex.EncodeToString(func() []byte { sum := sha256.Sum256([]byte(rsl)); return sum[:] }())
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"no octets", rewrite(licenceFile, func([]byte) []byte { return nil })},
		{"half of it", rewrite(licenceFile, func(b []byte) []byte { return b[:len(b)/2] })},
		{"another kind", rewrite(licenceFile, replace("wayleave-terms-licence/1", "wayleave-terms-origin/1"))},
		{"another URL", rewrite(licenceFile, replace(`"asked":"http://site.test/l.xml"`, `"asked":"http://site.test/m.xml"`))},
		{"an origin", rewrite(licenceFile, replace(`"asked"`, `"origin":"http://site.test","asked"`))},
		{"an outcome of robots.txt", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"no_rules"`))},
		{"read, with a cause", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"read","cause":"xml: x"`))},
		{"read, and cut", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"read","truncated":true`))},
		{"an outcome that the status does not have", rewrite(licenceFile, replace(`"status":200`, `"status":404`))},
		{"missing for a day", rewrite(licenceFile, func(b []byte) []byte {
			b = replace(`"status":200,"outcome":"read"`, `"status":404,"outcome":"missing"`)(b)
			return bytes.Replace(b, []byte(`"object"`), []byte(`"objekt"`), 1)
		})},
		{"unread for no cause", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"unread"`))},
		{"unread for a cause that nobody knows", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"unread","cause":"mood: bad"`))},
		{"unread for a cause that the octets do not have", rewrite(licenceFile, replace(`"outcome":"read"`, `"outcome":"unread","cause":"xml: what stands there is no XML that is read"`))},
		{"a held copy", rewrite(licenceFile, replace(`"size":128`, `"size":128,"held":{"status":404,"outcome":"missing","fetched_at":"2000-01-01T00:00:00Z","expires_at":"2000-01-01T00:05:00Z"}`))},
		{"a failure that lives a day", rewrite(licenceFile, func(b []byte) []byte {
			b = replace(`"outcome":"read"`, `"outcome":"unread","cause":"status: x"`)(b)
			return bytes.Replace(b, []byte(`"object"`), []byte(`"objekt"`), 1)
		})},
		{"no time", rewrite(licenceFile, replace(`"fetched_at":"2000-01-01T`, `"fetched_at":"0001-01-01T`))},
		{"its object gone", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, object)) }},
		{"its object damaged", func(t *testing.T, dir string) { write(t, filepath.Join(dir, object), noRSL) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := site(t, text(rsl))
				dir := t.TempDir()
				b := w.open(dir)
				licenceOf(t, b, page, licenceURL)
				closeBook(t, b)
				tt.damage(t, dir)

				b = w.open(dir)
				if got := licenceOf(t, b, page, licenceURL); got.Cache != rulings.CacheFetched || got.Outcome != rulings.TermRead {
					t.Errorf("%+v", got)
				}
				if w.asked() != 2 {
					t.Errorf("%d requests, want a second one", w.asked())
				}
				if body, err := b.Object(sha256.Sum256([]byte(rsl))); err != nil || string(body) != rsl {
					t.Errorf("its object: %v", err)
				}
			})
		})
	}
}

// The undamaged files are used, or the test above would show nothing.
func TestT20WholeFilesOfLicencesAndTDMRepAreUsed(t *testing.T) {
	for name, handler := range map[string]pages{
		"read":    {"/l.xml": text(rsl), "/.well-known/tdmrep.json": text("[]")},
		"missing": {},
		"unread":  {"/l.xml": text(noRSL), "/.well-known/tdmrep.json": text("{")},
		"failed":  {"/l.xml": status(503), "/.well-known/tdmrep.json": status(503)},
		"cut":     {"/l.xml": http524289, "/.well-known/tdmrep.json": http524289},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := site(t, handler)
				dir := t.TempDir()
				b := w.open(dir)
				licence, tdm := licenceOf(t, b, page, licenceURL), b.TDM(t.Context(), page)
				closeBook(t, b)
				b = w.open(dir)
				again, tdmAgain := licenceOf(t, b, page, licenceURL), b.TDM(t.Context(), page)
				licence.Cache, tdm.Cache = rulings.CacheReused, rulings.CacheReused
				if diff := cmp.Diff([]rulings.Term{licence.Term, tdm.Term}, []rulings.Term{again.Term, tdmAgain.Term}); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
				if (licence.Licence != nil) != (again.Licence != nil) || (tdm.File != nil) != (tdmAgain.File != nil) || licence.Unread != again.Unread {
					t.Errorf("%+v became %+v, %+v became %+v", licence, again, tdm, tdmAgain)
				}
				if w.asked() != 2 {
					t.Errorf("%d requests", w.asked())
				}
			})
		})
	}
}

var http524289 = sized(524289)

func TestT122ANeighboursLicenceIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, page := site(t, text(rsl))
		dir := t.TempDir()
		a, b := w.open(dir), w.open(dir)
		licenceOf(t, a, page, licenceURL)
		synctest.Wait() // until the file is written
		if got := licenceOf(t, b, page, licenceURL); got.Cache != rulings.CacheReused || got.Licence == nil || w.asked() != 1 {
			t.Errorf("%+v after %d probes", got.Term, w.asked())
		}
		time.Sleep(day)
		s.set(status(403))
		licenceOf(t, b, page, licenceURL)
		synctest.Wait()
		if got := licenceOf(t, a, page, licenceURL); got.Outcome != rulings.TermUnread || got.Licence != nil || w.asked() != 2 {
			t.Errorf("the neighbour's failure: %+v after %d probes", got.Term, w.asked())
		}
		time.Sleep(5 * time.Minute)
		s.set(text(rsl))
		licenceOf(t, a, page, licenceURL)
		synctest.Wait()
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead || w.asked() != 3 {
			t.Errorf("the neighbour's answer: %+v after %d probes", got.Term, w.asked())
		}
	})
}

func TestT20ACacheOfLicencesThatCannotBeWrittenCostsAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, page := site(t, text(rsl))
		dir := t.TempDir()
		b := w.open(dir)
		defer block(t, dir, "licences")()
		for range 2 {
			if got := licenceOf(t, b, page, licenceURL); got.Unwritten || got.Outcome != rulings.TermRead {
				t.Errorf("%+v", got)
			}
		}
		if w.asked() != 1 {
			t.Errorf("%d probes by one book", w.asked())
		}
		closeBook(t, b)
	})
}

// The URL of a licence may hold a token, which no line of the log has.
func TestE23TheProcessLogHasNoSecretOfALicencesURL(t *testing.T) {
	const url = licenceURL + "?access_token=hunter2"
	unread := func(t *testing.T, dir string) func() {
		files, err := filepath.Glob(filepath.Join(dir, "licences", "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		write(t, files[0], "{")
		return func() {}
	}
	for _, tt := range []struct {
		line  string
		spoil func(t *testing.T, dir string) (mend func())
	}{
		{"term object not written", func(t *testing.T, dir string) func() { remove(t, objectOf(dir, rsl)); return block(t, dir, "objects") }},
		{"terms cache not written", func(t *testing.T, dir string) func() { return block(t, dir, "licences") }},
		{"terms cache not readable", unread},
	} {
		for _, redact := range []func(string) string{nil, func(url string) string { return strings.Replace(url, "hunter2", "~", 1) }} {
			synctest.Test(t, func(t *testing.T) {
				w, _, page := site(t, text(rsl))
				dir := t.TempDir()
				b := w.open(dir)
				licenceOf(t, b, page, url)
				closeBook(t, b)
				var logged bytes.Buffer
				b = w.open(dir, func(o *Options) { o.Logger, o.Redact = slog.New(slog.NewTextHandler(&logged, nil)), redact })
				defer tt.spoil(t, dir)()
				time.Sleep(25 * time.Hour) // what is held is asked for again
				licenceOf(t, b, page, url)
				closeBook(t, b)
				log := logged.String()
				if named := strings.Contains(log, "access_token=~"); !strings.Contains(log, tt.line) || strings.Contains(log, "hunter2") || named != (redact != nil) {
					t.Errorf("%s: logged: %s", tt.line, log)
				}
			})
		}
	}
}
