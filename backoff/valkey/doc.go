// Package valkey keeps the pace of hosts in a Valkey or Redis server that several
// edges share, so that a host sees them as one (P47).
//
// [Store] is a backoff.Store. Each of its methods is one script, which the server
// runs alone and by its own clock; callers sleep durations, so their clocks do
// not matter. A script stores what backoff.Rules would store and answers with the
// state it found and the time, from which the caller computes the outcome by the
// same Rules.
//
// # What is on the server
//
// One hash a host, under "wayleave:backoff:" and the host's key, which expires a
// day after the last instant in it. Its fields are the members of the file that
// backoff.FileStore writes, with their path for a name; an instant is in
// milliseconds since 1970, a flag is 0 or 1, and a member of a newer version is
// its JSON:
//
//	host                 example.test
//	set_at               1796040061000
//	turn.reserved        1796040060000
//	backoff.failures     2
//	backoff.status       503
//	backoff.until        1796040081000
//	reservation.id       7F3A
//	reservation.deadline 1796040111000
//
// A host that never failed and states no delay has none. Removing a key while no
// edge runs clears that host's pace.
//
// Redis 5 and every Valkey can run the scripts. A server that is lost with its
// memory loses the pace it kept, so it should write its data to disk, and it must
// not be set to evict keys that it has room for.
package valkey
