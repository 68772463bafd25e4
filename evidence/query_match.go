package evidence

import (
	"bytes"
	"math"
	"strings"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A matcher is a Query made ready: it passes over whole blocks where it can and
// reads of a record only what the query asks about.
type matcher struct {
	Query
	hostKey  string
	term     string
	from, to int64

	gaps      bool   // records that tell of gaps instead of crossings
	gapReason string // of one of these; empty: any
}

func newMatcher(q Query) (*matcher, error) {
	m := &matcher{Query: q, term: q.Term.String(), from: math.MinInt64, to: math.MaxInt64}
	if q.Session != "" && !ValidSession(q.Session) {
		return nil, ErrQuery
	}
	if q.Host != "" {
		key, err := hostkey.Key(q.Host)
		if err != nil {
			return nil, ErrQuery
		}
		m.hostKey = key
	}
	if !q.From.IsZero() {
		m.from = q.From.UnixMilli()
	}
	if !q.To.IsZero() {
		m.to = q.To.UnixMilli()
	}
	return m, nil
}

// over reports whether nothing at p or before it can match: no record is later
// than the running maximum.
func (m *matcher) over(p rank) bool { return p.at < m.from }

// block reports whether a record of b may match.
func (m *matcher) block(b *block) bool {
	if m.gaps {
		return b.gaps+b.after > 0 && b.latest >= m.from && b.earliest < m.to
	}
	switch {
	case b.finals == 0, b.latest < m.from, b.earliest >= m.to:
		return false
	case (m.Refused || m.Outcome == Refused) && b.refused == 0:
		return false
	case m.Gap == Yes && b.gaps == 0, m.Breach == Yes && b.breaches == 0:
		return false
	}
	return true
}

// record reports whether l is the final record of a crossing that matches, or
// tells of a gap that does.
func (m *matcher) record(l *logLine) bool {
	if m.gaps {
		return l.at >= m.from && l.at < m.to && l.tellsOfGap(m.gapReason)
	}
	switch {
	case !l.final(), l.at < m.from, l.at >= m.to:
		return false
	case m.Refused && l.event != EventCrossingRefused:
		return false
	case m.Outcome != "" && l.text("outcome") != string(m.Outcome):
		return false
	case m.Class != "" && l.text("class") != string(m.Class):
		return false
	case !fits(m.Gap, l.listed("gaps")), !fits(m.Breach, l.listed("breach")):
		return false
	case m.URLPrefix != "" && !strings.HasPrefix(l.text("url"), m.URLPrefix):
		return false
	case m.hostKey != "" && l.host() != m.hostKey:
		return false
	}
	return m.ruling(l)
}

// fits reports whether the fact is as wanted.
func fits(wanted Tri, fact bool) bool { return wanted == Unknown || (wanted == Yes) == fact }

// ruling matches what is said of the ruling.
func (m *matcher) ruling(l *logLine) bool {
	if m.term != "" && !l.ruledOn(m.term) {
		return false
	}
	if m.Reason == "" && m.Whose == "" && m.Status == 0 {
		return true
	}
	var told struct {
		Status int
		Reason rulings.Reason
	}
	l.decode("told", &told)
	if m.Status != 0 && m.Status != told.Status && (told.Status != 0 || uint64(m.Status) != l.number("http_status")) {
		return false
	}
	if m.Reason == "" && m.Whose == "" {
		return true
	}
	return m.anyReason(l, told.Reason)
}

// anyReason reports whether one of the record's reasons is as wanted; told is
// the one the agent was told.
func (m *matcher) anyReason(l *logLine, told rulings.Reason) bool {
	var refusal struct {
		Reason rulings.Reason
		Whose  rulings.Whose
	}
	if l.decode("refusal", &refusal) && m.reason(refusal.Reason, refusal.Whose) {
		return true
	}
	if told != "" && refusal.Reason == "" && m.reason(told, told.Facts().Whose) {
		return true
	}
	var breaches []struct{ Reason rulings.Reason }
	l.decode("breach", &breaches)
	for _, b := range breaches {
		if m.reason(b.Reason, rulings.WhoseOperator) { // only the operator's rules are ever broken and carried
			return true
		}
	}
	return false
}

func (m *matcher) reason(r rulings.Reason, w rulings.Whose) bool {
	return (m.Reason == "" || r == m.Reason) && (m.Whose == "" || w == m.Whose)
}

// host returns the key of the host the crossing went to, "" when it names none.
func (l *logLine) host() string {
	authority := l.text("authority")
	if raw := l.member("url"); raw != nil {
		_, rest, _ := strings.Cut(readText(raw), "://")
		if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
			rest = rest[:i]
		}
		authority = rest[strings.LastIndexByte(rest, '@')+1:]
	}
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		authority = authority[:i]
	}
	key, err := hostkey.Key(strings.Trim(authority, "[]"))
	if err != nil {
		return ""
	}
	return key
}

// ruledOn reports whether term is among the stored terms the crossing was ruled
// on.
func (l *logLine) ruledOn(term string) bool {
	for _, name := range []string{"declarations", "refusal"} {
		if !bytes.Contains(l.member(name), []byte(term)) {
			continue
		}
		if name == "refusal" {
			return l.refusedBy(term)
		}
		var d struct{ Terms []struct{ Object string } }
		l.decode(name, &d)
		for _, t := range d.Terms {
			if t.Object == term {
				return true
			}
		}
	}
	return false
}

// refusedBy reports whether term is the one that refused the crossing.
func (l *logLine) refusedBy(term string) bool {
	var r struct{ Term struct{ Object string } }
	l.decode("refusal", &r)
	return r.Term.Object == term
}
