package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"sync"
)

// A Recording serves recorded exchanges. Any number of goroutines may use it.
type Recording struct {
	root   *os.Root
	digest string
	all    []Exchange

	mu     sync.Mutex
	queues map[key][]int // places in all that are left, in recorded order
	uses   []Use         // of all
}

// A Use is what was done with an exchange.
type Use struct {
	Exchange
	Taken  bool
	Served string // digest of the body that was handed out, to its end; empty: it was not
}

// ErrNotRecorded says that no exchange is left for a request (O67).
var ErrNotRecorded = errors.New("there is no recording of this request left")

// ErrChanged says that a file of the recording is not what it was when the
// recording was opened.
var ErrChanged = errors.New("the recording has changed since it was opened")

// A Served is an exchange that is served to one request.
type Served struct {
	Exchange
	Head Head
	// Body is to be closed. Where it would end with other octets than were recorded
	// it fails with ErrChanged.
	Body io.ReadCloser
}

// Take serves the request of this method, URL and body: the digest of the body,
// empty if it has none. Each exchange is served once, those of one request in the
// order in which they were recorded (O64). The strings are compared as they are.
func (r *Recording) Take(method, url, bodySHA256 string) (*Served, error) {
	x, ok := r.next(key{method, url, bodySHA256})
	if !ok {
		return nil, ErrNotRecorded
	}
	h, err := r.head(x)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrChanged, x.Head, err)
	}
	f, err := openRegular(r.root, x.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrChanged, x.Body, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != x.BodyBytes {
		f.Close()
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrChanged, x.Body), err)
	}
	b := &body{r: r, file: f, x: x, sum: sha256.New()}
	if x.BodyBytes == 0 { // nobody need read it to have it
		r.served(x, b.digest())
	}
	return &Served{Exchange: x, Head: h, Body: b}, nil
}

// next takes the first exchange left for k.
func (r *Recording) next(k key) (Exchange, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[k]
	if len(q) == 0 {
		return Exchange{}, false
	}
	r.queues[k] = q[1:]
	r.uses[q[0]].Taken = true
	return r.all[q[0]], true
}

// served notes that the body of x was handed out.
func (r *Recording) served(x Exchange, sum string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses[x.N-1].Served = sum
}

// head reads the head of x, which has to be what the manifest says.
func (r *Recording) head(x Exchange) (Head, error) {
	f, err := openRegular(r.root, x.Head)
	if err != nil {
		return Head{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHead+1))
	if err != nil {
		return Head{}, err
	}
	if digest(text) != x.HeadSHA256 && len(text) <= maxHead {
		return Head{}, errors.New("its hash differs")
	}
	return decodeHead(text)
}

// A body reads a body's file and holds it against the manifest.
type body struct {
	r    *Recording
	file *os.File
	x    Exchange
	sum  hash.Hash
	n    int64
}

// Read implements io.Reader. The last octets are checked before they are handed
// out: a reader never has a whole body that is not the one recorded.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.file.Read(p)
	b.sum.Write(p[:n])
	b.n += int64(n)
	whole := b.n == b.x.BodyBytes
	if b.n > b.x.BodyBytes || err == io.EOF && !whole || whole && n > 0 && b.digest() != b.x.BodySHA256 {
		return 0, fmt.Errorf("%w: %s", ErrChanged, b.x.Body)
	}
	if whole && n > 0 {
		b.r.served(b.x, b.digest())
	}
	return n, err
}

func (b *body) digest() string { return "sha256:" + hex.EncodeToString(b.sum.Sum(nil)) }

func (b *body) Close() error { return b.file.Close() }

// Digest returns the digest of recording.json (O66).
func (r *Recording) Digest() string { return r.digest }

// Exchanges returns all exchanges, in recorded order.
func (r *Recording) Exchanges() []Exchange { return slices.Clone(r.all) }

// Uses returns what was done with each exchange so far, in recorded order (O66).
func (r *Recording) Uses() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.uses)
}

// Close gives up the directory. Bodies that are being read are not affected; Take
// fails.
func (r *Recording) Close() error { return r.root.Close() }
