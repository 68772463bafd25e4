package valkey

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/wayleave/wayleave/backoff"
)

// prefix begins every key of ours.
const prefix = "wayleave:backoff:"

// A Store is the backoff.Store of all edges that name the same server and
// database. Its clock is the server's. It holds connections, so it needs closing.
type Store struct {
	client  *redis.Client
	batches batcher
	server  string // for messages: without user and password
	wait    time.Duration
	rules   backoff.Rules
	most    string // how far ahead a turn may be, in microseconds (P44)

	clock func() time.Time          // in place of the server's, for tests; nil: the server's
	heard atomic.Pointer[timeHeard] // the server's clock, as it was told last
}

var _ backoff.Store = (*Store)(nil)

// A timeHeard is the server's clock at a moment of ours.
type timeHeard struct{ server, local time.Time }

// Open returns the store at the server that rawURL names:
// redis://[user:password@]host[:port][/database], or rediss: for TLS. It connects
// to nobody yet: a server that cannot be reached is an error of the calls that
// need it. No error repeats the URL, which may hold a password.
func Open(rawURL string, c backoff.Config) (*Store, error) {
	c = c.WithDefaults()
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("not a URL of the form redis://[user:password@]host[:port][/database]")
	}
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, errors.New("the path of a redis:// URL is the number of a database")
	}
	// A command that was sent is never sent again: it may have been carried out.
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = c.LockWait, c.LockWait, c.LockWait, c.LockWait
	o.ContextTimeoutEnabled = true
	o.Dialer = newDialer(o)
	o.DisableIdentity, o.MaintNotificationsConfig = true, &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(o)
	return &Store{
		client:  client,
		batches: batcher{client: client, wait: c.LockWait},
		server:  u.Scheme + "://" + o.Addr + "/" + strconv.Itoa(o.DB),
		wait:    c.LockWait,
		rules:   c.Rules(),
		most:    strconv.FormatInt((c.MaxDelay + c.MaxWait).Microseconds(), 10),
	}, nil
}

// Close closes the connections and waits for what is left of calls whose context
// ended. No call may be going on or come later.
func (s *Store) Close() error {
	err := s.client.Close()
	s.batches.running.Wait()
	return err
}

// Server names the server and the database, without user and password.
func (s *Store) Server() string { return s.server }

// call runs a script on the state of host and returns the state that it found and
// when.
func (s *Store) call(ctx context.Context, script *redis.Script, host string, args ...any) (backoff.State, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return backoff.State{}, time.Time{}, err
	}
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	all := append([]any{host, s.testClock(), s.most}, args...)
	values, err := s.batches.run(limited, script, prefix+host, all)
	if err != nil {
		return backoff.State{}, time.Time{}, s.fault(ctx, host, err)
	}
	found, now, err := read(values, host)
	if err != nil {
		return backoff.State{}, time.Time{}, s.unreadable(host, err)
	}
	s.heard.Store(&timeHeard{now, time.Now()})
	return found, now, nil
}

// testClock returns the clock that a test set, as scripts take it.
func (s *Store) testClock() string {
	if s.clock == nil {
		return ""
	}
	return strconv.FormatInt(s.clock().UnixMicro(), 10)
}

// now is the server's clock as far as it is known without asking.
func (s *Store) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	if h := s.heard.Load(); h != nil {
		return h.server.Add(time.Since(h.local))
	}
	return time.Now().Round(0)
}

// fault is the error of a call that the server did not answer, or answered by an
// error.
func (s *Store) fault(ctx context.Context, host string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	var unreached net.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unreached) && unreached.Timeout()
	if end, ok := ctx.Deadline(); ok && late && time.Until(end) <= 0 {
		return context.DeadlineExceeded // a connection noticed it before the context did
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return s.unreadable(host, err)
	}
	fault := &backoff.StoreError{Fault: backoff.StateUnreadable, Path: "at " + s.server, Err: err}
	var refused redis.Error
	switch {
	case errors.As(err, &refused):
		fault.Fix = "let the server take the edge's commands"
	default:
		fault.Away, fault.Fix = true, "start the server, or repair the way to it"
		if late {
			fault.Err = errors.New("no answer in " + s.wait.String())
		}
	}
	return fault
}

// unreadable is the error of a state that no store has written.
func (s *Store) unreadable(host string, err error) error {
	return &backoff.StoreError{
		Fault: backoff.StateUnreadable, Path: prefix + host + " at " + s.server,
		Fix: "remove this key of the server", Err: err,
	}
}

// flag writes a truth as scripts do.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// milliseconds writes an instant as scripts do; none is nothing.
func milliseconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// up writes a duration in milliseconds, rounded up.
func up(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// digits reports whether s is a number as Retry-After has it.
func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
