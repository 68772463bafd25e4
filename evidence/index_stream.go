package evidence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sort"
)

// A LogStream is a log as one stream: its segments in order, byte for byte, as
// long as they were when it was opened. Records appended later are not in it.
// It is for one goroutine, which closes it.
type LogStream struct {
	*io.SectionReader
	segments *segmentsAt
}

// Close lets go of the log.
func (s *LogStream) Close() error { return s.segments.close() }

// OpenLog opens the log of session for reading from any place. It returns
// ErrNotFound when there is no such session.
func (x *Index) OpenLog(session string) (*LogStream, error) {
	if !ValidSession(session) {
		return nil, ErrNotFound
	}
	root, err := x.root()
	if err == nil {
		var at *segmentsAt
		if at, err = openSegments(root, session); err == nil {
			return &LogStream{io.NewSectionReader(at, 0, at.size), at}, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return nil, err
}

// segmentsAt reads the segments of a log as one; at most one of them is open at
// a time.
type segmentsAt struct {
	dir     *os.Root
	numbers []int
	ends    []int64 // where each segment ends in the whole
	size    int64

	file *os.File // the segment read last, nil at first
	open int      // its index
}

func openSegments(sessions *os.Root, session string) (*segmentsAt, error) {
	dir, err := openDir(sessions, session)
	if err != nil {
		return nil, err
	}
	s := &segmentsAt{dir: dir}
	if s.numbers, err = listSegments(dir); err != nil {
		dir.Close()
		return nil, err
	}
	for _, n := range s.numbers {
		f, info, err := openRegular(dir, segmentName(n))
		if err != nil {
			dir.Close()
			return nil, err
		}
		f.Close()
		s.size += info.Size()
		s.ends = append(s.ends, s.size)
	}
	return s, nil
}

func (s *segmentsAt) close() error {
	if s.file != nil {
		s.file.Close()
	}
	return s.dir.Close()
}

// ReadAt implements io.ReaderAt. Unlike that contract says, calls must not
// overlap in time.
func (s *segmentsAt) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		i := sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > off })
		if i == len(s.ends) {
			return n, io.EOF
		}
		if err := s.use(i); err != nil {
			return n, err
		}
		start := int64(0)
		if i > 0 {
			start = s.ends[i-1]
		}
		part := p[n:]
		if left := s.ends[i] - off; int64(len(part)) > left {
			part = part[:left]
		}
		got, err := s.file.ReadAt(part, off-start)
		n += got
		off += int64(got)
		if got < len(part) {
			return n, unexpected(err)
		}
	}
	return n, nil
}

// unexpected turns the end of a segment that was longer when it was opened into
// an error: the stream must not look whole.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// use opens segment i.
func (s *segmentsAt) use(i int) error {
	if s.file != nil && s.open == i {
		return nil
	}
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	f, _, err := openRegular(s.dir, segmentName(s.numbers[i]))
	if err != nil {
		return err
	}
	s.file, s.open = f, i
	return nil
}
