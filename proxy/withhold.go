package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// How much of a withheld body is read for its hash, and for how long (T111). The
// agent waits for the refusal meanwhile.
const (
	withholdLimit = 32 << 20
	withholdTime  = 10 * time.Second
)

// withhold answers with a refusal in place of what the source sent. The body is
// hashed as served and dropped; no octet of it reaches the client (T111, T112).
func (x *crossing) withhold(r *http.Request, resp *http.Response, ruling rulings.Ruling) *http.Response {
	if len(ruling.Needs) > 0 {
		ruling = rulings.CouldNotDecide("the head of the page was not looked at")
	}
	x.barredTerms(&ruling)
	if bodiless(r, resp) || resp.StatusCode == http.StatusSwitchingProtocols {
		// Where its pace cannot be kept it is not used (P40), and so it is not.
		_ = x.settled(r.Context(), resp)
		resp.Body.Close()
		return x.refuse(r, ruling)
	}
	x.hashWithheld(r.Context(), resp)
	if r.Context().Err() != nil {
		x.setRefusal(ruling)
		x.gone(r)
	}
	return x.refuse(r, ruling)
}

// hashWithheld reads the body to its end or the bound and records what it was.
func (x *crossing) hashWithheld(asked context.Context, resp *http.Response) {
	ctx, cancel := context.WithTimeout(asked, x.edge.withholdTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { x.source.Close() })
	defer stop()
	defer resp.Body.Close()

	var sum hasher
	sum.init(ctx, x.rec.ContentCoding, false)
	defer sum.stop()
	n, err := io.Copy(&sum, io.LimitReader(resp.Body, withholdLimit))
	if isUnusable(err) {
		err = nil // read to its end, and not used anyway
	}
	if err == nil && n == withholdLimit {
		if end := readEnd(resp.Body); end != nil && !isUnusable(end) {
			err = io.ErrShortBuffer
		}
	}
	x.watch.done = time.Now()
	x.rec.Down = evidence.Counted(n)
	if err == nil && ctx.Err() == nil {
		x.rec.RetrievedHash, x.rec.RetrievedBytes = sum.retrieved(), n
		sum.content(x)
		return
	}
	x.rec.Withheld = &evidence.Withheld{Bytes: n, Hash: sum.retrieved()}
	x.gap(rulings.GapWithheldPartial, partly(asked, ctx, err))
}

// partly says why a withheld body was not read to its end: a client's leave ends
// asked first, then what the body is read by, and only then perhaps ctx.
func partly(asked, ctx context.Context, err error) string {
	switch {
	case asked.Err() != nil:
		return "the crossing ended while the body was still coming"
	case ctx.Err() != nil:
		return "the body was still coming after 10 s"
	case errors.Is(err, io.ErrShortBuffer):
		return "the body is longer than 33,554,432 octets"
	}
	return "the body broke off"
}
