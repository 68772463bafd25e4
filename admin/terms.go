package admin

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// getTerm sends the bytes of a stored term as they were served (A10). A source
// chose them, so no browser may take them for anything but text.
func (d *desk) getTerm(w http.ResponseWriter, r *http.Request) error {
	name, ok := digest(chi.URLParam(r, "sha256"))
	if !ok {
		return newProblem(http.StatusBadRequest, "A term is named by its SHA-256: 64 lower-case hex digits.")
	}
	if d.Object == nil {
		return errUnavailable
	}
	content, err := d.Object(name)
	if errors.Is(err, fs.ErrNotExist) {
		return newProblem(http.StatusNotFound, "No such term is stored.")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "sandbox")
	return writeText(w, "text/plain", content)
}
