package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
)

// A SessionInfo is what one log holds, as the admin API and the commands print
// it. What is not known is left out; a count of 0 was counted.
type SessionInfo struct {
	Session  string `json:"session"`
	State    string `json:"state"` // "open" while an edge's window is, else "closed"
	Records  int    `json:"records"`
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"`
	First    string `json:"first,omitempty"` // timestamp of the first record
	Last     string `json:"last,omitempty"`  // and of the last

	// Crossings by grade and outcome; the two grades are never added up.
	Crossings map[Grade]map[Outcome]int `json:"crossings"`
	Unended   int                       `json:"unended"` // opened, and no final record yet
	Gaps      map[string]int            `json:"gaps"`

	Completeness Completeness `json:"completeness"`
	SHA256       string       `json:"sha256,omitempty"` // of the Bytes of the log; only Index.Session takes it

	first int64
}

// Completeness is what a log says of itself: whether nothing happened, or it
// could not say what happened.
type Completeness struct {
	// Complete is absent while an edge may still write what would decide it.
	Complete  *bool    `json:"complete,omitempty"`
	OpenEdges []string `json:"open_edges,omitempty"` // edges that neither stopped nor were found dead (E39)
	Damaged   int      `json:"damaged"`              // damaged places
	Damage    []Damage `json:"damage,omitempty"`     // the first of them
	Tear      *Tear    `json:"tear,omitempty"`
	Missing   []string `json:"missing_segments,omitempty"`
	Fault     string   `json:"fault,omitempty"` // why the log could not be read (any further)
}

// Damage is a line that is no record and that nothing explains (E42).
type Damage struct {
	Segment int    `json:"segment"`
	Line    int    `json:"line,omitempty"` // in the segment, from 1
	Offset  int64  `json:"offset"`         // in the segment, of the line's first octet
	Fault   string `json:"fault"`
}

// A Tear is an unfinished last line. It is not damage: the next append marks
// it, or it is just being written.
type Tear struct {
	Segment int   `json:"segment"`
	Line    int   `json:"line"`
	Offset  int64 `json:"offset"`
	Bytes   int64 `json:"bytes"`
	Writing bool  `json:"writing"` // somebody holds the log's lock
}

// A Summary is what `wayleave run` says of a session at its end.
type Summary struct {
	Delivered, Refused, Unavailable, Cut, Abandoned int // mediated crossings by outcome

	Observed int // tunnels that were let through and not read, whatever came of them
	Gaps     int
	Damaged  int // damaged places of the log, a log that cannot be read among them
}

// Sessions describes every session, newest first by the first record of each.
// That place never changes, so a list can be continued behind its last item.
func (x *Index) Sessions() ([]SessionInfo, error) {
	states, err := x.all()
	if err != nil {
		return nil, err
	}
	infos := make([]SessionInfo, 0, len(states))
	for _, s := range states {
		infos = append(infos, s.info())
	}
	slices.SortFunc(infos, SessionInfo.compare)
	return infos, nil
}

// SessionPage returns at most limit of the Sessions behind cursor, which is what
// next was of the page before, or empty. next is empty at the end. A cursor that
// no page gave is ErrQuery.
func (x *Index) SessionPage(cursor string, limit int) (page []SessionInfo, next string, err error) {
	after := farthest
	if cursor != "" {
		if after, err = parseRank(cursor); err != nil {
			return nil, "", err
		}
	}
	all, err := x.Sessions()
	if err != nil {
		return nil, "", err
	}
	behind := slices.IndexFunc(all, func(i SessionInfo) bool { return rankOf(i.first, i.Session).compare(after) < 0 })
	if behind < 0 {
		return nil, "", nil
	}
	page = all[behind:]
	if len(page) > limit {
		page = page[:limit]
		last := page[limit-1]
		next = rankOf(last.first, last.Session).String()
	}
	return page, next, nil
}

// compare orders sessions newest first.
func (i SessionInfo) compare(j SessionInfo) int {
	return -rankOf(i.first, i.Session).compare(rankOf(j.first, j.Session))
}

func rankOf(first int64, session string) rank { return rank{at: first, session: session} }

// Session describes one session and takes the digest of its log. It returns
// ErrNotFound when there is no such session.
func (x *Index) Session(session string) (SessionInfo, error) {
	state, err := x.log(session)
	if err != nil {
		return SessionInfo{}, err
	}
	info := state.info()
	if info.Completeness.Fault != "" {
		return info, nil
	}
	log, err := x.OpenLog(session)
	if err != nil {
		return SessionInfo{}, err
	}
	defer log.Close()
	sum := sha256.New()
	if info.Bytes, err = io.Copy(sum, log); err != nil {
		return SessionInfo{}, err
	}
	info.SHA256 = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return info, nil
}

// Summary counts the crossings of session. It returns ErrNotFound when there is
// no such session.
func (x *Index) Summary(session string) (Summary, error) {
	state, err := x.log(session)
	if err != nil {
		return Summary{}, err
	}
	n := state.tally.crossings[Mediated]
	sum := Summary{
		Delivered: n[Delivered], Refused: n[Refused], Unavailable: n[Unavailable], Cut: n[Cut], Abandoned: n[Abandoned],
		Damaged: state.damaged,
	}
	for _, count := range state.tally.crossings[Observed] {
		sum.Observed += count
	}
	for _, count := range state.tally.gaps {
		sum.Gaps += count
	}
	if state.fault != "" {
		sum.Damaged++
	}
	return sum, nil
}

// info describes the log.
func (s *logState) info() SessionInfo {
	t := s.tally.clone() // the caller's own
	info := SessionInfo{
		Session: s.id, State: "closed", Records: t.records, Segments: len(s.segments), Bytes: s.sealed + s.size,
		Crossings: t.crossings, Unended: max(0, t.unended), Gaps: t.gaps, first: t.first,
		Completeness: Completeness{
			OpenEdges: slices.Sorted(maps.Keys(t.windows)), Damaged: s.damaged, Damage: s.damage,
			Tear: s.tear, Missing: missingSegments(s.segments), Fault: s.fault,
		},
	}
	if t.records > 0 {
		info.First, info.Last = formatInstant(t.first), formatInstant(t.last)
	}
	if info.Gaps == nil {
		info.Gaps = map[string]int{}
	}
	if len(t.windows) > 0 {
		info.State = "open"
	}
	info.Completeness.Complete = s.complete()
	return info
}

// complete reports whether the log is whole and without a gap; nil when that is
// still open.
func (s *logState) complete() *bool {
	whole := s.damaged == 0 && s.tear == nil && s.fault == "" && len(s.tally.gaps) == 0 && len(missingSegments(s.segments)) == 0
	if whole && (len(s.tally.windows) > 0 || s.tally.records == 0) {
		return nil
	}
	return &whole
}
