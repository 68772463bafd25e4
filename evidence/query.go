package evidence

import (
	"errors"
	"time"

	"github.com/wayleave/wayleave/rulings"
)

// Bounds of one page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000

	pageBytes = 8 << 20  // of records; a page may end before its limit for this
	scanBytes = 32 << 20 // of logs read for it, so that a rare match cannot keep a call for ever
)

// ErrQuery is returned for a query that cannot be answered, such as a cursor
// that no page gave.
var ErrQuery = errors.New("evidence: the query is not valid")

// A Query selects crossings. The zero value of a member selects all.
type Query struct {
	Session   string
	Host      string         // host of the URL or tunnel, in any spelling
	URLPrefix string         // beginning of the URL as recorded, redactions and all
	Reason    rulings.Reason // of the refusal, of what the agent was told, or of a breach
	Whose     rulings.Whose  // of the same
	Term      rulings.Digest // a term the crossing was ruled on
	Status    int            // as the agent read it: told by the edge, else the origin's
	Class     rulings.Class
	Outcome   Outcome
	From, To  time.Time // timestamp of the record at or after From, before To
	Gap       Tri       // carries a gap, or does not
	Breach    Tri       // carries a breach, or does not
	Refused   bool      // refused ones only

	Cursor string // Page.Next of the page before
	Limit  int    // 0 is DefaultLimit; at most MaxLimit
}

// A Page is a stretch of the crossings that match a query, newest first.
type Page struct {
	Items []Item

	// Next continues behind the page; empty at the end. A page may be short,
	// even empty, and still have a Next: it then stopped at a bound.
	Next string

	// Faulty names sessions whose logs are damaged or cannot be read, so that
	// crossings of them may be wanting.
	Faulty []string
}

// An Item is the final record of one crossing.
type Item struct {
	Session string
	Record  []byte // the line as logged, without its end
}

// AppendJSON appends the record with the member session.
func (i Item) AppendJSON(dst []byte) []byte {
	dst = append(dst, i.Record[:len(i.Record)-1]...)
	dst = append(dst, `,"session":"`...)
	dst = append(dst, i.Session...) // a session id needs no escape (E2)
	return append(dst, '"', '}')
}

// Crossings returns the page of q.
//
// Crossings are ordered by the running maximum of the timestamps of their log,
// then by session, then by position. None of these ever changes once a record
// is written, whatever is appended anywhere and whatever the clocks do, so that
// walking from page to page repeats nothing and loses nothing of what was
// there. Records that arrive meanwhile are met where their rank still lies
// ahead.
func (x *Index) Crossings(q Query) (Page, error) {
	m, err := newMatcher(q)
	if err != nil {
		return Page{}, err
	}
	return x.page(m)
}

// page walks to the page of m.
func (x *Index) page(m *matcher) (_ Page, err error) {
	q, end := &m.Query, farthest
	if q.Cursor != "" {
		if end, err = parseRank(q.Cursor); err != nil {
			return Page{}, err
		}
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < 0 || limit > MaxLimit {
		return Page{}, ErrQuery
	}
	states, err := x.selected(q.Session)
	if err != nil {
		return Page{}, err
	}
	root, err := x.root()
	if err != nil && len(states) > 0 {
		return Page{}, err
	}
	w := walk{root: root, match: m, end: end, limit: limit}
	defer w.close()
	return w.page(states)
}

// selected returns the logs that a query for session reads; "" is all of them.
// A session that is not there has no crossings.
func (x *Index) selected(session string) ([]*logState, error) {
	if session == "" {
		return x.all()
	}
	state, err := x.log(session)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []*logState{state}, nil
}
