package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
	"github.com/wayleave/wayleave/rulings/payment"
)

// challenged records by what an answer refuses the fetcher or asks to be paid,
// and what it says it charged (T101 to T104). The answer itself passes untouched.
func (x *crossing) challenged(resp *http.Response) {
	d := payment.Demanded(resp.StatusCode, resp.Header, nil)
	if x.rec.Charge = d.Charge; d.Charge != "" && !x.policy.MayCharge(x.user, x.origin.Host) {
		x.rec.Breach(rulings.Breach{Reason: rulings.SpendNotAllowed,
			Detail: "the answer says that it was charged for, and policy.spend does not let this agent spend at " + x.origin.Host})
	}
	x.rec.Noted = d.Noted
	switch {
	case d.Rail != "":
		x.rec.Challenge = evidence.Challenge{Status: resp.StatusCode, Mark: d.Rail, Price: d.Price, Currency: d.Currency}
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		x.rec.Challenge = evidence.Challenge{Status: resp.StatusCode}
		if slices.Contains(d.Noted, payment.AcceptSignature) {
			x.rec.Challenge.Mark = payment.AcceptSignature
		}
	}
	if resp.StatusCode == http.StatusPaymentRequired && d.Rail != payment.Licence && d.Rail != payment.X402 {
		x.demand = &overheard{ReadCloser: resp.Body}
		resp.Body = x.demand
	}
}

// demanded records a demand that stood in the body of a 402 and not in its
// fields (T102). The body has passed by then: it is not held back for this.
func (x *crossing) demanded(ctx context.Context) {
	if x.demand == nil {
		return
	}
	content, err := decoded(ctx, bytes.NewReader(x.demand.held), x.rec.ContentCoding)
	if err != nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(content, payment.MaxBody+1))
	if err != nil {
		return
	}
	if d := payment.Demanded(http.StatusPaymentRequired, nil, body); d.Rail == payment.X402 {
		x.rec.Challenge = evidence.Challenge{Status: http.StatusPaymentRequired, Mark: d.Rail}
	}
}

// An overheard body keeps its beginning as it passes: one octet more than a
// demand may have.
type overheard struct {
	io.ReadCloser
	held []byte
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.held = append(o.held, p[:min(n, payment.MaxBody+1-len(o.held))]...)
	return n, err
}
