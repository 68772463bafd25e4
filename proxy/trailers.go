package proxy

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/wayleave/wayleave/rulings/payment"
)

// spending names the fields of r that spend, those that it announces behind its
// body included (T105).
func spending(r *http.Request) []string {
	names := append(payment.Spending(r.Header), payment.Spending(r.Trailer)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// errSpends ends an upload behind whose body there are fields that spend, which
// were not announced and may not.
type errSpends struct{ fields []string }

func (e *errSpends) Error() string {
	return "behind the body stands " + strings.Join(e.fields, ", ") + ", and this agent may not spend here"
}

func isSpending(err error) bool {
	_, ok := errors.AsType[*errSpends](err)
	return ok
}

// keepTrailers takes the fields out of t that may not be passed on behind a
// body: those that end here as in a head (N8), and those that say how a message
// is framed, routed or authorised, which a recipient that merges the trailers
// into the head would obey (RFC 9110 6.5.1).
//
// It is called with what was announced and again at the body's end, because
// net/http takes a field into t that was not announced.
func keepTrailers(t http.Header) {
	kept := endToEnd(t)
	for name := range t {
		if _, ok := kept[name]; !ok || !httpguts.ValidTrailerHeader(name) || name == "Alt-Svc" || name == breachField {
			delete(t, name)
		}
	}
}
