package evidence

import "github.com/wayleave/wayleave/rulings"

// edgeStarted is the first record an edge appends each time it opens a log.
type edgeStarted struct {
	version, execution, tenancy string
	session, run                string // one of them
	resumed                     bool   // the log existed
}

// Event implements Record.
func (edgeStarted) Event() string { return EventEdgeStarted }

func (r edgeStarted) payload(e *encoder) {
	e.text("version", r.version)
	e.word("ruleset", rulings.Ruleset)
	e.word("execution", r.execution)
	e.text("session", r.session)
	e.text("run", r.run)
	e.word("tenancy", r.tenancy)
	e.isTrue("resumed", r.resumed)
}

// A closing is the last record of an edge in a log: edge_stopped at a clean stop
// of the edge, session_closed with a reason when the edge goes on. Its counts
// are taken when it is committed.
type closing struct {
	reason         string // empty: the edge stops
	appended, lost int    // records of this edge since its edge_started, without these two
}

// Reasons of session_closed.
const (
	closedIdle     = "idle"
	closedOperator = "operator"
)

// Event implements Record.
func (r closing) Event() string {
	if r.reason == "" {
		return EventEdgeStopped
	}
	return EventSessionClosed
}

func (r closing) payload(e *encoder) {
	e.word("reason", r.reason)
	e.number("appended", int64(r.appended))
	e.number("lost", int64(r.lost))
}
