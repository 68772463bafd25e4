package terms

import (
	"errors"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

func TestE82TermsAreRestoredFromTheirRecord(t *testing.T) {
	read := rulings.ParseSite([]byte("User-agent: *\nDisallow: /\n"))
	object := rulings.Digest{1}
	for _, c := range []struct {
		name   string
		term   rulings.Term
		site   *rulings.Site // what the object holds
		rules  bool          // a file rules
		barred rulings.Reason
		err    error
	}{
		{"read", rulings.Term{Outcome: rulings.TermRead, Object: object}, read, true, "", nil},
		{"read, not kept", rulings.Term{Outcome: rulings.TermRead}, nil, false, "", ErrNotKept},
		{"states nothing", rulings.Term{Outcome: rulings.TermNoRules, Status: 404}, nil, true, "", nil},
		{"unreachable", rulings.Term{Outcome: rulings.TermUnreachable, Status: 503}, nil, false, "", nil},
		{"unreachable, a held copy", rulings.Term{Outcome: rulings.TermUnreachable, Cache: rulings.CacheHeld, Status: 200, Object: object}, read, true, "", nil},
		{"unreachable, a held copy that states nothing", rulings.Term{Outcome: rulings.TermUnreachable, Cache: rulings.CacheHeld, Status: 404}, nil, true, "", nil},
		{"unreachable, a held copy not kept", rulings.Term{Outcome: rulings.TermUnreachable, Cache: rulings.CacheHeld, Status: 200}, nil, false, "", ErrNotKept},
		{"kept off by the guard", rulings.Term{Outcome: rulings.TermCutShort, Cause: "the edge may not ask this host (private_address)"}, nil, false, rulings.PrivateAddress, nil},
		{"a fault behind a redirect", rulings.Term{Outcome: rulings.TermCutShort, Cause: "a fault of the edge (redirect 3)"}, nil, false, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Restore(c.term, c.site)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if rules := got.Site != nil; rules != c.rules {
				t.Errorf("a file rules: %v, want %v", rules, c.rules)
			}
			if got.Barred != c.barred {
				t.Errorf("barred by %q, want %q", got.Barred, c.barred)
			}
		})
	}
}

// The reason is read back from the very words that classify writes.
func TestE82WhyAProbeWasBarredIsReadBack(t *testing.T) {
	v := robotsKind.verdict(&answer{failure: Failure{Kind: FailureProhibited}, barred: rulings.PrivateAddress})
	recorded := robotsKind.cutShort(nil, "https://a.test/robots.txt", v)
	got, err := Restore(recorded.Term, nil)
	if err != nil || got.Barred != recorded.barred || got.Barred == "" {
		t.Errorf("barred by %q (%v), want %q", got.Barred, err, recorded.barred)
	}
}

// What the book gives, its record gives back: a ruling needs no more of a licence
// than the members that a log has of it.
func TestE82LicencesAreRestoredFromTheirRecord(t *testing.T) {
	page := origin(t, "https", "site.test")
	for name, setUp := range map[string]func(*world){
		"read":              func(w *world) { w.serve("site.test:80", text(rsl)) },
		"missing":           func(w *world) { w.serve("site.test:80", status(404)) },
		"unread, status":    func(w *world) { w.serve("site.test:80", pages{"/l.xml": status(403)}) },
		"unread, transport": func(w *world) { w.serve("site.test:80", pages{"/l.xml": breakOff(rsl, 1)}) },
		"unread, too large": func(w *world) { w.serve("site.test:80", pages{"/l.xml": http524289}) },
		"unread, not RSL":   func(w *world) { w.serve("site.test:80", text(noRSL)) },
		"unread, robots":    func(w *world) { w.serve("site.test:80", text(refusesAll)) },
		"cut short":         func(w *world) { w.setEdge(FailureBackoff) },
		"barred":            bar("site.test", rulings.PrivateAddress),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			setUp(w)
			given := licenceOf(t, w.open(t.TempDir()), page, licenceURL)
			recorded := rulings.Term{
				Kind: given.Kind, URL: given.URL, FinalURL: given.FinalURL, Mechanism: given.Mechanism, Status: given.Status, Outcome: given.Outcome,
				Cause: given.Cause, Cache: given.Cache, FetchedAt: given.FetchedAt, ExpiresAt: given.ExpiresAt, Object: given.Object, Truncated: given.Truncated,
			}
			if NeedsObject(recorded) != (given.Licence != nil) {
				t.Errorf("of %+v the object is needed: %v", recorded, NeedsObject(recorded))
			}
			got, err := RestoreLicence(recorded, page, given.Licence)
			if err != nil {
				t.Fatal(err)
			}
			got.Size, got.Unwritten = given.Size, given.Unwritten
			if got != given {
				t.Errorf("%+v, want %+v", got, given)
			}
			if given.Licence != nil {
				if _, err := RestoreLicence(recorded, page, nil); !errors.Is(err, ErrNotKept) {
					t.Errorf("without its object: %v", err)
				}
			}
		})
	}
}

func TestE82TDMRepIsRestoredFromItsRecord(t *testing.T) {
	file, err := rulings.ParseTDM([]byte("[]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range []rulings.Term{
		{Outcome: rulings.TermMissing, Status: 404}, {Outcome: rulings.TermUnread, Cause: "status: x"}, {Outcome: rulings.TermCutShort, Cause: "x"},
	} {
		if got, err := RestoreTDM(term, nil); err != nil || got.File != nil || got.Term != term {
			t.Errorf("%+v, %v", got, err)
		}
	}
	read := rulings.Term{Outcome: rulings.TermRead, Object: rulings.Digest{1}}
	if got, err := RestoreTDM(read, file); err != nil || got.File != file {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := RestoreTDM(read, nil); !errors.Is(err, ErrNotKept) {
		t.Errorf("without its object: %v", err)
	}
}
