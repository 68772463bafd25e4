package admin

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	bodyBytes = 1 << 20          // of a request
	bodyWait  = 10 * time.Second // for all of it
)

// readJSON reads the body of r, one JSON object of known members, into v. The
// type must be said: what a page of another site can send without asking (a form)
// has another one.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return newProblem(http.StatusUnsupportedMediaType, "The body must be JSON, with Content-Type: application/json.")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWait)) // a writer that cannot is one of a test
	defer control.SetReadDeadline(time.Time{})
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badBody(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return newProblem(http.StatusBadRequest, "The body holds more than one JSON value.")
	}
	return nil
}

// badBody says what is wrong with a body in our own words.
func badBody(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, "The body is longer than 1 MiB.")
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badParameter(e.Field, "The member has another type.")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return badParameter(strings.Trim(name, `"`), "The member is not known.")
	}
	return newProblem(http.StatusBadRequest, "The body is no JSON object that can be read here.")
}
