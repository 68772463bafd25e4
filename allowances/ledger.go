package allowances

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Options are what a Ledger is told.
type Options struct {
	// Edge is the id of this edge, which every line names.
	Edge string
	// Alive reports whether the edge id runs. It is asked under a ledger's lock,
	// of other edges that have reservations open. nil: every edge is taken to run.
	Alive func(edge string) bool
	// Charges returns what the evidence says was charged to an allowance from an
	// instant on. It is asked when a ledger is missing, and no allowance of that
	// name is to be had until it ends. nil: nothing was charged.
	Charges func(a Allowance, from time.Time) iter.Seq2[Fact, error]
	// Gap is told of each allowance_gap that no caller is returned (O34), from the
	// goroutine that found it. nil: they are only logged.
	Gap func(Gap)

	Now    func() time.Time // the wall clock; nil: time.Now
	FS     FS               // nil: the disk
	Logger *slog.Logger     // nil: nothing is logged
}

// A Ledger keeps the money of allowances in a directory. Any number of goroutines
// may use it, and any number of processes may have the directory open.
type Ledger struct {
	o    Options
	fs   FS
	now  func() time.Time
	edge string
	log  *slog.Logger

	mu    sync.Mutex
	books map[string]*book
}

// Open returns the ledgers in dir. A directory that is missing is made. One that
// cannot be had is no error here: the edge runs, and the allowances are
// unenforceable until it can. What is an error is an Options without Edge.
func Open(dir string, o Options) (*Ledger, error) {
	if o.Edge == "" {
		return nil, errors.New("a ledger needs to know its edge")
	}
	l := &Ledger{o: o, fs: o.FS, now: o.Now, edge: o.Edge, log: o.Logger, books: map[string]*book{}}
	if l.fs == nil {
		l.fs = Disk(dir)
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l, nil
}

// instant is now in the form of a ledger's lines.
func (l *Ledger) instant() time.Time { return l.now().Round(0).Truncate(time.Millisecond) }

func (l *Ledger) book(name string) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[name]
	if b == nil {
		b = newBook(l, name)
		l.books[name] = b
	}
	return b
}

// Spent returns the state of a in the period that it is now. It appends nothing
// and makes no ledger. If the ledger cannot be had or read the error says why, and
// the state is Unknown.
func (l *Ledger) Spent(ctx context.Context, a Allowance) (State, error) {
	s, err := l.spent(ctx, a)
	if err != nil {
		return State{Unknown: cannotBeHad(a)}, err
	}
	return s, nil
}

func cannotBeHad(a Allowance) string {
	return "the ledger of allowance " + a.Name + " cannot be read and written"
}

func (l *Ledger) spent(ctx context.Context, a Allowance) (State, error) {
	if err := a.check(); err != nil {
		return State{}, err
	}
	b := l.book(a.Name)
	if err := b.wait(ctx); err != nil {
		return State{}, err
	}
	defer b.leave()
	err := b.acquire(ctx, a, false)
	if err == nil {
		err = b.refresh(a)
	}
	if errors.Is(err, errNoLedger) || err == nil && b.fresh() {
		v := newView(a, l.now())
		b.drop()
		return State{From: v.from, Until: v.to, Missing: true}, nil
	}
	if err != nil {
		b.drop()
		return State{}, err
	}
	return b.look(), nil
}

// look returns the state with what an append would put into the ledger first.
func (b *book) look() State {
	if len(b.scan.run) > 0 && !slices.Equal(b.scan.run, b.torn) {
		b.view.damage(b.scan.at, b.now, b.scan.fault())
	}
	b.mu.Lock()
	for _, r := range b.owed {
		b.view.take(r)
	}
	b.mu.Unlock()
	s := b.view.state()
	if len(b.scan.run) > 0 || b.ragged || b.owes() > 0 {
		b.view = nil // it holds what is not in the ledger, or not yet
	}
	return s
}

// Sweep looks through the ledgers of as for reservations whose edge died, and
// appends what is owed. Reserve does the same for the ledgers it uses; Sweep is for
// the start of an edge and for quiet times. A ledger that is missing stays so.
func (l *Ledger) Sweep(ctx context.Context, as []Allowance) error {
	var errs []error
	for _, a := range as {
		err := a.check()
		if err == nil {
			err = l.sweep(ctx, a)
		}
		if err != nil && !errors.Is(err, errNoLedger) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (l *Ledger) sweep(ctx context.Context, a Allowance) error {
	b := l.book(a.Name)
	if err := b.wait(ctx); err != nil {
		return err
	}
	err := b.open(ctx, a, nil)
	l.tell(b.leave())
	return err
}

// tell passes gaps on.
func (l *Ledger) tell(gaps []Gap) {
	for _, g := range gaps {
		l.log.Warn("the ledger has a gap", "allowance", g.Allowance, "reservation", g.Reservation, "reason", g.Reason)
		if l.o.Gap != nil {
			l.o.Gap(g)
		}
	}
}

// Owed reports how many records the ledgers would not take yet.
func (l *Ledger) Owed() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.books {
		n += b.owes()
	}
	return n
}

// Close appends what is owed and closes the files. The error says that a ledger
// still lacks something. A Ledger that is used again opens its files again.
func (l *Ledger) Close() error {
	l.mu.Lock()
	books := slices.Collect(maps.Values(l.books))
	l.mu.Unlock()
	var errs []error
	for _, b := range books {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}

func (b *book) close() error {
	if err := b.wait(context.Background()); err != nil {
		return err
	}
	var err error
	if b.owes() > 0 && b.last.Name != "" {
		err = b.open(context.Background(), b.last, nil)
	}
	b.drop()
	b.l.tell(b.leave())
	return err
}
