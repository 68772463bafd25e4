package terms

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

const (
	refusesAll = "User-agent: *\nDisallow: /\n"
	elsewhere  = "http://licences.test/l.xml"
)

// T69 and what its robots.txt says: of each way in which the origin of a licence
// can speak about it, what becomes of the licence and what is asked for.
func TestT69RobotsAtTheOriginOfALicence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots http.Handler // nil: the licence's origin has none and gives 404
		setUp  func(*world)
		want   rulings.Term // Outcome and Cause count
		unread rulings.Cause
		barred rulings.Reason
		life   time.Duration // from now; 0: no expiry
		asked  []string
	}{
		{name: "no robots.txt lets it be read", want: rulings.Term{Outcome: "read"}, life: day, asked: []string{"/robots.txt", "/l.xml"}},
		{name: "one that allows it lets it be read", robots: text("User-agent: *\nDisallow: /\nAllow: /l.xml\n"), want: rulings.Term{Outcome: "read"}, life: day, asked: []string{"/robots.txt", "/l.xml"}},
		{name: "one that refuses other names lets it be read", robots: text("User-agent: other\nDisallow: /\n"), want: rulings.Term{Outcome: "read"}, life: day, asked: []string{"/robots.txt", "/l.xml"}},
		{name: "a refusal is unread as long as that file lives", robots: maxAge(600, refusesAll), want: rulings.Term{Outcome: "unread", Cause: "robots: the robots.txt of its origin does not allow it"}, unread: "robots", life: 10 * time.Minute, asked: []string{"/robots.txt"}},
		{name: "a refusal to our name is one", robots: text("User-agent: wayleave\nDisallow: /l.xml\n"), want: rulings.Term{Outcome: "unread", Cause: "robots: the robots.txt of its origin does not allow it"}, unread: "robots", life: day, asked: []string{"/robots.txt"}},
		{name: "an unreachable one refuses", robots: status(503), want: rulings.Term{Outcome: "unread", Cause: "robots: the robots.txt of its origin could not be reached"}, unread: "robots", life: 5 * time.Minute, asked: []string{"/robots.txt"}},
		{name: "one that the edge could not ask for cuts the licence short", setUp: func(w *world) { w.setEdge(FailureBackoff) }, want: rulings.Term{Outcome: "cut_short", Cause: "the robots.txt of its origin was not asked for: the back-off of the host does not fit the budget"}},
		{name: "one that the guard bars cuts it short for that reason", setUp: bar("licences.test", rulings.PrivateAddress), want: rulings.Term{Outcome: "cut_short", Cause: "the robots.txt of its origin was not asked for: the edge may not ask this host (private_address)"}, barred: rulings.PrivateAddress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": tt.robots})
				if tt.setUp != nil {
					tt.setUp(w)
				}
				b := w.open(t.TempDir())
				got := licenceOf(t, b, origin(t, "https", "page.test"), elsewhere)
				if diff := cmp.Diff(tt.want, rulings.Term{Outcome: got.Outcome, Cause: got.Cause}); diff != "" {
					t.Errorf("term (-want +got):\n%s", diff)
				}
				if got.Unread != tt.unread || got.Barred != tt.barred || got.URL != elsewhere || got.Kind != rulings.TermLicence {
					t.Errorf("%+v", got)
				}
				if tt.life > 0 && !got.ExpiresAt.Equal(time.Now().Add(tt.life)) || tt.life == 0 && !got.ExpiresAt.IsZero() {
					t.Errorf("expires at %v", got.ExpiresAt)
				}
				var want []string
				for _, path := range tt.asked {
					want = append(want, "licences.test"+path)
				}
				if diff := cmp.Diff(want, w.askedFor()); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The robots check is made for every use: of a licence that is held, too, and by
// the copy and the tokens of the day.
func TestT69EveryUseIsRuled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		robots := &script{h: maxAge(60, "User-agent: second\nDisallow: /\n")}
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": robots})
		b := w.open(t.TempDir())
		page := origin(t, "http", "page.test")
		use := func(tokens ...string) rulings.LicenceTerms {
			return b.Licence(t.Context(), byRobots(elsewhere), page, tokens, rulings.DefaultPolicy())
		}
		if got := use("wayleave"); got.Outcome != rulings.TermRead {
			t.Errorf("%+v", got.Term)
		}
		if got := use("wayleave", "second"); got.Unread != rulings.CauseRobots {
			t.Errorf("by another token that is refused: %+v", got.Term)
		}
		if got := use("wayleave"); got.Outcome != rulings.TermRead || got.Cache != rulings.CacheReused {
			t.Errorf("by the first again: %+v", got.Term)
		}
		robots.set(maxAge(60, refusesAll))
		time.Sleep(time.Minute)
		if got := use("wayleave"); got.Unread != rulings.CauseRobots || !got.ExpiresAt.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("when the file has changed: %+v", got.Term)
		}
		// A held copy rules while the file cannot be had (T16).
		robots.set(status(500))
		time.Sleep(time.Minute)
		if got := use("wayleave"); got.Unread != rulings.CauseRobots || !got.ExpiresAt.Equal(time.Now().Add(5*time.Minute)) {
			t.Errorf("by the held copy: %+v", got.Term)
		}
		robots.set(status(404))
		time.Sleep(5 * time.Minute)
		if got := use("wayleave"); got.Outcome != rulings.TermRead || got.Cache != rulings.CacheReused {
			t.Errorf("when there is none any more: %+v", got.Term)
		}
		want := []string{"licences.test/robots.txt", "licences.test/l.xml"}
		for range 3 {
			want = append(want, "licences.test/robots.txt")
		}
		if diff := cmp.Diff(want, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// A redirect to an origin that refuses is not followed; until the refusing file
// is over nobody is asked again.
func TestT69ARedirectToARefusingOriginIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		robots := &script{h: maxAge(600, refusesAll)}
		w.serve("site.test:80", redirectTo("http://licences.test/l.xml"))
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": robots})
		dir := t.TempDir()
		var probe Probe
		b := w.open(dir, func(o *Options) {
			o.Record = func(_ context.Context, p Probe) {
				if p.Kind == rulings.TermLicence {
					probe = p
				}
			}
		})
		page := origin(t, "http", "site.test")
		start := time.Now().UTC()
		want := rulings.Term{
			Kind: rulings.TermLicence, Mechanism: rulings.ByRobots, URL: licenceURL, FinalURL: elsewhere, Status: 302, Outcome: rulings.TermUnread,
			Cause: "robots: the robots.txt of its origin does not allow it (redirect 1)", Cache: rulings.CacheFetched,
			FetchedAt: start, ExpiresAt: start.Add(10 * time.Minute),
		}
		got := licenceOf(t, b, page, licenceURL)
		if diff := cmp.Diff(want, got.Term); diff != "" || got.Unread != rulings.CauseRobots {
			t.Errorf("%q (-want +got):\n%s", got.Unread, diff)
		}
		want.Cache = rulings.CacheReused
		if diff := cmp.Diff(want, licenceOf(t, b, page, licenceURL).Term); diff != "" {
			t.Errorf("a second use (-want +got):\n%s", diff)
		}
		if probe.Failure.Kind != FailureRobots || probe.Status != 302 || !probe.CacheUntil.Equal(got.ExpiresAt) {
			t.Errorf("recorded as %+v", probe)
		}
		closeBook(t, b)
		time.Sleep(10*time.Minute - time.Nanosecond)
		b = w.open(dir)
		if got := licenceOf(t, b, page, licenceURL); got.Unread != rulings.CauseRobots {
			t.Errorf("%+v", got)
		}
		asked := []string{"site.test/l.xml", "licences.test/robots.txt"}
		if diff := cmp.Diff(asked, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		robots.set(status(404))
		time.Sleep(time.Nanosecond)
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead || got.FinalURL != elsewhere {
			t.Errorf("%+v", got)
		}
		asked = append(asked, "site.test/l.xml", "licences.test/robots.txt", "licences.test/l.xml")
		if diff := cmp.Diff(asked, w.askedFor()); diff != "" {
			t.Errorf("then asked (-want +got):\n%s", diff)
		}
	})
}

// Whose page it is decides what is ruled: a licence that redirects to the page's
// own origin is open to that page and shut to every other.
func TestT69WhatIsOpenToOnePageIsNotOpenToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("short.test:80", redirectTo(elsewhere))
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": text(refusesAll)})
		own, other := origin(t, "http", "licences.test"), origin(t, "http", "page.test")
		for _, order := range [][]string{{"own", "other"}, {"other", "own"}, {"own", "other", "own", "other"}} {
			b := w.open(t.TempDir())
			for _, whose := range order {
				page, want := own, rulings.TermRead
				if whose == "other" {
					page, want = other, rulings.TermUnread
				}
				got := licenceOf(t, b, page, "http://short.test/l")
				if got.Outcome != want || want == rulings.TermUnread && got.Unread != rulings.CauseRobots {
					t.Errorf("%v, %s: %+v", order, whose, got)
				}
				held, ok := b.HeldLicence(byRobots("http://short.test/l"), page, []string{"wayleave"}, nil)
				if !ok || held.Outcome != want {
					t.Errorf("%v, %s held: %+v, %v", order, whose, held, ok)
				}
			}
		}
	})
}

// A live copy is used only if all that lies on the way to it may be asked for.
func TestT69TheWayToALicenceIsRuledAtEveryUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		robots := &script{h: maxAge(60, "")}
		w.serve("site.test:80", redirectTo("http://between.test/"))
		w.serve("between.test:80", pages{"/": redirectTo(elsewhere), "/robots.txt": robots})
		w.serve("licences.test:80", pages{"/l.xml": text(rsl)})
		b := w.open(t.TempDir())
		page := origin(t, "http", "site.test")
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead {
			t.Fatalf("%+v", got.Term)
		}
		asked := w.asked()
		robots.set(maxAge(60, refusesAll))
		time.Sleep(time.Minute)
		got := licenceOf(t, b, page, licenceURL)
		if got.Unread != rulings.CauseRobots || got.Cause != "robots: the robots.txt of its origin does not allow it (redirect 1)" {
			t.Errorf("%+v", got.Term)
		}
		w.setEdge(FailureBackoff)
		time.Sleep(time.Minute)
		if got := licenceOf(t, b, page, licenceURL); got.Unread != rulings.CauseRobots {
			t.Errorf("by the held copy: %+v", got.Term)
		}
		if n := w.asked(); n != asked+1 {
			t.Errorf("%d requests, want one for the file that changed", n-asked)
		}
	})
}

// The time that a robots.txt on the way takes is the probe's (T69).
func TestT69ARobotsOnTheWaySharesTheFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", slowly(2*time.Second, redirectTo(elsewhere)))
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": slowly(4*time.Second, status(404))})
		b := w.open(t.TempDir())
		page, start := origin(t, "http", "site.test"), time.Now()
		got := licenceOf(t, b, page, licenceURL)
		if took := time.Since(start); took != 5*time.Second || got.Unread != rulings.CauseTransport {
			t.Errorf("after %v: %+v", took, got)
		}
		time.Sleep(5 * time.Minute) // the robots.txt is there now
		if got := licenceOf(t, b, page, licenceURL); got.Outcome != rulings.TermRead {
			t.Errorf("%+v", got.Term)
		}
	})
}

// A file that is good for no time serves the crossing that asked for it (T18).
func TestT18ARobotsOfNoLifeIsAskedForOnceACrossing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("licences.test:80", pages{"/l.xml": redirectTo("/real.xml"), "/real.xml": text(rsl), "/robots.txt": maxAge(0, "")})
		b := w.open(t.TempDir())
		for crossing := range 2 {
			if got := licenceOf(t, b, origin(t, "http", "page.test"), elsewhere); got.Outcome != rulings.TermRead {
				t.Errorf("%+v", got.Term)
			}
			if n := w.asked(); n != 3+crossing {
				t.Errorf("%v", w.askedFor())
			}
		}
	})
}

// A host that the operator declared a service has no terms (T1), and an address
// that is not public is not asked for any.
func TestT1AServiceIsAskedForALicenceWithoutRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": text(refusesAll)})
		b := w.open(t.TempDir())
		policy, faults := rulings.NewPolicy(rulings.PolicyFile{Services: []string{"licences.test"}})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		page := origin(t, "http", "page.test")
		if got := b.Licence(t.Context(), byRobots(elsewhere), page, nil, policy); got.Outcome != rulings.TermRead {
			t.Errorf("%+v", got.Term)
		}
		got := b.Licence(t.Context(), byRobots("http://10.0.0.1/l.xml"), page, nil, policy)
		if got.Outcome != rulings.TermCutShort || got.Barred != rulings.PrivateAddress {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{"licences.test/l.xml"}, w.askedFor()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

func TestACrossingThatLeavesDoesNotEndTheProbeOfALicence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("licences.test:80", pages{"/l.xml": slowly(time.Second, text(rsl)), "/robots.txt": slowly(time.Second, status(404))})
		b := w.open(t.TempDir())
		page := origin(t, "http", "page.test")
		for _, at := range []time.Duration{time.Second / 2, 5 * time.Second / 4} { // in the middle of either request
			ctx, leave := context.WithTimeout(t.Context(), at)
			got := b.Licence(ctx, byRobots(elsewhere), page, nil, nil)
			leave()
			if got.Outcome != rulings.TermCutShort || got.Barred != "" || got.Cause == "" {
				t.Errorf("the crossing that left after %v got %+v", at, got.Term)
			}
		}
		if got := licenceOf(t, b, page, elsewhere); got.Outcome != rulings.TermRead || w.asked() != 2 {
			t.Errorf("%+v after %d requests", got.Term, w.asked())
		}
	})
}

// Crossings of different pages that wait for one probe are each ruled by
// themselves. With the race detector this also shows that a passage may serve a
// probe and its crossing at once.
func TestT69CrossingsThatShareAProbeAreRuledByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("short.test:80", pages{"/l": slowly(time.Second, redirectTo(elsewhere))})
		w.serve("licences.test:80", pages{"/l.xml": text(rsl), "/robots.txt": text(refusesAll)})
		b := w.open(t.TempDir())
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				page, want := origin(t, "http", "licences.test"), rulings.TermRead
				if i%2 == 0 {
					page, want = origin(t, "http", fmt.Sprintf("page-%d.test", i)), rulings.TermUnread
				}
				if got := licenceOf(t, b, page, "http://short.test/l"); got.Outcome != want {
					t.Errorf("%d: %+v", i, got.Term)
				}
			})
		}
		wg.Wait()
	})
}

func TestCloseCutsTheProbeOfALicenceShort(t *testing.T) {
	for name, hang := range map[string]string{"at the licence": "/l.xml", "at the robots.txt on its way": "/robots.txt"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				p := pages{"/l.xml": text(rsl)}
				p[hang] = http.HandlerFunc(silent)
				w.serve("site.test:80", redirectTo(elsewhere))
				w.serve("licences.test:80", p)
				b := w.open(t.TempDir())
				got := make(chan rulings.LicenceTerms)
				go func() { got <- licenceOf(t, b, origin(t, "http", "site.test"), licenceURL) }()
				synctest.Wait()
				closeBook(t, b)
				if l := <-got; l.Outcome != rulings.TermCutShort || l.Licence != nil {
					t.Errorf("%+v", l)
				}
				if l := licenceOf(t, b, origin(t, "http", "site.test"), licenceURL); l.Outcome != rulings.TermCutShort {
					t.Errorf("after Close: %+v", l)
				}
			})
		})
	}
}

func TestAPanicWhileALicenceIsReadIsTheEdgesOwnFault(t *testing.T) {
	b := newWorld(t).open(t.TempDir(), func(o *Options) { o.Client = panicking{} })
	for _, url := range []string{licenceURL, elsewhere} {
		if got := licenceOf(t, b, origin(t, "http", "site.test"), url); got.Outcome != rulings.TermCutShort || got.Licence != nil {
			t.Errorf("%+v", got)
		}
	}
}
