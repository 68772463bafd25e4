// Package backofftest holds what every backoff.Store must show, and a store in
// memory.
//
// A store's own test hands [Run] and [RunVectors] a function that makes an empty
// store whose clock the test sets:
//
//	func TestContract(t *testing.T) { backofftest.Run(t, newSubject) }
//
// [RunVectors] takes the vectors of pacing.json through the store, step by step.
package backofftest
