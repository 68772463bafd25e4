package terms

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/wayleave/wayleave/rulings/robots"
)

// errCoding is a content coding that was not asked for, or one too many.
var errCoding = errors.New("a content coding that was not asked for")

// readBody reads the body of a 2xx, at most robots.MaxBytes octets behind its
// content coding (T15). What was read before a fault is dropped: of a file that
// broke off nobody knows what else it forbade.
func (a *answer) readBody(resp *http.Response) {
	wire := &wire{r: resp.Body}
	coded, err := decode(wire, resp.Header.Values("Content-Encoding"))
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(coded.r, robots.MaxBytes+1))
	}
	switch {
	case wire.err != nil:
		a.failure = Failure{FailureBrokenBody, wire.err.Error()}
	case err != nil:
		a.failure = Failure{FailureBadCoding, err.Error()}
	case len(body) > robots.MaxBytes:
		a.body, a.truncated = wholeLines(body[:robots.MaxBytes]), true
		if !coded.coded && resp.ContentLength > 0 {
			a.size = resp.ContentLength
		}
	default:
		a.body, a.size = body, int64(len(body))
	}
}

// wire remembers the fault of a response body, so that a transfer that broke
// off and a coding that cannot be undone stay apart.
type wire struct {
	r   io.Reader
	n   int64
	err error // any but io.EOF
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// plain is a body without its content coding.
type plain struct {
	r     io.Reader
	coded bool // there was one
}

// decode undoes gzip, the only coding that a probe accepts. Codings inside each
// other are refused: nobody sends them, and they multiply what one octet costs.
func decode(w *wire, fields []string) (plain, error) {
	var codings []string
	for _, name := range strings.Split(strings.ToLower(strings.Join(fields, ",")), ",") {
		if name = strings.Trim(name, " \t"); name != "" && name != "identity" {
			codings = append(codings, name)
		}
	}
	switch {
	case len(codings) == 0:
		return plain{w, false}, nil
	case len(codings) > 1 || !slices.Contains([]string{"gzip", "x-gzip"}, codings[0]):
		return plain{}, errCoding
	}
	z, err := gzip.NewReader(w)
	if err == io.EOF && w.n == 0 {
		return plain{w, true}, nil // a body of no octets, such as a 204's
	}
	if err == nil {
		return plain{z, true}, nil
	}
	return plain{}, err
}

// wholeLines returns body up to the end of its last whole line (T15). A line
// ends at LF or CR, in UTF-16, which T21 reads too, at the code unit of either.
func wholeLines(body []byte) []byte {
	switch {
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		return wholeLines16(body, 0)
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		return wholeLines16(body, 1)
	}
	return body[:bytes.LastIndexAny(body, "\r\n")+1]
}

// wholeLines16 is wholeLines for code units whose low octet stands at offset low.
func wholeLines16(body []byte, low int) []byte {
	for end := len(body) &^ 1; end > 2; end -= 2 {
		unit := body[end-2 : end]
		if unit[1-low] == 0 && (unit[low] == '\n' || unit[low] == '\r') {
			return body[:end]
		}
	}
	return body[:0]
}
