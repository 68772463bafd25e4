package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wayleave/wayleave/rulings"
)

// ContextBytes returns what the sources of a session have added up to as its log
// tells it: bodies that were delivered to their end, after content coding and
// extraction, or as served where they could not be decoded (specs: policy O36).
// A log with damage in it cannot say; that is an error.
func (s *Store) ContextBytes(id string) (total int64, err error) {
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
	for {
		entry, err := r.Next(context.Background())
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return 0, fmt.Errorf("reading the log of session %s: %w", id, err)
		}
		if entry.Event == EventCrossingMediated && line.read(entry.Line) == "" {
			total += line.contextBytes()
		}
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
