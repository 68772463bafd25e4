package backofftest

import (
	"testing"
	"time"

	"github.com/wayleave/wayleave/backoff"
)

// A Subject is a store under test, made with the zero backoff.Config.
type Subject struct {
	Store backoff.Store

	// SetNow sets the store's clock, which stands still otherwise.
	SetNow func(time.Time)

	// Plant puts a state into the store as it stands, in place of what is there
	// of its host; Encode writes it.
	Plant func(t testing.TB, s backoff.State)
}

// Start is where the tests' clocks begin (the vectors' instant 0).
var Start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at returns the instant that is so many milliseconds after Start.
func at(ms float64) time.Time {
	return Start.Add(time.Duration(ms * float64(time.Millisecond)))
}

// host is the host of every state of these tests.
const host = "host.test"
