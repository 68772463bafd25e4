package admin

import (
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Status is how the edge does (A5).
type Status struct {
	Edge      string    `json:"edge"`
	Version   string    `json:"version"`
	Started   time.Time `json:"started"`
	Execution string    `json:"execution"` // session, live, replay or offline
	Listen    Listen    `json:"listen"`

	PolicyDigest      string `json:"policy_digest,omitempty"`
	PolicyUnavailable string `json:"policy_unavailable,omitempty"` // why there is no policy

	Evidence EvidenceStatus `json:"evidence"`
	Stores   []StoreStatus  `json:"stores"`

	Allowances []AllowanceStatus `json:"allowances,omitempty"` // of the policy in force, in its order
}

// AllowanceStatus is how an allowance stands. What nobody knows is left out.
type AllowanceStatus struct {
	Name     string `json:"name"`
	Period   string `json:"period"` // day or month
	Currency string `json:"currency"`
	Amount   string `json:"amount"` // decimal, as what follows
	Spent    string `json:"spent,omitempty"`
	Reserved string `json:"reserved,omitempty"` // by crossings under way, and by those whose edge died

	Enforceable bool   `json:"enforceable"`
	Unknown     string `json:"unknown,omitempty"` // why Spent is not all there is, so that nothing more is covered
	Short       bool   `json:"short,omitempty"`   // the evidence has an allowance_gap of this period

	From  *time.Time `json:"from,omitempty"`  // the period's first instant
	Until *time.Time `json:"until,omitempty"` // when it begins anew
}

// Listen is where the edge is bound.
type Listen struct {
	Proxy string `json:"proxy"` // host:port
	Admin string `json:"admin"`
}

// EvidenceStatus is whether the records of this edge are all on disk.
type EvidenceStatus struct {
	Complete bool `json:"complete"` // nothing is owed
	Owed     int  `json:"owed"`     // logs that owe a gap (E30)
	Records  int  `json:"records"`  // how many records are neither on disk nor told of by a gap there
}

// StoreStatus is the health of something the edge keeps state in.
type StoreStatus struct {
	Name    string `json:"name"`
	Healthy bool   `json:"healthy"`
	Detail  string `json:"detail,omitempty"` // in our own words
}

// errUnavailable answers for what this edge was not given.
var errUnavailable = newProblem(http.StatusServiceUnavailable, "This edge does not answer that.")

func (d *desk) getStatus(w http.ResponseWriter, _ *http.Request) error {
	if d.Status == nil {
		return errUnavailable
	}
	s := d.Status()
	s.Started = milliseconds(s.Started)
	if s.Stores == nil {
		s.Stores = []StoreStatus{}
	}
	return writeJSON(w, http.StatusOK, s)
}

// getHealth says that the process answers.
func (d *desk) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "text/plain", []byte("ok\n"))
}

// getReady says whether the edge serves, rules and records. Why it does not is
// for the log and /v1/status: this needs no token.
func (d *desk) getReady(w http.ResponseWriter, _ *http.Request) error {
	if d.Ready != nil {
		if err := d.Ready(); err != nil {
			d.Logger.Debug("not ready", "error", err)
			return newProblem(http.StatusServiceUnavailable, "The edge is not ready; /v1/status says more.")
		}
	}
	return writeText(w, "text/plain", []byte("ready\n"))
}

func (d *desk) getCA(w http.ResponseWriter, _ *http.Request) error {
	if d.CA == nil {
		return errUnavailable
	}
	return writeText(w, "application/x-pem-file", d.CA)
}

func writeText(w http.ResponseWriter, kind string, content []byte) error {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content) // what cannot be sent, nobody is there to read
	return nil
}

// getMetrics sends what can be gathered; what cannot is logged.
func (d *desk) getMetrics(w http.ResponseWriter, r *http.Request) error {
	if d.Gatherer == nil {
		return errUnavailable
	}
	opts := promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(d.Logger.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	}
	promhttp.HandlerFor(d.Gatherer, opts).ServeHTTP(&ownWords{ResponseWriter: w, detail: "The metrics could not be gathered."}, r)
	return nil
}

//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "application/json", openAPI)
}
