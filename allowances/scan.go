package allowances

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A scan is a reading of a ledger that can go on where it stopped. It is at the end
// of a line's end, or at the beginning.
type scan struct {
	offset int64
	lines  int // whole ones, good or bad

	begun  bool      // there is a line that is good and no torn record
	at     time.Time // of the last good line
	length int       // of the last good line
	run    []int     // lengths of the bad lines since
}

// errForeign says that a ledger's first line names another allowance, which a file
// system that does not tell letters' case apart brings about (as in E2).
var errForeign = errors.New("the ledger is another allowance's")

// read counts the whole lines of f from where s is up to size into v. It returns
// the last line, without whatever follows, if that has no end.
func (s *scan) read(f io.ReaderAt, size int64, v *view) (ragged []byte, err error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(f, s.offset, size-s.offset), maxLine+1)
	for {
		text, n, err := readLine(lines)
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		s.offset += n
		s.lines++
		r, err := decode(text)
		if err != nil {
			s.run = append(s.run, int(n-1))
			continue
		}
		if err := s.take(r, int(n-1), v); err != nil {
			return nil, err
		}
	}
}

// readLine returns the next line without its end, how many octets it takes with
// it, and io.EOF if it has none. Of a line that is too long it returns the
// beginning and one octet more than a line may have.
func readLine(b *bufio.Reader) (text []byte, n int64, err error) {
	piece, err := b.ReadSlice('\n')
	text, n = piece, int64(len(piece))
	if err == bufio.ErrBufferFull {
		text = bytes.Clone(text)
	}
	for err == bufio.ErrBufferFull {
		piece, err = b.ReadSlice('\n')
		n += int64(len(piece))
	}
	if err == nil && int64(len(text)) == n {
		text = text[:len(text)-1]
	}
	return text, n, err
}

// take counts a good line of n octets.
func (s *scan) take(r record, n int, v *view) error {
	switch {
	case r.Event == eventTorn && slices.Equal(r.Torn, s.run):
		s.run = nil
	case r.Event == eventTorn && len(s.run) == 0 && len(r.Torn) == 1 && r.Torn[0] == s.length:
		// It was whole but for its end (E37).
	case r.Event == eventTorn || len(s.run) > 0:
		v.damage(s.at, r.At, s.fault())
	case !s.begun && r.Event != eventOpened:
		v.damage(s.at, r.At, "the ledger has lost its beginning")
	case s.begun && r.Event == eventOpened:
		v.damage(s.at, r.At, "the ledger begins twice")
	}
	if r.Event == eventOpened && !s.begun && r.Allowance != v.of.Name {
		return errForeign
	}
	s.begun = s.begun || r.Event != eventTorn
	s.run, s.length = nil, n
	if r.At.After(s.at) {
		s.at = r.At
	}
	v.take(r)
	return nil
}

// fault names the bad lines that are not excused.
func (s *scan) fault() string {
	return fmt.Sprintf("the ledger cannot be read before its line %d", max(s.lines, 1))
}

// torn decides which lines a torn record names when the ledger ends with length
// octets that have no line's end and begin with ragged (E36 to E38). A bad line with its end is damage and nothing excuses it, unless
// its repair was cut short: then it stands before an unfinished torn record, or
// this process was about to mark it when it failed (cut).
func (s *scan) torn(ragged []byte, length int, cut []int) []int {
	whole := len(s.run) > 0 && slices.Equal(s.run, cut)
	switch {
	case length == 0 && whole:
		return s.run
	case length == 0:
		return nil
	case len(s.run) > 0 && (whole || unfinishedTorn(ragged)):
		return append(slices.Clone(s.run), length)
	}
	return []int{length}
}

// unfinishedTorn reports whether text could be the beginning of a torn record.
func unfinishedTorn(text []byte) bool {
	const begin = `{"event":"` + eventTorn + `"`
	s := strings.TrimRight(string(text), "\x00")
	return s != "" && (strings.HasPrefix(s, begin) || strings.HasPrefix(begin, s))
}
