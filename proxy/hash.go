package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// contentLimit is how far a coded body may expand before its content is given
// up on (E16): the octets that come out of all its codings together, since one
// that decodes to nothing may have kept the coding below it busy for hours.
const contentLimit = 1 << 30

// maxCodings bounds how many codings lie over one another. Each holds a window
// of its own.
const maxCodings = 4

var (
	errUnknownCoding = errors.New("the content coding is not known")
	errManyCodings   = fmt.Errorf("it has more than %d content codings", maxCodings)
	errExpands       = errors.New("the content is larger than 1 GiB when decoded")
)

// hashContent records the hash of a short body's content. The coded octets the
// client gets are not touched. The end of ctx ends the decoding.
func (x *crossing) hashContent(ctx context.Context, data []byte) {
	if identity(x.coding()) {
		x.rec.ContentHash, x.rec.ContentBytes = x.rec.RetrievedHash, x.rec.RetrievedBytes
		return
	}
	sum, n, err := decodedSum(ctx, bytes.NewReader(data), x.rec.ContentCoding, new(atomic.Int64))
	x.setContent(sum, n, err)
}

// sumOf is the sum of a whole body, which a screen may have taken already.
func (x *crossing) sumOf(data []byte) rulings.Digest {
	if x.summed {
		return x.sum
	}
	return sha256.Sum256(data)
}

// coding is the content coding of what is delivered.
func (x *crossing) coding() string {
	if x.transformed != nil {
		return ""
	}
	return x.rec.ContentCoding
}

// restoreServed records the body as served in place of the text that was
// delivered for it (O50).
func (x *crossing) restoreServed() {
	if t := x.transformed; t != nil {
		x.rec.RetrievedHash, x.rec.RetrievedBytes, x.rec.Down = t.Hash, t.Bytes, evidence.Counted(t.Bytes)
	}
}

func (x *crossing) setContent(sum rulings.Digest, n int64, err error) {
	if err != nil {
		x.gap(evidence.CapabilityUnavailable, fmt.Sprintf("the content could not be decoded for its hash: %v", err))
		return
	}
	x.rec.ContentHash, x.rec.ContentBytes = sum, n
}

func identity(coding string) bool { return coding == "" || coding == "identity" }

// decodedSum hashes what coded decodes to. coding is a Content-Encoding value
// (RFC 9110 8.4), the coding applied last standing last. seen grows with what has
// been decoded.
func decodedSum(ctx context.Context, coded io.Reader, coding string, seen *atomic.Int64) (rulings.Digest, int64, error) {
	r, err := decoded(ctx, coded, coding)
	if err != nil {
		return rulings.Digest{}, 0, err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, counter{seen}), r)
	if err != nil {
		return rulings.Digest{}, 0, err
	}
	return rulings.Digest(h.Sum(nil)), n, nil
}

// A counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// decoded returns the content of what coded holds. It ends with ctx.
func decoded(ctx context.Context, coded io.Reader, coding string) (io.Reader, error) {
	list := strings.Split(coding, ",")
	if len(list) > maxCodings {
		return nil, errManyCodings
	}
	left := int64(contentLimit)
	r := coded
	for i := len(list) - 1; i >= 0; i-- {
		d, err := decoder(r, strings.TrimSpace(list[i]))
		if err != nil {
			return nil, err
		}
		r = &boundedReader{ctx, d, &left}
	}
	return r, nil
}

// A boundedReader is what one coding decodes to. It ends with ctx, and with an
// error once it and the others that share left have given more than that.
type boundedReader struct {
	ctx  context.Context
	r    io.Reader
	left *int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, errExpands
	}
	return n, err
}

func decoder(r io.Reader, coding string) (io.Reader, error) {
	switch coding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)) // the window RFC 9659 allows
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case "deflate":
		return inflate(r)
	}
	return nil, errUnknownCoding
}

// inflate reads "deflate", which is zlib data by RFC 9110 8.4.1.2 but raw deflate
// data from some servers: the two first octets tell.
func inflate(r io.Reader) (io.Reader, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:]), r)
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(whole)
	}
	return flate.NewReader(whole), nil
}

// A hasher takes the sums of a body that flows by: of its octets as served and,
// where they are coded, of its content, which one goroutine of its own decodes.
type hasher struct {
	served  hash.Hash
	decoded atomic.Int64 // octets of content, where it is coded
	coded   *feed        // nil when the content is not coded
	result  chan contentSum
}

type contentSum struct {
	sum rulings.Digest
	n   int64
	err error
}

// init begins the sums. The end of ctx ends the decoding. In step, a Write returns
// when all that its octets decode to is counted.
func (h *hasher) init(ctx context.Context, coding string, step bool) {
	h.served = sha256.New()
	if identity(coding) {
		return
	}
	h.coded = newFeed(step)
	h.result = make(chan contentSum, 1)
	go h.decode(ctx, h.coded, coding)
}

// decode ends when the feed is finished, which stop and content see to.
func (h *hasher) decode(ctx context.Context, coded *feed, coding string) {
	sum, n, err := decodedSum(ctx, coded, coding, &h.decoded)
	// Octets behind the coded data, or all of them after an error, are let go.
	coded.Close()
	h.result <- contentSum{sum, n, err}
}

// Write never fails: content that cannot be decoded leaves a gap, not an error.
func (h *hasher) Write(p []byte) (int, error) {
	h.add(p)
	h.served.Write(p)
	return len(p), nil
}

// add decodes what was read and not passed on yet; Write is this and the sum of
// what was.
func (h *hasher) add(p []byte) {
	if h.coded != nil {
		h.coded.Write(p)
	}
}

// size is how many octets of content have come, of read octets as served: as many
// where they are not coded, or cannot be decoded (specs: policy O35).
func (h *hasher) size(read int64) int64 {
	switch {
	case h.coded == nil:
		return read
	case h.coded.ended():
		return max(read, h.decoded.Load())
	}
	return h.decoded.Load()
}

// retrieved is the sum of all octets written so far.
func (h *hasher) retrieved() rulings.Digest { return rulings.Digest(h.served.Sum(nil)) }

// content ends the decoding and records its sum.
func (h *hasher) content(x *crossing) {
	if h.coded == nil {
		x.rec.ContentHash, x.rec.ContentBytes = x.rec.RetrievedHash, x.rec.RetrievedBytes
		return
	}
	h.coded.finish(io.EOF)
	c := <-h.result
	h.coded = nil
	x.setContent(c.sum, c.n, c.err)
}

// stop ends the decoding of a body that did not come to its end.
func (h *hasher) stop() {
	if h.coded != nil {
		h.coded.finish(io.ErrUnexpectedEOF)
		<-h.result
	}
}
