package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// What Options.Host and Options.Refresh answer for hosts that have nothing to
// be told or asked.
var (
	ErrUnknownHost = errors.New("admin: nothing is known of the host")
	ErrService     = errors.New("admin: the host is a service")
)

// A HostQuery selects hosts (A9).
type HostQuery struct {
	After   string // only those behind this one, in byte order; empty: all
	Limit   int    // how many at most
	Waiting bool   // only those that callers wait for now
}

// A HostItem is one of a list of hosts.
type HostItem struct {
	Host   string        `json:"host"`            // its key
	Class  rulings.Class `json:"class,omitempty"` // by the policy in force; empty while none loads
	Pacing HostPace      `json:"pacing"`
}

// A Host is all that is known of one (A9).
type Host struct {
	HostItem
	Origins   []HostOrigin `json:"origins"`   // those that were asked for their terms, in order
	Crossings string       `json:"crossings"` // path of the list of its crossings
}

// A HostPace is what paces a host. A part that is not there does not bind.
type HostPace struct {
	Turn        *HostTurn        `json:"turn,omitempty"`
	Backoff     *HostBackoff     `json:"backoff,omitempty"`
	Reservation *HostReservation `json:"reservation,omitempty"`
	Waiting     *HostWaiting     `json:"waiting,omitempty"` // in this edge
	Recovered   string           `json:"recovered,omitempty"`

	// Unavailable says why the state cannot be read and what repairs it, without
	// a path. Nothing is sent to the host meanwhile.
	Unavailable string `json:"unavailable,omitempty"`
}

// A HostTurn is what spaces the requests to a host that states a Crawl-delay.
type HostTurn struct {
	Reserved time.Time `json:"reserved,omitzero"` // the last turn that was taken
	Answered time.Time `json:"answered,omitzero"` // the last answer to a request with a turn

	// Only where one host is asked for: the longest delay that is kept of those
	// its origins state to the edge's tokens, and when it lets a request go.
	DelayMS int64     `json:"delay_ms,omitempty"`
	Capped  bool      `json:"capped,omitempty"` // more was stated
	NextAt  time.Time `json:"next_at,omitzero"` // zero: now
	WaitMS  int64     `json:"wait_ms,omitempty"`
}

// A HostBackoff is the wait that a host's failures ask for.
type HostBackoff struct {
	Failures   int       `json:"failures"` // periods that failed in a row
	Status     int       `json:"status"`   // of the answer that set the end
	Until      time.Time `json:"until"`    // nothing is sent before; may have passed
	WaitMS     int64     `json:"wait_ms"`
	RetryAfter bool      `json:"retry_after,omitempty"` // the answer stated the wait
	Capped     bool      `json:"capped,omitempty"`      // it stated more
	Date       bool      `json:"date,omitempty"`        // it stated the end as a date
	By         string    `json:"by,omitempty"`          // the user whose request set it, where users are known
}

// A HostReservation is the right of one sender to ask a host that failed.
type HostReservation struct {
	Deadline time.Time `json:"deadline"`
	By       string    `json:"by,omitempty"`
}

// A HostWaiting is who waits for a host.
type HostWaiting struct {
	Count int       `json:"count"`
	Until time.Time `json:"until,omitzero"` // when the first of them looks again; zero: hangs on another's answer
	Cause string    `json:"cause"`          // crawl_delay or backoff
}

// A HostOrigin is what one origin of a host has said.
type HostOrigin struct {
	Origin     string            `json:"origin"`
	Terms      []Term            `json:"terms"`            // held, or named and not held
	Robots     *HostRobots       `json:"robots,omitempty"` // nil where no robots.txt rules
	Statements []Statement       `json:"statements,omitempty"`
	Licences   []Licence         `json:"licences,omitempty"`
	Effective  map[string]string `json:"effective,omitempty"` // by declared purpose, of the path "/"
	Gaps       []Gap             `json:"gaps,omitempty"`
}

// A HostRobots is what a robots.txt says to the edge's tokens. The whole file is
// the object of its term.
type HostRobots struct {
	Groups  []RobotsGroup `json:"groups"`          // one for each token
	Lines   []RobotsLine  `json:"lines,omitempty"` // those that bind a token and state something besides access
	More    bool          `json:"more,omitempty"`  // there are further lines, or longer ones
	DelayMS int64         `json:"delay_ms,omitempty"`
	Capped  bool          `json:"capped,omitempty"`
}

// A RobotsGroup is the group that binds a token, and what it says of the path "/".
type RobotsGroup struct {
	Token   string `json:"token"`
	Group   string `json:"group,omitempty"` // empty: none binds it
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
	Allowed bool   `json:"allowed"`
}

// A RobotsLine is a line as written, but for secrets in its URLs (E23).
type RobotsLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// MarshalJSON writes instants in UTC and no finer than records do (E8).
func (p HostPace) MarshalJSON() ([]byte, error) {
	type plain HostPace
	if p.Turn != nil {
		t := *p.Turn
		t.Reserved, t.Answered, t.NextAt = milliseconds(t.Reserved), milliseconds(t.Answered), milliseconds(t.NextAt)
		p.Turn = &t
	}
	if p.Backoff != nil {
		b := *p.Backoff
		b.Until = milliseconds(b.Until)
		p.Backoff = &b
	}
	if p.Reservation != nil {
		r := *p.Reservation
		r.Deadline = milliseconds(r.Deadline)
		p.Reservation = &r
	}
	if p.Waiting != nil {
		w := *p.Waiting
		w.Until = milliseconds(w.Until)
		p.Waiting = &w
	}
	return json.Marshal(plain(p))
}

// hostParameters select hosts.
var hostParameters = []string{"waiting"}

// A hostPage is a list of hosts as it is sent.
type hostPage struct {
	Items []HostItem `json:"items"`
	Next  string     `json:"next,omitempty"`
}

// getHosts lists hosts by name. The cursor is the last name of a page, so a walk
// repeats none and loses none that was there, whatever comes meanwhile.
func (d *desk) getHosts(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, slices.Concat(listParameters, hostParameters)...)
	if err != nil {
		return err
	}
	var q HostQuery
	if q.After, q.Limit, err = page(values); err != nil {
		return err
	}
	if key, err := hostkey.Key(q.After); q.After != "" && (err != nil || key != q.After) {
		return badParameter("cursor", "A cursor is what \"next\" of the page before says.")
	}
	if q.Waiting = values.Get("waiting") == "true"; values.Has("waiting") && !q.Waiting {
		return badParameter("waiting", "It is true, or left out.")
	}
	if d.Hosts == nil {
		return errUnavailable
	}
	items, more, err := d.Hosts(r.Context(), q)
	if err != nil {
		return err
	}
	answer := hostPage{Items: append([]HostItem{}, items...)}
	if more && len(items) > 0 {
		answer.Next = items[len(items)-1].Host
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (d *desk) getHost(w http.ResponseWriter, r *http.Request) error {
	return tellHost(w, r, d.Host)
}

// refreshHost asks a host for its terms again. What the host asks for in waiting
// binds this like any request (P2), so some may still be unasked when it answers.
func (d *desk) refreshHost(w http.ResponseWriter, r *http.Request) error {
	return tellHost(w, r, d.Refresh)
}

// tellHost answers what tell says of the host that the path of r names, in any
// spelling.
func tellHost(w http.ResponseWriter, r *http.Request, tell func(context.Context, string) (Host, error)) error {
	host, err := hostkey.Key(chi.URLParam(r, "host"))
	if err != nil {
		return newProblem(http.StatusBadRequest, "A host is a name or an address without a port.")
	}
	if tell == nil {
		return errUnavailable
	}
	found, err := tell(r.Context(), host)
	switch {
	case errors.Is(err, ErrUnknownHost):
		return newProblem(http.StatusNotFound, "Nothing is known of this host.")
	case errors.Is(err, ErrService):
		return newProblem(http.StatusConflict, "The policy declares this host a service, so it is asked for no terms.")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "What is known of the host could not be read in time.")
	case err != nil:
		return err
	}
	found.Crossings = "/v1/crossings?host=" + host
	if found.Origins == nil {
		found.Origins = []HostOrigin{}
	}
	return writeJSON(w, http.StatusOK, found)
}
