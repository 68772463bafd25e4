package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/recording"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/terms"
)

// A replayer answers requests from a recording, in place of the network.
type replayer struct {
	rec *recording.Recording

	mu     sync.Mutex
	missed []Missed
}

// A Missed is a request that a replay had no recording for, and how often (specs:
// policy, O67).
type Missed struct {
	Method, Host string
	Why          string
	Count        int
}

func (m Missed) String() string {
	requests := "1 request"
	if m.Count != 1 {
		requests = fmt.Sprintf("%d requests", m.Count)
	}
	return fmt.Sprintf("%s %s, %s: %s", m.Method, m.Host, requests, m.Why)
}

// Missed returns the requests that a replay had no recording for, in the order in
// which each was first met; of what is no replay there are none.
func (u *Upstream) Missed() []Missed {
	if u.replay == nil {
		return nil
	}
	u.replay.mu.Lock()
	defer u.replay.mu.Unlock()
	return slices.Clone(u.replay.missed)
}

// errNotRecorded says that nothing can be served to a request, for which reason.
type errNotRecorded struct {
	method, host string
	err          error
}

func (e *errNotRecorded) Error() string { return e.method + " " + e.host + ": " + e.err.Error() }
func (e *errNotRecorded) Unwrap() error { return e.err }

func isNotRecorded(err error) bool {
	_, is := errors.AsType[*errNotRecorded](err)
	return is
}

// miss notes that a request was met for which there is no recording, or none that is
// as it was: either ends what the run could claim.
func (p *replayer) miss(method, host string, err error) *errNotRecorded {
	why := recording.ErrNotRecorded
	if errors.Is(err, recording.ErrChanged) {
		why = recording.ErrChanged
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.missed, func(m Missed) bool { return m.Method == method && m.Host == host && m.Why == why.Error() })
	if at < 0 {
		at = len(p.missed)
		p.missed = append(p.missed, Missed{method, host, why.Error(), 0})
	}
	p.missed[at].Count++
	return &errNotRecorded{method, host, err}
}

// take serves a request from the recording. n is the exchange that it was.
func (p *replayer) take(method, host, url, bodySHA256 string) (resp *http.Response, n int, err error) {
	s, err := p.rec.Take(method, url, bodySHA256)
	if err != nil {
		return nil, 0, p.miss(method, host, err)
	}
	resp = &http.Response{StatusCode: s.Head.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header),
		Body: &replayedBody{s.Body, p, method, host}}
	for _, f := range s.Head.Fields {
		resp.Header.Add(f.Name, f.Value)
	}
	if resp.ContentLength, err = strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err != nil || resp.ContentLength < 0 {
		// It was not announced how long the body is, and is not now. But where it
		// ends is known, since the recording has its hash.
		resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
	}
	return resp, s.N, nil
}

// A replayedBody is a recorded body that is served.
type replayedBody struct {
	io.ReadCloser
	replayer     *replayer
	method, host string
}

func (b *replayedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, recording.ErrChanged) {
		return n, b.replayer.miss(b.method, b.host, err)
	}
	return n, err
}

// probe serves the edge's own request for terms. What nobody reads of its body is
// read here, so that it counts as served.
func (p *replayer) probe(req *http.Request) (*http.Response, error) {
	resp, _, err := p.take(req.Method, req.URL.Hostname(), req.URL.String(), "")
	if err != nil {
		return nil, &terms.FetchError{Kind: terms.FailureNotRecorded, Barred: rulings.NotRecorded, Err: err}
	}
	resp.Body = &drainedBody{resp.Body}
	return resp, nil
}

type drainedBody struct{ io.ReadCloser }

func (b *drainedBody) Close() error {
	_, err := io.Copy(io.Discard, b)
	return errors.Join(err, b.ReadCloser.Close())
}

// replayed is the answer to a request from the recording: nothing is sent, dialled or
// resolved (O60, O64).
func (x *crossing) replayed(r *http.Request) (*http.Response, error) {
	sum, err := sumUpload(r)
	if err != nil {
		return nil, &uploadError{err}
	}
	p := x.edge.opt.Upstream.replay
	resp, n, err := p.take(r.Method, x.origin.Host, x.exchangeURL(), sum)
	if err != nil {
		return nil, err
	}
	x.source = resp.Body
	x.rec.ServedFrom = evidence.ServedFrom{Recording: p.rec.Digest(), N: n}
	x.rec.HTTPStatus = resp.StatusCode // its version is not recorded
	return resp, usable(r, resp, false)
}

// exchangeURL is by what a recording knows the request: the origin in its one
// spelling, and the target as the agent wrote it.
func (x *crossing) exchangeURL() string {
	if x.target == "*" {
		return x.origin.String()
	}
	return x.origin.String() + x.target
}

// sumUpload reads the body of a request whose answer is recorded, and returns its
// digest, empty if it is none.
func sumUpload(r *http.Request) (string, error) {
	if bodyOf(r) != bodyStreams {
		return "", nil
	}
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	if err != nil || n == 0 {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// refuseUnrecorded refuses a request for which there is no recording (O67).
func refuseUnrecorded(err error) rulings.Ruling {
	return rulings.Ruling{Outcome: rulings.Refuse, Reason: rulings.NotRecorded, Stage: rulings.StageBefore, Detail: "the run is a replay: " + err.Error(),
		Told: rulings.Say("This run is a replay, and its recording has no answer to this request. Nothing was sent.")}
}

// unrecorded says what is missing where that refuses a crossing.
func (x *crossing) unrecorded(reason rulings.Reason) {
	if reason == rulings.NotRecorded {
		x.gap(evidence.DependencyUnavailable, x.origin.Authority()+": the recording")
	}
}

// tunnelUnrecorded refuses a tunnel that would be passed through unread: nobody can
// have recorded one.
func (x *crossing) tunnelUnrecorded(conn net.Conn, r *http.Request) {
	ruling := refuseUnrecorded(x.edge.opt.Upstream.replay.miss(http.MethodConnect, x.origin.Host, recording.ErrNotRecorded))
	x.unrecorded(ruling.Reason)
	x.refuseConnect(conn, r, rejection{ruling.Reason, ruling.Detail, ruling.Told})
}
