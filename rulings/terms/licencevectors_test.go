package terms

import (
	"encoding/json"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings"
)

// A licenceVector is one case of the kind "licence_fetch" in a
// tdm_and_others.json.
type licenceVector struct {
	ID      string
	Answer  vectorAnswer
	Page    string
	Purpose rulings.Purpose
	Expect  struct {
		State  *rulings.TermOutcome
		Cause  *rulings.Cause
		Ruling *string
		Reason *rulings.Reason
		Life   json.RawMessage `json:"life_s"`
		Gap    *string
	}
}

func TestT69LicenceFetchVectors(t *testing.T) {
	for _, v := range vectors.Read[licenceVector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("licence_fetch")) {
		t.Run(v.ID, func(t *testing.T) { synctest.Test(t, v.run) })
	}
}

func (v licenceVector) run(t *testing.T) {
	page, err := url.Parse(v.Page)
	if err != nil {
		t.Fatal(err)
	}
	site := origin(t, page.Scheme, page.Host)
	host := site // of the licence
	w := newWorld(t)
	if v.Answer.Failure == "robots" {
		host = origin(t, page.Scheme, "licences.test")
		w.serve(host.Authority(), text("User-agent: *\nDisallow: /\n"))
	} else {
		v.Answer.place(w, host)
	}
	b := w.open(t.TempDir())
	need := rulings.Need{Kind: rulings.TermLicence, URL: host.String() + "/licence.xml", Mechanism: rulings.ByRobots}
	ask := func() rulings.LicenceTerms {
		return b.Licence(t.Context(), need, site, []string{"wayleave"}, rulings.DefaultPolicy())
	}
	got := ask()
	arrived := time.Now().UTC()

	check(t, "state", got.Outcome, v.Expect.State)
	check(t, "cause", got.Unread, v.Expect.Cause)
	gap := ""
	switch {
	case got.Outcome == rulings.TermMissing:
		gap = "licence_missing"
	case got.OverHTTP:
		gap = "licence_over_http"
	}
	check(t, "gap", gap, v.Expect.Gap)
	ruling := rulings.Decide(rulings.Request{Method: "GET", Origin: site, Target: page.RequestURI()}, rulings.Terms{
		Robots: rulings.RobotsTerms{
			Term: rulings.Term{Kind: rulings.TermRobots, Outcome: rulings.TermRead, Status: 200},
			Site: rulings.ParseSite([]byte("License: " + need.URL + "\n")),
		},
		Licences: []rulings.LicenceTerms{got},
	}, policyFor(t, string(v.Purpose)))
	check(t, "ruling", ruling.Outcome.String(), v.Expect.Ruling)
	check(t, "reason", ruling.Reason, v.Expect.Reason)
	checkLife(t, b, v.Expect.Life, arrived, got.ExpiresAt, func() { ask() })
}
