package rulings_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A combineVector is one whole crossing.
type combineVector struct {
	ID, About, Kind string
	Page            string
	Purposes        []string
	Tokens          []string
	Operator        struct {
		User      []string
		Geo       string
		Reporting []string
	}
	Robots       string
	RobotsStatus int `json:"robots_status"`
	Licences     map[string]struct {
		Status int
		Body   string
	}
	TDMRep   *string `json:"tdmrep"`
	Response struct {
		Status int
		Fields map[string][]string
		HTML   string
	}
	Expect struct {
		Ruling, Reason, Stage, Purpose string
		Gaps, Asked                    []string
	}
}

// vectorsOf reads the vectors of kind in every file of a name below the folder
// that WAYLEAVE_VECTORS names, or below testdata/vectors.
func vectorsOf[T any](t *testing.T, name, kind string) (vectors []T) {
	t.Helper()
	dir := os.Getenv("WAYLEAVE_VECTORS")
	if dir == "" {
		dir = filepath.Join("testdata", "vectors")
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file struct{ Vectors []json.RawMessage }
		if err := json.Unmarshal(data, &file); err != nil {
			return err
		}
		for _, raw := range file.Vectors {
			var k struct{ Kind string }
			if err := json.Unmarshal(raw, &k); err != nil {
				return err
			}
			if k.Kind != kind {
				continue
			}
			var v T
			if err := json.Unmarshal(inForm(t, raw), &v); err != nil {
				return err
			}
			vectors = append(vectors, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) == 0 {
		t.Fatalf("no case of kind %s of %s in %s", kind, name, dir)
	}
	return vectors
}

// inForm replaces x_b64 and x_parts by x, at any level.
func inForm(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(plainForm(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plainForm(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plainForm(t, v[i])
		}
	case map[string]any:
		for name, value := range v {
			if base, ok := strings.CutSuffix(name, "_b64"); ok {
				octets, err := base64.StdEncoding.DecodeString(value.(string))
				if err != nil {
					t.Fatal(err)
				}
				v[base] = string(octets)
			} else if base, ok := strings.CutSuffix(name, "_parts"); ok {
				var b strings.Builder
				for _, part := range value.([]any) {
					p := part.(map[string]any)
					b.WriteString(strings.Repeat(p["s"].(string), int(p["n"].(float64))))
				}
				v[base] = b.String()
			} else {
				v[name] = plainForm(t, value)
			}
		}
	}
	return v
}

// T107-T109, T8: each whole crossing comes to the right outcome, and nothing is
// asked for that does not have to be.
func TestVectorsCombine(t *testing.T) {
	for _, v := range vectorsOf[combineVector](t, "tdm_and_others.json", "combine") {
		t.Run(v.ID, func(t *testing.T) { v.run(t) })
	}
}

func (v *combineVector) run(t *testing.T) {
	page, err := url.Parse(v.Page)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := hostkey.ParseOrigin(page.Scheme, page.Host)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(v.Page, "://")
	_, target, _ := strings.Cut(rest, "/")
	f := &fetcher{t: t, v: v, origin: origin}
	req := rulings.Request{Method: "GET", Origin: origin, Target: "/" + target}
	policy := v.policy(t, origin)
	var known rulings.Terms
	known.Robots.Exempt = rulings.Exempt(origin, req.Target)
	ruling := f.decide(req, &known, policy)
	if !ruling.Refused() {
		f.asked = append(f.asked, "page")
		h := make(http.Header)
		for name, lines := range v.Response.Fields {
			h[http.CanonicalHeaderKey(name)] = lines
		}
		known.Response = rulings.ResponseOf(v.Response.Status, h)
		ruling = f.decide(req, &known, policy)
	}
	got := map[string]any{
		"ruling": ruling.Outcome.String(), "reason": string(ruling.Reason), "stage": string(ruling.Stage), "purpose": string(ruling.Purpose),
		"asked": f.asked, "gaps": gapsOf(ruling),
	}
	want := map[string]any{
		"ruling": v.Expect.Ruling, "reason": v.Expect.Reason, "stage": v.Expect.Stage, "purpose": v.Expect.Purpose,
		"asked": v.Expect.Asked, "gaps": append([]string{}, v.Expect.Gaps...),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", v.About, ruling.Detail, diff)
	}
	if ruling.Refused() && ruling.Told.String() == "" {
		t.Error("it is refused without a word")
	}
}

func gapsOf(r rulings.Ruling) []string {
	gaps := []string{}
	for _, g := range r.Gaps {
		gaps = append(gaps, g.Reason)
	}
	return gaps
}

func (v *combineVector) policy(t *testing.T, o hostkey.Origin) *rulings.Policy {
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

// A fetcher looks up what a decision needs from a vector and notes what it asked.
type fetcher struct {
	t      *testing.T
	v      *combineVector
	origin hostkey.Origin
	asked  []string
}

func (f *fetcher) decide(req rulings.Request, known *rulings.Terms, policy *rulings.Policy) rulings.Ruling {
	for range 16 {
		r := rulings.Decide(req, *known, policy)
		if len(r.Needs) == 0 {
			return r
		}
		for _, need := range r.Needs {
			f.lookUp(need, known, policy)
		}
	}
	f.t.Fatal("it needs ever more")
	return rulings.Ruling{}
}

func (f *fetcher) lookUp(need rulings.Need, known *rulings.Terms, policy *rulings.Policy) {
	switch need.Kind {
	case rulings.TermRobots:
		f.asked = append(f.asked, "robots")
		known.Robots = robotsTerms(f.v.RobotsStatus, f.v.Robots)
		known.Robots.URL = f.origin.String() + "/robots.txt"
	case rulings.TermLicence:
		known.Licences = append(known.Licences, f.licence(need, policy))
	case rulings.TermTDM:
		f.asked = append(f.asked, "tdmrep")
		known.TDM = &rulings.TDMTerms{Term: rulings.Term{Kind: rulings.TermTDM, Outcome: rulings.TermMissing}}
		if f.v.TDMRep != nil {
			known.TDM.Outcome = rulings.TermUnread
			if file, err := rulings.ParseTDM([]byte(*f.v.TDMRep)); err == nil {
				known.TDM.Outcome, known.TDM.File = rulings.TermRead, file
			}
		}
	case rulings.TermHTML:
		html, err := known.Response.ReadHTML(strings.NewReader(f.v.Response.HTML), f.origin, "/", policy.Identity.Tokens)
		if err != nil {
			f.t.Fatal(err)
		}
		known.Response.HTML = html
	}
}

func robotsTerms(status int, body string) rulings.RobotsTerms {
	switch {
	case status >= 200 && status <= 299:
		return rulings.RobotsTerms{Term: rulings.Term{Kind: rulings.TermRobots, Outcome: rulings.TermRead, Status: status}, Site: rulings.ParseSite([]byte(body))}
	case status >= 400 && status <= 499 && status != 429:
		return rulings.RobotsTerms{Term: rulings.Term{Kind: rulings.TermRobots, Outcome: rulings.TermNoRules, Status: status}, Site: rulings.ParseSite(nil)}
	}
	return rulings.RobotsTerms{Term: rulings.Term{Kind: rulings.TermRobots, Outcome: rulings.TermUnreachable, Status: status}}
}

// licence reads a licence as the book does (T69), as far as vectors go.
func (f *fetcher) licence(need rulings.Need, policy *rulings.Policy) rulings.LicenceTerms {
	l := rulings.LicenceTerms{Term: rulings.Term{Kind: rulings.TermLicence, Mechanism: need.Mechanism, URL: need.URL}}
	u, err := url.Parse(need.URL)
	if err != nil {
		f.t.Fatal(err)
	}
	if o, err := hostkey.ParseOrigin(u.Scheme, u.Host); err == nil && o != f.origin {
		f.asked = append(f.asked, "robots "+u.Scheme+"://"+u.Host+":443")
		robotsTxt := f.v.Licences[u.Scheme+"://"+u.Host+"/robots.txt"]
		terms := robotsTerms(robotsTxt.Status, robotsTxt.Body)
		request := rulings.Request{Method: "GET", Origin: o, Target: u.RequestURI()}
		if rulings.Decide(request, rulings.Terms{Robots: terms}, policy).Reason == rulings.RobotsDisallow {
			l.Outcome, l.Unread = rulings.TermUnread, rulings.CauseRobots
			return l
		}
	}
	f.asked = append(f.asked, need.URL)
	answer, ok := f.v.Licences[need.URL]
	if !ok {
		f.t.Fatalf("%s was asked for", need.URL)
	}
	l.Status = answer.Status
	switch {
	case answer.Status == 404 || answer.Status == 410:
		l.Outcome = rulings.TermMissing
	case answer.Status < 200 || answer.Status > 299:
		l.Outcome, l.Unread = rulings.TermUnread, rulings.CauseStatus
	default:
		l.Outcome = rulings.TermRead
		if l.Licence, l.Unread = rulings.ParseLicence([]byte(answer.Body)); l.Unread != "" {
			l.Outcome = rulings.TermUnread
		}
	}
	return l
}
