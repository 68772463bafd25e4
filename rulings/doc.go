// Package rulings decides what may happen: whether a request may be sent to a
// source on the source's own terms and the operator's policy.
//
// Decide is a pure function of a Request, the source's Terms and the operator's
// Policy. It fetches nothing, waits for nothing and reads no clock, so anybody
// who holds the stored terms can recompute any ruling. The parsers below this
// package turn bytes into values and do no I/O; package terms, beside them, is
// the book of what origins said.
package rulings
