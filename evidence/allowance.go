package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/rulings"
)

// Paid is what an allowance of the operator has to say of a crossing (specs:
// policy O30 to O34).
type Paid struct {
	Name        string
	Decision    string // reserved, carried or declined
	Reservation string
	Declared    *money.Money // nil: nothing is declared
	Observed    *money.Money // what the answer named; nil: nothing that can be read
	Basis       string       // declared, receipt or unknown
}

// allowances writes what was reserved. A crossing_opened has it too, so that what
// the crossings cost of which an edge did not live to see the end is on record.
func (c *Crossing) allowances(e *encoder) {
	p := e.open("allowance")
	for i := range c.Paid {
		a := &c.Paid[i]
		item := e.item()
		e.text("name", a.Name)
		e.word("decision", a.Decision)
		e.word("reservation", a.Reservation)
		e.money("declared", a.Declared)
		e.money("observed", a.Observed)
		e.word("basis", a.Basis)
		e.close(item)
	}
	e.closeList(p)
}

// money writes an amount and its currency; nothing where m is nil.
func (e *encoder) money(name string, m *money.Money) {
	if m == nil {
		return
	}
	p := e.open(name)
	e.word("amount", m.Amount.String())
	e.word("currency", m.Currency)
	e.close(p)
}

// AllowanceGap says that the ledger of an allowance lacks something from here on
// (specs: policy O34).
type AllowanceGap struct {
	Allowance, Reservation string
	Observed               *money.Money // nil: not known
	Reason                 string
	From, To               time.Time
}

// Event implements Record.
func (AllowanceGap) Event() string { return EventAllowanceGap }

func (r AllowanceGap) payload(e *encoder) {
	e.text("allowance", r.Allowance)
	e.word("reservation", r.Reservation)
	e.money("observed", r.Observed)
	e.text("reason", r.Reason)
	e.instant("from", r.From)
	e.instant("to", r.To)
}

// A Charge is what a log says that an allowance was charged: for a crossing, or
// by an allowance_gap.
type Charge struct {
	Allowance, Reservation string
	At                     time.Time
	Money                  *money.Money // nil: not known, unless Nothing is set
	Nothing                bool         // nothing was sent
}

// Charges yields what the logs below dataDir say that allowances were charged, of
// sessions and of published runs, log by log and each in its order. A session that
// was not written to since from is passed over. A log, or a place in one, that
// cannot be read is an error among the charges, and so are segments that are gone
// from before one that is there, where they may have something since from. Of a log
// that is gone, or lacks its end, nothing tells.
func Charges(ctx context.Context, dataDir string, from time.Time) iter.Seq2[Charge, error] {
	return func(yield func(Charge, error) bool) {
		for _, kind := range []string{"sessions", "runs"} {
			logs, err := writtenSince(filepath.Join(dataDir, kind), from)
			if err != nil && !yield(Charge{}, err) {
				return
			}
			for _, log := range logs {
				if kind == "runs" {
					log = runPrefix + log
				}
				if !chargesOf(ctx, dataDir, log, from, yield) {
					return
				}
			}
		}
	}
}

// writtenSince lists the logs in dir that have a file which was changed at or
// after from.
func writtenSince(dir string, from time.Time) (logs []string, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	ids, err := sessionNames(root)
	for _, id := range ids {
		files, err := fs.ReadDir(root.FS(), id)
		recent := err != nil // whoever opens it finds out
		for _, f := range files {
			info, err := f.Info()
			recent = recent || err != nil || !info.ModTime().Before(from)
		}
		if recent {
			logs = append(logs, id)
		}
	}
	return logs, err
}

// chargesOf yields the charges of one log and reports whether more are wanted.
func chargesOf(ctx context.Context, dataDir, log string, from time.Time, yield func(Charge, error) bool) bool {
	r, err := OpenReader(dataDir, log, ReadOptions{})
	if errors.Is(err, ErrNotFound) {
		return true
	}
	if err != nil {
		return yield(Charge{}, err)
	}
	defer r.Close()
	segment := 0
	for {
		entry, err := r.Next(ctx)
		_, damaged := errors.AsType[*DamageError](err)
		switch {
		case err == io.EOF:
			return true
		case damaged:
			if !yield(Charge{}, err) {
				return false
			}
			continue
		case err != nil:
			return yield(Charge{}, err)
		}
		if entry.Segment > segment+1 && !entry.Time.Before(from) &&
			!yield(Charge{}, fmt.Errorf("the log of session %s lacks segments before segment %d", log, entry.Segment)) {
			return false
		}
		segment = entry.Segment
		for _, c := range entry.charges() {
			if !yield(c, nil) {
				return false
			}
		}
	}
}

// paidMembers are the members of a record that say what was charged.
type paidMembers struct {
	Name, Decision, Reservation, Basis string
	Declared, Observed                 *paidMoney
}

type paidMoney struct{ Amount, Currency string }

// money returns the amount, nil where there is none that can be read.
func (m *paidMoney) money() *money.Money {
	if m == nil {
		return nil
	}
	v, err := money.New(m.Amount, m.Currency)
	if err != nil {
		return nil
	}
	return &v
}

// charges returns what the record says that allowances were charged.
func (e Entry) charges() (list []Charge) {
	switch e.Event {
	case EventAllowanceGap:
		c := Charge{Allowance: e.Text("allowance"), Reservation: e.Text("reservation"), At: e.instant("from")}
		var observed paidMoney
		if e.Decode("observed", &observed) {
			c.Money = observed.money()
		}
		return []Charge{c}
	case EventCrossingOpened, EventCrossingMediated, EventCrossingRefused, EventCrossingObserved:
	default:
		return nil
	}
	var paid []paidMembers
	if !e.Decode("allowance", &paid) {
		return nil
	}
	var failure struct{ Kind rulings.Reason }
	e.Decode("failure", &failure)
	// A request has gone to an address that was reached, and a crossing was opened
	// on an answer.
	sent := e.Event == EventCrossingOpened || e.Text("address") != "" && !unreached(failure.Kind)
	for _, p := range paid {
		c := Charge{Allowance: p.Name, Reservation: p.Reservation, At: e.instant("requested_at")}
		switch {
		case p.Decision == "declined":
			continue
		case !sent:
			c.Nothing = true
		case p.Observed != nil:
			c.Money = p.Observed.money()
		case p.Basis == "declared":
			c.Money = p.Declared.money()
		}
		list = append(list, c)
	}
	return list
}

// unreached reports whether a failure of this kind is one to get a connection. An
// alert of TLS may also come behind the handshake, when the request was sent.
func unreached(kind rulings.Reason) bool {
	switch kind {
	case rulings.DNSError, rulings.DNSTimeout, rulings.ConnectionRefused, rulings.ConnectionTimeout, rulings.DestinationUnavailable,
		rulings.DestinationUnroutable, rulings.TLSCertificateError, rulings.TLSProtocolError:
		return true
	}
	return false
}

// instant returns the instant that the payload's member name holds, else that of
// the record.
func (e Entry) instant(name string) time.Time {
	if ms, ok := readInstant(e.line.member(name)); ok {
		return time.UnixMilli(ms).UTC()
	}
	return e.Time
}
