package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/htmlhead"
)

// A piecemeal body comes in pieces of at most size octets and ends with an error.
type piecemeal struct {
	rest  string
	size  int
	err   error
	taken int
}

func (b *piecemeal) Read(p []byte) (int, error) {
	if b.rest == "" {
		return 0, b.err
	}
	n := copy(p, b.rest[:min(b.size, len(b.rest))])
	b.rest, b.taken = b.rest[n:], b.taken+n
	if b.rest == "" && n%2 == 0 { // an end may come with the last octets or behind them
		return n, b.err
	}
	return n, nil
}

func (*piecemeal) Close() error { return nil }

var fuzzedCodings = []string{"", "identity", "gzip", "br", "zstd", "deflate", "gzip, br", "x-odd", "gzip, gzip, gzip, gzip, gzip"}

// Whatever a body is and however it comes, what is released after its head was
// looked at is the body as served, with the end that it had; and no more of it
// was taken beforehand than is held.
func FuzzAHeadIsPutBack(f *testing.F) {
	pages := []string{"", "<p>", "<head>" + metaNoAI + "</head><p>page", "<head><title>" + strings.Repeat("x", 100_000), "\xff\xfe<\x00", "<script type=application/rsl+xml>" + licenceFree}
	for n, coding := range fuzzedCodings {
		for m, page := range pages {
			if code := encode[coding]; code != nil {
				page = code(page)
			}
			f.Add(page, uint8(n), uint16(m*1000), m%2 == 0, "text/html")
		}
	}
	f.Add(metaNoAI, uint8(0), uint16(1), false, "application/xhtml+xml; charset=utf-16")
	gone := errors.New("broken off")
	f.Fuzz(func(t *testing.T, body string, coding uint8, size uint16, broken bool, contentType string) {
		src := &piecemeal{rest: body, size: int(size) + 1, err: io.EOF}
		if broken {
			src.err = gone
		}
		resp := &http.Response{StatusCode: http.StatusOK, Body: src}
		x := &crossing{origin: hostkey.Origin{Scheme: "https", Host: "site.test", Port: 443}, target: "/page", policy: rulings.DefaultPolicy()}
		x.rec.ContentCoding = fuzzedCodings[int(coding)%len(fuzzedCodings)]
		x.known.Response = rulings.ResponseOf(resp.StatusCode, http.Header{"Content-Type": {contentType}})
		page := x.readHead(&http.Request{}, resp)
		if page == nil || src.taken > wireLimit {
			t.Fatalf("%v after %d octets", page, src.taken)
		}
		if identity(x.rec.ContentCoding) && src.taken > htmlhead.MaxBytes {
			t.Fatalf("%d octets were taken of what is not coded", src.taken)
		}
		if page.Unseen != "" && len(page.Octets()) > 0 {
			t.Fatalf("%q, and yet it states %q", page.Unseen, page.Octets())
		}
		released, err := io.ReadAll(resp.Body)
		if string(released) != body || broken != (err == gone) || !broken && err != nil {
			t.Fatalf("%d octets of %d, %v", len(released), len(body), err)
		}
	})
}
