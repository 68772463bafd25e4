package evidence

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

// A logVerifier reads one log from its first line to its last, as mode refuse
// has it (E43), and checks what stands in it. It is for one goroutine.
type logVerifier struct {
	place   logPlace
	home    home
	objects *objectCheck
	decide  DecideFunc
	policy  []byte // what lies beside a run as its policy; nil: nothing
	ran     ran    // what the log says of its run
	report  LogReport

	state  logState
	line   logLine
	at     lineAt // of the record in line
	refs   references
	named  map[string]bool // digests of objects the log names, as written
	redone redone          // recomputed rulings, as they would be written

	damaged int // damage of state that was taken over
}

func newLogVerifier(p logPlace, h home, objects *objectCheck, decide DecideFunc) *logVerifier {
	v := &logVerifier{place: p, home: h, objects: objects, decide: decide, refs: newReferences(), named: make(map[string]bool)}
	v.report.Log, v.state.id = p.name, p.session
	if decide != nil {
		v.report.Rulings = &RulingsReport{}
		v.redone = newRedone()
	}
	return v
}

// run verifies the log. The error is that of ctx; all else is in the report.
func (v *logVerifier) run(ctx context.Context) error {
	defer v.conclude()
	root, err := os.OpenRoot(v.place.dir)
	if err != nil {
		v.doubt(lineAt{}, faultWords(err))
		return nil
	}
	defer root.Close()
	if v.place.run {
		v.policy, _ = readSmall(root, runPolicyName) // checkRun says what is wrong with it
	}
	segments, err := v.segments(root)
	if err != nil {
		v.doubt(lineAt{}, faultWords(err))
		return nil
	}
	v.report.Segments = len(segments)
	for i, s := range segments {
		v.state.enter(s.number)
		v.takeDamage()
		if err := v.segment(ctx, root, s, i == len(segments)-1); err != nil {
			return err
		}
	}
	v.end()
	if v.place.run {
		v.checkRun(root)
	}
	return nil
}

// A verifiedSegment is one segment of a log that is verified.
type verifiedSegment struct {
	number int
	name   string
}

// segments lists the log's files; numbers that are missing are a doubt (E63).
func (v *logVerifier) segments(root *os.Root) ([]verifiedSegment, error) {
	if v.place.file != "" {
		return []verifiedSegment{{1, v.place.file}}, nil
	}
	numbers, err := listSegments(root)
	if err != nil {
		return nil, err
	}
	var list []verifiedSegment
	for _, n := range numbers {
		list = append(list, verifiedSegment{n, segmentName(n)})
	}
	for _, missing := range missingSegments(numbers) {
		v.doubt(lineAt{}, "segment "+missing+" is not there")
	}
	v.refs.partial = len(numbers) > 0 && numbers[0] > 1
	return list, nil
}

// segment verifies one segment; last says that it is the log's active one.
func (v *logVerifier) segment(ctx context.Context, root *os.Root, s verifiedSegment, last bool) error {
	f, info, err := openRegular(root, s.name)
	if err != nil {
		v.doubt(lineAt{segment: s.number}, faultWords(err))
		return nil
	}
	defer f.Close()
	v.state.size = info.Size()
	before := v.state.tally.records
	measured := func(int) *segmentMeasure { return nil }
	if !last {
		measured = v.measure(f, s.number)
	}
	err = v.lines(ctx, f, last)
	records := v.state.tally.records - before
	v.refs.previous = measured(records)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.doubt(v.state.next, faultWords(err))
	case last && records == 0:
		v.doubt(lineAt{segment: s.number}, "there is no record in it")
	case !last:
		v.checkSummary(root, s.number)
	}
	return nil
}

// lines verifies every line of a segment. What stands behind the last line's end
// may be in the middle of being written: it is read again under a shared lock.
func (v *logVerifier) lines(ctx context.Context, f *os.File, last bool) error {
	tail, err := v.wholeLines(ctx, f)
	if err != nil || tail.length == 0 {
		return err
	}
	if last {
		release, err := awaitWriter(ctx, f)
		if err != nil {
			return err
		}
		defer release()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if v.state.size = info.Size(); v.state.size > v.state.next.off+tail.length {
			if tail, err = v.wholeLines(ctx, f); err != nil || tail.length == 0 {
				return err
			}
		}
	}
	v.torn(tail, last)
	return nil
}

// torn judges a last line that nobody is writing and that has no end. No append
// that was acknowledged left it, so in the active segment it is a doubt and no
// fault; in any other one, nobody will ever mark it (E61).
func (v *logVerifier) torn(tail tailLine, last bool) {
	if last && len(v.state.bad) > 0 && !unfinishedRepair(tail.line) {
		v.state.condemn() // else the next append will name these lines too (E38)
		v.takeDamage()
	}
	at, what := v.state.next, fmt.Sprintf("the last line, of %d octets, was cut short and no gap says so", tail.length)
	if !last {
		v.fault(at, what)
		return
	}
	v.state.tear = &Tear{Segment: at.segment, Line: at.line, Offset: at.off, Bytes: tail.length}
	v.doubt(at, what)
}

// wholeLines verifies the lines of f that have an end and returns what stands
// behind the last one.
func (v *logVerifier) wholeLines(ctx context.Context, f io.ReaderAt) (tailLine, error) {
	rest := v.state.size - v.state.next.off
	r := bufio.NewReaderSize(io.NewSectionReader(f, v.state.next.off, rest), int(max(16, min(rest, 256<<10))))
	var line []byte
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return tailLine{}, ctx.Err()
		}
		// A line that the buffer holds is looked at there, without a copy.
		part, err := r.ReadSlice('\n')
		if err == nil {
			v.settle(part[:len(part)-1], int64(len(part)-1))
			continue
		}
		if err != bufio.ErrBufferFull && err != io.EOF {
			return tailLine{}, err
		}
		line = append(line[:0], part...)
		if err == io.EOF {
			return tailLine{line: line, length: int64(len(line))}, nil
		}
		line, length, ended, err := readLine(r, line)
		switch length += int64(len(part)); {
		case err != nil:
			return tailLine{}, err
		case !ended:
			return tailLine{line: line, length: length}, nil
		}
		v.settle(line, length)
	}
}

// settle verifies one line.
func (v *logVerifier) settle(line []byte, length int64) {
	v.at = v.state.next
	if v.state.fault != "" {
		return // the log is another session's
	}
	before := v.state.tally.records
	if before == 0 && v.place.session == "" && v.line.read(line) == "" {
		v.state.id = v.line.text("session") // a lone file is whose it says it is
	}
	v.state.settle(&v.line, line, length)
	v.takeDamage()
	if v.state.fault != "" {
		v.fault(v.at, v.state.fault)
		return
	}
	if v.state.tally.records > before {
		v.record()
	}
}

// takeDamage makes faults of the damage that the state has found since.
func (v *logVerifier) takeDamage() {
	for ; v.damaged < v.state.damaged; v.damaged++ {
		if v.damaged >= len(v.state.damage) {
			v.report.Faulty++ // beyond those that are named
			continue
		}
		d := v.state.damage[v.damaged]
		v.fault(lineAt{d.Segment, d.Offset, d.Line}, d.Fault)
	}
}

// end judges what the log leaves open.
func (v *logVerifier) end() {
	v.state.conclude()
	v.takeDamage()
	if v.report.Segments == 0 {
		v.doubt(lineAt{}, "there is no segment")
	}
	v.endWindows()
}
