package proxy

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/allowances"
	"github.com/wayleave/wayleave/internal/money"
	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings"
)

// noonOfToday is what the clock of all ledgers says, so that no period ends while
// the tests run.
var noonOfToday = time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)

// A moneyEdge is an edge with ledgers on disk. By their clock it is noon of the
// day on which the tests began.
type moneyEdge struct {
	*testEdge
	ledger *allowances.Ledger
	policy *rulings.Policy
	writes *failingDisk
}

// startMoney starts an edge that keeps ledgers below its data directory.
func startMoney(t *testing.T, s edgeSetup, change ...func(*allowances.Options)) *moneyEdge {
	t.Helper()
	m := &moneyEdge{}
	s.data = cmp.Or(s.data, t.TempDir())
	m.writes = &failingDisk{FS: allowances.Disk(filepath.Join(s.data, "allowances"))}
	s.options = func(o *Options) {
		lo := allowances.Options{Edge: o.ID, FS: m.writes, Now: func() time.Time { return noonOfToday },
			Gap: func(g allowances.Gap) { must(t, RecordAllowanceGap(o.Evidence, g)) },
			Charges: func(a allowances.Allowance, from time.Time) iter.Seq2[allowances.Fact, error] {
				return RecordedCharges(context.Background(), s.data, a, from)
			}}
		for _, f := range change {
			f(&lo)
		}
		ledger, err := allowances.Open(filepath.Join(s.data, "allowances"), lo)
		must(t, err)
		m.ledger, m.policy = ledger, o.Policy()
		o.Ledger = ledger
	}
	m.testEdge = startEdge(t, s)
	t.Cleanup(func() { m.ledger.Close() })
	return m
}

// A failingDisk is the disk, on which writing fails while a test wants it to.
type failingDisk struct {
	allowances.FS
	mu    sync.Mutex
	fault error
}

func (d *failingDisk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = err
}

func (d *failingDisk) Open(name string, create bool) (allowances.File, error) {
	f, err := d.FS.Open(name, create)
	if err != nil {
		return nil, err
	}
	return &failingFile{f, d}, nil
}

type failingFile struct {
	allowances.File
	disk *failingDisk
}

func (f *failingFile) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	fault := f.disk.fault
	f.disk.mu.Unlock()
	if fault != nil {
		return 0, fault
	}
	return f.File.Write(p)
}

// priced is a policy under which requests to 127.0.0.1 cost price, an amount of
// USD or a word, and everybody may spend amount a day.
func priced(mode, price, amount string) rulings.PolicyFile {
	p := withService("127.0.0.1")
	p.Mode = mode
	terms := rulings.ServiceFile{ChargeHeader: "X-Charge", Price: rulings.PriceFile{Amount: price, Currency: "USD"}}
	if price == "reported" || price == "unknown" {
		terms.Price = rulings.PriceFile{Word: price}
	}
	p.ServiceTerms = []rulings.ServiceFile{terms}
	p.Allowances = []rulings.AllowanceFile{{Name: "team", User: "*", Period: "day", Amount: amount, Currency: "USD"}}
	return p
}

// state is what the ledger of an allowance comes to.
func (m *moneyEdge) state(t *testing.T, name string) allowances.State {
	t.Helper()
	i := slices.IndexFunc(m.policy.Allowances(), func(a rulings.Allowance) bool { return a.Name == name })
	s, err := m.ledger.Spent(t.Context(), AllowanceOf(m.policy.Allowances()[i]))
	must(t, err)
	return s
}

// wantSpent checks what is spent of an allowance, "unknown" where nobody knows, and
// that nothing stays reserved.
func (m *moneyEdge) wantSpent(t *testing.T, name, want string) {
	t.Helper()
	s := m.state(t, name)
	switch amount, err := money.Parse(want); {
	case s.Reserved != 0:
		t.Errorf("%v stays reserved", s.Reserved)
	case want == "unknown":
		if s.Unknown == "" {
			t.Errorf("%v is spent, and that is known", s.Spent)
		}
	case err != nil || s.Unknown != "" || s.Spent != amount:
		t.Errorf("%v is spent (%s), want %s", s.Spent, s.Unknown, want)
	}
}

// carry reserves an amount of the policy's first allowance, whatever is left of it.
func (m *moneyEdge) carry(t *testing.T, amount string) *allowances.Reservation {
	t.Helper()
	a := AllowanceOf(m.policy.Allowances()[0])
	price, err := money.New(amount, a.Currency)
	must(t, err)
	v, err := m.ledger.Reserve(t.Context(), []allowances.Allowance{a},
		allowances.Request{Crossing: "before", Carry: true, Price: allowances.Price{Basis: allowances.Declared, Money: price}})
	must(t, err)
	return v.Reservation
}

// spend has an amount of the policy's first allowance spent, "unknown": nobody
// knows how much.
func (m *moneyEdge) spend(t *testing.T, amount string) {
	t.Helper()
	charge := allowances.Unnamed
	if amount == "unknown" {
		amount, charge = "0", allowances.Unreadable
	}
	_, err := m.carry(t, amount).Settle(charge)
	must(t, err)
}

// A moneyVector is a policyVector with what it says of money.
type moneyVector struct {
	policyVector
	Expect map[string]moneyOutcome
}

type moneyOutcome struct {
	policyOutcome
	SpentAfter string `json:"spent_after"`
}

// The vectors of money in the three modes: a real origin, a real ledger.
func TestO30_O34_MoneyVectors(t *testing.T) {
	ran := 0
	for _, v := range vectors.Read[moneyVector](t, "", "policy.json", vectors.Group("money")) {
		for mode, want := range v.Expect {
			ran++
			t.Run(v.ID+"/"+mode, func(t *testing.T) { v.run(t, mode, want) })
		}
	}
	if ran == 0 {
		t.Error("no vector was run")
	}
}

func (v *moneyVector) run(t *testing.T, mode string, want moneyOutcome) {
	t.Logf("%s (%s)", v.Title, strings.Join(v.Rules, ", "))
	c := &v.Crossing
	p := startPublisher(t, ways[3], nil, func(rw http.ResponseWriter, r *http.Request) {
		if c.Receipt != "" {
			rw.Header().Set("X-Charge", c.Receipt)
		}
		c.Response.serve(rw)
	})
	addr := p.addr
	if c.Dial == "refused" {
		addr = closedPort(t)
	}
	// Whatever the vector calls its host, it is one on loopback here.
	u, err := url.Parse(c.URL)
	must(t, err)
	policy := policyOf(t, strings.ReplaceAll(v.Policy, u.Hostname(), "127.0.0.1"), mode)
	m := startMoney(t, edgeSetup{policy: policy})
	if c.Spent != "" {
		m.spend(t, c.Spent)
	}
	var other *allowances.Reservation
	if c.Reserved != "" {
		other = m.carry(t, c.Reserved)
	}
	resp, err := m.client(cmp.Or(c.User, "any"), false).Get("https://" + addr + u.Path)
	text(t, resp, err)
	r := m.crossing(u.Path)
	v.check(t, r, resp, want)
	if want.PageRequested != nil && (p.count(u.Path) > 0) != *want.PageRequested {
		t.Errorf("the page was asked for %d times", p.count(u.Path))
	}
	must(t, other.Release())
	if want.SpentAfter != "" {
		m.wantSpent(t, m.policy.Allowances()[0].Name, want.SpentAfter)
	}
}

// check compares the record and the answer with what was to come of the crossing.
func (v *moneyVector) check(t *testing.T, r record, resp *http.Response, want moneyOutcome) {
	t.Helper()
	var notice []string
	if field := resp.Header.Get(breachField); field != "" {
		notice = strings.Split(field, ", ")
	}
	gaps := r.gapReasons()
	slices.Sort(gaps)
	got := policyOutcome{Outcome: r.at("outcome").(string), Class: want.Class, Breach: r.list("breach", "reason"), Gaps: slices.Compact(gaps), Notice: notice}
	got.Reason, _ = r.at("refusal.reason").(string)
	got.Whose, _ = r.at("refusal.whose").(string)
	got.Stage, _ = r.at("refusal.stage").(string)
	if want.Status != 0 {
		got.Status = resp.StatusCode
	}
	if want.Class != "" {
		got.Class = r.at("class").(string)
	}
	expected := policyOutcome{Outcome: want.Outcome, Status: want.Status, Class: want.Class, Breach: want.Breach, Gaps: want.Gaps, Notice: want.Notice,
		Reason: want.Reason, Whose: want.Whose, Stage: want.Stage}
	if diff := gocmp.Diff(expected, got, gocmp.AllowUnexported(policyOutcome{})); diff != "" {
		t.Errorf("what came of it (-want +got):\n%s%s", diff, r.raw)
	}
	if want.Basis != "" && want.Outcome == "delivered" && !slices.Contains(r.list("allowance", "basis"), want.Basis) {
		t.Errorf("basis %v, want %s", r.list("allowance", "basis"), want.Basis)
	}
}
