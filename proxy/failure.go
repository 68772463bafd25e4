package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// A failure is why a request got no answer: the reason, by the error types of
// RFC 9209, a sentence for the record and one for the agent. Go's error text
// stays with the first of the two, as far as detailOf tells it.
type failure struct {
	reason rulings.Reason
	detail string
	told   rulings.Words
}

// alertCertificateRequired is the TLS alert by which a server says that it wants
// a client certificate (RFC 8446 6.2).
const alertCertificateRequired = tls.AlertError(116)

// errDemanded is among what went wrong on a connection whose site asked for a
// client certificate.
var errDemanded = errors.New("the site demands a client certificate")

// failureOf sorts a transport's error (N19).
func failureOf(err error) failure {
	reason, told := sortFailure(err)
	return failure{reason: reason, detail: detailOf(err), told: told}
}

// detailOf is what a record tells of err. net/http quotes the octets that it could
// not read, and they may be the value of a field or a body (E23): from the first
// quote on nothing is told. What a certificate is quoted with is public.
func detailOf(err error) string {
	text := err.Error()
	if said, _, quotes := strings.Cut(text, `"`); quotes && !isCertificateError(err) {
		return said + `"..."`
	}
	return text
}

// An unquotingBody is the body of an answer to the edge itself, whose errors tell
// what a record may.
type unquotingBody struct{ io.ReadCloser }

func (b unquotingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = errors.New(detailOf(err))
	}
	return n, err
}

func sortFailure(err error) (rulings.Reason, rulings.Words) {
	var (
		dns *net.DNSError
		leg *legError
	)
	alert, alerted := alertOf(err)
	switch {
	case isUploadError(err):
		return rulings.RequestInvalid, rulings.Say("The request's body is not framed as HTTP asks, so it had no end. The site may have seen some of it.")
	case errors.Is(err, errPrivate):
		return rulings.PrivateAddress, rulings.Say("The address of this host is not public and the operator's policy does not list it.")
	case errors.Is(err, errOffline):
		return rulings.Offline, rulings.RefuseOffline("").Told
	case isSpending(err):
		return rulings.SpendNotAllowed, rulings.RefuseSpending(nil, "").Told
	case isNotRecorded(err):
		return rulings.NotRecorded, refuseUnrecorded(err).Told
	case errors.Is(err, errLoop):
		return rulings.Loop, rulings.Say("The request leads back to the proxy itself.")
	case errors.As(err, &dns) && dns.IsTimeout:
		return rulings.DNSTimeout, rulings.Say("The host's name was not resolved in time.")
	case errors.As(err, &dns):
		return rulings.DNSError, rulings.Say("The host's name could not be resolved.")
	case errors.Is(err, errDemanded), alerted && alert == alertCertificateRequired:
		return rulings.TLSAlertReceived, rulings.Say("The site demands a client certificate, which the edge cannot present.")
	case alerted:
		return rulings.TLSAlertReceived, rulings.Say("The site ended the TLS handshake with alert %.", rulings.Number(alert))
	case isCertificateError(err):
		return rulings.TLSCertificateError, rulings.Say("The site's certificate is not valid for this host, so nothing was fetched.")
	case errors.As(err, &leg):
		return sortLeg(leg)
	}
	return sortExchange(err)
}

// alertOf finds the alert by which the peer ended a handshake. crypto/tls has it
// in an error of a type it does not export, whose text an AlertError shares.
func alertOf(err error) (tls.AlertError, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return 0, false
	}
	for n := range 256 {
		if a := tls.AlertError(n); a.Error() == op.Err.Error() {
			return a, true
		}
	}
	return 0, false
}

// sortLeg sorts what kept a connection from being had.
func sortLeg(e *legError) (rulings.Reason, rulings.Words) {
	switch {
	case isTimeout(e.err):
		return rulings.ConnectionTimeout, rulings.Say("The site did not complete the connection in time.")
	case e.leg == legTLS:
		return rulings.TLSProtocolError, rulings.Say("The TLS handshake with the site did not succeed.")
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return rulings.ConnectionRefused, rulings.Say("The site refused the connection.")
	case errors.Is(e.err, syscall.EHOSTUNREACH), errors.Is(e.err, syscall.ENETUNREACH):
		return rulings.DestinationUnroutable, rulings.Say("No route leads to the site.")
	}
	return rulings.DestinationUnavailable, rulings.Say("No connection to the site could be made.")
}

// sortExchange sorts what went wrong on a connection that was had.
func sortExchange(err error) (rulings.Reason, rulings.Words) {
	text := err.Error()
	switch {
	case isTimeout(err):
		return rulings.ResponseTimeout, rulings.Say("The site did not answer in time.")
	case errors.Is(err, errSentBefore), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), strings.Contains(text, "server closed idle connection"),
		strings.Contains(text, "cannot retry"), strings.Contains(text, "transport connection broken: EOF"):
		return rulings.ConnectionTerminated, rulings.Say("The site closed the connection without an answer. The request may have reached it.")
	case strings.Contains(text, "exceeded MaxResponseHeaderBytes"), strings.Contains(text, "server response headers exceeded"):
		return rulings.ResponseHeaderSize, rulings.Say("The head of the site's answer is too large.")
	}
	return rulings.HTTPProtocolError, rulings.Say("The site's answer is not valid HTTP.")
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

func isCertificateError(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid)
}

// unavailable answers a request that got no usable answer (N19), or ends it
// without one when it was the client who left.
func (x *crossing) unavailable(r *http.Request, err error) *http.Response {
	if r.Context().Err() != nil || leftUpload(err) {
		x.gone(r)
	}
	f := failureOf(err)
	if head, ok := err.(*headFault); ok {
		f = head.failure
	}
	switch f.reason {
	case rulings.PrivateAddress:
		x.rec.RequestedAt = time.Time{} // nothing was sent
		return x.refuse(r, rulings.RefuseAddress(x.origin.Host))
	case rulings.Offline:
		x.rec.RequestedAt = time.Time{}
		return x.refuse(r, rulings.RefuseOffline(x.origin.Host))
	case rulings.NotRecorded:
		x.unrecorded(f.reason)
		return x.refuse(r, refuseUnrecorded(err))
	case rulings.Loop:
		x.rec.RequestedAt = time.Time{}
		return x.refuse(r, loopRuling())
	case rulings.SpendNotAllowed:
		return x.refuse(r, rulings.RefuseSpending(x.watch.body.unspent.Load().fields, x.origin.Host))
	case rulings.RequestInvalid: // what came of it was sent
		return x.refuse(r, rulings.Ruling{Outcome: rulings.Refuse, Reason: f.reason, Stage: rulings.StageBefore, Detail: f.detail, Told: f.told})
	}
	x.rec.Failure = evidence.Failure{Kind: string(f.reason), Detail: f.detail}
	if x.rec.HTTPStatus == 0 {
		x.gap(evidence.DependencyUnavailable, x.origin.Authority()+": "+string(f.reason))
	}
	return x.answer(r, reply{Reason: f.reason, Detail: f.told}, evidence.Unavailable)
}

// gone ends a crossing whose request ended before there was an answer. It does
// not return.
func (x *crossing) gone(r *http.Request) {
	x.rec.Failure = evidence.Failure{Kind: "client", Detail: "the client went away before the answer"}
	if x.edge.baseCtx.Err() != nil {
		x.rec.Failure = evidence.Failure{Kind: "edge", Detail: "the edge was stopped before the answer"}
	}
	x.end(evidence.Abandoned)
	panic(http.ErrAbortHandler)
}
