package admin

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/wayleave/wayleave/evidence"
)

// gapParameters select gaps (A10).
var gapParameters = []string{"session", "reason", "from", "to"}

// gapReason is the form of a gap's reason. Which there are grows with what
// writes them, so a reason nobody has used yet is one without gaps.
var gapReason = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// getGaps lists the records that tell of a gap: those of the logs themselves and
// those of crossings (E22).
func (d *desk) getGaps(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, slices.Concat(listParameters, gapParameters)...)
	if err != nil {
		return err
	}
	var filter evidence.Query
	q := evidence.GapQuery{Reason: values.Get("reason")}
	if q.Cursor, q.Limit, err = page(values); err != nil {
		return err
	}
	if values.Has("reason") && !gapReason.MatchString(q.Reason) {
		return badParameter("reason", "A reason of a gap is a word of lower-case letters and \"_\".")
	}
	for _, name := range []string{"session", "from", "to"} {
		if !values.Has(name) {
			continue
		}
		if ok, must := setFilter(&filter, name, values.Get(name)); !ok {
			return badParameter(name, must)
		}
	}
	q.Session, q.From, q.To = filter.Session, filter.From, filter.To
	found, err := d.Index.Gaps(q)
	if err != nil {
		return err
	}
	return d.sendPage(w, found)
}
