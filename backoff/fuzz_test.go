package backoff_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// FuzzDecode holds what the store relies on for any file: it is refused, or it
// is a state that survives being written, and that binds nobody for longer than
// what is promised (P43, P44).
func FuzzDecode(f *testing.F) {
	if len(stateSeeds) == 0 {
		f.Fatal("no seeds")
	}
	for i, s := range stateSeeds {
		f.Add([]byte(s), int64(i-3)*3_600_000)
	}
	f.Fuzz(func(t *testing.T, data []byte, ms int64) {
		s, err := backoff.Decode(data, host)
		if err != nil {
			if !s.Equal(backoff.State{}) {
				t.Fatalf("%v, and %+v", err, s)
			}
			return
		}
		text := backoff.Encode(s)
		again, err := backoff.Decode(text, host)
		if err != nil || !again.Equal(s) || !bytes.Equal(backoff.Encode(again), text) {
			t.Fatalf("%s is read back as %+v, %v", text, again, err)
		}
		now := after(time.Duration(ms%(1<<40)) * time.Millisecond)
		checkBounds(t, s, now)
		looked := rules.Recover(s, now)
		if _, _, ok := rules.Reserve(s, now, looked, backoff.Sender{ID: "fuzz"}, time.Second); ok && looked.Backoff.Until.After(now) {
			t.Fatalf("reserved before the end of the wait of %+v", looked)
		}
	})
}

// checkBounds holds what is true of every state at every time.
func checkBounds(t *testing.T, s backoff.State, now time.Time) {
	t.Helper()
	looked := rules.Recover(s, now)
	if next := looked.Next(now, "", 0); next.Wait > backoff.MaxInterval+time.Second || next.Wait < 0 {
		t.Fatalf("%+v at %v waits %v", s, now, next.Wait)
	}
	const delay = 5 * time.Second
	taken, turn := rules.Turn(s, now, delay, 20*time.Second)
	if turn.Wait > rules.MaxDelay+rules.MaxWait+delay || turn.Wait < 0 || turn.At.Before(now) {
		t.Fatalf("%+v at %v: %+v", s, now, turn)
	}
	if back := rules.GiveBack(taken, now, turn); turn.Outcome != backoff.Refused && !back.Turn.Reserved.Equal(turn.Before) {
		t.Fatalf("%+v given back leaves %+v", turn, back.Turn)
	}
}

// FuzzReadRetryAfter holds for any two field lines that the end is within the
// hour, that a date is told exactly, and that their order does not matter.
func FuzzReadRetryAfter(f *testing.F) {
	seeds := []string{"0", "120", "3601", "Mon, 30 Nov 2026 12:01:00 GMT", "Monday, 30-Nov-26 12:01:00 GMT", "Mon Nov 30 12:01:00 2026", "Sun Nov  1 12:01:00 2026", "+5", "", "99999999999999999999", "Tue, 29 Feb 2028 23:59:60 GMT"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for i, s := range seeds {
		f.Add(s, seeds[len(seeds)-1-i], int64(1_796_040_000_000+i))
	}
	f.Fuzz(func(t *testing.T, a, b string, ms int64) {
		now := time.UnixMilli(ms % (1 << 42)).UTC()
		r := backoff.ReadRetryAfter([]string{a, b}, now)
		if swapped := backoff.ReadRetryAfter([]string{b, a}, now); swapped != r {
			t.Fatalf("%q, %q: %+v one way and %+v the other", a, b, r, swapped)
		}
		if !r.Usable {
			if r != (backoff.RetryAfter{}) {
				t.Fatalf("%q, %q: %+v", a, b, r)
			}
			return
		}
		wait := r.End.Sub(now)
		if wait < 0 || wait > backoff.MaxInterval || r.Capped && (wait != backoff.MaxInterval || r.Date) {
			t.Fatalf("%q, %q at %v: %+v", a, b, now, r)
		}
		if r.Date && (r.End.Nanosecond() != 0 || wait == 0) {
			t.Fatalf("%q, %q: no date ends the wait at %v", a, b, r.End)
		}
	})
}

// FuzzRules takes a host through any sequence of events and holds the promises:
// turns are spaced, an imposed wait is never shortened, one sender at a time has
// the host, and what is stored can be read.
func FuzzRules(f *testing.F) {
	seeds := [][]byte{{0, 1, 2, 3, 4, 5, 6, 7}, {2, 60, 4, 4, 5, 200, 3, 1, 6}, {0, 0, 1, 0, 0, 7, 0, 1}, []byte("\x02\x12\x22\x32\x04\x14\x24\x05\x06")}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	const delay = 3 * time.Second
	f.Fuzz(func(t *testing.T, events []byte) {
		now := after(0)
		s := backoff.State{Host: host}
		var turn, last backoff.Turn
		for _, e := range events {
			was := s
			who := string(rune('a' + e>>6))
			switch e % 8 {
			case 0:
				if s, turn = rules.Turn(s, now, delay, 20*time.Second); turn.Outcome != backoff.Refused {
					if turn.At.Sub(last.At) < delay {
						t.Fatalf("turns at %v and %v", last.At, turn.At)
					}
					last = turn
				}
			case 1:
				if s = rules.GiveBack(s, now, last); s.Turn != was.Turn {
					last = backoff.Turn{At: last.Before}
				}
			case 2:
				s, _ = rules.Answered(s, now, backoff.Answer{Status: 429, RetryAfter: []string{string(rune('0' + e>>4&7))}, Paced: e>>7 == 0, Reservation: who})
			case 3:
				s, _ = rules.Answered(s, now, backoff.Answer{Status: 200, Paced: e>>7 == 0, Reservation: who})
			case 4:
				var ok bool
				if s, _, ok = rules.Reserve(s, now, s, backoff.Sender{ID: who}, 10*time.Second); ok && was.Reserved(now) && was.Reservation.ID != who {
					t.Fatalf("%s took the host from %s", who, was.Reservation.ID)
				}
			case 5:
				s = rules.Release(s, now, who)
			default:
				now = now.Add(time.Duration(e) * 37 * time.Millisecond)
			}
			checkEvent(t, was, s, now)
		}
	})
}

func checkEvent(t *testing.T, was, s backoff.State, now time.Time) {
	t.Helper()
	if was.Backoff.Until.After(now) && s.Backoff.Until.Before(was.Backoff.Until) {
		t.Fatalf("a wait was shortened: %+v to %+v", was.Backoff, s.Backoff)
	}
	if s.Recovered != "" {
		t.Fatalf("recovered: %s", s.Recovered)
	}
	if s.Empty() {
		return
	}
	if again, err := backoff.Decode(backoff.Encode(s), host); err != nil || !again.Equal(s) {
		t.Fatalf("%s is read back as %+v, %v", backoff.Encode(s), again, err)
	}
	checkBounds(t, s, now)
}
