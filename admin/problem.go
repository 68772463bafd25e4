package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/wayleave/wayleave/evidence"
)

// A problem is an answer that is not what was asked for (RFC 9457). Its detail
// is a constant sentence, or one made from what the caller sent: no text of an
// error and no path of the machine (A3).
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Parameter string `json:"parameter,omitempty"` // the query parameter or member that is wrong

	allow string // methods, for 405
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

func newProblem(status int, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// badParameter is the problem of a query parameter or a member of a body.
func badParameter(name, detail string) *problem {
	p := newProblem(http.StatusBadRequest, detail)
	p.Parameter = name
	return p
}

// problemOf turns any error of a handler into the answer. known reports whether
// it is the caller's and not ours.
func problemOf(err error) (p *problem, known bool) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p, true
	}
	switch {
	case errors.Is(err, evidence.ErrNotFound):
		return newProblem(http.StatusNotFound, "The logs do not hold what was asked for."), true
	case errors.Is(err, evidence.ErrQuery):
		return newProblem(http.StatusBadRequest, "The query cannot be answered; check the cursor and the filters."), true
	}
	return newProblem(http.StatusInternalServerError, "The edge met a fault of its own; its process log says more."), false
}

// write sends p.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="wayleave admin"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", p.allow)
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = encode(w, p) // what cannot be sent now, nobody is there to read
}

// writeJSON sends v with status.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = encode(w, v)
	return nil
}

// encode writes v as it is: records hold URLs, and < > & stay what they are in
// them.
func encode(w http.ResponseWriter, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// ownWords sends a problem where a handler of a library would send an error in
// words of its own (A3).
type ownWords struct {
	http.ResponseWriter
	detail  string
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (o *ownWords) WriteHeader(status int) {
	if o.refused = status >= 400; !o.refused {
		o.ResponseWriter.WriteHeader(status)
		return
	}
	o.Header().Del("Content-Length")
	newProblem(status, o.detail).write(o.ResponseWriter)
}

// Write implements http.ResponseWriter.
func (o *ownWords) Write(p []byte) (int, error) {
	if o.refused {
		return len(p), nil
	}
	return o.ResponseWriter.Write(p)
}
