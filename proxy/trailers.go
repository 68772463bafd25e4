package proxy

import (
	"net/http"

	"golang.org/x/net/http/httpguts"
)

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
