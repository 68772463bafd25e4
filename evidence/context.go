package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/wayleave/wayleave/rulings"
)

// ContextBytes returns what the sources of a session have added up to as its log
// tells it: bodies that were delivered to their end, after content coding and
// extraction, or as served where they could not be decoded (specs: policy O36).
// A log with damage in it cannot say; that is an error.
func (s *Store) ContextBytes(id string) (int64, error) {
	if s.o.Run != nil {
		return 0, nil // its log began with it, and this is asked before its first source
	}
	r, err := OpenReader(s.dir, id, ReadOptions{})
	if errors.Is(err, ErrNotFound) {
		return 0, nil // nothing was recorded yet
	}
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var line logLine
	sum := contextSum{known: true}
	for {
		entry, err := r.Next(context.Background())
		switch {
		case errors.Is(err, io.EOF):
			if !sum.known {
				return 0, fmt.Errorf("the log of session %s has lost segments, and with them what was used before", id)
			}
			return sum.bytes, nil
		case err != nil:
			return 0, fmt.Errorf("reading the log of session %s: %w", id, err)
		}
		if (entry.Event == EventCrossingMediated || entry.Event == EventSegmentOpened) && line.read(entry.Line) == "" {
			sum.note(&line)
		}
	}
}

// A contextSum is what the crossings of a log add up to, as far as it was read.
type contextSum struct {
	bytes int64
	known bool // what was before the first line is in it, or there was nothing
}

func (s *contextSum) note(l *logLine) {
	switch l.event {
	case EventCrossingMediated:
		s.bytes += l.contextBytes()
	case EventSegmentOpened: // says it of all segments before, be they there or not
		s.known = l.decode("context_bytes", &s.bytes)
	}
}

// contextBytes is what a crossing added to its session's context. A body whose
// framing cannot show that it is whole (close-delimited) is as whole as can be known.
func (l *logLine) contextBytes() int64 {
	if rulings.Class(l.text("class")) != rulings.Source || Outcome(l.text("outcome")) != Delivered ||
		string(memberOf(l.member("delivered"), "complete")) == "false" {
		return 0
	}
	size := l.member("content_bytes")
	if size == nil {
		size = l.member("retrieved_bytes")
	}
	n, _ := readSeq(size) // one that is 0 reads as none
	return int64(n)
}

// usualContext is contextBytes of a line that this package wrote, from behind its
// edge; it reports false where the line has to be read. Inside a string the quotes
// would be escaped, so what is found is a member.
func usualContext(rest []byte) (int64, bool) {
	if !bytes.Contains(rest, []byte(`,"class":"source"`)) || !bytes.Contains(rest, []byte(`,"outcome":"delivered"`)) ||
		bytes.Contains(rest, []byte(`"complete":false`)) {
		return 0, true
	}
	_, size, ok := bytes.Cut(rest, []byte(`,"content_bytes":`))
	if !ok {
		_, size, ok = bytes.Cut(rest, []byte(`,"retrieved_bytes":`))
	}
	if !ok {
		return 0, true
	}
	n, err := strconv.ParseInt(string(size[:max(0, bytes.IndexAny(size, ",}"))]), 10, 64)
	return n, err == nil
}
