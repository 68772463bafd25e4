package evidence

import (
	"maps"
	"slices"
)

// A runRecord is run_started or run_completed: the first and the terminal record
// of a batch run.
type runRecord struct {
	event string
	run   *Run

	// Of run_completed. Counts that could not be had are left out (E71).
	counted   bool
	crossings map[Outcome]int
	gaps      int
}

// Event implements Record.
func (r runRecord) Event() string { return r.event }

func (r runRecord) payload(e *encoder) {
	e.text("run", r.run.id)
	e.word("execution", r.run.execution)
	e.digest("policy_digest", r.run.policy)
	e.word("recordings", r.run.recording)
	if !r.counted {
		return
	}
	p := e.open("crossings")
	for _, outcome := range slices.Sorted(maps.Keys(r.crossings)) {
		e.number(string(outcome), int64(r.crossings[outcome]))
	}
	e.closeKnown(p)
	e.number("gaps", int64(r.gaps))
}
