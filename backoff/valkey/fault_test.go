//go:build valkey

package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// failing is a host whose wait is over, as it is stored.
func failing() map[string]any {
	return map[string]any{
		"host": host, "set_at": time.Now().UnixMilli(), "turn.reserved": 1000,
		"backoff.failures": 1, "backoff.status": 503, "backoff.until": 1000, "backoff.retry_after": 1, "backoff.capped": 0, "backoff.date": 0,
		"reservation.id": "B", "reservation.deadline": 1000,
	}
}

func TestP38_AStateThatCannotBeIsNotReadAndNotTouched(t *testing.T) {
	s := open(t, startServer(t).url, backoff.Config{})
	tests := []struct {
		name  string
		field string
		value any // nil: the field is missing
	}{
		{"another host's", "host", "other.test"},
		{"nobody's", "host", nil},
		{"without the time it was written", "set_at", nil},
		{"an instant that is no number", "set_at", "yesterday"},
		{"an instant before 1970", "turn.reserved", -5},
		{"an instant with a fraction", "turn.reserved", "1000.5"},
		{"an instant with a sign", "turn.answered", "+1000"},
		{"an empty instant", "turn.answered", ""},
		{"an instant in the far future", "turn.reserved", "99999999999999"},
		{"a status that is no failure", "backoff.status", 200},
		{"no status", "backoff.status", nil},
		{"a negative count", "backoff.failures", -1},
		{"a count out of range", "backoff.failures", 1 << 31},
		{"a back-off without end", "backoff.until", nil},
		{"a flag that is none", "backoff.date", "true"},
		{"a reservation of nobody", "reservation.id", nil},
		{"a reservation with an empty ID", "reservation.id", ""},
		{"a reservation without end", "reservation.deadline", nil},
		{"a newer member that is no JSON", "backoff.mood", "{"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fields := failing()
			plant(t, s, fields)
			_, _, err := s.Look(t.Context(), host)
			must(t, err)
			if fields[tt.field] = tt.value; tt.value == nil {
				delete(fields, tt.field)
			}
			plant(t, s, fields)
			before := s.client.HGetAll(t.Context(), prefix+host).Val()
			everyCallFails(t, s, prefix+host+" at "+s.server)
			if tt.field == "backoff.mood" {
				return // no script reads it, so that some change the rest
			}
			if after := s.client.HGetAll(t.Context(), prefix+host).Val(); !maps.Equal(before, after) {
				t.Errorf("the state went from %v to %v", before, after)
			}
		})
	}
	t.Run("no hash", func(t *testing.T) {
		must(t, s.client.Set(t.Context(), prefix+host, "pace", 0).Err())
		everyCallFails(t, s, prefix+host+" at "+s.server)
	})
	t.Run("repaired", func(t *testing.T) { // P41
		must(t, s.client.Del(t.Context(), prefix+host).Err())
		_, err := s.Turn(t.Context(), host, time.Second, time.Second)
		must(t, err)
	})
}

func TestP47_AServerThatRefusesIsNamedWithoutItsPassword(t *testing.T) {
	right := startServer(t, "--requirepass", "open")
	u, err := url.Parse(right.url)
	must(t, err)
	for _, user := range []*url.Userinfo{nil, url.UserPassword("", "sesame"), url.UserPassword("edge", "sesame")} {
		u.User = user
		everyCallFails(t, open(t, u.String(), backoff.Config{}), right.url+"/0")
	}
	u.User = url.UserPassword("", "open")
	_, _, err = open(t, u.String(), backoff.Config{}).Look(t.Context(), host)
	must(t, err)
}

func TestP39_AServerThatTakesNoWritesStillTellsAWait(t *testing.T) {
	s := open(t, startServer(t).url, backoff.Config{})
	_, err := s.Answered(t.Context(), host, backoff.Answer{Status: 503, RetryAfter: []string{"60"}})
	must(t, err)
	must(t, s.client.ConfigSet(t.Context(), "min-replicas-to-write", "3").Err())
	_, err = s.Turn(t.Context(), host, time.Second, time.Second)
	var fault *backoff.StoreError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), s.server) {
		t.Errorf("Turn: %v", err)
	}
	state, now, err := s.Look(t.Context(), host)
	must(t, err)
	if next := state.Next(now, "", 0); next.Step != backoff.StepRefuse {
		t.Errorf("Next = %+v", next)
	}
	must(t, s.client.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	_, err = s.Turn(t.Context(), host, time.Second, time.Second)
	must(t, err)
}

func TestP41_TheNextCallAsksAServerAgainThatCameBack(t *testing.T) {
	first := startServer(t)
	s := open(t, first.url, backoff.Config{})
	_, _, err := s.Look(t.Context(), host)
	must(t, err)
	first.stop()
	for range 10 { // more failures than the client has connections, whose pool would remember them
		everyCallFails(t, s, first.url)
	}
	u, err := url.Parse(first.url)
	must(t, err)
	startServerAt(t, u.Port())
	for name, call := range calls { // it does not know the scripts either
		if err := call(t.Context(), s, name+".test"); err != nil && !errors.Is(err, backoff.ErrLookAgain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestP47_AKeyExpiresADayAfterItsLastInstant(t *testing.T) {
	s := open(t, startServer(t).url, backoff.Config{})
	lasts := func(what string, want time.Duration) {
		t.Helper()
		got := s.client.PTTL(t.Context(), prefix+host).Val()
		if got > want+time.Second || got < want-time.Minute {
			t.Errorf("%s the key lasts %v, want %v", what, got, want)
		}
	}
	_, err := s.Turn(t.Context(), host, time.Second, 0)
	must(t, err)
	lasts("after a turn", 24*time.Hour)
	_, err = s.Answered(t.Context(), host, backoff.Answer{Status: 503, RetryAfter: []string{"1800"}})
	must(t, err)
	lasts("in back-off", 24*time.Hour+30*time.Minute)
	must(t, s.client.Persist(t.Context(), prefix+host).Err())
	_, err = s.Turn(t.Context(), host, time.Second, time.Minute)
	must(t, err)
	lasts("after another turn", 24*time.Hour+30*time.Minute)
}

// Edges that share a server take their turns from one row, and a healthy host
// leaves nothing there (P37).
func TestP47_EdgesShareOnePace(t *testing.T) {
	server := startServer(t)
	a, b := open(t, server.url, backoff.Config{}), open(t, server.url, backoff.Config{})
	first, err := a.Turn(t.Context(), host, 5*time.Second, 0)
	must(t, err)
	second, err := b.Turn(t.Context(), host, 5*time.Second, time.Minute)
	must(t, err)
	if gap := second.At.Sub(first.At); first.Outcome != backoff.Clear || second.Outcome != backoff.Waited || gap != 5*time.Second {
		t.Errorf("turns %+v and %+v", first, second)
	}
	for _, status := range []int{0, 200, 404} {
		_, err := b.Answered(t.Context(), "healthy.test", backoff.Answer{Status: status})
		must(t, err)
	}
	if keys := a.client.Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("keys %q", keys)
	}
}

// What a caller left that went away is not done for nobody later.
func TestP12_ACallThatWasLeftBeforeItWasSentIsNeverSent(t *testing.T) {
	s := open(t, startServer(t).url, backoff.Config{LockWait: time.Minute})
	must(t, s.client.Do(t.Context(), "CLIENT", "PAUSE", 60_000, "WRITE").Err()) // scripts count as writes

	turn := func(ctx context.Context, host string) error {
		_, err := s.Turn(ctx, host, time.Second, 0)
		return err
	}
	var ahead sync.WaitGroup
	for i := range maxFlying {
		ahead.Go(func() {
			if err := turn(t.Context(), fmt.Sprintf("sent%d.test", i)); err != nil {
				t.Error(err)
			}
		})
		s.batches.await(i+1, 0)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- turn(ctx, "left.test") }()
	s.batches.await(maxFlying, 1)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("Turn: %v", err)
	}
	must(t, s.client.Do(t.Context(), "CLIENT", "UNPAUSE").Err())
	ahead.Wait()
	must(t, turn(t.Context(), "after.test"))
	if n := s.client.DBSize(t.Context()).Val(); n != maxFlying+1 {
		t.Errorf("%d hosts have a turn: %q", n, s.client.Keys(t.Context(), "*").Val())
	}
}

// await waits until so many messages are on their way and so many scripts wait.
func (b *batcher) await(flying, waiting int) {
	for {
		b.mu.Lock()
		ok := b.flying == flying && len(b.waiting) == waiting
		b.mu.Unlock()
		if ok {
			return
		}
		runtime.Gosched()
	}
}
