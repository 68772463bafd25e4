package terms

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/robots"
)

// cachedOrigins returns the entries of b, by walking its shards.
func cachedOrigins(b *Book) (n, octets int) {
	for i := range b.robots.cache.shards {
		for _, e := range *b.robots.cache.shards[i].entries.Load() {
			n++
			octets += e.octets()
		}
	}
	return n, octets
}

// A clientFunc answers without a network.
type clientFunc func(url string) *http.Response

func (f clientFunc) Get(_ context.Context, url string, _ http.Header) (*http.Response, error) {
	return f(url), nil
}

// answering returns a Client that answers every URL with body and counts.
func answering(body string, asked *atomic.Int64) Client {
	return clientFunc(func(string) *http.Response {
		asked.Add(1)
		return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}
	})
}

func TestMemoryIsBoundedByOriginsAndEvictedOnesComeFromDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		b := newWorld(t).open(t.TempDir(), func(o *Options) { o.Client = answering(rules, &asked) })
		b.robots.cache = newCache(b.robots, 2, 1<<20)
		site := func(i int) hostkey.Origin {
			return hostkey.Origin{Scheme: "https", Host: fmt.Sprintf("site-%d.test", i), Port: 443}
		}
		const origins = 4 * shards
		for i := range origins {
			b.Robots(t.Context(), site(i))
			synctest.Wait() // what has to be written stays in memory
		}
		for i := range b.robots.cache.shards {
			if n := len(*b.robots.cache.shards[i].entries.Load()); n > 2 {
				t.Errorf("%d origins in a shard", n)
			}
		}
		if n, _ := cachedOrigins(b); int64(n) != b.robots.cache.size.Load() || n == 0 {
			t.Errorf("%d origins in memory, counted as %d", n, b.robots.cache.size.Load())
		}
		for i := range origins {
			if got := b.Robots(t.Context(), site(i)); got.Cache != rulings.CacheReused {
				t.Errorf("origin %d: %+v", i, got.Term)
			}
		}
		if n := asked.Load(); n != origins {
			t.Errorf("%d probes of %d origins", n, origins)
		}
	})
}

func TestMemoryIsBoundedByOctets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		b := newWorld(t).open(t.TempDir(), func(o *Options) {
			o.Client = answering(string(lines(robots.MaxBytes+1)), &asked)
		})
		// One host is one shard, whatever the port.
		for port := range uint16(8) {
			b.Robots(t.Context(), hostkey.Origin{Scheme: "http", Host: "big.test", Port: 8000 + port})
			synctest.Wait()
		}
		if n, octets := cachedOrigins(b); octets > robotsOctets || n < 2 {
			t.Errorf("%d origins with %d octets are held", n, octets)
		}
	})
}

// Licences are evicted and read from disk again as origins are, and a document of
// which nothing is parsed counts for nothing.
func TestMemoryOfLicencesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		b := newWorld(t).open(t.TempDir(), func(o *Options) { o.Client = answering(rsl, &asked) })
		b.licences.cache = newCache(b.licences, 2, 1<<20)
		page := origin(t, "https", "site.test")
		const licences = 4 * shards
		for range 2 {
			for i := range licences {
				if got := licenceOf(t, b, page, fmt.Sprintf("https://site.test/l-%d.xml", i)); got.Licence == nil {
					t.Errorf("%+v", got.Term)
				}
				synctest.Wait() // what has to be written stays in memory
			}
		}
		for i := range b.licences.cache.shards {
			if n := len(*b.licences.cache.shards[i].entries.Load()); n > 2 {
				t.Errorf("%d licences in a shard", n)
			}
		}
		if n := asked.Load(); n != licences {
			t.Errorf("%d probes of %d licences", n, licences)
		}
		e := b.licences.cache.obtain(place{url: "https://site.test/l-0.xml"}, b.now())
		failed := ledger{answered: &visit{Outcome: rulings.TermUnread, Cause: "too_large: x", Truncated: true}}
		if e.known.Store(newKnown(licenceKind, e.url, failed, document{}, nil)); e.octets() != 0 {
			t.Errorf("a licence of which nothing is kept counts for %d octets", e.octets())
		}
	})
}

// Those used last stay.
func TestEvictionTakesWhatWasNotUsedForLongest(t *testing.T) {
	entries := map[key]*entry{}
	add := func(port uint16, used int64) *entry {
		e := &entry{place: place{origin: hostkey.Origin{Scheme: "http", Host: "a.test", Port: port}}}
		e.used.Store(used)
		entries[e.place.key()] = e
		return e
	}
	oldest, busy, unsaved := add(1, 3), add(2, 1), add(3, 2)
	busy.flight = &flight{}
	unsaved.unsaved = true
	var last *entry
	for i := range uint16(robotsEntries - 2) {
		last = add(10+i, 100+int64(i))
	}
	last.used.Store(0)
	if !newCache(nil, robotsEntries, robotsOctets).trim(entries, last) || len(entries) != robotsEntries {
		t.Fatalf("%d entries", len(entries))
	}
	if entries[oldest.place.key()] != nil || !oldest.gone {
		t.Error("the entry not used for longest is still there")
	}
	if entries[busy.place.key()] == nil || entries[unsaved.place.key()] == nil || entries[last.place.key()] == nil {
		t.Error("an entry in use was evicted")
	}
}

// A crossing that got an entry just before it was evicted must not probe on it:
// another may be probing on its successor.
func TestNoLookUpBeginsOnAnEvictedEntry(t *testing.T) {
	var asked atomic.Int64
	b := newWorld(t).open(t.TempDir(), func(o *Options) { o.Client = answering(rules, &asked) })
	e := b.robots.cache.obtain(place{origin: origin(t, "https", "site.test")}, b.now())
	if !e.evict() {
		t.Fatal("an idle entry was not evicted")
	}
	if f, ok := b.robots.board(t.Context(), e, errand{}); ok || f != nil {
		t.Error("a look-up began")
	}
}

// What becomes known while the file is written is written too.
func TestTheSaverWritesWhatIsKnownLast(t *testing.T) {
	var saved []*known
	first, second := &known{url: "first"}, &known{url: "second"}
	e := &entry{}
	e.known.Store(first)
	var s *saver
	s = startSaver(func(e *entry, k *known) {
		if saved = append(saved, k); len(saved) == 1 {
			e.known.Store(second)
			s.add(e)
		}
	})
	s.add(e)
	s.stop()
	if len(saved) != 2 || saved[1] != second || e.unsaved {
		t.Errorf("saved %d times, unsaved %v", len(saved), e.unsaved)
	}
}

// The same as TestT12FiftyFirstCrossingsMakeOneProbe, with sockets and the real
// clock, for the race detector.
func TestT12FiftyFirstCrossingsOverSockets(t *testing.T) {
	var asked atomic.Int64
	arrived := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-arrived
		}
		io.WriteString(w, rules)
	}))
	defer srv.Close()
	w := newWorld(t)
	w.transport = &http.Transport{DisableCompression: true}
	defer w.transport.CloseIdleConnections()
	b := w.open(t.TempDir())
	o := origin(t, "http", srv.Listener.Addr().String())
	var wg, begun sync.WaitGroup
	for range 50 {
		begun.Add(1)
		wg.Go(func() {
			begun.Done()
			if got := b.Robots(t.Context(), o); refuses(o, "/private", got) != rulings.PrivateAddress || got.Outcome != rulings.TermRead {
				t.Errorf("%+v", got)
			}
		})
	}
	begun.Wait()
	close(arrived)
	wg.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// warm returns a book that holds a live robots.txt of 1,000 rules.
func warm(t testing.TB) (*Book, hostkey.Origin) {
	var asked atomic.Int64
	body := "User-agent: *\n" + strings.Repeat("Disallow: /some/path/*/more\n", 1000)
	b, err := Open(t.TempDir(), Options{Client: answering(body, &asked)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBook(t, b) })
	o := origin(t, "https", "site.test")
	b.Robots(context.Background(), o)
	return b, o
}

func TestAWarmLookUpDoesNotAllocate(t *testing.T) {
	b, o := warm(t)
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() { b.Robots(ctx, o) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRobotsWarm(b *testing.B) {
	book, o := warm(b)
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			book.Robots(ctx, o)
		}
	})
}

// paths answers each URL by its path, without a network.
func paths(bodies map[string]string) Client {
	return clientFunc(func(url string) *http.Response {
		for suffix, body := range bodies {
			if strings.HasSuffix(url, suffix) {
				return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}
			}
		}
		return &http.Response{StatusCode: 404, Body: http.NoBody}
	})
}

func BenchmarkLicenceWarm(b *testing.B) {
	for name, url := range map[string]string{"own origin": "https://site.test/l.xml", "another origin": "https://licences.test/l.xml"} {
		b.Run(name, func(b *testing.B) {
			book, err := Open(b.TempDir(), Options{Client: paths(map[string]string{"/l.xml": rsl, "/robots.txt": rules})})
			if err != nil {
				b.Fatal(err)
			}
			defer closeBook(b, book)
			o, ctx, policy := origin(b, "https", "site.test"), context.Background(), rulings.DefaultPolicy()
			b.ReportAllocs()
			for b.Loop() {
				if got := book.Licence(ctx, byRobots(url), o, policy.Identity.Tokens, policy); got.Licence == nil {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkRuleWarm(b *testing.B) {
	for name, robots := range map[string]string{"robots.txt": rules, "robots.txt and a licence": "License: /l.xml\n" + rules} {
		b.Run(name, func(b *testing.B) {
			book, err := Open(b.TempDir(), Options{Client: paths(map[string]string{"/l.xml": rsl, "/robots.txt": robots})})
			if err != nil {
				b.Fatal(err)
			}
			defer closeBook(b, book)
			req := rulings.Request{Method: "GET", Origin: origin(b, "https", "site.test"), Target: "/page"}
			ctx, policy := context.Background(), rulings.DefaultPolicy()
			b.ReportAllocs()
			for b.Loop() {
				if got := book.Rule(ctx, req, &rulings.Terms{}, policy); got.Refused() {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkPutObjectKnown(b *testing.B) {
	book, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer closeBook(b, book)
	body := []byte("content-type: text/html\nx-robots-tag: noai\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := book.PutObject(body); err != nil {
			b.Fatal(err)
		}
	}
}
