package backoff_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/internal/hostkey"
)

// Every spelling of a host takes the next turn of the same host and has one
// state file (P1; cases B14, B15 and B16).
func TestP1_SpellingsOfAHostShareItsTurns(t *testing.T) {
	for name, spellings := range map[string][]string{
		"letter case, the last dot, escapes": {"example.test", "EXAMPLE.test", "example.test.", "exampl%65.test"},
		"Unicode and A-labels":               {"bücher.test", "xn--bcher-kva.test", "B\u00dcCHER.test"},
		"an IPv4 address":                    {"127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"},
		"an IPv6 address":                    {"[2001:DB8::1]", "2001:db8:0::1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for i, spelling := range spellings {
				turn, err := s.store.Turn(t.Context(), key(t, spelling), pacedDelay, time.Minute)
				must(t, err)
				if want := time.Duration(i) * pacedDelay; turn.Wait != want {
					t.Errorf("%s waits %v, want %v", spelling, turn.Wait, want)
				}
			}
			if n := states(t, s); n != 1 {
				t.Errorf("there are %d state files", n)
			}
		})
	}
}

func TestP1_OtherHostsHaveTurnsOfTheirOwn(t *testing.T) {
	s := newStage(t)
	label := strings.Repeat("a", 63) + "."
	hosts := []string{
		"localhost", "127.0.0.1", "a.test", "b.a.test", "a_.test", "a-.test", "a.test.json",
		label + label + label + strings.Repeat("a", 60) + "b", label + label + label + strings.Repeat("a", 60) + "c",
	}
	for _, h := range hosts {
		if turn, err := s.store.Turn(t.Context(), key(t, h), pacedDelay, 0); err != nil || turn.Outcome != backoff.Clear {
			t.Errorf("%s: %+v, %v", h, turn, err)
		}
	}
	if n := states(t, s); n != len(hosts) {
		t.Errorf("%d hosts have %d state files", len(hosts), n)
	}
}

func key(t *testing.T, host string) string {
	t.Helper()
	k, err := hostkey.Key(host)
	must(t, err)
	return k
}

func states(t *testing.T, s *stage) (n int) {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			n++
		}
	}
	return n
}
