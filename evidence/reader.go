package evidence

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A ReadMode says what a Reader does with an unfinished last line that nobody is
// writing (E43).
type ReadMode int

const (
	// ReadForecast writes nothing and keeps what can be kept: a last line that
	// lacks only its end is a record, and any other is the Reader's Tear.
	ReadForecast ReadMode = iota
	// ReadRefuse writes nothing and makes an error of such a line.
	ReadRefuse
	// ReadRepair marks it as an append would, and reads on. It needs a Store.
	ReadRepair
)

// A Position is where a reading stopped, for another to go on from. It stands
// past the last settled line: bad lines that the next record may yet explain, and
// a last line without its end, are read again (E44). The zero Position is the
// beginning of the log.
type Position struct {
	Segment int   `json:"segment"`
	Line    int   `json:"line"`   // in the segment, from 1
	Offset  int64 `json:"offset"` // in the segment, where that line begins
	Before  int64 `json:"before"` // length of the record directly before it, 0 if there is none
}

// A DamageError is a line that is no record and that nothing explains. Reading
// can go on behind it.
type DamageError struct {
	Log string
	Damage
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: segment %06d, line %d, offset %d: %s", e.Log, e.Segment, e.Line, e.Offset, e.Fault)
}

// An Entry is one record of a log. It is good until the Reader's next call.
type Entry struct {
	Seq     uint64
	Time    time.Time
	Event   string
	Line    []byte // as written, without its end
	Segment int
	Number  int   // of the line in its segment, from 1
	Offset  int64 // of the line in its segment

	line *logLine
}

// Text returns the string that the payload's member name holds, "" if none.
func (e Entry) Text(name string) string { return e.line.text(name) }

// Decode reads the payload's member name into v and reports whether there was one
// that fits.
func (e Entry) Decode(name string, v any) bool { return e.line.decode(name, v) }

// Uint returns the unsigned number that the payload's member name holds, else 0.
func (e Entry) Uint(name string) uint64 { return e.line.number(name) }

// ReadOptions say how a log is read. The zero value reads it from the beginning
// and writes nothing.
type ReadOptions struct {
	Mode  ReadMode
	From  Position
	Store *Store // of the edge that repairs, in mode ReadRepair
}

// A Reader reads one log record by record, whoever writes it meanwhile. Its
// memory is bounded by the longest line a record can have. It is for one
// goroutine.
type Reader struct {
	session string // or run, as OpenReader was given it
	o       ReadOptions
	dir     *os.Root
	one     string // the log's only file; empty: it is in segments
	numbers []int
	file    *os.File
	lines   *bufio.Reader

	state   logState // its blocks and its damage are taken out after each line
	line    logLine
	buf     []byte
	damage  []Damage // found and not returned yet
	entry   Entry    // to be returned behind the damage, when event is set
	settled Position
	end     error // what Next returns from now on
}

// runPrefix stands before the id of a batch run where the name of a log is asked
// for. No session has it: a session's id holds no slash.
const runPrefix = "runs/"

// OpenReader opens a log below dataDir: that of a session, by its id, or that of
// a published run, by "runs/" and its id. It returns ErrNotFound when there is
// none. The caller closes the Reader.
func OpenReader(dataDir, log string, o ReadOptions) (*Reader, error) {
	parent, one, id := "sessions", "", log
	if run, ok := strings.CutPrefix(log, runPrefix); ok {
		parent, one, id = "runs", "evidence.jsonl", run
	}
	if !ValidSession(id) || o.Mode == ReadRepair && (o.Store == nil || one != "") {
		return nil, ErrNotFound
	}
	logs, err := os.OpenRoot(filepath.Join(dataDir, parent))
	if err != nil {
		return nil, notFound(err)
	}
	defer logs.Close()
	dir, err := openDir(logs, id)
	if err != nil {
		return nil, notFound(err)
	}
	r := &Reader{session: log, o: o, dir: dir, one: one, numbers: []int{1}, state: logState{id: id}}
	if one == "" {
		r.numbers, err = listSegments(dir)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	r.resume(o.From)
	return r, nil
}

// resume makes the Reader go on at a position.
func (r *Reader) resume(at Position) {
	if r.settled = at; at == (Position{}) {
		return
	}
	r.state.next = lineAt{segment: at.Segment, line: at.Line, off: at.Offset}
	r.state.prev = at.Before
	r.state.tally.records = 1 // the log's first record was judged
}

// notFound makes ErrNotFound of a file that does not exist.
func notFound(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// Close lets go of the log.
func (r *Reader) Close() error {
	if r.file != nil {
		r.file.Close()
	}
	return r.dir.Close()
}

// Position returns where another Reader can go on. What it would return again
// was not settled.
func (r *Reader) Position() Position { return r.settled }

// Missing names the log's segments that are not there, as "000001" or
// "000001-000004" (E63). What is in them Next leaves out.
func (r *Reader) Missing() []string { return missingSegments(r.numbers) }

// Tear returns the unfinished last line, nil when there is none. It is known once
// Next has returned io.EOF.
func (r *Reader) Tear() *Tear { return r.state.tear }

// Next returns the next record, io.EOF behind the last one, and a *DamageError
// for a line that is damaged, in the order of the log. ctx ends the waiting for
// whoever is writing the last line.
func (r *Reader) Next(ctx context.Context) (Entry, error) {
	for {
		if len(r.damage) > 0 {
			d := r.damage[0]
			r.damage = r.damage[1:]
			return Entry{}, &DamageError{r.session, d}
		}
		if r.entry.Event != "" {
			e := r.entry
			r.entry = Entry{}
			return e, nil
		}
		if r.end != nil {
			return Entry{}, r.end
		}
		if err := r.advance(ctx); err != nil {
			r.end = err
		}
	}
}

// advance reads one line. Its error is what Next returns once everything found
// before was returned.
func (r *Reader) advance(ctx context.Context) error {
	if r.file == nil {
		if err := r.openSegment(); err != nil {
			return err
		}
	}
	line, length, ended, err := readLine(r.lines, r.buf[:0])
	r.buf = line
	switch {
	case err != nil:
		return err
	case ended:
		return r.settle(line, length)
	}
	last := r.state.next.segment == r.numbers[len(r.numbers)-1]
	if length > 0 && !last {
		return r.settle(line, length) // nobody will go on with it (E61)
	}
	if length == 0 {
		return r.endSegment(last)
	}
	return r.tail(ctx, line, length)
}

// openSegment opens the segment to read on in: the first that is not before the
// position.
func (r *Reader) openSegment() error {
	next := 0
	for _, n := range r.numbers {
		if n >= max(1, r.state.next.segment) {
			next = n
			break
		}
	}
	if next == 0 {
		if len(r.numbers) == 0 {
			return io.EOF
		}
		return fileFault("the segment that was read is not there any more")
	}
	if next != r.state.next.segment {
		r.enter(next)
	}
	f, info, err := openRegular(r.dir, cmp.Or(r.one, segmentName(next)))
	if err != nil {
		return err
	}
	if info.Size() < r.state.next.off {
		f.Close()
		return fileFault("the log shrank or was replaced after it was read")
	}
	r.use(f)
	return nil
}

// use reads on in f from where the state stands.
func (r *Reader) use(f *os.File) {
	r.file = f
	const toItsEnd = 1 << 62 // also what is appended while it is read
	r.lines = bufio.NewReaderSize(io.NewSectionReader(f, r.state.next.off, toItsEnd), 64<<10)
}

func (r *Reader) enter(segment int) {
	r.state.enter(segment)
	r.take()
	r.settled = Position{Segment: segment, Line: 1}
}

// endSegment goes on to the next segment, or ends the log.
func (r *Reader) endSegment(last bool) error {
	if last {
		// What is bad at the end is damage until something explains it, which
		// is why the position stays in front of it.
		r.state.conclude()
		r.take()
		return io.EOF
	}
	r.file.Close()
	r.file = nil
	for _, n := range r.numbers {
		if n > r.state.next.segment {
			r.enter(n)
			break
		}
	}
	return nil
}

// settle judges one whole line and notes what Next has to return.
func (r *Reader) settle(line []byte, length int64) error {
	at, records := r.state.next, r.state.tally.records
	r.state.settle(&r.line, line, length)
	if fault := r.state.fault; fault != "" {
		return fmt.Errorf("%s: %s", r.session, fault)
	}
	r.take()
	if r.state.tally.records > records {
		r.entry = Entry{Seq: r.line.seq, Time: time.UnixMilli(r.line.at).UTC(), Event: r.line.event, Line: line,
			Segment: at.segment, Number: at.line, Offset: at.off, line: &r.line}
	}
	if len(r.state.bad) == 0 {
		next := r.state.next
		r.settled = Position{next.segment, next.line, next.off, r.state.prev}
	}
	return nil
}

// take moves the damage found to where Next returns it from, and drops what only
// the index needs of the state.
func (r *Reader) take() {
	r.damage = append(r.damage, r.state.damage...)
	r.state.damage, r.state.damaged = nil, 0
	r.state.full, r.state.open = nil, block{}
	r.state.tally = tally{records: r.state.tally.records}
}
