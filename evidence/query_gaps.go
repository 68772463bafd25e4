package evidence

import "time"

// Events that the index knows of and this version does not write.
const (
	eventAllowanceGap     = "allowance_gap"
	eventProcessorInvoked = "processor_invoked"
)

// A GapQuery selects gaps. The zero value of a member selects all.
type GapQuery struct {
	Session  string
	Reason   string    // of the gap (E20, E21)
	From, To time.Time // timestamp of the record at or after From, before To

	Cursor string // Page.Next of the page before
	Limit  int    // 0 is DefaultLimit; at most MaxLimit
}

// Gaps returns the page of q: the records that tell of a gap, newest first and
// in the order of Crossings. A gap is a record of its own, or stands in the final
// record of a crossing or in a processor_invoked; readers count both kinds
// together (E22).
func (x *Index) Gaps(q GapQuery) (Page, error) {
	m, err := newMatcher(Query{Session: q.Session, From: q.From, To: q.To, Cursor: q.Cursor, Limit: q.Limit})
	if err != nil {
		return Page{}, err
	}
	m.gaps, m.gapReason = true, q.Reason
	return x.page(m)
}

// tellsOfGap reports whether l tells of a gap of reason; an empty reason is any.
func (l *logLine) tellsOfGap(reason string) bool {
	switch {
	case l.event == EventEvidenceGap:
		return reason == "" || reason == l.text("reason")
	case l.event == eventAllowanceGap:
		return reason == "" || reason == eventAllowanceGap
	case !l.listed("gaps"), !l.final() && l.event != eventProcessorInvoked:
		return false
	}
	for item := range itemsOf(l.member("gaps")) {
		if reason == "" || reason == readText(memberOf(item, "reason")) {
			return true
		}
	}
	return false
}
