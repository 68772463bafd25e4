package evidence

import (
	"cmp"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// A rank orders records over all logs: by the running maximum of the log's
// timestamps, then by session, then by position.
type rank struct {
	at      int64
	session string
	segment int
	off     int64
}

// farthest is behind every record.
var farthest = rank{at: math.MaxInt64}

func (p rank) compare(q rank) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.session, q.session),
		cmp.Compare(p.segment, q.segment), cmp.Compare(p.off, q.off))
}

// String returns p as a cursor, which clients pass on unread.
func (p rank) String() string {
	var b strings.Builder
	for _, n := range []int64{p.at, int64(p.segment), p.off} {
		b.WriteString(strconv.FormatInt(n, 10))
		b.WriteByte(' ')
	}
	b.WriteString(p.session)
	return base64.RawURLEncoding.EncodeToString([]byte(b.String()))
}

// parseRank is the twin of String. Everything else is ErrQuery.
func parseRank(cursor string) (rank, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return rank{}, ErrQuery
	}
	parts := strings.Split(string(raw), " ")
	if len(parts) != 4 || !ValidSession(parts[3]) {
		return rank{}, ErrQuery
	}
	var n [3]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return rank{}, ErrQuery
		}
	}
	p := rank{at: n[0], segment: int(n[1]), off: n[2], session: parts[3]}
	if p.segment < 0 || p.off < 0 || p.String() != cursor {
		return rank{}, ErrQuery
	}
	return p, nil
}

// firstRank is the rank of the first record of b, and beyond is behind all its records.
func (b *block) firstRank(session string) rank {
	return rank{b.first, session, b.segment, b.off}
}

func (b *block) beyond(session string) rank {
	return rank{b.max, session, b.segment, b.end}
}
