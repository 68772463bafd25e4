package backoff

import "time"

// Rules is the arithmetic of pacing. Its methods are pure: they read no clock,
// wait for nothing and change none of their arguments. now is the store's clock
// and need not be a whole millisecond.
//
// Every method first recovers the state it is given (see Recover), so a state
// that comes back different from the one that went in is to be stored, and one
// that comes back equal is not.
type Rules struct {
	MaxDelay time.Duration // as in Config
	MaxWait  time.Duration
}
