package backoff

import "time"

// What is promised to hosts and is nobody's to set (P17, P19).
const (
	MaxInterval  = time.Hour        // the longest wait a host can ask for
	FirstBackoff = 10 * time.Second // after one failure without a usable Retry-After
	LastBackoff  = 900 * time.Second
)

// A Config is how patient an edge is. A field that is 0 has its default, so the
// zero Config is the one of P28.
type Config struct {
	// MaxWait is what one crossing may sleep in all. Default 20 s; less than 0:
	// a crossing never sleeps.
	MaxWait time.Duration
	// MaxDelay is the largest Crawl-delay that is kept as written (P7).
	// Default 60 s.
	MaxDelay time.Duration
	// HeadTimeout is how long a response head may take, and so the length of a
	// reservation (P25). Default 30 s.
	HeadTimeout time.Duration
	// LockWait is how long a call of the store may wait for a lock. Default 2 s.
	LockWait time.Duration
	// MaxWaiters is how many callers of one process may wait for one host (P11).
	// Default 1,000.
	MaxWaiters int
}

// WithDefaults returns c with every field set. A MaxWait below 0 becomes 0, any
// other field below 0 its default.
func (c Config) WithDefaults() Config {
	if c.MaxWait == 0 {
		c.MaxWait = 20 * time.Second
	}
	c.MaxWait = max(c.MaxWait, 0)
	c.MaxDelay = positive(c.MaxDelay, time.Minute)
	c.HeadTimeout = positive(c.HeadTimeout, 30*time.Second)
	c.LockWait = positive(c.LockWait, 2*time.Second)
	c.MaxWaiters = positive(c.MaxWaiters, 1000)
	return c
}

func positive[T time.Duration | int](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Rules returns the part of c that the arithmetic needs.
func (c Config) Rules() Rules {
	c = c.WithDefaults()
	return Rules{MaxDelay: c.MaxDelay, MaxWait: c.MaxWait}
}
