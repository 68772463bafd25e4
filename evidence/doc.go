// Package evidence keeps the logs of what was ruled, carried and refused.
//
// A session has one log of one JSON record a line. A record is acknowledged
// when it is on disk (written, synced, and its directory synced), and callers
// release what the record tells of only then. Whatever could not be observed,
// recorded or enforced is itself a record, so that "nothing happened" and "this
// could not say what happened" never look alike.
package evidence
