package valkey

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

func TestP47_OpenReadsTheURLOfAServer(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"a host alone", "redis://pace.example", "redis://pace.example:6379/0"},
		{"port and database", "redis://pace.example:7000/3", "redis://pace.example:7000/3"},
		{"an IPv6 address", "redis://[::1]:7000", "redis://[::1]:7000/0"},
		{"TLS", "rediss://pace.example", "rediss://pace.example:6379/0"},
		{"user and password are not named", "redis://edge:sesame@pace.example", "redis://pace.example:6379/0"},
		{"nothing", "", ""},
		{"another scheme", "http://pace.example", ""},
		{"no host", "redis:///1", ""},
		{"a database that is no number", "redis://pace.example/sesame", ""},
		{"options are not taken", "redis://pace.example?max_retries=3", ""},
		{"a fragment", "redis://pace.example#sesame", ""},
		{"a password with a slash", "redis://:sesame/sesame@pace.example", ""},
		{"a password with a bad escape", "redis://:sesame%zz@pace.example", ""},
		{"a line end", "redis://:sesame@pace.example\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(tt.url, backoff.Config{})
			if err != nil {
				if tt.want != "" || strings.Contains(err.Error(), "sesame") {
					t.Errorf("Open: %v", err)
				}
				return
			}
			defer s.Close()
			if s.Server() != tt.want {
				t.Errorf("the server is called %q, want %q", s.Server(), tt.want)
			}
		})
	}
}

// calls are the methods of a store, each on a host of its own.
var calls = map[string]func(ctx context.Context, s backoff.Store, host string) error{
	"Look": func(ctx context.Context, s backoff.Store, host string) error {
		_, _, err := s.Look(ctx, host)
		return err
	},
	"Turn": func(ctx context.Context, s backoff.Store, host string) error {
		_, err := s.Turn(ctx, host, time.Second, time.Second)
		return err
	},
	"Handed": func(ctx context.Context, s backoff.Store, host string) error {
		_, err := s.Handed(ctx, host, backoff.Turn{At: time.Now()}, time.Second, 0)
		return err
	},
	"GiveBack": func(ctx context.Context, s backoff.Store, host string) error {
		return s.GiveBack(ctx, host, backoff.Turn{At: time.Now()})
	},
	"Reserve": func(ctx context.Context, s backoff.Store, host string) error {
		_, err := s.Reserve(ctx, host, backoff.State{}, backoff.Sender{ID: "A"}, time.Second)
		return err
	},
	"Answered": func(ctx context.Context, s backoff.Store, host string) error {
		_, err := s.Answered(ctx, host, backoff.Answer{Status: 503, RetryAfter: []string{"5"}})
		return err
	},
	"Release": func(ctx context.Context, s backoff.Store, host string) error {
		return s.Release(ctx, host, "A")
	},
}

// everyCallFails fails the test unless each method errs with a state that cannot
// be read, and names the server and not its password.
func everyCallFails(t *testing.T, s *Store, names string) {
	t.Helper()
	for name, call := range calls {
		err := call(t.Context(), s, "host.test")
		var fault *backoff.StoreError
		if !errors.As(err, &fault) || fault.Fault != backoff.StateUnreadable {
			t.Errorf("%s: %v, want a *StoreError of a state that cannot be read", name, err)
			continue
		}
		if !strings.Contains(err.Error(), names) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
		if told := fault.Told(); strings.Contains(told, "127.0.0.1") || strings.Contains(told, "host.test") {
			t.Errorf("%s: the agent is told %s", name, told)
		}
	}
}

func TestP47_AServerThatCannotBeReachedIsAStateThatCannotBeRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s, err := Open("redis://edge:sesame@"+address, backoff.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	everyCallFails(t, s, "redis://"+address+"/0")
	_, _, err = s.Look(t.Context(), "host.test")
	if fault, ok := errors.AsType[*backoff.StoreError](err); !ok || !fault.Away {
		t.Errorf("%v does not say that the server is away", err)
	}
}

// A server that takes connections and says nothing is waited for no longer than
// for a lock.
func TestP46_AServerThatDoesNotAnswerIsWaitedForAsLongAsALock(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes the connections
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := Open("redis://:sesame@"+l.Addr().String(), backoff.Config{LockWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	everyCallFails(t, s, "no answer in 20ms")
}

func TestP46_TheEndOfTheContextIsItsError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := Open("redis://"+l.Addr().String(), backoff.Config{LockWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := call(ctx, s, "host.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if err := call(ctx, s, "host.test"); err == nil || errors.As(err, new(*backoff.StoreError)) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}
