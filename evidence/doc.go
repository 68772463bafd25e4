// Package evidence keeps the logs of what was ruled, carried and refused.
//
// A session has one log of one JSON record a line. A record is acknowledged
// when it is on disk (written, synced, and its directory synced), and callers
// release what the record tells of only then. Whatever could not be observed,
// recorded or enforced is itself a record, so that "nothing happened" and "this
// could not say what happened" never look alike.
//
// # The log
//
//	sessions/<id>/000001.jsonl   sealed
//	sessions/<id>/000001.json    what it measures
//	sessions/<id>/000002.jsonl   appended to
//
//	{"seq":1,"timestamp":"2026-03-01T12:00:00.000Z","event":"edge_started","payload":{"edge":"…",…}}
//	{"seq":2,"timestamp":"2026-03-01T12:00:00.005Z","event":"crossing_opened","payload":{…}}
//	{"seq":3,"timestamp":"2026-03-01T12:00:02.117Z","event":"crossing_mediated","payload":{"opened":2,…}}
//
// Any number of processes append to it, each batch under the exclusive lock of
// the file. Nothing in it is ever changed: a line that was cut short stays, and
// the record behind it says that it was. An edge's window in a log reaches from
// its edge_started to its edge_stopped; a window that ends without one is told
// of by the edge that opens the log next.
//
// A segment that is full is sealed: the next one begins with its digest, so that
// the segments form a chain, and with what it leaves open, so that the last one
// can be understood without the others.
//
// # Writing and reading
//
// A [Store] is one edge's life in the logs and a [Log] its writer of one of
// them. A [Reader] reads one log record by record, and an [Index] finds records in
// all logs of a data directory, whoever writes them; it holds no truth of its own
// and can be dropped and built again.
package evidence
