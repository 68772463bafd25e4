package evidence

import "errors"

// latecomers are the entries of a crossing's records whose caller was let go
// before they were on disk (E29): nil where there is none. What is appended of the
// crossing afterwards stands behind them in the queue, so that its batch knows
// what came of them.
type latecomers struct{ opened, ended *entry }

// number is the crossing's (E12), 0 if none of them is on disk or about to be. It
// is for the log's writer, and for who was told of a record behind them.
func (l latecomers) number() uint64 {
	for _, e := range [...]*entry{l.opened, l.ended} {
		if e != nil && e.seq != 0 {
			return e.seq
		}
	}
	return 0
}

// Late reports whether a record of c was late: what follows may have to refer to it.
func (c *Crossing) Late() bool { return c.late != latecomers{} }

// noteLate notes in the crossings of recs, which e holds, that they were late; or,
// where one has ended in time, the number that it was opened under.
func noteLate(recs []Record, e *entry, err error) {
	late := errors.Is(err, ErrLate)
	for _, r := range recs {
		switch r := r.(type) {
		case CrossingOpened:
			if late {
				r.late.opened = e
			}
		case CrossingEnded:
			if late {
				r.late.ended = e
			} else if err == nil && r.Opened == 0 {
				r.Opened = r.late.number()
			}
		}
	}
}
