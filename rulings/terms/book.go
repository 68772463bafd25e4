package terms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wayleave/wayleave/internal/durable"
)

// Options are what a Book needs of the rest of the edge.
type Options struct {
	// Client sends the probes. Nil means that nothing can be asked: every probe
	// is cut short.
	Client Client

	// UserAgent returns the edge's own User-Agent, whose product is the first
	// declared token (T12). Nil means "wayleave".
	UserAgent func() string

	// Record is called once for each probe when it has ended, before the
	// crossings that wait for it go on and after its object is on disk. Its
	// context has the values of the crossing that caused the probe and is not
	// cancelled with it. Nil records nothing.
	Record func(ctx context.Context, p Probe)

	// Pacer lets each request of a probe go when its host may be asked. Nil lets
	// them all go at once.
	Pacer Pacer

	// Tokens returns the product tokens whose Crawl-delay binds probes. Nil means
	// "wayleave".
	Tokens func() []string

	// Held is the directory of what is held from one start to the next; empty means
	// that of the book. A run that is recorded or replayed begins with an empty one,
	// so that it asks for all that it needs.
	Held string

	// Now is the clock; nil means time.Now.
	Now func() time.Time

	// Logger gets faults of the cache and of the edge; nil discards them.
	Logger *slog.Logger

	// Redact returns a URL without what may stand in no log (specs: evidence E23).
	// Nil leaves URLs out of the log altogether.
	Redact func(url string) string

	// Metrics gets the counters of the book; nil means none.
	Metrics prometheus.Registerer
}

// A Book is what origins have said: of each kind of document a shelf. All its methods may be called concurrently.
type Book struct {
	dir, held string // the latter has what is held from one start to the next

	client    Client
	userAgent func() string
	pacer     Pacer
	tokens    func() []string
	record    func(context.Context, Probe)
	now       func() time.Time
	log       *slog.Logger
	redact    func(string) string // of what goes to log
	fetches   *prometheus.CounterVec

	robots, licences, tdm *shelf

	saver   *saver
	objects recent // what is known to be on disk

	mu      sync.Mutex // guards closed, and that no look-up begins after it is set
	closed  bool
	flights sync.WaitGroup // look-ups going on

	// closing ends the probes that are going on; its cause is errClosed.
	closing context.Context
	close   context.CancelCauseFunc
}

// Open returns the book kept in dir, which it makes when it is not there.
func Open(dir string, o Options) (*Book, error) {
	held := cmp.Or(o.Held, dir)
	for _, sub := range directories(dir, held) {
		if err := durable.MkdirAll(sub, 0o700); err != nil {
			return nil, fmt.Errorf("opening the book of terms: %w", err)
		}
	}
	b := &Book{dir: dir, held: held, client: o.Client, userAgent: o.UserAgent, record: o.Record, now: o.Now, log: o.Logger, redact: o.Redact, pacer: o.Pacer, tokens: o.Tokens}
	b.robots = b.newShelf(robotsKind, robotsEntries, robotsOctets)
	b.licences = b.newShelf(licenceKind, licenceEntries, licenceOctets)
	b.tdm = b.newShelf(tdmKind, tdmEntries, tdmOctets)
	b.closing, b.close = context.WithCancelCause(context.Background())
	b.fillIn()
	if err := b.register(o.Metrics); err != nil {
		return nil, fmt.Errorf("opening the book of terms: %w", err)
	}
	b.saver = startSaver(func(e *entry, k *known) { e.shelf.save(e, k) })
	return b, nil
}

// directories are those that a book writes to.
func directories(dir, held string) []string {
	return []string{filepath.Join(dir, "objects"), filepath.Join(held, robotsKind.dir), filepath.Join(held, licenceKind.dir), filepath.Join(held, tdmKind.dir)}
}

// Healthy returns why the book cannot keep what is read; nil while it can.
func (b *Book) Healthy() error {
	for _, sub := range directories(b.dir, b.held) {
		if err := durable.Usable(sub); err != nil {
			return fmt.Errorf("the book of terms: %w", err)
		}
	}
	return nil
}

// fillIn puts what nil stands for in place of it.
func (b *Book) fillIn() {
	if b.client == nil {
		b.client = noClient{}
	}
	if b.userAgent == nil {
		b.userAgent = func() string { return "wayleave" }
	}
	if b.pacer == nil {
		b.pacer = noPacer{}
	}
	if b.tokens == nil {
		b.tokens = func() []string { return []string{"wayleave"} }
	}
	if b.record == nil {
		b.record = func(context.Context, Probe) {}
	}
	clock := b.now
	if clock == nil {
		clock = time.Now
	}
	// Without the monotonic part: these times go to disk and come back.
	b.now = func() time.Time { return clock().UTC().Round(0) }
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.redact == nil {
		b.redact = func(string) string { return "" }
	}
}

// Close cuts the probes short that are going on, and waits for them and for the
// cache to be written until ctx ends. Crossings that come later get what is
// held in memory.
func (b *Book) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.close(errClosed)

	done := make(chan struct{})
	go b.drain(done)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the book of terms: %w", ctx.Err())
	}
}

// drain closes done when no look-up is going on and the cache is written.
func (b *Book) drain(done chan<- struct{}) {
	b.flights.Wait()
	b.saver.stop()
	close(done)
}

// begin counts a look-up, unless the book is closed.
func (b *Book) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.flights.Add(1)
	return true
}

// register makes the metrics and hands them to r unless it is nil.
func (b *Book) register(r prometheus.Registerer) error {
	b.fetches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wayleave_terms_fetches_total",
		Help: "Requests of the edge for a source's terms, by kind and outcome.",
	}, []string{"kind", "outcome"})
	origins := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "wayleave_terms_cached_origins",
		Help: "Origins whose terms are held in memory.",
	}, func() float64 { return float64(b.robots.cache.size.Load()) })
	if r == nil {
		return nil
	}
	return errors.Join(r.Register(b.fetches), r.Register(origins))
}
