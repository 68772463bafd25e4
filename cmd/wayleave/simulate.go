package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// Bounds of one simulation, beside how many crossings are asked for.
const (
	simulateWait     = 20 * time.Second // then the rest is for the next call
	simulateExamples = 20               // of each change
)

// A simulator makes the rulings of recorded crossings again, on a draft of the
// policy (A12). What a record does not tell is not guessed.
type simulator struct {
	redecider *redecider
	draft     *rulings.Policy
	object    func(rulings.Digest) ([]byte, error)
	found     admin.Simulation
}

// simulate goes through recorded crossings, newest first, and writes nothing.
func (e *edge) simulate(ctx context.Context, r admin.SimulateRequest) (admin.Simulation, []admin.PolicyFault, error) {
	src := e.source
	if r.Draft != nil {
		src.draft = r.Draft
	}
	next, err := e.next(src)
	if list := (faults)(nil); errors.As(err, &list) {
		return admin.Simulation{}, faultViews(list), nil
	}
	if err != nil {
		return admin.Simulation{}, nil, err
	}
	s := newSimulator(next.policy, e.book.Object)
	err = s.over(ctx, e.index, r.Over, r.Most)
	return s.found, nil, err
}

func newSimulator(draft *rulings.Policy, object func(rulings.Digest) ([]byte, error)) *simulator {
	change := func() admin.Change {
		return admin.Change{Reasons: map[rulings.Reason]int{}, Examples: []admin.Example{}}
	}
	return &simulator{redecider: newRedecider(), draft: draft,
		object: func(d rulings.Digest) ([]byte, error) {
			octets, err := object(d)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, errNotKept
			}
			return octets, err
		},
		found: admin.Simulation{
			PolicyDigest: draft.Digest().String(), NewlyRefused: change(), NewlyCarried: change(), NewlyAdmitted: change(), NotSimulated: map[string]int{},
		},
	}
}

// over looks at most crossings of q, or as many as there is time for.
func (s *simulator) over(ctx context.Context, index *evidence.Index, q evidence.Query, most int) error {
	for start := time.Now(); s.found.Crossings < most && time.Since(start) < simulateWait; {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.Limit = min(evidence.MaxLimit, most-s.found.Crossings)
		page, err := index.Crossings(q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			s.found.Crossings++
			s.count(item)
		}
		s.found.Faulty = append(s.found.Faulty, page.Faulty...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	slices.Sort(s.found.Faulty)
	s.found.Faulty, s.found.Next = slices.Compact(s.found.Faulty), q.Cursor
	return nil
}

// A fate is what comes of a crossing by policy and terms: refused for the one
// reason, else let through with the breaches that are carried.
type fate struct {
	refused bool
	reasons []rulings.Reason
	unseen  bool // behind what refused it then, nothing was ruled
}

func (f *fate) carried() bool { return !f.refused && len(f.reasons) > 0 }

// count adds one crossing to what was found.
func (s *simulator) count(item evidence.Item) {
	c, err := evidence.ReadCrossing(item.Record, s.object)
	if err != nil {
		s.found.NotSimulated["record_unreadable"]++
		return
	}
	was := fate{refused: c.Refused != "", reasons: c.Breaches}
	if was.refused {
		was.reasons = []rulings.Reason{c.Refused}
	}
	now, cause := s.fate(&c)
	change, reasons := s.change(&was, &now)
	switch {
	case cause != "":
		s.found.NotSimulated[cause]++
		return
	case change == nil:
		s.found.Unchanged++
		return
	case c.AgentCut: // groups of robots.txt may hang on the rest of it
		s.found.NotSimulated["user_agent_cut"]++
		return
	}
	change.Count++
	for _, r := range reasons {
		change.Reasons[r]++
	}
	if now.unseen {
		change.AnswerUnseen++
	}
	if len(change.Examples) < simulateExamples {
		example := admin.Example{Crossing: fmt.Sprintf("%s/%d", item.Session, c.Number), URL: c.URL, Was: append([]rulings.Reason{}, was.reasons...),
			Reasons: append([]rulings.Reason{}, now.reasons...)}
		if c.URL == "" {
			example.URL = c.Authority
		}
		change.Examples = append(change.Examples, example)
	}
}

// change is where a crossing counts that went one way and would go another, and
// the reasons, each once, for which it does; nil where nothing is new.
func (s *simulator) change(was, now *fate) (*admin.Change, []rulings.Reason) {
	switch added := without(now.reasons, was.reasons); {
	case now.refused && !was.refused:
		return &s.found.NewlyRefused, now.reasons
	case now.carried() && was.refused:
		return &s.found.NewlyCarried, without(now.reasons, nil)
	case now.carried() && len(added) > 0:
		return &s.found.NewlyCarried, added
	case !now.refused && len(now.reasons) == 0 && len(was.reasons) > 0:
		return &s.found.NewlyAdmitted, without(was.reasons, nil)
	}
	return nil, nil
}

// without returns what of list is not in other, each once.
func without(list, other []rulings.Reason) (rest []rulings.Reason) {
	for _, r := range list {
		if !slices.Contains(other, r) && !slices.Contains(rest, r) {
			rest = append(rest, r)
		}
	}
	return rest
}
