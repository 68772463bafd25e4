//go:build valkey

package valkey

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/backoff"
	"github.com/wayleave/wayleave/backoff/backofftest"
)

const host = "host.test"

func TestContractP45P46P47(t *testing.T) {
	backofftest.Run(t, startServer(t).subject)
}

func TestVectorsP8ToP44(t *testing.T) {
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = "../testdata/vectors"
	}
	backofftest.RunVectors(t, dir, startServer(t).subject)
}

// The scripts are a second writing of backoff.Rules. Whatever happens to a host,
// and however its clock jumps, both leave the same state and tell the same.
func TestP47_ScriptsAnswerAsTheArithmetic(t *testing.T) {
	s := startServer(t)
	for seed := range uint64(150) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 47))
			subject := s.subject(t)
			store := subject.Store.(*Store)
			memory := backofftest.NewMemory(backoff.Config{}, func() time.Time { return store.clock() })
			w := walk{T: t, random: random, now: backofftest.Start, stores: [2]backoff.Store{store, memory}}
			for i := range 40 {
				w.now = w.now.Add(w.jump().Truncate(time.Microsecond))
				subject.SetNow(w.now)
				what, got := w.step()
				if diff := cmp.Diff(got[1], got[0]); diff != "" {
					t.Fatalf("step %d, %s: (-arithmetic +server)\n%s", i, what, diff)
				}
				if found, want := stored(t, store), memory.Stored(host); !found.Equal(want) {
					t.Fatalf("step %d, %s: stored is\n%s, want\n%s", i, what, backoff.Encode(found), backoff.Encode(want))
				}
			}
		})
	}
}

// A walk is a random sequence of events on one host.
type walk struct {
	*testing.T
	random *rand.Rand
	now    time.Time
	stores [2]backoff.Store

	seen  [2][]backoff.State // some that were looked at, of each store
	turns []backoff.Turn
}

// jump is how far the clock moves, which counts microseconds: mostly by a little, with fractions of a
// millisecond, at times back or by hours.
func (w *walk) jump() time.Duration {
	switch w.random.IntN(20) {
	case 0:
		return -time.Duration(w.random.Int64N(int64(2 * time.Hour)))
	case 1:
		return -time.Duration(w.random.Int64N(int64(2 * time.Second)))
	case 2:
		return time.Duration(w.random.Int64N(int64(3 * time.Hour)))
	case 3, 4, 5, 6:
		return 0
	}
	return time.Duration(w.random.Int64N(int64(20*time.Second))) / time.Duration(1+w.random.IntN(1000))
}

func pick[T any](w *walk, of ...T) T { return of[w.random.IntN(len(of))] }

// step lets the same happen in both stores, and returns what each tells of it.
func (w *walk) step() (what string, told [2]string) {
	who := backoff.Sender{ID: pick(w, "A", "B", "C"), Tenant: pick(w, "", "t", "u")}
	var do func(i int) (any, error)
	switch w.random.IntN(9) {
	case 0, 1:
		delay := time.Duration(w.random.IntN(6000)) * time.Millisecond
		budget := time.Duration(w.random.IntN(20000)) * time.Millisecond
		what = fmt.Sprint("turn ", delay, budget)
		do = func(i int) (any, error) {
			turn, err := w.stores[i].Turn(w.Context(), host, delay, budget)
			if i == 0 && turn.Outcome != backoff.Refused {
				w.turns = append(w.turns, turn)
			}
			return turn, err
		}
	case 2:
		n := w.random.IntN(len(w.turns) + 1)
		turn := append(w.turns, backoff.Turn{})[n]
		delay := time.Duration(w.random.IntN(6000)) * time.Millisecond
		lead := pick(w, 0, 0, 2500*time.Microsecond, 30*time.Millisecond, 5*time.Second)
		what = fmt.Sprint("handed ", turn, delay, lead)
		do = func(i int) (any, error) {
			h, err := w.stores[i].Handed(w.Context(), host, turn, delay, lead)
			if i == 0 && n < len(w.turns) && !h.At.IsZero() && w.random.IntN(2) == 0 {
				w.turns[n].Handed = h.At
			}
			return h, err
		}
	case 3:
		turn := pick(w, append(w.turns, backoff.Turn{})...)
		what = fmt.Sprint("give back ", turn)
		do = func(i int) (any, error) { return nil, w.stores[i].GiveBack(w.Context(), host, turn) }
	case 4:
		what = "look"
		do = func(i int) (any, error) {
			state, now, err := w.stores[i].Look(w.Context(), host)
			w.seen[i] = append(w.seen[i], state)
			return []any{string(backoff.Encode(state)), state.Recovered, now.UTC()}, err
		}
	case 5, 6:
		n := w.random.IntN(len(w.seen[0]) + 1)
		length := pick(w, 30*time.Second, 1500*time.Microsecond, 2*time.Hour, 0)
		what = fmt.Sprint("reserve ", who, n, length)
		do = func(i int) (any, error) {
			var seen backoff.State
			if n < len(w.seen[i]) {
				seen = w.seen[i][n]
			} else {
				seen, _, _ = w.stores[i].Look(w.Context(), host)
			}
			return w.stores[i].Reserve(w.Context(), host, seen, who, length)
		}
	case 7:
		a := backoff.Answer{
			Status: pick(w, 0, 103, 200, 301, 404, 429, 429, 500, 503, 503, 599), RetryAfter: w.retryAfter(),
			Paced: w.random.IntN(2) == 0, Reservation: pick(w, "", who.ID), Tenant: who.Tenant,
		}
		what = fmt.Sprint("answer ", a)
		do = func(i int) (any, error) {
			c, err := w.stores[i].Answered(w.Context(), host, a)
			return []any{c.Event, c.Stated, string(backoff.Encode(c.State)), c.State.Recovered}, err
		}
	default:
		what = "release " + who.ID
		do = func(i int) (any, error) { return nil, w.stores[i].Release(w.Context(), host, who.ID) }
	}
	for i := range told {
		got, err := do(i)
		told[i] = fmt.Sprint(got, err)
	}
	return what, told
}

// retryAfter returns field lines of all kinds.
func (w *walk) retryAfter() (lines []string) {
	for range w.random.IntN(3) {
		date := w.now.UTC().Truncate(time.Second).Add(time.Duration(w.random.IntN(9000)-1000) * time.Second)
		lines = append(lines, pick(w,
			strconv.Itoa(w.random.IntN(100)), " 3600\t", "3601", strings.Repeat("9", 40), "soon", "",
			date.Format("Mon, 02 Jan 2006 15:04:05 GMT"), date.Format("Monday, 02-Jan-06 15:04:05 GMT"),
			w.now.UTC().Add(time.Hour).Truncate(time.Second).Format("Mon Jan _2 15:04:05 2006"),
		))
	}
	return lines
}

// stored returns the state as it stands on the server.
func stored(t testing.TB, s *Store) backoff.State {
	t.Helper()
	found, _, err := s.call(t.Context(), lookScript, host)
	must(t, err)
	return found
}

// fieldsOf writes a state as the hash has it.
func fieldsOf(t testing.TB, s backoff.State) map[string]any {
	t.Helper()
	fields := map[string]any{}
	var put func(path string, raw json.RawMessage)
	put = func(path string, raw json.RawMessage) {
		var value any
		must(t, json.Unmarshal(raw, &value))
		switch v := value.(type) {
		case map[string]any:
			if path == "turn" || path == "backoff" || path == "reservation" {
				var members map[string]json.RawMessage
				must(t, json.Unmarshal(raw, &members))
				for name, raw := range members {
					put(path+"."+name, raw)
				}
				return
			}
		case bool:
			fields[path] = flag(v)
			return
		case string:
			if at, err := time.Parse(time.RFC3339, v); err == nil {
				v = milliseconds(at)
			}
			fields[path] = v
			return
		}
		fields[path] = string(raw)
	}
	var members map[string]json.RawMessage
	must(t, json.Unmarshal(backoff.Encode(s), &members))
	for name, raw := range members {
		put(name, raw)
	}
	return fields
}

// plant puts a hash in place of the host's.
func plant(t testing.TB, s *Store, fields map[string]any) {
	t.Helper()
	must(t, s.client.Del(t.Context(), prefix+host).Err())
	must(t, s.client.HSet(t.Context(), prefix+host, fields).Err())
}
