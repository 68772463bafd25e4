package proxy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wayleave/wayleave/allowances"
)

// A ledger that cannot be used carries where the mode does, and refuses where it
// does not; an agent meets nothing worse than that.
func TestO33_ALedgerThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, m *moneyEdge, dir string){
		"may only be read": func(_ *testing.T, m *moneyEdge, _ string) { m.writes.fail(syscall.EROFS) },
		"is no directory": func(t *testing.T, _ *moneyEdge, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, nil, 0o600))
		},
		"is everybody's": func(t *testing.T, m *moneyEdge, dir string) {
			must(t, m.ledger.Close())
			must(t, os.WriteFile(filepath.Join(dir, "team.jsonl"), nil, 0o600))
			must(t, os.Chmod(filepath.Join(dir, "team.jsonl"), 0o666))
		},
		"is damaged": func(t *testing.T, m *moneyEdge, dir string) {
			m.spend(t, "0.01")
			f, err := os.OpenFile(filepath.Join(dir, "team.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString("no line of a ledger\n")
			must(t, err)
			must(t, f.Close())
		},
	} {
		for _, mode := range policyModes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				m := startMoney(t, edgeSetup{policy: priced(mode, "0.02", "5.00")})
				spoil(t, m, filepath.Join(m.data, "allowances"))
				o := startOrigin(t, "", false, sayPage)
				resp, body := get(t, m.client("agent", true), o.URL+"/x")
				r := m.crossing("/x")
				if !strings.Contains(r.raw, `"reason":"allowance_unenforceable"`) || !strings.Contains(r.raw, `"reason":"unenforceable"`) {
					t.Errorf("the record: %s", r.raw)
				}
				if mode == "strict" {
					if reasonOf(resp) != "allowance_unenforceable" || resp.StatusCode != 403 || o.requests.Load() != 0 || strings.Contains(body, "allowances") {
						t.Errorf("%s %s", resp.Status, body)
					}
					return
				}
				if resp.StatusCode != 200 || body != "page" {
					t.Errorf("%s %s", resp.Status, body)
				}
				if lost := name != "is damaged"; lost != (len(gapsOf(m)) == 1) {
					t.Errorf("gaps of the ledger: %v", gapsOf(m))
				}
			})
		}
	}
}

// gapsOf are the gaps of ledgers on record.
func gapsOf(m *moneyEdge) (gaps []record) {
	for _, r := range m.records() {
		if r.Event == "allowance_gap" {
			gaps = append(gaps, r)
		}
	}
	return gaps
}

// A settlement that the ledger does not take is told of in the session's log, with
// what was observed, and stands in the ledger when it can be written again.
func TestO34_ASettlementThatTheLedgerDoesNotTake(t *testing.T) {
	var m *moneyEdge
	o := startOrigin(t, "", false, func(w http.ResponseWriter, _ *http.Request) {
		m.writes.fail(syscall.ENOSPC)
		w.Header().Set("X-Charge", "0.03")
		io.WriteString(w, "page")
	})
	m = startMoney(t, edgeSetup{policy: priced("strict", "0.02", "5.00")})
	if resp, body := get(t, m.client("agent", true), o.URL+"/x"); resp.StatusCode != 200 || body != "page" {
		t.Errorf("%s %s", resp.Status, body)
	}
	gaps := gapsOf(m)
	if len(gaps) != 1 || gaps[0].session != "agent" {
		t.Fatalf("gaps %v", gaps)
	}
	id := m.crossing("/x").list("allowance", "reservation")[0]
	gaps[0].want(t, map[string]any{"allowance": "team", "reservation": id, "observed.amount": "0.03", "observed.currency": "USD"})
	if reason, _ := gaps[0].at("reason").(string); !strings.Contains(reason, "settlement") || gaps[0].at("from") == nil || gaps[0].at("to") == nil {
		t.Errorf("the gap: %s", gaps[0].raw)
	}
	m.writes.fail(nil)
	m.wantSpent(t, "team", "0.03")
	must(t, m.ledger.Close())
	if s := m.state(t, "team"); !s.Short || m.ledger.Owed() != 0 {
		t.Errorf("%+v, %d owed", s, m.ledger.Owed())
	}
}

// The reservation of an edge that died counts in full, and the log of its session
// says so.
func TestO34_AnEdgeThatDiedLeavesItsReservation(t *testing.T) {
	data := t.TempDir()
	dead := startMoney(t, edgeSetup{policy: priced("strict", "0.02", "5.00"), data: data})
	dead.carry(t, "0.5") // and no end of it
	m := startMoney(t, edgeSetup{policy: priced("strict", "0.02", "5.00"), data: data}, func(o *allowances.Options) {
		o.Alive = func(string) bool { return false }
	})
	o := startOrigin(t, "", false, sayPage)
	get(t, m.client("agent", true), o.URL+"/x")
	gaps := gapsOf(m)
	if len(gaps) != 1 || gaps[0].session != "before" {
		t.Fatalf("gaps: %v", gaps)
	}
	gaps[0].want(t, map[string]any{"allowance": "team", "observed": nil})
	if s := m.state(t, "team"); s.Reserved.String() != "0.5" || s.Spent.String() != "0.02" || !s.Short {
		t.Errorf("%+v", s)
	}
}

// A ledger that is missing is made from the logs and comes to the same: what was
// named or declared, nothing where nothing was sent, and unknown where it was.
func TestO34_AMissingLedgerIsMadeFromTheLogs(t *testing.T) {
	for _, price := range []string{"0.02", "reported"} {
		m := startMoney(t, edgeSetup{policy: priced("observe", price, "0.05")})
		whole, body := "page", strings.Repeat("x", wholeLimit+1)
		o := startOrigin(t, "", false, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				w.Header().Set("X-Charge", r.URL.RawQuery)
			}
			if r.URL.Path == "/long" {
				whole = body
			}
			io.WriteString(w, whole)
		})
		for _, target := range []string{"/a?0.01", "/b?0.03", "/long?0.04"} {
			get(t, m.client("agent", true), o.URL+target)
		}
		if price == "0.02" {
			get(t, m.client("other", true), o.URL+"/declared")
		}
		resp, err := m.client("agent", true).Get("http://" + closedPort(t) + "/closed")
		text(t, resp, err)
		m.crossing("/closed")
		before := m.state(t, "team")
		must(t, os.Remove(filepath.Join(m.data, "allowances", "team.jsonl")))
		must(t, m.ledger.Close())
		get(t, m.client("agent", true), o.URL+"/next?0")
		if after := m.state(t, "team"); after.Spent != before.Spent || after.Unknown != "" || before.Spent == 0 {
			t.Errorf("%s: %+v, before %+v", price, after, before)
		}
		get(t, m.client("agent", true), o.URL+"/unread?x")
		must(t, os.Remove(filepath.Join(m.data, "allowances", "team.jsonl")))
		must(t, m.ledger.Close())
		get(t, m.client("agent", true), o.URL+"/last?0")
		if m.state(t, "team").Unknown == "" {
			t.Errorf("%s: what nobody knew is known", price)
		}
	}
}

// An edge without ledgers, and a time zone that this machine does not know, cover
// nothing.
func TestO33_WithoutALedgerNothingIsCovered(t *testing.T) {
	zone := priced("strict", "0.02", "5.00")
	zone.Allowances[0].Timezone = "Nowhere/At_all"
	for name, e := range map[string]*testEdge{
		"no ledger":    startEdge(t, edgeSetup{policy: priced("strict", "0.02", "5.00")}),
		"no time zone": startMoney(t, edgeSetup{policy: zone}).testEdge,
		"carried":      startEdge(t, edgeSetup{policy: priced("prefer", "0.02", "5.00")}),
	} {
		o := startOrigin(t, "", false, sayPage)
		resp, err := e.client("agent", false).Get(o.URL + "/x")
		text(t, resp, err)
		if got := fmt.Sprint(reasonOf(resp), resp.Header.Get(breachField)); got != "allowance_unenforceable" || (o.requests.Load() > 0) != (name == "carried") {
			t.Errorf("%s: %s %v", name, resp.Status, resp.Header)
		}
	}
}
