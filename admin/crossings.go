package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

func (d *desk) getCrossings(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, slices.Concat(filterParameters, []string{"outcome"})...)
	if err != nil {
		return err
	}
	return d.listCrossings(w, q)
}

func (d *desk) getRefusals(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, filterParameters...)
	if err != nil {
		return err
	}
	q.Refused = true
	return d.listCrossings(w, q)
}

// A recordPage is a list of records as it is sent.
type recordPage struct {
	Items  []json.RawMessage `json:"items"`
	Next   string            `json:"next,omitempty"`
	Faulty []string          `json:"faulty,omitempty"` // sessions whose logs could not be read whole
}

func (d *desk) listCrossings(w http.ResponseWriter, q evidence.Query) error {
	found, err := d.Index.Crossings(q)
	if err != nil {
		return err
	}
	return d.sendPage(w, found)
}

// sendPage sends a page of records.
func (d *desk) sendPage(w http.ResponseWriter, found evidence.Page) error {
	page := recordPage{Items: []json.RawMessage{}, Next: found.Next, Faulty: found.Faulty}
	for _, item := range found.Items {
		page.Items = append(page.Items, item.AppendJSON(nil))
	}
	return writeJSON(w, http.StatusOK, page)
}

// A crossingView is one crossing whole (A6). Records are as logged.
type crossingView struct {
	Session  string `json:"session"`
	Number   uint64 `json:"number"`
	Crossing string `json:"crossing"` // as the agent was told it

	Record      json.RawMessage `json:"record,omitempty"` // the final one; absent while the crossing runs
	Opened      json.RawMessage `json:"opened,omitempty"`
	Undelivered json.RawMessage `json:"undelivered,omitempty"`
	Unfinished  json.RawMessage `json:"unfinished,omitempty"`

	Terms       []termLink      `json:"terms"`
	ReasonWords []reasonWords   `json:"reason_words"`
	Told        json.RawMessage `json:"told,omitempty"`
}

// A termLink leads to the bytes of something the crossing was ruled on.
type termLink struct {
	Kind   string `json:"kind"` // of the term, or "policy"
	URL    string `json:"url,omitempty"`
	Object string `json:"object"`
	Href   string `json:"href"`
}

// reasonWords is one reason in words.
type reasonWords struct {
	Reason rulings.Reason `json:"reason"`
	Whose  rulings.Whose  `json:"whose"`
	Words  string         `json:"words"`
}

func (d *desk) getCrossing(w http.ResponseWriter, r *http.Request) error {
	session, err := sessionParam(r)
	if err != nil {
		return err
	}
	text := chi.URLParam(r, "seq")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 || strconv.FormatUint(seq, 10) != text {
		return newProblem(http.StatusBadRequest, "A crossing has a whole number from 1.")
	}
	found, err := d.Index.Crossing(session, seq)
	if err != nil {
		return err
	}
	view, err := newCrossingView(found)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, view)
}

// ruledOn is what a record says of the ruling.
type ruledOn struct {
	Payload struct {
		PolicyDigest string `json:"policy_digest"`
		Refusal      struct{ Reason rulings.Reason }
		Breach       []struct{ Reason rulings.Reason }
		Told         json.RawMessage
		Declarations struct {
			Terms []struct{ Kind, URL, Object string }
		}
	}
}

func newCrossingView(c evidence.CrossingRecords) (crossingView, error) {
	v := crossingView{
		Session: c.Session, Number: c.Number, Crossing: fmt.Sprintf("%s/%d", c.Session, c.Number),
		Record: c.Final, Opened: c.Opened, Undelivered: c.Undelivered, Unfinished: c.Unfinished,
		Terms: []termLink{}, ReasonWords: []reasonWords{},
	}
	says := c.Final
	if says == nil {
		says = c.Opened
	}
	var on ruledOn
	if err := json.Unmarshal(says, &on); err != nil {
		return v, fmt.Errorf("reading record %s: %w", v.Crossing, err)
	}
	p := on.Payload
	for _, t := range p.Declarations.Terms {
		v.link(t.Kind, t.URL, t.Object)
	}
	v.link("policy", "", p.PolicyDigest)
	v.Told = p.Told
	v.explain(p.Refusal.Reason)
	if p.Refusal.Reason == "" && p.Told != nil {
		var told struct{ Reason rulings.Reason }
		if err := json.Unmarshal(p.Told, &told); err != nil {
			return v, fmt.Errorf("reading record %s: %w", v.Crossing, err)
		}
		v.explain(told.Reason)
	}
	for _, b := range p.Breach {
		v.explain(b.Reason)
	}
	return v, nil
}

// link adds a stored term; one without bytes has nothing to lead to.
func (v *crossingView) link(kind, url, object string) {
	if hex, ok := strings.CutPrefix(object, "sha256:"); ok {
		v.Terms = append(v.Terms, termLink{kind, url, object, "/v1/terms/" + hex})
	}
}

// explain adds a reason. A code that this version does not know has no words.
func (v *crossingView) explain(r rulings.Reason) {
	if isReason(r) {
		facts := r.Facts()
		v.ReasonWords = append(v.ReasonWords, reasonWords{r, facts.Whose, facts.Title})
	}
}
