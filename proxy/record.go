package proxy

import (
	"context"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// The rest of an answer of which the edge itself reads no more is read for the
// recording alone, up to this much and for so long.
const (
	restLimit = 32 << 20
	restTime  = 5 * time.Second
)

// A recorder keeps each exchange that goes over the wire (specs: policy, O62).
type recorder struct {
	w       *recording.Writer
	pending sync.WaitGroup // exchanges that are being put on disk
}

// A taped body is an answer's body of which all that is read is recorded too.
type taped struct {
	io.ReadCloser
	recorder *recorder
	request  func() (sum string, known bool) // the digest of the request's body
	left     func() bool                     // nobody takes the answer any more: its end may be one of ours
	rest     *leash                          // nil: what nobody reads is not recorded

	mu    sync.Mutex       // guards what follows: Close may be called while the body is read
	entry *recording.Entry // nil: it has ended
}

// tape begins the recording of an answer, which goes on as its body is read.
func (r *recorder) tape(x recording.Exchange, resp *http.Response, t *taped) {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		r.w.LeaveOut(x.Method, x.URL, "a websocket is not recorded")
		return
	case !recording.ValidURL(x.URL):
		r.w.LeaveOut(x.Method, x.URL, "no recording can hold its URL")
		return
	}
	x.CapturedAt = time.Now()
	t.ReadCloser, t.recorder = resp.Body, r
	t.entry = r.w.Add(x, recording.Head{Status: resp.StatusCode, Fields: headFields(resp.Header)})
	if resp.Body = t; bodiless(&http.Request{Method: x.Method}, resp) {
		t.end("")
	}
}

// headFields are the fields of an answer: those of one name in the order in which
// they came, and the names in that of the alphabet, since net/http does not tell
// theirs.
func headFields(h http.Header) (fields []recording.Field) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, recording.Field{Name: name, Value: value})
		}
	}
	return fields
}

func (t *taped) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	if t.entry != nil {
		_, _ = t.entry.Write(p[:n]) // never fails
	}
	t.mu.Unlock()
	switch {
	case err == io.EOF && !t.left():
		t.end("")
	case err != nil:
		t.end("its body did not come to its end")
	}
	return n, err
}

// Close ends the recording. What the edge itself asked for is read to its end first,
// beside whatever else goes on: nobody waits for it.
func (t *taped) Close() error {
	t.mu.Lock()
	ended := t.entry == nil
	t.mu.Unlock()
	if !ended && t.rest.loose() {
		t.recorder.pending.Go(t.readRest)
		return nil
	}
	t.end("its body did not come to its end")
	if t.rest != nil {
		t.rest.end()
	}
	return t.ReadCloser.Close()
}

func (t *taped) readRest() {
	defer t.rest.end()
	timer := time.AfterFunc(restTime, t.rest.end)
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(t, restLimit)) // Read sees how it ends
	t.end("its body was too long, or too slow, to be read to its end")
	_ = t.ReadCloser.Close() // nothing is wanted of it any more
}

// end ends the recording, once: whole where there is nothing to say why not. It is
// put on disk while the agent has its answer.
func (t *taped) end(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.entry
	if entry == nil {
		return
	}
	t.entry = nil
	sum, known := t.request()
	if why == "" && !known {
		why = "the answer came before the request's body was sent"
	}
	if why != "" {
		entry.Abandon(why)
		return
	}
	entry.Request(sum)
	t.recorder.pending.Go(entry.Done)
}

// record keeps the answer to an agent's request.
func (x *crossing) record(r *http.Request, resp *http.Response) {
	rec := x.edge.opt.Upstream.recorder
	if rec == nil {
		return
	}
	kind := recording.Page
	if x.rec.Class == rulings.Service {
		kind = recording.Other
	}
	rec.tape(recording.Exchange{Kind: kind, Method: r.Method, URL: x.exchangeURL()}, resp, &taped{
		request: func() (string, bool) { return x.watch.body.digest(r.ContentLength) },
		left:    func() bool { return r.Context().Err() != nil },
	})
}

// recordNone says of a request that it had no answer that could be recorded.
func (x *crossing) recordNone(r *http.Request, err error) {
	if rec := x.edge.opt.Upstream.recorder; rec != nil {
		rec.w.LeaveOut(r.Method, x.exchangeURL(), "no answer came: "+string(failureOf(err).reason))
	}
}

// probe keeps the answer to the edge's own request for terms, which get makes.
func (r *recorder) probe(req *http.Request, get func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	ctx, rest := newLeash(req.Context())
	resp, err := get(req.WithContext(ctx))
	if err != nil {
		rest.end()
		r.w.LeaveOut(req.Method, req.URL.String(), "no answer came: "+err.Error())
		return nil, err
	}
	kind := recording.Licence
	if terms.KindOf(ctx) == rulings.TermRobots {
		kind = recording.Robots
	}
	r.tape(recording.Exchange{Kind: kind, Method: req.Method, URL: req.URL.String()}, resp, &taped{
		request: func() (string, bool) { return "", true },
		left:    func() bool { return false },
		rest:    rest,
	})
	return resp, nil
}

// A leash ties one context to another until it is let loose.
type leash struct {
	end  context.CancelFunc
	stop func() bool
}

// newLeash returns a context that ends with ctx until the leash is let loose.
func newLeash(ctx context.Context) (context.Context, *leash) {
	loose, end := context.WithCancel(context.WithoutCancel(ctx))
	return loose, &leash{end, context.AfterFunc(ctx, end)}
}

// loose lets go, and is false where it is too late: the other context has ended. A
// nil leash never lets go.
func (l *leash) loose() bool { return l != nil && l.stop() }

// digest returns the digest of the request's body, empty if it has none. It is not
// known before the transport has taken all of it.
func (b *countedBody) digest(length int64) (sum string, known bool) {
	switch n := b.n.Load(); {
	case b.ReadCloser == nil:
		return "", true
	case !b.ended.Load() && n != length:
		return "", false
	case n == 0:
		return "", true
	}
	return "sha256:" + hex.EncodeToString(b.sum.Sum(nil)), true
}
