package allowances

import (
	"strings"
	"testing"
	"time"
)

// dead is an Alive that knows of no edge but those named.
func dead(but ...string) func(string) bool {
	return func(edge string) bool { return strings.Contains(strings.Join(but, " "), edge) }
}

// An edge that is killed between reservation and settlement: what it reserved
// counts in full to the period's end, and the evidence is told of it once.
func TestO34_AnEdgeThatDiesWithAReservation(t *testing.T) {
	for name, tt := range map[string]struct {
		reserves     string
		before, then string // what is known while it lives, and after
		outcome      Outcome
	}{
		"declared": {"4.5", "0 +4.5", "0 +4.5 short", Exhausted},
		"reported": {"reported", "0", "0 unknown short", Unenforceable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The child's clock is the machine's, and so its period has to be.
			b := benchIn(t, dir, Options{Edge: "watcher", Alive: dead("child", "watcher", "other")})
			b.now = time.Now()
			a := team
			a.Location = time.FixedZone("noon", int(12*time.Hour/time.Second)-b.now.UTC().Hour()*3600)
			c := startChild(t, "linger", dir, "child", tt.reserves)
			id := c.says(t, "reserved ")
			must(t, b.Sweep(t.Context(), []Allowance{a}))
			b.wants(a, tt.before)
			must(t, c.Process.Kill())
			_ = c.Wait()
			b.wants(a, tt.before)

			died := benchIn(t, dir, Options{Edge: "other", Alive: dead("watcher", "other")})
			died.now = b.now.Add(time.Second)
			died.reserve(a, usd("1"), tt.outcome)
			died.wants(a, tt.then)
			if len(died.gaps) != 1 || died.gaps[0].Reservation != id || died.gaps[0].Allowance != "team" || died.gaps[0].Crossing != "s/1" || died.gaps[0].Observed != nil || died.gaps[0].Reason == "" {
				t.Fatalf("%+v", died.gaps)
			}
			died.reserve(a, usd("1"), tt.outcome)
			must(t, died.Sweep(t.Context(), []Allowance{a}))
			third := benchIn(t, dir, Options{Edge: "third", Alive: dead("third")})
			third.now = b.now.Add(time.Minute)
			must(t, third.Sweep(t.Context(), []Allowance{a}))
			third.wants(a, tt.then)
			if len(died.gaps) != 1 || len(third.gaps) != 0 {
				t.Errorf("told again: %+v, %+v", died.gaps, third.gaps)
			}
			third.now = b.now.Add(24 * time.Hour)
			third.wants(a, "0")
			third.reserve(a, usd("1"), Reserved)
		})
	}
}

// says waits for the child's next line and returns what follows prefix in it.
func (c *child) says(t *testing.T, prefix string) string {
	t.Helper()
	if !c.stdout.Scan() {
		t.Fatalf("the child ended before it said %q", prefix)
	}
	rest, ok := strings.CutPrefix(c.stdout.Text(), prefix)
	if !ok {
		t.Fatalf("the child said %q, want %q", c.stdout.Text(), prefix)
	}
	return rest
}

// An edge that died on an earlier day is told of too, and costs this one nothing.
func TestO34_AnEdgeThatDiedInAnEarlierPeriod(t *testing.T) {
	b := newBench(t)
	b.reserve(team, usd("4.5"), Reserved)
	later := benchIn(t, b.dir, Options{Edge: "edge-2", Alive: dead()})
	for range 2 {
		later.now = noon.Add(24 * time.Hour)
		later.spends(team, "1")
		later.now = noon.Add(48 * time.Hour)
		later.spends(team, "2")
	}
	if len(later.gaps) != 1 {
		t.Errorf("%+v", later.gaps)
	}
	later.wants(team, "4")
}

// An edge taken for dead that lives after all settles what it reserved.
func TestO34_AnEdgeThatLivesAfterAll(t *testing.T) {
	b := newBench(t)
	r := b.reserve(team, usd("4.5"), Reserved)
	other := benchIn(t, b.dir, Options{Edge: "edge-2", Alive: dead()})
	must(t, other.Sweep(t.Context(), []Allowance{team}))
	b.settle(r, observe("1"))
	for _, b := range []*bench{b, other} {
		b.wants(team, "1 short")
	}
}
