package rulings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// A crossing is one whole crossing: what is asked for, by whom, and what the site
// would answer. It is a vector of kind combine too. What is empty is not there.
type crossing struct {
	Page     string // https://site.test/page where it is empty
	Purposes []string
	Tokens   []string
	Operator struct {
		User      []string
		Geo       string
		Reporting []string
	}
	Robots       string
	RobotsStatus int // 200 where it is 0
	Licences     map[string]answer
	TDMRep       *string
	Response     struct {
		Status int // 200 where it is 0
		Fields map[string][]string
		HTML   string
	}

	// Not in vectors.
	Request  rulings.Request // but Origin and Target
	Policy   rulings.PolicyFile
	Site     *rulings.RobotsTerms            // in place of Robots
	Found    map[string]rulings.LicenceTerms // in place of Licences
	Any      *answer                         // for every licence that has no other
	TDM      *rulings.TDMTerms               // in place of TDMRep
	Unseen   string                          // why the head of the page cannot be seen
	octets   rulings.Digest                  // counts the terms, so that each has an object
	restored bool                            // the answer is read back from what is kept of it
}

type answer struct {
	Status int
	Body   string
}

// A crossed is what became of a crossing.
type crossed struct {
	rulings.Ruling
	asked  []string // what left the edge, in order, as vectors have it
	req    rulings.Request
	known  rulings.Terms
	policy *rulings.Policy
}

// cross rules c as an edge does: it looks up what the decision needs, sends the
// request where it may, and rules the answer.
func (c crossing) cross(t *testing.T) *crossed {
	t.Helper()
	if c.Page == "" {
		c.Page = "https://site.test/page"
	}
	scheme, rest, _ := strings.Cut(c.Page, "://")
	host, path, _ := strings.Cut(rest, "/")
	origin, err := hostkey.ParseOrigin(scheme, host)
	if err != nil {
		t.Fatal(err)
	}
	x := &crossed{req: c.Request, policy: c.policy(t, origin)}
	x.req.Origin, x.req.Target = origin, "/"+path
	if x.req.Method == "" {
		x.req.Method = http.MethodGet
	}
	x.known.Robots.Exempt = rulings.Exempt(origin, x.req.Target)
	if c.decide(t, x); x.Refused() && !x.req.All {
		return x
	}
	x.asked = append(x.asked, "page")
	x.known.Response = c.answer(t)
	c.decide(t, x)
	return x
}

func (c *crossing) policy(t *testing.T, o hostkey.Origin) *rulings.Policy {
	t.Helper()
	f := c.Policy
	f.Purposes, f.Identity.ProductToken = append(f.Purposes, c.Purposes...), append(f.Identity.ProductToken, c.Tokens...)
	f.Terms.UserClasses = append(f.Terms.UserClasses, c.Operator.User...)
	if c.Operator.Geo != "" {
		f.Terms.Country = c.Operator.Geo
	}
	for _, profile := range c.Operator.Reporting {
		f.Terms.Reporting = append(f.Terms.Reporting, rulings.ReportingFile{Profile: profile, Hosts: []string{o.Host}})
	}
	return policy(t, f)
}

// answer is the head of what the site answers.
func (c *crossing) answer(t *testing.T) *rulings.ResponseTerms {
	t.Helper()
	status := c.Response.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := make(http.Header)
	for name, lines := range c.Response.Fields {
		h[http.CanonicalHeaderKey(name)] = lines
	}
	if c.Response.HTML != "" && h["Content-Type"] == nil {
		h["Content-Type"] = []string{"text/html"}
	}
	r := rulings.ResponseOf(status, h)
	if c.restored {
		kept, err := rulings.ParseHead(status, r.Octets())
		if err != nil {
			t.Fatal(err)
		}
		r = kept
	}
	if r.States() {
		r.Term = c.term(rulings.TermHead, "", rulings.TermRead)
	}
	return r
}

// decide decides until nothing more is needed.
func (c *crossing) decide(t *testing.T, x *crossed) {
	t.Helper()
	for range 16 {
		x.Ruling = rulings.Decide(x.req, x.known, x.policy)
		if len(x.Needs) == 0 {
			return
		}
		for _, need := range x.Needs {
			c.lookUp(t, x, need)
		}
	}
	t.Fatal("it needs ever more")
}

func (c *crossing) term(kind rulings.TermKind, url string, outcome rulings.TermOutcome) rulings.Term {
	c.octets[0]++
	return rulings.Term{Kind: kind, URL: url, Outcome: outcome, Object: c.octets}
}

func (c *crossing) lookUp(t *testing.T, x *crossed, need rulings.Need) {
	t.Helper()
	switch need.Kind {
	case rulings.TermRobots:
		x.asked = append(x.asked, "robots")
		x.known.Robots = c.robots()
		x.known.Robots.URL = x.req.Origin.String() + "/robots.txt"
	case rulings.TermLicence:
		x.known.Licences = append(x.known.Licences, c.licence(t, x, need))
	case rulings.TermTDM:
		x.asked = append(x.asked, "tdmrep")
		x.known.TDM = c.tdm()
	case rulings.TermHTML:
		x.known.Response.HTML = c.html(t, x)
	default:
		t.Fatalf("a %s is needed", need.Kind)
	}
}

func (c *crossing) robots() rulings.RobotsTerms {
	if c.Site != nil {
		return *c.Site
	}
	status := c.RobotsStatus
	if status == 0 {
		status = http.StatusOK
	}
	return robotsTerms(c.term(rulings.TermRobots, "", ""), answer{status, c.Robots})
}

// robotsTerms reads an answer to the question for a robots.txt (T15).
func robotsTerms(term rulings.Term, a answer) rulings.RobotsTerms {
	r := rulings.RobotsTerms{Term: term}
	r.Status = a.Status
	switch {
	case a.Status >= 200 && a.Status <= 299:
		r.Outcome, r.Site = rulings.TermRead, rulings.ParseSite([]byte(a.Body))
	case a.Status >= 400 && a.Status <= 499 && a.Status != 429:
		r.Outcome, r.Site = rulings.TermNoRules, rulings.ParseSite(nil)
	default:
		r.Outcome = rulings.TermUnreachable
	}
	return r
}

// licence reads a licence as the book does (T69), as far as vectors go.
func (c *crossing) licence(t *testing.T, x *crossed, need rulings.Need) rulings.LicenceTerms {
	t.Helper()
	l := rulings.LicenceTerms{Term: c.term(rulings.TermLicence, need.URL, rulings.TermUnread)}
	l.Mechanism = need.Mechanism
	if !c.mayAsk(t, x, need.URL) {
		l.Unread = rulings.CauseRobots
		return l
	}
	x.asked = append(x.asked, need.URL)
	if found, ok := c.Found[need.URL]; ok {
		found.URL, found.Mechanism = need.URL, need.Mechanism
		return found
	}
	a, ok := c.Licences[need.URL]
	switch {
	case ok:
	case c.Any != nil:
		a = *c.Any
	default:
		t.Fatalf("%s was asked for", need.URL)
	}
	l.Status = a.Status
	switch {
	case a.Status == 404 || a.Status == 410:
		l.Outcome = rulings.TermMissing
	case a.Status < 200 || a.Status > 299:
		l.Unread = rulings.CauseStatus
	default:
		if l.Licence, l.Unread = rulings.ParseLicence([]byte(a.Body)); l.Unread == "" {
			l.Outcome = rulings.TermRead
		}
	}
	return l
}

// mayAsk rules a licence on another origin by the robots.txt there (T69).
func (c *crossing) mayAsk(t *testing.T, x *crossed, licence string) bool {
	t.Helper()
	u, err := url.Parse(licence)
	if err != nil {
		t.Fatal(err)
	}
	o, err := hostkey.ParseOrigin(u.Scheme, u.Host)
	if err != nil || o == x.req.Origin {
		return true
	}
	x.asked = append(x.asked, "robots "+o.Scheme+"://"+o.Authority())
	terms := robotsTerms(rulings.Term{}, c.Licences[o.String()+"/robots.txt"])
	request := rulings.Request{Method: http.MethodGet, Origin: o, Target: u.RequestURI()}
	return rulings.Decide(request, rulings.Terms{Robots: terms}, x.policy).Reason != rulings.RobotsDisallow
}

func (c *crossing) tdm() *rulings.TDMTerms {
	if c.TDM != nil {
		return c.TDM
	}
	tdm := &rulings.TDMTerms{Term: c.term(rulings.TermTDM, "", rulings.TermMissing)}
	if c.TDMRep != nil {
		tdm.Outcome = rulings.TermUnread
		if file, err := rulings.ParseTDM([]byte(*c.TDMRep)); err == nil {
			tdm.Outcome, tdm.File = rulings.TermRead, file
		}
	}
	return tdm
}

func (c *crossing) html(t *testing.T, x *crossed) *rulings.HTMLTerms {
	t.Helper()
	if c.Unseen != "" {
		return &rulings.HTMLTerms{Unseen: c.Unseen}
	}
	html, err := x.known.Response.ReadHTML(strings.NewReader(c.Response.HTML), x.req.Origin, x.req.Target, x.policy.Identity.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if c.restored && html.Unseen == "" {
		html = x.known.Response.RestoreHTML(html.Octets(), x.req.Origin, x.req.Target, x.policy.Identity.Tokens)
	}
	if len(html.Octets()) > 0 {
		html.Term = c.term(rulings.TermHTML, "", rulings.TermRead)
	}
	return html
}

func gapsOf(r *rulings.Ruling) []string {
	gaps := []string{}
	for _, g := range r.Gaps {
		gaps = append(gaps, g.Reason)
	}
	return gaps
}
