package backoff_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// FuzzHandoverP13 lets requests of many processes wake on time or late, in any
// order, and holds what hosts are promised: from the last moment at which one may
// have gone to the first moment of the next lies the delay.
func FuzzHandoverP13(f *testing.F) {
	seeds := [][]byte{
		{0, 0, 0, 1, 40, 1, 0x41, 255, 1, 1, 1},
		{0, 0, 7, 1, 2, 0, 4, 11, 200, 90, 1, 1, 0x81, 3, 1, 255, 255, 1, 0xc1},
		{0, 0, 0, 0, 0, 0, 8, 1, 0, 8, 1, 8, 1, 200, 200, 1, 1, 1, 1},
		{0, 0, 0, 255, 255, 0, 0x42, 16, 1, 1, 255, 1},
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(playHandovers)
}

// What fuzzing starts from, in numbers.
func TestP13_NoTwoRequestsAreTooCloseHoweverLateTheyGo(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 13))
	for range 3000 {
		events := make([]byte, 5+random.IntN(60))
		for i := range events {
			events[i] = byte(random.IntN(256))
			switch random.IntN(6) {
			case 0: // more turns
				events[i] &^= 7
			case 1, 2: // and more that go
				events[i] = events[i]&^7 | 1
			}
		}
		playHandovers(t, events)
	}
}

func playHandovers(t *testing.T, events []byte) {
	const delay = 200 * time.Millisecond
	now, s := after(0), backoff.State{Host: host}
	var waiting []backoff.Turn
	var gone time.Time // when the last one has gone at the latest
	for _, e := range events {
		which := int(e >> 3)
		switch e % 8 {
		case 0:
			var turn backoff.Turn
			if s, turn = rules.Turn(s, now, delay, time.Minute); turn.Outcome != backoff.Refused {
				waiting = append(waiting, turn)
			}
		case 1, 2:
			if len(waiting) == 0 {
				continue
			}
			i := which % len(waiting)
			turn := waiting[i]
			if turn.Outcome == backoff.Waited && turn.At.After(now) {
				continue // it sleeps
			}
			var h backoff.Handover
			s, h = rules.Handed(s, now, turn, delay, time.Duration(e>>6)*7*time.Millisecond)
			switch {
			case h.Missed:
				waiting = append(waiting[:i:i], waiting[i+1:]...)
			case h.Wait > 0:
				if h.Wait > 2*delay {
					t.Fatalf("waits for %v", h.Wait)
				}
			case e%8 == 2: // it does not go in time
				waiting[i].Handed = h.At
			case !gone.IsZero() && now.Sub(gone) < delay:
				t.Fatalf("%v after the start one goes, and one may have gone at %v", now.Sub(after(0)), gone.Sub(after(0)))
			default:
				gone, waiting = h.At, append(waiting[:i:i], waiting[i+1:]...)
			}
		case 3:
			s, _ = rules.Answered(s, now, backoff.Answer{Status: 200, Paced: true})
		case 4:
			if n := len(waiting); n > 0 && waiting[n-1].Handed.IsZero() {
				s = rules.GiveBack(s, now, waiting[n-1])
				waiting = waiting[:n-1]
			}
		case 5:
			now = now.Add(time.Duration(which) * 211 * time.Microsecond)
		case 6:
			now = now.Add(time.Duration(which) * time.Millisecond)
		default:
			now = now.Add(time.Duration(which) * 17 * time.Millisecond)
		}
		if again, err := backoff.Decode(backoff.Encode(s), host); !s.Empty() && (err != nil || !again.Equal(s)) {
			t.Fatalf("%s is read back as %+v, %v", backoff.Encode(s), again, err)
		}
	}
}
