package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A segmentScan is what the chain of a log's segments says of one: its measure
// and what it leaves open (E60, E64).
type segmentScan struct {
	number   int
	identity string // of the file, empty for a sealed one

	hash              hash.Hash
	size              int64 // read so far
	records           int
	firstSeq, lastSeq uint64
	last              int64 // timestamp of the last record
	windows           *openWindows
	context           contextSum

	ragged bool // the last line lacks its end
	bad    bool // the last line is no record

	line logLine
}

func newSegmentScan(number int, identity string) *segmentScan {
	return &segmentScan{number: number, identity: identity, hash: sha256.New(), windows: newOpenWindows(), context: contextSum{known: number == 1}}
}

// read goes on up to size. Its memory is bounded by the longest line and by what
// the segment leaves open.
func (s *segmentScan) read(f io.ReaderAt, size int64) error {
	r := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(f, s.size, size-s.size), s.hash), 256<<10)
	var buf []byte
	for {
		line, length, ended, err := readLine(r, buf[:0])
		buf = line
		if err != nil {
			return err
		}
		if length == 0 && !ended {
			s.size = size
			return nil
		}
		s.ragged = !ended
		if _, err := r.Peek(1); err == nil && length == int64(len(line)) && s.usual(line) {
			s.bad = false
			continue
		}
		if s.bad = length != int64(len(line)) || s.line.read(line) != ""; !s.bad {
			s.note(&s.line)
		}
	}
}

// usual takes in a line of the form that this package writes for the records
// most logs are made of, and reports whether it was one. A seal reads back every
// line of its segment, so what it need not know of them is not looked into: that
// is for readers, and for the last line, which is never taken here.
func (s *segmentScan) usual(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok || !bytes.HasSuffix(rest, []byte("}}")) {
		return false
	}
	seq, rest, ok1 := bytes.Cut(rest, []byte(`,"timestamp":`))
	stamp, rest, ok2 := bytes.Cut(rest, []byte(`,"event":"`))
	event, rest, ok3 := bytes.Cut(rest, []byte(`","payload":{"edge":"`))
	edge, rest, ok4 := bytes.Cut(rest, []byte{'"'})
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return false
	}
	switch string(event) {
	case EventCrossingMediated, EventCrossingRefused, EventCrossingObserved, EventCrossingUndelivered, EventTermsProbed:
	default:
		return false
	}
	n, ok1 := readSeq(seq)
	at, ok2 := readInstant(stamp)
	if _, known := s.windows.edges[string(edge)]; !ok1 || !ok2 || !known {
		return false
	}
	size, ok := int64(0), true
	if string(event) == EventCrossingMediated {
		if size, ok = usualContext(rest); !ok {
			return false
		}
	}
	if string(event) != EventTermsProbed && string(event) != EventCrossingUndelivered {
		// Inside a string the quotes would be escaped, so this is the member.
		if _, opened, ok := bytes.Cut(rest, []byte(`,"opened":`)); ok {
			digits := opened[:max(0, bytes.IndexAny(opened, ",}"))]
			crossing, err := strconv.ParseUint(string(digits), 10, 64)
			if err != nil {
				return false
			}
			delete(s.windows.crossings, crossing)
		}
	}
	s.windows.edges[string(edge)] = time.UnixMilli(at)
	s.context.bytes += size
	s.count(n, at)
	return true
}

func (s *segmentScan) note(l *logLine) {
	s.count(l.seq, l.at)
	s.windows.note(l)
	s.context.note(l)
}

// count takes in a record's envelope.
func (s *segmentScan) count(seq uint64, at int64) {
	if s.records++; s.records == 1 {
		s.firstSeq = seq
	}
	s.lastSeq, s.last = max(s.lastSeq, seq), at
}

// A segmentSummary is the file <nnnnnn>.json beside a sealed segment (E60).
type segmentSummary struct {
	Segment  int    `json:"segment"`
	Records  int    `json:"records"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	FirstSeq uint64 `json:"first_seq,omitempty"`
	LastSeq  uint64 `json:"last_seq,omitempty"`
	SealedAt string `json:"sealed_at"`
}

// digest returns the digest of what was read.
func (s *segmentScan) digest() string { return "sha256:" + hex.EncodeToString(s.hash.Sum(nil)) }

func (s *segmentScan) summary(now time.Time) []byte {
	b, err := json.Marshal(segmentSummary{s.number, s.records, s.size, s.digest(), s.firstSeq, s.lastSeq, string(appendInstant(nil, now))})
	if err != nil {
		panic(err) // numbers and text cannot fail to be marshalled
	}
	return append(b, '\n')
}

// A segmentOpened is the first record of each segment after the first (E64).
type segmentOpened struct {
	number   int
	previous *segmentScan // nil: it is not there
}

// Event implements Record.
func (segmentOpened) Event() string { return EventSegmentOpened }

func (r segmentOpened) payload(e *encoder) {
	e.number("segment", int64(r.number))
	if r.previous == nil {
		return
	}
	p := e.open("previous")
	e.number("segment", int64(r.previous.number))
	e.number("records", int64(r.previous.records))
	e.number("bytes", r.previous.size)
	e.word("sha256", r.previous.digest())
	e.close(p)
	open := r.previous.windows
	writeNumbers(e, "open_crossings", slices.Sorted(maps.Keys(open.crossings)))
	list := e.open("open_edges")
	for _, edge := range slices.Sorted(maps.Keys(open.edges)) {
		e.b = append(e.b, ',')
		e.value(edge)
	}
	e.closeList(list)
	if r.previous.context.known {
		e.number("context_bytes", r.previous.context.bytes)
	}
	list = e.open("windows")
	for _, w := range open.byEdge() {
		item := e.item()
		e.text("edge", w.edge)
		e.instant("last", w.last)
		writeNumbers(e, "crossings", w.crossings)
		e.close(item)
	}
	e.closeList(list)
}
