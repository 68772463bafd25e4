package allowances

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wayleave/wayleave/internal/money"
)

// children are what the test binary can do when it runs again as a process of its
// own.
var children = map[string]func(args []string) error{
	"reserve": childReserve,
	"linger":  childLinger,
}

// TestMain runs a child instead of the tests when the parent asked for one.
func TestMain(m *testing.M) {
	if name := os.Getenv("ALLOWANCES_TEST_CHILD"); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A child is a running process of this test binary.
type child struct {
	*exec.Cmd
	stdout *bufio.Scanner
}

// startChild runs a child, which ends with the test at the latest.
func startChild(t *testing.T, name string, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ALLOWANCES_TEST_CHILD="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return &child{cmd, bufio.NewScanner(out)}
}

// childReserve makes 20 crossings at once reserve two cents each in args[0], and
// says how many were let through.
func childReserve(args []string) error {
	l, err := Open(args[0], Options{Edge: args[1]})
	if err != nil {
		return err
	}
	n, err := crowd(l, 20)
	fmt.Println("through", n)
	return err
}

// crowd lets n crossings at once reserve two cents each of one dollar, and settle
// two of three. It returns how many were let through.
func crowd(l *Ledger, n int) (through int, err error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			v, verr := l.Reserve(context.Background(), []Allowance{dollar}, Request{Crossing: strconv.Itoa(i), Price: usd("0.02")})
			mu.Lock()
			defer mu.Unlock()
			if verr != nil || v.Outcome == Unenforceable {
				err = fmt.Errorf("%v, %+v", verr, v)
			}
			if v.Outcome != Reserved {
				return
			}
			through++
			switch i % 3 {
			case 0:
				_, verr = v.Reservation.Settle(Unnamed)
			case 1:
				_, verr = v.Reservation.Settle(observe("0.02"))
			}
			if verr != nil {
				err = verr
			}
		})
	}
	wg.Wait()
	return through, err
}

// childLinger reserves args[2] in args[0], says so, and waits to be killed.
func childLinger(args []string) error {
	l, err := Open(args[0], Options{Edge: args[1]})
	if err != nil {
		return err
	}
	price := Price{Basis: Receipt}
	if args[2] != "reported" {
		price = usd(args[2])
	}
	v, err := l.Reserve(context.Background(), []Allowance{team}, Request{Crossing: "s/1", Price: price})
	if err != nil || v.Outcome != Reserved {
		return fmt.Errorf("%v, %+v", err, v)
	}
	fmt.Println("reserved", v.Reservation.ID())
	time.Sleep(time.Hour)
	return nil
}

// team is five dollars a day.
var team = Allowance{Name: "team", Period: Day, Amount: 5 * money.Unit, Currency: "USD"}

// dollar is one dollar a month.
var dollar = Allowance{Name: "dollar", Period: Month, Amount: money.Unit, Currency: "USD"}

func usd(amount string) Price { return Price{Basis: Declared, Money: dollars(amount)} }

func observe(amount string) Charge { return Observed(dollars(amount)) }

func dollars(amount string) money.Money {
	m, err := money.New(amount, "USD")
	if err != nil {
		panic(err)
	}
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A bench is one edge and its ledgers.
type bench struct {
	*Ledger
	t    *testing.T
	dir  string
	now  time.Time
	gaps []Gap
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newBench opens ledgers in a new directory, at noon of a day that stands still.
func newBench(t *testing.T) *bench { return benchIn(t, t.TempDir()+"/allowances", Options{}) }

func benchIn(t *testing.T, dir string, o Options) *bench {
	t.Helper()
	b := &bench{t: t, dir: dir, now: noon}
	if o.Edge == "" {
		o.Edge = "edge-1"
	}
	o.Now = func() time.Time { return b.now }
	o.Gap = func(g Gap) { b.gaps = append(b.gaps, g) }
	var err error
	b.Ledger, err = Open(dir, o)
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// reserve reserves price of the allowance and fails unless want is the outcome.
func (b *bench) reserve(a Allowance, price Price, want Outcome) *Reservation {
	b.t.Helper()
	v, err := b.Reserve(b.t.Context(), []Allowance{a}, Request{Crossing: "s/1", Price: price})
	must(b.t, err)
	if v.Outcome != want || len(v.Each) != 1 || (v.Reservation != nil) != (want == Reserved) {
		b.t.Fatalf("%v %+v, want %v", v.Outcome, v, want)
	}
	return v.Reservation
}

// carry reserves price in a mode that carries whatever the outcome.
func (b *bench) carry(a Allowance, price Price, want Outcome) *Reservation {
	b.t.Helper()
	v, err := b.Reserve(b.t.Context(), []Allowance{a}, Request{Crossing: "s/1", Price: price, Carry: true})
	must(b.t, err)
	if v.Outcome != want || v.Reservation == nil {
		b.t.Fatalf("%v %+v, want %v", v.Outcome, v, want)
	}
	return v.Reservation
}

// spends reserves and settles an amount.
func (b *bench) spends(a Allowance, amount string) {
	b.t.Helper()
	b.settle(b.reserve(a, usd(amount), Reserved), Unnamed)
}

func (b *bench) settle(r *Reservation, c Charge) Settlement {
	b.t.Helper()
	s, err := r.Settle(c)
	must(b.t, err)
	return s
}

// wants fails unless the allowance's state, in the form of totals, is want.
func (b *bench) wants(a Allowance, want string) {
	b.t.Helper()
	s, err := b.Spent(b.t.Context(), a)
	if got := totals(s); err != nil || got != want {
		b.t.Fatalf("%s (%+v, %v), want %s", got, s, err, want)
	}
}

func totals(s State) string {
	words := []string{s.Spent.String()}
	if s.Reserved != 0 {
		words = append(words, "+"+s.Reserved.String())
	}
	for word, is := range map[string]bool{"unknown": s.Unknown != "", "missing": s.Missing} {
		if is {
			words = append(words, word)
		}
	}
	if s.Short {
		words = append(words, "short")
	}
	return strings.Join(words, " ")
}

func (b *bench) path(a Allowance) string { return b.dir + "/" + a.Name + ".jsonl" }

func (b *bench) content(a Allowance) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(a))
	must(b.t, err)
	return string(text)
}

// events are the events of the ledger in order; "?" is a line that cannot be read.
func (b *bench) events(a Allowance) (events []string) {
	b.t.Helper()
	for text := range strings.Lines(b.content(a)) {
		r, err := decode([]byte(strings.TrimSuffix(text, "\n")))
		if err != nil {
			r.Event = "?"
		}
		events = append(events, r.Event)
	}
	return events
}

func (b *bench) wantEvents(a Allowance, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.events(a)); diff != "" {
		b.t.Errorf("events, -want +got:\n%s%s", diff, b.content(a))
	}
}
