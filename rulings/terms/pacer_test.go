package terms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// A notedPacer notes, in one row with what reaches origins, what it is asked and
// told.
type notedPacer struct {
	mu     sync.Mutex
	events []string

	pace   func(Ask) error // why a request may not go; nil: all may
	handed error           // what comes of handing over
	head   error
	ended  error
	headBy time.Duration // from when a request was let go; 0: never
	waits  time.Duration
}

func (p *notedPacer) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

func (p *notedPacer) want(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if diff := cmp.Diff(want, p.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func (p *notedPacer) Pace(ctx context.Context, ask Ask) (Pass, error) {
	text := fmt.Sprintf("pace %s %s", ask.Kind, ask.Origin.Host)
	if ask.Delay.Known {
		text += fmt.Sprintf(", delay %d", ask.Delay.Milliseconds)
	}
	if ask.Page != "" {
		text += fmt.Sprintf(", %d behind on %s", ask.Behind, ask.Page)
	}
	p.note("%s", text)
	time.Sleep(p.waits)
	if p.pace != nil {
		if err := p.pace(ask); err != nil {
			return nil, err
		}
	}
	pass := &notedPass{p: p}
	if p.headBy > 0 {
		pass.by = time.Now().Add(p.headBy)
	}
	return pass, ctx.Err()
}

type notedPass struct {
	p  *notedPacer
	by time.Time
}

func (n *notedPass) Handed(context.Context) error {
	n.p.note("handed")
	return n.p.handed
}

func (n *notedPass) HeadBy() time.Time { return n.by }

func (n *notedPass) Head(_ context.Context, status int) error {
	n.p.note("head %d", status)
	return n.p.head
}

func (n *notedPass) Ended(_ context.Context, resp *http.Response, whole bool) error {
	switch {
	case resp == nil:
		n.p.note("ended without an answer")
	case whole:
		n.p.note("ended whole, %d", resp.StatusCode)
	default:
		n.p.note("ended in part, %d", resp.StatusCode)
	}
	return n.p.ended
}

// wire notes what reaches an origin.
func (p *notedPacer) wire(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.note("wire %s%s", r.Host, r.URL.Path)
		h.ServeHTTP(w, r)
	}
}

// paced runs show with a book that p paces, in a world with origins at site.test
// and other.test.
func paced(t *testing.T, p *notedPacer, ofSite, ofOther http.Handler, show func(t *testing.T, w *world, b *Book)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", p.wire(ofSite))
		w.serve("other.test:80", p.wire(ofOther))
		show(t, w, w.open(t.TempDir(), func(o *Options) { o.Pacer = p }))
	})
}

// Each request of a probe is let go first, told of before it is on the wire, and
// again when its answer came and was read whole.
func TestP2_P10_EachRequestOfAProbeIsPaced(t *testing.T) {
	p := &notedPacer{}
	site := pages{"/robots.txt": text("User-agent: *\nCrawl-delay: 2\nLicense: /l.xml\n"), "/l.xml": text(rsl)}
	paced(t, p, site, http.NotFoundHandler(), func(t *testing.T, _ *world, b *Book) {
		if r := b.Rule(t.Context(), request(t), &rulings.Terms{}, rulings.DefaultPolicy()); r.Refused() {
			t.Errorf("ruled %+v", r)
		}
		p.want(t,
			"pace robots site.test", "handed", "wire site.test/robots.txt", "head 200", "ended whole, 200",
			"pace licence site.test, delay 2000, 1 behind on site.test", "handed", "wire site.test/l.xml", "head 200", "ended whole, 200")
	})
}

// A redirect's target is another host's next request, with the delay that is held
// of it.
func TestP2_ARedirectHopIsPacedForItsOwnHost(t *testing.T) {
	p := &notedPacer{}
	other := pages{"/robots.txt": text("User-agent: *\nCrawl-delay: 7\n"), "/l.xml": text(rsl)}
	paced(t, p, redirectTo("http://other.test/l.xml"), other, func(t *testing.T, _ *world, b *Book) {
		page := origin(t, "http", "site.test")
		got := licenceOf(t, b, page, licenceURL)
		if got.Outcome != "read" {
			t.Errorf("%+v", got.Term)
		}
		p.want(t,
			"pace licence site.test, 0 behind on site.test", "handed", "wire site.test/l.xml", "head 302", "ended whole, 302",
			"pace robots other.test", "handed", "wire other.test/robots.txt", "head 200", "ended whole, 200",
			"pace licence other.test, delay 7000, 0 behind on site.test", "handed", "wire other.test/l.xml", "head 200", "ended whole, 200")
	})
}

// An answer counts when it was read whole; one that broke off, and none, are told
// as such (P22).
func TestP22_HowAProbesAnswerEndedIsTold(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		prepare func(*world)
		headBy  time.Duration
		want    []string // behind "handed"
	}{
		{name: "a failure that was read whole", handler: says(503, "later"), want: []string{"wire site.test/robots.txt", "head 503", "ended whole, 503"}},
		{name: "a failure of which not all is read", handler: says(503, strings.Repeat("x", drainLimit+1)), want: []string{"wire site.test/robots.txt", "head 503", "ended whole, 503"}},
		{name: "a failure that breaks off", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(503)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, want: []string{"wire site.test/robots.txt", "head 503", "ended in part, 503"}},
		{name: "a body that breaks off", handler: breakOff(refusesAll, 1), want: []string{"wire site.test/robots.txt", "head 200", "ended in part, 200"}},
		{name: "a file that is cut", handler: endless, want: []string{"wire site.test/robots.txt", "head 200", "ended in part, 200"}},
		{name: "no connection", prepare: func(w *world) { w.remove("site.test:80", nil) }, want: []string{"ended without an answer"}},
		{name: "silence beyond the reservation", handler: silent, headBy: 2 * time.Second, want: []string{"wire site.test/robots.txt", "ended without an answer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &notedPacer{headBy: tt.headBy}
			paced(t, p, tt.handler, http.NotFoundHandler(), func(t *testing.T, w *world, b *Book) {
				if tt.prepare != nil {
					tt.prepare(w)
				}
				start := time.Now()
				b.Robots(t.Context(), origin(t, "http", "site.test"))
				p.want(t, append([]string{"pace robots site.test", "handed"}, tt.want...)...)
				if took := time.Since(start); tt.headBy > 0 && took != tt.headBy {
					t.Errorf("the answer was waited for for %v", took)
				}
			})
		})
	}
}

// paceRefusal is what a pacer says that lets nothing go.
func paceRefusal(kind FailureKind, reason rulings.Reason) *FetchError {
	return &FetchError{Kind: kind, Barred: reason, Err: errors.New("not now"), Pace: rulings.PaceTerms{RetryAfter: 90 * time.Second, Cause: errors.New("not now")}}
}

// What the pace does not let go, or what may not be used for its sake, leaves the
// term unread: for pacing's own reason, which is all that is told, and nothing is
// remembered (P24, P32, P41).
func TestP24_P39_P40_APaceThatRefusesLeavesTheTermUnread(t *testing.T) {
	fault := paceRefusal(FailurePacingStore, rulings.PacingStore)
	for _, tt := range []struct {
		name string
		p    *notedPacer
		want rulings.Reason
		wire int // requests that reached the origin
	}{
		{"back-off", &notedPacer{pace: func(Ask) error { return paceRefusal(FailureBackoff, rulings.Backoff) }}, rulings.Backoff, 0},
		{"a turn too far off", &notedPacer{pace: func(Ask) error { return paceRefusal(FailureCrawlDelay, rulings.CrawlDelay) }}, rulings.CrawlDelay, 0},
		{"a store that fails", &notedPacer{pace: func(Ask) error { return fault }}, rulings.PacingStore, 0},
		{"a turn that cannot be handed over", &notedPacer{handed: fault}, rulings.PacingStore, 0},
		{"an answer that cannot be dated", &notedPacer{head: fault}, rulings.PacingStore, 1},
		{"an answer that cannot be kept", &notedPacer{ended: fault}, rulings.PacingStore, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paced(t, tt.p, text(refusesAll), http.NotFoundHandler(), func(t *testing.T, w *world, b *Book) {
				var known rulings.Terms
				ruling := b.Rule(t.Context(), request(t), &known, rulings.DefaultPolicy())
				if known.Robots.Barred != tt.want || known.Robots.Pace.RetryAfter != 90*time.Second || known.Robots.Pace.Cause == nil || known.Robots.Site != nil {
					t.Errorf("known is %+v", known.Robots)
				}
				if ruling.Reason != tt.want || ruling.RetryAfter != 90*time.Second {
					t.Errorf("ruled %s after %v, want %s", ruling.Reason, ruling.RetryAfter, tt.want)
				}
				if w.asked() != tt.wire {
					t.Errorf("%d requests reached the origin", w.asked())
				}
				tt.p.pace, tt.p.handed, tt.p.head, tt.p.ended = nil, nil, nil, nil
				if r := b.Rule(t.Context(), request(t), &rulings.Terms{}, rulings.DefaultPolicy()); r.Reason != rulings.RobotsDisallow {
					t.Errorf("afterwards ruled %s", r.Reason)
				}
			})
		})
	}
}

// The turns of the licences behind one, and of the page, are said with it (P15);
// where one may not go, those behind it are not asked for (P14).
func TestP14_P15_LicencesAreAskedForWithWhatStandsBehindThem(t *testing.T) {
	site := pages{"/robots.txt": text("User-agent: *\nCrawl-delay: 2\nLicense: /l.xml\nLicense: http://other.test/o.xml\nLicense: /m.xml\n"), "/l.xml": text(rsl), "/m.xml": text(rsl)}
	other := pages{"/o.xml": text(rsl)}
	asks := func(p *notedPacer) (all []string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, e := range p.events {
			if len(e) > 4 && e[:4] == "pace" {
				all = append(all, e)
			}
		}
		return all
	}
	all := []string{
		"pace robots site.test",
		"pace licence site.test, delay 2000, 2 behind on site.test",
		"pace robots other.test",
		"pace licence other.test, 2 behind on site.test",
		"pace licence site.test, delay 2000, 1 behind on site.test",
	}
	p := &notedPacer{}
	paced(t, p, site, other, func(t *testing.T, _ *world, b *Book) {
		b.Rule(t.Context(), request(t), &rulings.Terms{}, rulings.DefaultPolicy())
		if diff := cmp.Diff(all, asks(p)); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
	p = &notedPacer{pace: func(a Ask) error {
		if a.Kind == rulings.TermLicence {
			return paceRefusal(FailureCrawlDelay, rulings.CrawlDelay)
		}
		return nil
	}}
	paced(t, p, site, other, func(t *testing.T, w *world, b *Book) {
		r := b.Rule(t.Context(), request(t), &rulings.Terms{}, rulings.DefaultPolicy())
		if got := asks(p); r.Reason != rulings.CrawlDelay || !slices.Equal(got, all[:2]) {
			t.Errorf("ruled %s, asked %q", r.Reason, got)
		}
	})
}

// Waiting for the pace is not a probe's own time, of which it has 5 seconds, and
// is recorded apart (P28).
func TestP28_WaitingForAPaceIsNotTheProbesTime(t *testing.T) {
	p := &notedPacer{waits: 15 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("site.test:80", slowly(3*time.Second, text(refusesAll)))
		var probes []Probe
		b := w.open(t.TempDir(), func(o *Options) {
			o.Pacer, o.Record = p, func(_ context.Context, p Probe) { probes = append(probes, p) }
		})
		if got := b.Robots(t.Context(), origin(t, "http", "site.test")); got.Outcome != "read" {
			t.Errorf("%+v", got.Term)
		}
		if len(probes) != 1 || probes[0].Waited != 15*time.Second || probes[0].Took != 3*time.Second || len(probes[0].Passes) != 1 {
			t.Errorf("recorded %+v", probes)
		}
	})
}
