package terms

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A script is an origin whose answer the test changes as it goes.
type script struct {
	mu sync.Mutex
	h  http.Handler
}

func (s *script) set(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h = h
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.h
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

// maxAge answers with body and a life in seconds.
func maxAge(seconds int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", fmt.Sprintf("max-age=%d", seconds))
		io.WriteString(w, body)
	}
}

// site puts http://site.test with the handler h into a new world.
func site(t *testing.T, h http.Handler) (*world, *script, hostkey.Origin) {
	w, s := newWorld(t), &script{h: h}
	w.serve("site.test:80", s)
	return w, s, origin(t, "http", "site.test")
}

// refuses reports whether path is refused on what the book returned.
func refuses(o hostkey.Origin, path string, r rulings.RobotsTerms) rulings.Reason {
	return rulings.Decide(rulings.Request{Method: "GET", Origin: o, Target: path}, rulings.Terms{Robots: r}, rulings.DefaultPolicy()).Reason
}

func TestT11OnlyDocumentsOfTermsWithoutAQueryAskForNone(t *testing.T) {
	for target, exempt := range map[string]bool{
		"/robots.txt": true, "/robots.txt?": false, "/robots.txt?a": false, "/Robots.txt": false, "//robots.txt": false, "/a/robots.txt": false,
		"/.well-known/tdmrep.json": true, "/.well-known/tdmrep.json?a": false, "/tdmrep.json": false, "//.well-known/tdmrep.json": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			w, _, o := site(t, text("User-agent: *\nDisallow: /\n"))
			got := w.open(t.TempDir()).Rule(t.Context(), rulings.Request{Method: "GET", Origin: o, Target: target}, &rulings.Terms{}, rulings.DefaultPolicy())
			if asked := w.asked() > 0; asked == exempt || got.Refused() == exempt {
				t.Errorf("%q: asked %v, %s %q", target, asked, got.Outcome, got.Reason)
			}
		})
	}
}

func TestT12FiftyFirstCrossingsMakeOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, slowly(time.Second, text(rules)))
		b := w.open(t.TempDir())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got := b.Robots(t.Context(), o)
				if got.Outcome != rulings.TermRead || got.Cache != rulings.CacheFetched || refuses(o, "/private", got) != rulings.RobotsDisallow {
					t.Errorf("%+v", got)
				}
			})
		}
		wg.Wait()
		if n := w.asked(); n != 1 {
			t.Errorf("%d requests", n)
		}
		if got := b.Robots(t.Context(), o); got.Cache != rulings.CacheReused {
			t.Errorf("a later crossing got its terms as %s", got.Cache)
		}
	})
}

// The origin sees the edge and nothing of the agent, at every hop.
func TestT12AProbeCarriesNothingOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, hops(2, text(rules)))
		w.open(t.TempDir()).Robots(t.Context(), o)
		want := http.Header{"User-Agent": {"wayleave/1.0"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"}}
		requests := w.seen()
		if len(requests) != 3 {
			t.Fatalf("%d requests", len(requests))
		}
		if r := requests[0]; r.Method != "GET" || r.RequestURI != "/robots.txt" || r.Host != "site.test" {
			t.Errorf("%s %s at %s", r.Method, r.RequestURI, r.Host)
		}
		for _, r := range requests {
			if diff := cmp.Diff(want, r.Header); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.URL, diff)
			}
		}
	})
}

type crossing struct{}

func TestT12AProbeOutlivesTheCrossingThatCausedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, slowly(time.Second, text(rules)))
		var recorded []any
		b := w.open(t.TempDir(), func(opt *Options) {
			opt.Record = func(ctx context.Context, _ Probe) { recorded = append(recorded, ctx.Value(crossing{}), ctx.Err()) }
		})
		ctx, leave := context.WithCancel(context.WithValue(t.Context(), crossing{}, "first"))
		left := make(chan rulings.RobotsTerms)
		go func() { left <- b.Robots(ctx, o) }()
		synctest.Wait()
		leave()
		if got := <-left; got.Outcome != rulings.TermCutShort || got.Site != nil {
			t.Errorf("the crossing that left got %+v", got)
		}
		if got := b.Robots(t.Context(), o); got.Outcome != rulings.TermRead {
			t.Errorf("the crossing that stayed got %+v", got)
		}
		if n := w.asked(); n != 1 {
			t.Errorf("%d requests", n)
		}
		if diff := cmp.Diff([]any{"first", nil}, recorded); diff != "" {
			t.Errorf("context of the record (-want +got):\n%s", diff)
		}
	})
}

func TestCloseCutsProbesShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, http.HandlerFunc(silent))
		dir := t.TempDir()
		var probe Probe
		b := w.open(dir, func(opt *Options) { opt.Record = func(_ context.Context, p Probe) { probe = p } })
		got := make(chan rulings.RobotsTerms)
		go func() { got <- b.Robots(t.Context(), o) }()
		synctest.Wait()
		closeBook(t, b)
		if r := <-got; refuses(o, "/", r) != rulings.RobotsCutShort {
			t.Errorf("%+v", r)
		}
		if probe.Failure.Kind != FailureShutdown || probe.CutShort == "" || !probe.CacheUntil.IsZero() {
			t.Errorf("recorded as %+v", probe)
		}
		if r := b.Robots(t.Context(), o); refuses(o, "/", r) != rulings.RobotsCutShort || w.asked() != 1 {
			t.Errorf("after Close: %+v", r)
		}
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, o := site(t, text(rules))
		release := make(chan struct{})
		b := w.open(t.TempDir(), func(opt *Options) { opt.Record = func(context.Context, Probe) { <-release } })
		go b.Robots(t.Context(), o)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); err == nil {
			t.Error("Close returned while a probe was being recorded")
		}
		close(release)
	})
}

// A client that panics stands for a parser that does.
type panicking struct{}

func (panicking) Get(context.Context, string, http.Header) (*http.Response, error) {
	panic("as an origin might make it")
}

func TestAPanicIsTheEdgesOwnFault(t *testing.T) {
	b := newWorld(t).open(t.TempDir(), func(o *Options) { o.Client = panicking{} })
	o := origin(t, "http", "site.test")
	for range 2 {
		if got := b.Robots(t.Context(), o); refuses(o, "/", got) != rulings.RobotsCutShort {
			t.Errorf("%+v", got)
		}
	}
}

func TestEachProbeIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, o := site(t, slowly(time.Second, hops(2, text(rules))))
		var probes []Probe
		registry := prometheus.NewRegistry()
		b := w.open(t.TempDir(), func(opt *Options) {
			opt.Metrics = registry
			opt.Record = func(_ context.Context, p Probe) { probes = append(probes, p) }
		})
		start := time.Now().UTC()
		got := b.Robots(t.Context(), o)
		b.Robots(t.Context(), o)
		s.set(status(503))
		time.Sleep(day)
		failed := time.Now().UTC()
		b.Robots(t.Context(), o)

		want := []Probe{{
			Kind: rulings.TermRobots, URL: "http://site.test/robots.txt", RequestedAt: start, Status: 200,
			FinalURL: "http://site.test/2", Redirects: []string{"http://site.test/1", "http://site.test/2"},
			Object: got.Object, Bytes: int64(len(rules)), CacheUntil: start.Add(3*time.Second + day), Took: 3 * time.Second,
		}, {
			Kind: rulings.TermRobots, URL: "http://site.test/robots.txt", RequestedAt: failed, Status: 503, Bytes: -1,
			CacheUntil: failed.Add(5 * time.Minute),
		}}
		if diff := cmp.Diff(want, probes); diff != "" {
			t.Errorf("probes (-want +got):\n%s", diff)
		}
		counts := map[string]float64{
			"wayleave_terms_fetches_total kind=robots outcome=read":        1,
			"wayleave_terms_fetches_total kind=robots outcome=unreachable": 1,
			"wayleave_terms_cached_origins":                                1,
		}
		if diff := cmp.Diff(counts, series(t, registry)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// series returns the counters and gauges of g by name and labels.
func series(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}
