package admin

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/wayleave/wayleave/evidence"
)

// sessionParam returns the session that the path of r names. It is checked and
// never cleaned (A4); nothing is opened for one that cannot be.
func sessionParam(r *http.Request) (string, error) {
	id := chi.URLParam(r, "session")
	if !evidence.ValidSession(id) {
		return "", newProblem(http.StatusBadRequest, "A session is an id of 1 to 128 letters, digits, \".\", \"_\" and \"-\", not beginning with \".\".")
	}
	return id, nil
}

// A sessionPage is a list of sessions as it is sent.
type sessionPage struct {
	Items []evidence.SessionInfo `json:"items"`
	Next  string                 `json:"next,omitempty"`
}

func (d *desk) getSessions(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, listParameters...)
	if err != nil {
		return err
	}
	cursor, limit, err := page(values)
	if err != nil {
		return err
	}
	found, next, err := d.Index.SessionPage(cursor, limit)
	if err != nil {
		return err
	}
	if found == nil {
		found = []evidence.SessionInfo{}
	}
	return writeJSON(w, http.StatusOK, sessionPage{found, next})
}

func (d *desk) getSession(w http.ResponseWriter, r *http.Request) error {
	id, err := sessionParam(r)
	if err != nil {
		return err
	}
	info, err := d.Index.Session(id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

// getLog sends a log byte for byte, or the ranges of it that were asked for.
func (d *desk) getLog(w http.ResponseWriter, r *http.Request) error {
	id, err := sessionParam(r)
	if err != nil {
		return err
	}
	log, err := d.Index.OpenLog(id)
	if err != nil {
		return err
	}
	defer log.Close()
	// However long it takes: a log may be large and the line slow.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/x-ndjson")
	http.ServeContent(&ownWords{ResponseWriter: w, detail: "The log does not have this range."}, r, "", time.Time{}, log)
	return nil
}

// A sessionRequest asks for the credentials of a session.
type sessionRequest struct {
	Session string `json:"session"` // empty: a new id
}

// An issuedSession has the one token that is ever shown for it.
type issuedSession struct {
	Session string `json:"session"`
	Token   string `json:"token"`
}

func (d *desk) postSession(w http.ResponseWriter, r *http.Request) error {
	var req sessionRequest
	if err := readJSON(w, r, &req); err != nil {
		return err
	}
	if req.Session == "" {
		req.Session = "s-" + strings.ToLower(rand.Text())
	}
	switch {
	case !evidence.ValidSession(req.Session):
		return badParameter("session", "A session is an id of 1 to 128 letters, digits, \".\", \"_\" and \"-\", not beginning with \".\".")
	case evidence.OwnSession(req.Session):
		return badParameter("session", "The id is that of an edge's own log.")
	case d.Issue == nil:
		return newProblem(http.StatusConflict, "The edge asks agents for no credentials (auth: open), so there are none to issue.")
	}
	token, err := d.Issue(req.Session)
	if errors.Is(err, evidence.ErrSessionInvalid) {
		return badParameter("session", "The session id is not valid.")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/sessions/"+req.Session)
	return writeJSON(w, http.StatusCreated, issuedSession{req.Session, token})
}
