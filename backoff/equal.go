package backoff

// Equal reports whether s and o are stored alike: instants by when they are, and
// Recovered apart.
func (s State) Equal(o State) bool {
	return s.Host == o.Host && s.SetAt.Equal(o.SetAt) && s.extra == o.extra &&
		s.Turn.equal(o.Turn) && s.Backoff.equal(o.Backoff) && s.Reservation.equal(o.Reservation)
}

func (t Turns) equal(o Turns) bool {
	return t.Reserved.Equal(o.Reserved) && t.Answered.Equal(o.Answered) && t.Handed.Equal(o.Handed) && t.extra == o.extra
}

func (b Backoff) equal(o Backoff) bool {
	at := o.Until
	o.Until = b.Until // the rest compares as it stands
	return b == o && b.Until.Equal(at)
}

func (r Reservation) equal(o Reservation) bool {
	at := o.Deadline
	o.Deadline = r.Deadline
	return r == o && r.Deadline.Equal(at)
}
