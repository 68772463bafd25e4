package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// An ExplainRequest asks what the ruling on a URL would be now (A11).
type ExplainRequest struct {
	URL      string
	Method   string // GET when the caller named none
	Session  string
	Purposes []string
	Headers  http.Header // of the agent's request; User-Agent bears on the ruling
	Fetch    bool        // ask for the terms that are not held
}

// An Explanation is the answer, here and of `wayleave ask --json`. A member that
// does not apply has its zero value and is not written.
type Explanation struct {
	Outcome    string            `json:"outcome,omitempty"` // "proceed" or "refuse"; empty when it hangs on terms that are not held
	Reason     string            `json:"reason,omitempty"`
	Whose      string            `json:"whose,omitempty"`
	Status     int               `json:"status,omitempty"`     // what an agent would get
	RetryAt    time.Time         `json:"retry_at,omitzero"`    // when asking again may help
	Detail     string            `json:"detail,omitempty"`     // one sentence; may quote the source, so it is for operators
	Change     string            `json:"change,omitempty"`     // one sentence: what would change the answer
	Purposes   []string          `json:"purposes,omitempty"`   // ruled for
	Purpose    string            `json:"purpose,omitempty"`    // of them, the one that is refused
	Terms      []Term            `json:"terms,omitempty"`      // ruled on, or to be asked for first, in order
	Statements []Statement       `json:"statements,omitempty"` // what the terms say of purposes
	Licences   []Licence         `json:"licences,omitempty"`   // what each licence comes to
	Effective  map[string]string `json:"effective,omitempty"`  // what all that comes to, by purpose
	Mode       string            `json:"mode,omitempty"`       // of the policy: what becomes of a breach of it
	Breaches   []Breach          `json:"breach,omitempty"`     // of the policy that are carried, or were met before what refuses
	Gaps       []Gap             `json:"gaps,omitempty"`       // what could not be known; it refuses nothing
	Pacing     *Pacing           `json:"pacing,omitempty"`
}

// A Term is one term of an Explanation.
type Term struct {
	Kind      rulings.TermKind    `json:"kind"`
	Mechanism rulings.Mechanism   `json:"mechanism,omitempty"` // how a licence came to be named
	URL       string              `json:"url"`
	FinalURL  string              `json:"final_url,omitempty"` // after redirects
	Status    int                 `json:"status,omitempty"`
	Outcome   rulings.TermOutcome `json:"outcome,omitempty"` // empty: not held
	Cause     string              `json:"cause,omitempty"`
	Cache     rulings.CacheState  `json:"cache,omitempty"`
	FetchedAt time.Time           `json:"fetched_at,omitzero"`
	ExpiresAt time.Time           `json:"expires_at,omitzero"`
	Object    string              `json:"object,omitempty"` // digest of its bytes
	Line      int                 `json:"line,omitempty"`   // of the rule that decided
	Entry     int                 `json:"entry,omitempty"`  // of a licence, that decided
}

// A Statement is a source's word in its own vocabulary.
type Statement struct {
	Source     string `json:"source"`
	Category   string `json:"category"`
	Preference string `json:"preference"`
	Line       int    `json:"line,omitempty"` // of robots.txt
}

// A Licence is what a document comes to for the page.
type Licence struct {
	URL       string `json:"url,omitempty"`
	Mechanism string `json:"mechanism"`
	Entry     int    `json:"entry,omitempty"` // the first that governs, from 1
	Offer     int    `json:"offer,omitempty"` // the licence taken, from 1
	Payment   string `json:"payment,omitempty"`
	RefusedBy string `json:"refused_by,omitempty"`
}

// A Breach is a rule of the operator's policy that the crossing would break, as
// records have it.
type Breach struct {
	Reason rulings.Reason `json:"reason"`
	Detail string         `json:"detail"`
}

// A Gap is something that could not be known.
type Gap struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Pacing is when the request would be sent if it came now. It is a forecast: what
// others ask meanwhile, and how they are answered, moves it.
type Pacing struct {
	DelayMS int64     `json:"delay_ms,omitempty"` // Crawl-delay that is kept
	Capped  bool      `json:"capped,omitempty"`   // more was stated
	WaitMS  int64     `json:"wait_ms"`            // until turn and back-off let it go; 0 is now
	NextAt  time.Time `json:"next_at,omitzero"`   // that instant; zero where WaitMS is 0

	// The wait that the host's failures ask for; while it binds.
	BackoffUntil  time.Time `json:"backoff_until,omitzero"`
	BackoffStatus int       `json:"backoff_status,omitempty"` // of the answer that set it

	// Another request to the host that failed is under way, and is waited for,
	// until then at the latest.
	ReservedUntil time.Time `json:"reserved_until,omitzero"`

	// Unavailable says why nothing is known and what repairs that, without a path.
	Unavailable string `json:"unavailable,omitempty"`
}

// MarshalJSON writes instants in UTC and no finer than records do (E8).
func (e Explanation) MarshalJSON() ([]byte, error) {
	type plain Explanation
	e.RetryAt = milliseconds(e.RetryAt)
	if e.Pacing != nil {
		paced := *e.Pacing
		paced.NextAt, paced.BackoffUntil, paced.ReservedUntil = milliseconds(paced.NextAt), milliseconds(paced.BackoffUntil), milliseconds(paced.ReservedUntil)
		e.Pacing = &paced
	}
	return json.Marshal(plain(e))
}

// MarshalJSON writes instants as those of an Explanation.
func (t Term) MarshalJSON() ([]byte, error) {
	type plain Term
	t.FetchedAt, t.ExpiresAt = milliseconds(t.FetchedAt), milliseconds(t.ExpiresAt)
	return json.Marshal(plain(t))
}

// milliseconds returns t in UTC without what is finer than a millisecond.
func milliseconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// explainBody is an ExplainRequest as it is sent.
type explainBody struct {
	URL      string                 `json:"url"`
	Method   string                 `json:"method"`
	Session  string                 `json:"session"`
	Purposes []string               `json:"purposes"`
	Headers  map[string]headerValue `json:"headers"`
	Fetch    bool                   `json:"fetch"`
}

// A headerValue is one string, or a list of them.
type headerValue []string

// UnmarshalJSON implements json.Unmarshaler.
func (v *headerValue) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*v = headerValue{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(v))
}

// maxURLBytes is how long a URL a record holds (E10).
const maxURLBytes = 64 << 10

// request checks b.
func (b explainBody) request() (ExplainRequest, error) {
	r := ExplainRequest{URL: b.URL, Method: b.Method, Session: b.Session, Purposes: b.Purposes, Headers: http.Header{}, Fetch: b.Fetch}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	u, err := url.Parse(r.URL)
	switch {
	case err != nil || len(r.URL) > maxURLBytes || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return r, badParameter("url", "It must be a whole URL of http or https.")
	case strings.Trim(r.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return r, badParameter("method", "It must be the name of an HTTP method, in capitals.")
	case r.Session != "" && !evidence.ValidSession(r.Session):
		return r, badParameter("session", "It is no session id.")
	}
	for _, p := range b.Purposes {
		if !rulings.Purpose(p).Known() {
			return r, badParameter("purposes", "They must be of ai-input, ai-train, ai-index, search.")
		}
	}
	for name, values := range b.Headers {
		for _, v := range values {
			r.Headers.Add(name, v)
		}
	}
	return r, nil
}

func (d *desk) postExplain(w http.ResponseWriter, r *http.Request) error {
	var body explainBody
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	req, err := body.request()
	if err != nil {
		return err
	}
	if d.Explain == nil {
		return errUnavailable
	}
	answer, err := d.Explain(r.Context(), req)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return newProblem(http.StatusServiceUnavailable, "The terms could not be asked for in time.")
	}
	if err != nil {
		// The request is well formed; what cannot be ruled about it is its URL.
		d.Logger.Debug("explain refused", "error", err)
		return badParameter("url", "This URL cannot be ruled.")
	}
	return writeJSON(w, http.StatusOK, answer)
}
