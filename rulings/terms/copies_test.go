package terms

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

func TestT16ACopyThreeDaysOldRulesWhileTheSiteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, text(rules))
		dir := t.TempDir()
		b := w.open(dir)
		first := b.Robots(t.Context(), o)
		time.Sleep(72 * time.Hour)
		s.set(status(503))
		got := b.Robots(t.Context(), o)
		if got.Outcome != rulings.TermUnreachable || got.Cache != rulings.CacheHeld || got.Cause != "it was answered with status 503" {
			t.Errorf("%+v", got.Term)
		}
		if got.Object != first.Object || got.Status != 200 || !got.FetchedAt.Equal(first.FetchedAt) || !got.ExpiresAt.Equal(time.Now().Add(5*time.Minute)) {
			t.Errorf("the held copy is told as %+v", got.Term)
		}
		if refuses(o, "/private", got) != rulings.RobotsDisallow || refuses(o, "/", got) != "" {
			t.Error("the held copy does not rule")
		}

		// It rules after a restart too, and within the 5 minutes nobody asks.
		closeBook(t, b)
		asked := w.asked()
		again := w.open(dir).Robots(t.Context(), o)
		if diff := cmp.Diff(got.Term, again.Term); diff != "" || refuses(o, "/private", again) != rulings.RobotsDisallow {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
		if w.asked() != asked {
			t.Error("asked again within 5 minutes")
		}
	})
}

func TestT16TheNextAnswerReplacesTheHeldCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, maxAge(0, rules))
		b := w.open(t.TempDir())
		for _, step := range []struct {
			answer http.Handler
			reason rulings.Reason
		}{
			{maxAge(0, rules), rulings.RobotsDisallow},
			{status(500), rulings.RobotsDisallow},
			{status(404), ""},
			{status(500), ""},
			{maxAge(0, rules), rulings.RobotsDisallow},
		} {
			s.set(step.answer)
			time.Sleep(25 * time.Hour)
			if got := refuses(o, "/private", b.Robots(t.Context(), o)); got != step.reason {
				t.Errorf("%q, want %q", got, step.reason)
			}
		}
	})
}

func TestT17AnUnreachableSiteIsLeftAloneForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, status(503))
		b := w.open(t.TempDir())
		got := b.Robots(t.Context(), o)
		if refuses(o, "/", got) != rulings.RobotsUnreachable {
			t.Errorf("%+v", got)
		}
		s.set(text(rules))
		time.Sleep(5*time.Minute - time.Nanosecond)
		if got = b.Robots(t.Context(), o); refuses(o, "/", got) != rulings.RobotsUnreachable || w.asked() != 1 {
			t.Errorf("%+v after %d requests", got, w.asked())
		}
		time.Sleep(time.Nanosecond)
		if got = b.Robots(t.Context(), o); refuses(o, "/", got) != "" || w.asked() != 2 {
			t.Errorf("%+v after %d requests", got, w.asked())
		}
	})
}

func TestT17ACutShortProbeIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rules))
		dir := t.TempDir()
		b := w.open(dir)
		w.setEdge(FailureBackoff)
		got := b.Robots(t.Context(), o)
		if refuses(o, "/", got) != rulings.RobotsCutShort || !got.ExpiresAt.IsZero() {
			t.Errorf("%+v", got)
		}
		w.setEdge("")
		if got = b.Robots(t.Context(), o); got.Outcome != rulings.TermRead {
			t.Errorf("asked again at once: %+v", got)
		}
	})
}

// The guard's word is not the site's: it is neither kept nor does a held copy
// stand in for it.
func TestT17ABarredOriginIsRefusedForThatReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, maxAge(0, "User-agent: *\nAllow: /\n"))
		b := w.open(t.TempDir())
		b.Robots(t.Context(), o)
		w.barred["site.test"] = rulings.PrivateAddress
		got := b.Robots(t.Context(), o)
		if refuses(o, "/", got) != rulings.PrivateAddress || got.Site != nil {
			t.Errorf("%+v", got)
		}
		delete(w.barred, "site.test")
		if got = b.Robots(t.Context(), o); refuses(o, "/", got) != "" {
			t.Errorf("after the bar was lifted: %+v", got)
		}
	})
}

func TestT18T124LifeIsCountedFromTheEndOfTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, slowly(3*time.Second, maxAge(60, rules)))
		b := w.open(t.TempDir())
		b.Robots(t.Context(), o)
		s.set(slowly(3*time.Second, status(500)))
		time.Sleep(time.Minute - time.Nanosecond)
		if b.Robots(t.Context(), o); w.asked() != 1 {
			t.Errorf("asked again within a minute of the end of the probe")
		}
		time.Sleep(time.Nanosecond)
		got := b.Robots(t.Context(), o)
		if w.asked() != 2 || !got.ExpiresAt.Equal(time.Now().Add(5*time.Minute)) {
			t.Errorf("the failure is good for %v from its end", time.Until(got.ExpiresAt))
		}
	})
}

// A life of 0 serves all that waited, and nobody else.
func TestT18ALifeOfZeroServesThoseWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, slowly(time.Second, maxAge(0, rules)))
		b := w.open(t.TempDir())
		for round := range 2 {
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					if got := b.Robots(t.Context(), o); got.Outcome != rulings.TermRead {
						t.Errorf("%+v", got)
					}
				})
			}
			wg.Wait()
			if n := w.asked(); n != round+1 {
				t.Errorf("%d requests in %d rounds", n, round+1)
			}
		}
	})
}

func TestT19MarksCodingsAndTypesNeverMakeTheFileUnreadable(t *testing.T) {
	typed := func(mediaType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			io.WriteString(w, body)
		}
	}
	for name, h := range map[string]http.Handler{
		"a byte order mark":   text("\xEF\xBB\xBF" + rules),
		"gzip":                coded("gzip", gzipped([]byte(rules))),
		"a wrong media type":  typed("application/octet-stream", rules),
		"a wrong charset":     typed("text/plain; charset=utf-16", rules),
		"a broken media type": typed(";;", rules),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, o := site(t, h)
				if got := w.open(t.TempDir()).Robots(t.Context(), o); refuses(o, "/private", got) != rulings.RobotsDisallow {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestT123AFailureNeverReplacesALiveAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, text("User-agent: *\nAllow: /\n"))
		b := w.open(t.TempDir())
		first := b.Robots(t.Context(), o)
		s.set(status(503))
		time.Sleep(time.Hour)
		if got := b.Refresh(t.Context(), o); got.Outcome != rulings.TermRead || !got.ExpiresAt.Equal(first.ExpiresAt) {
			t.Errorf("a refresh that failed left %+v", got.Term)
		}
		w.setEdge(FailureShutdown)
		if got := b.Refresh(t.Context(), o); got.Outcome != rulings.TermRead {
			t.Errorf("a refresh that was cut short left %+v", got.Term)
		}
		w.setEdge("")
		s.set(text(rules))
		if got := b.Refresh(t.Context(), o); refuses(o, "/private", got) != rulings.RobotsDisallow {
			t.Errorf("a refresh that was answered left %+v", got.Term)
		}
		if got := b.Robots(t.Context(), o); got.Cache != rulings.CacheReused || refuses(o, "/private", got) != rulings.RobotsDisallow {
			t.Errorf("the next crossing got %+v", got.Term)
		}
	})
}

func TestHeldRobotsNeverAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, text(rules))
		dir := t.TempDir()
		b := w.open(dir)
		if got, ok := b.HeldRobots(o); ok {
			t.Errorf("of an origin that was never asked there is %+v", got)
		}
		b.Robots(t.Context(), o)
		closeBook(t, b)
		asked := w.asked()

		b = w.open(dir)
		got, ok := b.HeldRobots(o)
		if !ok || got.Cache != rulings.CacheReused || refuses(o, "/private", got) != rulings.RobotsDisallow {
			t.Errorf("%+v, %v", got, ok)
		}
		time.Sleep(48 * time.Hour)
		got, ok = b.HeldRobots(o)
		if !ok || got.Cache != rulings.CacheHeld || refuses(o, "/private", got) != rulings.RobotsDisallow {
			t.Errorf("expired: %+v, %v", got, ok)
		}
		if w.asked() != asked {
			t.Error("it asked")
		}
		s.set(status(500))
		other := origin(t, "http", "gone.test")
		b.Robots(t.Context(), other)
		if got, ok := b.HeldRobots(other); !ok || got.Outcome != rulings.TermUnreachable {
			t.Errorf("within 5 minutes of a failure: %+v, %v", got, ok)
		}
		time.Sleep(5 * time.Minute)
		if got, ok := b.HeldRobots(other); ok {
			t.Errorf("5 minutes after a failure: %+v", got)
		}
	})
}
