package allowances

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/wayleave/wayleave/internal/money"
)

var plenty = Allowance{Name: "team", Period: Month, Amount: money.Limit - 1, Currency: "USD"}

// BenchmarkReserve is a reservation and its settlement: two syncs.
func BenchmarkReserve(b *testing.B) {
	l, err := Open(b.TempDir(), Options{Edge: "e"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		v, err := l.Reserve(context.Background(), []Allowance{plenty}, Request{Price: usd("0.01")})
		if err != nil || v.Outcome != Reserved {
			b.Fatal(v, err)
		}
		if _, err := v.Reservation.Settle(Unnamed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is the reading of a ledger of 100,000 crossings, which happens when
// an edge starts and when a period does.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	text := record{Event: eventOpened, At: noon, Format: ledgerFormat, Allowance: "team"}.encode(nil)
	m := dollars("0.01")
	for i := range 100_000 {
		id := strconv.Itoa(i)
		text = record{Event: eventReserved, At: noon, Edge: "20260301T120000Z-0123456789abcdef", Reservation: id, Crossing: "session/" + id, Decision: DecisionReserved, Basis: Declared, Money: &m}.encode(text)
		text = record{Event: eventSettled, At: noon, Edge: "20260301T120000Z-0123456789abcdef", Reservation: id, ReservedAt: noon, Money: &m}.encode(text)
	}
	if err := os.WriteFile(dir+"/team.jsonl", text, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l, err := Open(dir, Options{Edge: "e"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Spent(context.Background(), plenty); err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
