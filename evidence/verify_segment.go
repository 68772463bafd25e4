package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"
)

// A segmentMeasure is what the chain and the summaries say of a segment (E60,
// E64), and what was found when it was read.
type segmentMeasure struct {
	Segment int    `json:"segment"`
	Records int    `json:"records"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// measure begins to take the digest of a sealed segment, beside the reading of
// its lines. The function it returns waits for it and must be called.
func (v *logVerifier) measure(f *os.File, number int) func(records int) *segmentMeasure {
	m := &segmentMeasure{Segment: number}
	var g errgroup.Group
	g.Go(func() (err error) {
		m.SHA256, m.Bytes, err = digestOf(f)
		return err
	})
	return func(records int) *segmentMeasure {
		if err := g.Wait(); err != nil {
			v.doubt(lineAt{segment: number}, faultWords(err))
			return nil
		}
		m.Records = records
		return m
	}
}

// digestOf reads f from its beginning.
func digestOf(f io.ReaderAt) (digest string, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, io.NewSectionReader(f, 0, 1<<62))
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), size, err
}

// segmentOpened checks that a segment begins with its segment_opened and that
// this is true of the segment before.
func (v *logVerifier) segmentOpened() {
	l, r := &v.line, &v.refs
	if n := int(l.number("segment")); n != v.at.segment || v.at.line != 1 {
		v.fault(v.at, fmt.Sprintf("segment_opened of segment %d does not begin that segment", n))
	}
	if v.state.tally.records == 1 {
		r.carry(l)
	}
	found := r.previous
	if found == nil || found.Segment != v.at.segment-1 {
		return // it is not there, which is a doubt already
	}
	var said segmentMeasure
	if !l.decode("previous", &said) || said != *found {
		v.fault(v.at, fmt.Sprintf("the chain does not hold: segment %06d is not what it was when it was sealed", found.Segment))
	}
}

// chained checks that the first record of a later segment is its segment_opened.
func (v *logVerifier) chained() {
	if v.place.file == "" && v.at.segment > 1 && v.at.line == 1 && v.line.event != EventSegmentOpened {
		v.fault(v.at, "a segment that does not begin with segment_opened")
	}
}

// checkSummary compares the summary of a sealed segment with what was read.
func (v *logVerifier) checkSummary(root *os.Root, number int) {
	found, at := v.refs.previous, lineAt{segment: number}
	if found == nil {
		return
	}
	var said segmentMeasure
	switch err := readJSON(root, fmt.Sprintf("%06d.json", number), &said); {
	case errors.Is(err, fs.ErrNotExist):
		v.doubt(at, "the sealed segment has no summary")
	case errors.Is(err, errNoJSON):
		v.fault(at, "the summary of the segment cannot be read")
	case err != nil:
		v.doubt(at, faultWords(err))
	case said != *found:
		v.fault(at, "the summary of the segment is not true of it")
	}
}

// errNoJSON says that a file does not hold what is kept in it.
var errNoJSON = errors.New("not the JSON that is kept here")

// maxSummaryBytes bounds the files beside a log.
const maxSummaryBytes = 1 << 20

// readSmall reads a regular file beside a log.
func readSmall(root *os.Root, name string) ([]byte, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSummaryBytes))
}

func readJSON(root *os.Root, name string, into any) error {
	content, err := readSmall(root, name)
	if err != nil {
		return err
	}
	if json.Unmarshal(content, into) != nil {
		return errNoJSON
	}
	return nil
}
