package admin

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// parameters returns the query of r, which may have each of the parameters known
// once and no other (A3).
func parameters(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, "The query cannot be read.")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, badParameter(name, unknownParameter(known))
		}
		if len(given) > 1 {
			return nil, badParameter(name, "The query parameter is given more than once.")
		}
	}
	return values, nil
}

func unknownParameter(known []string) string {
	if len(known) == 0 {
		return "There are no query parameters here."
	}
	return "The query parameter is not known here; known are: " + strings.Join(known, ", ") + "."
}

// listParameters are those of every list.
var listParameters = []string{"cursor", "limit"}

// filterParameters select crossings (A6).
var filterParameters = []string{"session", "host", "url", "reason", "whose", "term", "status", "class", "from", "to", "gap", "breach"}

// page reads the parameters of every list.
func page(values url.Values) (cursor string, limit int, err error) {
	limit = evidence.DefaultLimit
	if given := values.Get("limit"); values.Has("limit") {
		limit, err = strconv.Atoi(given)
		if err != nil || limit < 1 || limit > evidence.MaxLimit || strconv.Itoa(limit) != given {
			return "", 0, badParameter("limit", "A limit is a whole number from 1 to "+strconv.Itoa(evidence.MaxLimit)+".")
		}
	}
	cursor = values.Get("cursor")
	if values.Has("cursor") && cursor == "" {
		return "", 0, badParameter("cursor", "A cursor is what \"next\" of the page before says.")
	}
	return cursor, limit, nil
}

// setFilter reads the parameter name into q. It reports whether value is one the
// parameter can have, and if not, what it must be.
func setFilter(q *evidence.Query, name, value string) (ok bool, must string) {
	switch name {
	case "session":
		q.Session = value
		return evidence.ValidSession(value), "A session is an id of letters, digits, \".\", \"_\" and \"-\"."
	case "host":
		_, err := hostkey.Key(value)
		q.Host = value
		return err == nil, "A host is a name or an address without a port."
	case "url":
		q.URLPrefix = value
		return value != "", "A url is the beginning of a URL."
	case "reason":
		q.Reason = rulings.Reason(value)
		return isReason(q.Reason), "There is no such reason code."
	case "whose":
		q.Whose = rulings.Whose(value)
		return slices.Contains(parties, q.Whose), "Whose is one of source, operator, edge, upstream."
	case "class":
		q.Class = rulings.Class(value)
		return slices.Contains(classes, q.Class), "A class is source or service."
	case "outcome":
		q.Outcome = evidence.Outcome(value)
		return slices.Contains(outcomes, q.Outcome), "An outcome is one of delivered, refused, unavailable, cut, abandoned."
	case "term":
		q.Term, ok = digest(strings.TrimPrefix(value, "sha256:"))
		return ok, "A term is named by its SHA-256: 64 lower-case hex digits."
	case "status":
		q.Status, ok = status(value)
		return ok, "A status is a number from 100 to 999."
	case "from":
		q.From, ok = instant(value)
		return ok, "An instant has the form 2006-01-02T15:04:05Z."
	case "to":
		q.To, ok = instant(value)
		return ok, "An instant has the form 2006-01-02T15:04:05Z."
	case "gap":
		q.Gap, ok = tri(value)
		return ok, "It is true or false."
	case "breach":
		q.Breach, ok = tri(value)
		return ok, "It is true or false."
	}
	return false, "The filter is not known."
}

var (
	parties  = []rulings.Whose{rulings.WhoseSource, rulings.WhoseOperator, rulings.WhoseEdge, rulings.WhoseUpstream}
	classes  = []rulings.Class{rulings.Source, rulings.Service}
	outcomes = []evidence.Outcome{evidence.Delivered, evidence.Refused, evidence.Unavailable, evidence.Cut, evidence.Abandoned}
)

// readQuery reads the query of r for crossings, which may have the filters given.
func readQuery(r *http.Request, known ...string) (q evidence.Query, err error) {
	values, err := parameters(r, slices.Concat(listParameters, known)...)
	if err != nil {
		return q, err
	}
	if q.Cursor, q.Limit, err = page(values); err != nil {
		return q, err
	}
	for _, name := range known {
		if !values.Has(name) {
			continue
		}
		if ok, must := setFilter(&q, name, values.Get(name)); !ok {
			return q, badParameter(name, must)
		}
	}
	return q, nil
}

// digest reads 64 lower-case hex digits.
func digest(text string) (d rulings.Digest, ok bool) {
	if len(text) != hex.EncodedLen(len(d)) || strings.ToLower(text) != text {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil && d != (rulings.Digest{}) // the zero digest means none
}

func status(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 100 && len(text) == 3
}

func instant(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

func tri(text string) (evidence.Tri, bool) {
	switch text {
	case "true":
		return evidence.Yes, true
	case "false":
		return evidence.No, true
	}
	return evidence.Unknown, false
}

// isReason reports whether r is a reason code; Facts cannot tell.
func isReason(r rulings.Reason) bool { return reasons[r] }

var reasons = func() map[rulings.Reason]bool {
	all := make(map[rulings.Reason]bool)
	for _, r := range rulings.Reasons() {
		all[r] = true
	}
	return all
}()
