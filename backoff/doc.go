// Package backoff keeps when a host may be asked again: turns under its
// Crawl-delay, and the wait that its failures ask for.
//
// Both bind every request to a source, whoever sends it and whatever its scheme,
// port and path: the key is the host alone, as package hostkey spells it. What a
// host has said is its [State]. The arithmetic on it is pure, state, event and
// now to state and outcome ([Rules]), and a [Store] makes each step of it atomic
// for all processes that share the store.
//
// # What is on disk
//
// [FileStore] keeps one file a host, and beside it the lock that every change
// holds and that stays for ever:
//
//	backoff/example.test.json
//	backoff/example.test.lock
//
//	{"host":"example.test","set_at":"2026-11-30T12:01:01.000Z",
//	 "turn":{"reserved":"2026-11-30T12:01:00.000Z","answered":"2026-11-30T12:01:01.000Z"},
//	 "backoff":{"failures":2,"status":503,"until":"2026-11-30T12:01:21.000Z",
//	            "retry_after":false,"capped":false,"date":false,"by":"alice"},
//	 "reservation":{"id":"7f3a","deadline":"2026-11-30T12:01:51.000Z","by":"alice"}}
//
// Where a request went after its turn and a later turn was taken already, turn has
// "handed", too: when that was ([Turns]).
//
// A host that never failed and states no delay has neither; looking at it costs
// one open(2) that fails. Removing a host's file while no edge runs clears its
// pace, and nothing else depends on it.
//
// What cannot be kept is not pretended: a store that fails says which fault it
// met ([StoreError]), and no memory stands in for it.
package backoff
