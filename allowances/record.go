package allowances

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/wayleave/wayleave/internal/money"
)

// Events of a ledger.
const (
	eventOpened     = "opened"
	eventReserved   = "reserved"
	eventSettled    = "settled"
	eventReleased   = "released"
	eventLost       = "lost"
	eventUnreadable = "unreadable"
	eventTorn       = "torn"
)

const (
	ledgerFormat = "wayleave-allowance/1"
	maxLine      = 64 << 10 // octets, without the line's end
	instantForm  = "2006-01-02T15:04:05.000Z"
)

// A record is one line of a ledger. Members that do not apply are absent.
type record struct {
	Event string    `json:"-"`
	At    time.Time `json:"-"` // the writing instant, of a reservation its own
	Edge  string    `json:"edge,omitempty"`

	// opened; From, and then money or Reason, if it was made from the evidence.
	Format    string    `json:"format,omitempty"`
	Allowance string    `json:"allowance,omitempty"`
	From      time.Time `json:"-"`

	// reserved, settled, released, lost
	Reservation string    `json:"reservation,omitempty"`
	Crossing    string    `json:"crossing,omitempty"`
	ReservedAt  time.Time `json:"-"`
	Decision    Decision  `json:"decision,omitempty"`
	Basis       Basis     `json:"basis,omitempty"`

	Money  *money.Money `json:"-"` // absent: not known
	Reason string       `json:"reason,omitempty"`
	Late   bool         `json:"late,omitempty"`  // the evidence has a gap for it
	Again  bool         `json:"again,omitempty"` // an earlier line may say the same

	Torn []int `json:"torn,omitempty"`
}

// A line is a record with its values in the form of the file.
type line struct {
	Event string `json:"event"` // in front, where unfinishedTorn looks for it
	At    string `json:"at"`
	record
	FromText       string `json:"from,omitempty"`
	ReservedAtText string `json:"reserved_at,omitempty"`
	Amount         string `json:"amount,omitempty"`
	Currency       string `json:"currency,omitempty"`
}

// encode appends r's line to b, with its end.
func (r record) encode(b []byte) []byte {
	l := line{Event: r.Event, At: formatInstant(r.At), record: r, FromText: formatInstant(r.From), ReservedAtText: formatInstant(r.ReservedAt)}
	if r.Money != nil {
		l.Amount, l.Currency = r.Money.Amount.String(), r.Money.Currency
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings, numbers and booleans have a form
	}
	return append(append(b, text...), '\n')
}

func formatInstant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(instantForm)
}

var errLine = errors.New("not a line of a ledger")

// decode parses one line without its end. Members and events that another version
// added are the two cases of E9, and differ here: a member is passed over, while an
// event could be money, so that a line which names an unknown one is not read.
func decode(text []byte) (record, error) {
	var f fields
	if err := f.split(text); err != nil {
		return record{}, err
	}
	r := record{
		Event: f.text("event"), At: f.instant("at"), Edge: f.text("edge"),
		Format: f.text("format"), Allowance: f.text("allowance"), From: f.instant("from"),
		Reservation: f.text("reservation"), Crossing: f.text("crossing"), ReservedAt: f.instant("reserved_at"),
		Decision: Decision(f.text("decision")), Basis: Basis(f.text("basis")),
		Money: f.money(), Reason: f.text("reason"), Late: f.flag("late"), Again: f.flag("again"), Torn: f.lengths("torn"),
	}
	if f.err != nil {
		return record{}, f.err
	}
	return r, r.check()
}

// check reports whether r has the members its event needs.
func (r record) check() error {
	ok := !r.At.IsZero()
	switch r.Event {
	case eventOpened:
		ok = ok && r.Format == ledgerFormat && r.Allowance != "" && (r.From.IsZero() || r.Money != nil || r.Reason != "")
	case eventReserved:
		known := r.Basis == Receipt || r.Basis == Unknown || r.Basis == Declared && r.Money != nil
		ok = ok && r.Reservation != "" && known
	case eventSettled:
		ok = ok && r.Reservation != "" && !r.ReservedAt.IsZero() && (r.Money != nil || r.Reason != "")
	case eventReleased, eventLost:
		ok = ok && r.Reservation != "" && !r.ReservedAt.IsZero()
	case eventUnreadable:
		ok = ok && r.Reason != ""
	case eventTorn:
		ok = ok && len(r.Torn) > 0
	default:
		ok = false
	}
	if !ok {
		return errLine
	}
	return nil
}
