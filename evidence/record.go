package evidence

import (
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// Names of events (specs: evidence, "Events").
const (
	EventEdgeStarted         = "edge_started"
	EventEdgeStopped         = "edge_stopped"
	EventSessionClosed       = "session_closed"
	EventSegmentOpened       = "segment_opened"
	EventRunStarted          = "run_started"
	EventRunCompleted        = "run_completed"
	EventTermsProbed         = "terms_probed"
	EventCrossingOpened      = "crossing_opened"
	EventCrossingMediated    = "crossing_mediated"
	EventCrossingRefused     = "crossing_refused"
	EventCrossingObserved    = "crossing_observed"
	EventCrossingUndelivered = "crossing_undelivered"
	EventProcessorInvoked    = "processor_invoked"
	EventAllowanceGap        = "allowance_gap"
	EventEvidenceGap         = "evidence_gap"
)

// A Record is one event to be written to a log. The envelope (seq, timestamp)
// is added when it is committed.
type Record interface {
	// Event returns the event's name.
	Event() string
	// payload writes the members of the payload beside "edge". It is called in
	// Append's goroutine, before Append returns, and reads the record only.
	payload(e *encoder)
}

// CrossingOpened is written before the first byte of a longer or streaming body.
type CrossingOpened struct{ *Crossing }

// CrossingEnded is a crossing's final record. Its event follows from the
// crossing: refused when Refusal is set, observed by Grade, otherwise mediated.
type CrossingEnded struct{ *Crossing }

// CrossingUndelivered follows a final record that said complete: true when the
// client's connection failed before the end was written.
type CrossingUndelivered struct {
	Crossing uint64    // the crossing's number (E12); 0: it is not known yet
	Late     *Crossing // then: whose records were late
	Bytes    int64     // handed over
	Failure  Failure
}

// TermsProbed is a request the edge itself made for terms.
type TermsProbed struct {
	Kind        rulings.TermKind
	URL         string
	RequestedAt time.Time
	HTTPStatus  int
	FinalURL    string
	Redirects   []string // URLs of the hops after the first
	Object      rulings.Digest
	Bytes       Count
	CacheUntil  time.Time
	Failure     Failure
	CutShort    string // why the edge could not ask; empty when it could
	Pacing      Pacing
	Timings     Timings
}
