package tdm

import (
	"os"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings/htmlhead"
	"github.com/wayleave/wayleave/rulings/robots"
)

type vector struct {
	ID, About, Target, Purpose string
	TDMRep                     *string
	TDMRepStatus               int `json:"tdmrep_status"`
	Fields                     map[string][]string
	HTML                       string
	BindsAIInput               bool `json:"binds_ai_input"`
	Expect                     struct{ Ruling, Reason, Reservation *string }
}

// TestVectorsT95ToT97 runs the cases of kind tdm in every tdm_and_others.json
// below the folder that WAYLEAVE_VECTORS names, or below testdata/vectors. The
// other kinds are those of other packages.
func TestVectorsT95ToT97(t *testing.T) {
	for _, v := range vectors.Read[vector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("tdm")) {
		t.Run(v.ID, func(t *testing.T) {
			file, response := v.reservations(t)
			if want := v.Expect.Reservation; want != nil && max(file, response).String() != *want {
				t.Errorf("%s: %s, want %s", v.About, max(file, response), *want)
			}
			ruling, reason := v.rule(file, response)
			if want := v.Expect.Ruling; want != nil && ruling != *want {
				t.Errorf("%s: %s, want %s", v.About, ruling, *want)
			}
			if want := v.Expect.Reason; want != nil && reason != *want {
				t.Errorf("%s: reason %q, want %q", v.About, reason, *want)
			}
		})
	}
}

// reservations are what the file and what the answer says.
func (v vector) reservations(t *testing.T) (file, response Reservation) {
	if v.TDMRep != nil && (v.TDMRepStatus == 0 || v.TDMRepStatus/100 == 2) {
		if f, err := Parse([]byte(*v.TDMRep)); err == nil {
			file = ofPage(f, v.Target)
		}
	}
	for name, lines := range v.Fields {
		if strings.EqualFold(name, "tdm-reservation") {
			response = max(response, Field(lines))
		}
	}
	head, err := htmlhead.Read(strings.NewReader(v.HTML), htmlhead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range head.Metas {
		if m.Name == "tdm-reservation" {
			response = max(response, Field([]string{m.Content}))
		}
	}
	return file, response
}

// ofPage puts the readings of a target together (T38).
func ofPage(f *File, target string) (r Reservation) {
	for _, reading := range robots.NewPage(target).Readings() {
		e, _ := f.First(func(i int) bool {
			p := robots.Compile(f.Entries[i].Location)
			return p.Match(reading)
		})
		r = max(r, e.Reservation)
	}
	return r
}

// rule is T97 for one purpose: the file is known before the request.
func (v vector) rule(file, response Reservation) (ruling, reason string) {
	bound := v.Purpose == "ai-train" || v.Purpose == "ai-index" || v.Purpose == "ai-input" && v.BindsAIInput
	switch {
	case bound && file == Reserved:
		return "refuse", "tdm_reserved"
	case bound && response == Reserved:
		return "withhold", "tdm_reserved"
	}
	return "proceed", ""
}
