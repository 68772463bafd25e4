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
