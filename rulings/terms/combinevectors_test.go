package terms

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/internal/vectors"
	"github.com/wayleave/wayleave/rulings"
)

// A combineVector is one whole crossing, of the kind "combine" in a
// tdm_and_others.json.
type combineVector struct {
	ID       string
	Page     string
	Purposes []string
	Tokens   []string
	Operator struct {
		User      []string
		Geo       string
		Reporting []string
	}
	Robots       string
	RobotsStatus int `json:"robots_status"`
	Licences     map[string]vectorFile
	TDMRep       *string
	Response     struct {
		Status int
		Fields map[string][]string
		HTML   string
	}
	Expect struct {
		Ruling *string
		Reason *rulings.Reason
		Stage  *rulings.Stage
		Asked  []string
	}
}

// The book asks real origins for what each crossing needs, in the right order, and
// for nothing else (T125).
func TestT8CombineVectors(t *testing.T) {
	for _, v := range vectors.Read[combineVector](t, os.Getenv("WAYLEAVE_VECTORS"), "tdm_and_others.json", vectors.OfKind("combine")) {
		t.Run(v.ID, func(t *testing.T) { synctest.Test(t, v.run) })
	}
}

func (v combineVector) run(t *testing.T) {
	page, err := url.Parse(v.Page)
	if err != nil {
		t.Fatal(err)
	}
	site := origin(t, page.Scheme, page.Host)
	w := newWorld(t)
	v.serve(t, w, site)
	b, policy := w.open(t.TempDir()), v.policy(t, site)
	req := rulings.Request{Method: http.MethodGet, Origin: site, Target: strings.TrimPrefix(v.Page, page.Scheme+"://"+page.Host)}
	var known rulings.Terms
	got := b.Rule(t.Context(), req, &known, policy)
	before := w.asked()
	if got.Outcome == rulings.Proceed {
		known.Response = v.response()
		got = b.Rule(t.Context(), req, &known, policy)
		if len(got.Needs) > 0 {
			if known.Response.HTML, err = known.Response.ReadHTML(strings.NewReader(v.Response.HTML), site, req.Target, v.Tokens); err != nil {
				t.Fatal(err)
			}
			got = b.Rule(t.Context(), req, &known, policy)
		}
	}
	check(t, "ruling", got.Outcome.String(), v.Expect.Ruling)
	check(t, "reason", got.Reason, v.Expect.Reason)
	check(t, "stage", got.Stage, v.Expect.Stage)
	asked := v.asked(w, site)
	if known.Response != nil {
		asked = append(asked[:before:before], append([]string{"page"}, asked[before:]...)...)
	}
	if diff := cmp.Diff(v.Expect.Asked, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// serve puts the origins of the vector into the world.
func (v combineVector) serve(t *testing.T, w *world, site hostkey.Origin) {
	origins := map[hostkey.Origin]pages{site: {"/robots.txt": says(v.RobotsStatus, v.Robots)}}
	if v.TDMRep != nil {
		origins[site]["/.well-known/tdmrep.json"] = text(*v.TDMRep)
	}
	for raw, f := range v.Licences {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		o := origin(t, u.Scheme, u.Host)
		if origins[o] == nil {
			origins[o] = pages{}
		}
		origins[o][u.Path] = says(f.Status, string(f.body()))
	}
	for o, p := range origins {
		w.serve(o.Authority(), p)
	}
}

func (v combineVector) response() *rulings.ResponseTerms {
	h := make(http.Header)
	for name, lines := range v.Response.Fields {
		h[http.CanonicalHeaderKey(name)] = lines
	}
	return rulings.ResponseOf(v.Response.Status, h)
}

func (v combineVector) policy(t *testing.T, o hostkey.Origin) *rulings.Policy {
	f := rulings.PolicyFile{Purposes: v.Purposes, Identity: rulings.IdentityFile{ProductToken: v.Tokens}}
	f.Terms.UserClasses, f.Terms.Country = v.Operator.User, v.Operator.Geo
	for _, profile := range v.Operator.Reporting {
		f.Terms.Reporting = append(f.Terms.Reporting, rulings.ReportingFile{Profile: profile, Hosts: []string{o.Host}})
	}
	p, faults := rulings.NewPolicy(f)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// asked returns what reached the origins, in the words of the vectors.
func (v combineVector) asked(w *world, site hostkey.Origin) []string {
	var all []string
	for _, r := range w.seen() {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		o := origin(w.t, scheme, r.Host)
		switch {
		case o == site && r.RequestURI == "/robots.txt":
			all = append(all, "robots")
		case r.RequestURI == "/robots.txt":
			all = append(all, "robots "+scheme+"://"+o.Authority())
		case r.RequestURI == "/.well-known/tdmrep.json":
			all = append(all, "tdmrep")
		default:
			all = append(all, o.String()+r.RequestURI)
		}
	}
	return all
}
