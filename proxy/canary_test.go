package proxy

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayleave/wayleave/rulings"
)

// A refusedCase is a source that refuses for one reason, with the canary in
// everything that it chooses.
type refusedCase struct {
	name     string
	reason   rulings.Reason
	whose    rulings.Whose
	stage    rulings.Stage
	purposes []string
	robots   string            // with a comment that has the canary added
	licences map[string]string // by target
	fields   string            // of the page, beside canaryFields
	page     string            // empty: a text
	answer   string            // the whole answer of the page, if it is no ordinary one
	target   string            // of the request; empty: /page
	send     []string          // fields of the request
	policy   func(*rulings.PolicyFile)
}

const (
	head = "User-agent: *\n"
	rsl  = `rel=license; type="application/rsl+xml"`
)

// refusedCases has every reason of section 19 of the terms, most of them in each
// way in which a source can come to it, and the faults of an answer besides.
var refusedCases = []refusedCase{
	{name: "a rule", reason: rulings.RobotsDisallow, robots: "User-agent: wayleave/" + canary + "\nDisallow: /pa*e # " + canary + "\n"},
	{name: "an unreachable file", reason: rulings.RobotsUnreachable, robots: "redirect http://" + canary + ".test/" + canary},
	{name: "a file that the edge could not ask for", reason: rulings.RobotsCutShort, whose: rulings.WhoseEdge},
	{name: "a path with too many readings", reason: rulings.PathReadings, whose: rulings.WhoseEdge, target: "/x//..;/.../;/..;/a/%2Fb/;//%2F..%2F..%2F;%5Cc"},

	{name: "a Content-Usage line", reason: rulings.ContentUsage, robots: head + "Content-Usage: /p ai-use=n;x=\"" + canary + "\"\n"},
	{name: "a Content-Usage field", reason: rulings.ContentUsage, stage: rulings.StageHead, fields: withheldBy},
	{name: "a Content-Signal line", reason: rulings.ContentSignal, robots: head + "Content-Signal: ai-input=no, " + canary + "=yes\n"},
	{name: "a Content-Signal field", reason: rulings.ContentSignal, stage: rulings.StageHead, fields: "Content-Signal: ai-input=no, " + canary + "=no\r\n"},
	{name: "an AI-training rule", reason: rulings.AITrainingRule, purposes: []string{"ai-train"}, robots: head + "DisallowAITraining: /p*\n"},
	{name: "an AI-training tag", reason: rulings.AITrainingRule, purposes: []string{"ai-train"}, stage: rulings.StageHead,
		fields: "X-Robots-Tag: disallowaitraining, " + canary + "\r\n"},
	{name: "a robots tag", reason: rulings.NoAI, stage: rulings.StageHead, fields: "X-Robots-Tag: " + canary + ", noai\r\n"},
	{name: "a meta", reason: rulings.NoAI, stage: rulings.StageBody, page: `<meta name="robots" content="` + canary + `, noai"><p>` + canary},
	{name: "tdmrep.json", reason: rulings.TDMReserved, purposes: []string{"ai-train"},
		licences: map[string]string{"/.well-known/tdmrep.json": `[{"location": "/p*", "tdm-reservation": 1, "tdm-policy": "https://` + canary + `.test/"}]`}},
	{name: "a reservation in a field", reason: rulings.TDMReserved, stage: rulings.StageHead, purposes: []string{"ai-train"},
		fields: "TDM-Reservation: 1\r\nTDM-Policy: https://" + canary + ".test/\r\n"},
	{name: "a reservation in a meta", reason: rulings.TDMReserved, stage: rulings.StageBody, purposes: []string{"ai-train"},
		page: `<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="https://` + canary + `.test/">`},

	{name: "a licence that is no XML", reason: rulings.LicenceUnread, robots: "License: /" + canary + ".xml\n", licences: map[string]string{"/" + canary + ".xml": "<" + canary}},
	{name: "a licence that is none", reason: rulings.LicenceUnread, robots: "License: /" + canary + ".xml\n", licences: map[string]string{"/" + canary + ".xml": "<" + canary + "/>"}},
	{name: "a licence that is not given out", reason: rulings.LicenceUnread, robots: "License: /500/" + canary + "\n"},
	{name: "a licence at a host that is not there", reason: rulings.LicenceUnread, robots: "License: http://" + canary + ".test/" + canary + "\n"},
	{name: "a licence behind a redirect to nowhere", reason: rulings.LicenceUnread, robots: "License: /302/" + canary + "\n"},
	{name: "a licence of another scheme", reason: rulings.LicenceUnread, robots: "License: " + canary + "://x/\n"},
	{name: "a licence by a Link that cannot be read", reason: rulings.LicenceUnread, stage: rulings.StageHead, fields: "Link: <ftp://" + canary + "/>; " + rsl + "\r\n"},
	{name: "a licence by a Link that is unread", reason: rulings.LicenceUnread, stage: rulings.StageHead, fields: "Link: </500/" + canary + ">; " + rsl + "\r\n"},
	{name: "a licence in the page that cannot be read", reason: rulings.LicenceUnread, stage: rulings.StageBody,
		page: `<script type="application/rsl+xml"><` + canary + `></script>`},
	{name: "a ninth licence", reason: rulings.LicenceUnread, stage: rulings.StageHead,
		fields: "Link: " + strings.Repeat("</none/"+canary+"%d.xml>; "+rsl+", ", 9) + "<>\r\n"},
	{name: "a licence that the edge could not ask for", reason: rulings.LicenceCutShort, whose: rulings.WhoseEdge, stage: rulings.StageHead,
		fields: "Link: </late/" + canary + ">; " + rsl + "\r\n"},

	licenceCase("one that prohibits", rulings.LicenceProhibits, `<prohibits type="usage">all `+canary+`</prohibits>`),
	licenceCase("one that does not list", rulings.LicenceNotListed, `<permits type="usage">search `+canary+`</permits>`),
	licenceCase("one for others", rulings.LicenceRestricted, `<permits type="usage">all</permits><permits type="user">`+canary+`</permits>`),
	licenceCase("one that is paid for", rulings.LicencePayment, `<payment type="purchase"><amount currency="`+canary+`">`+canary+`</amount></payment>`),
	licenceCase("one that is paid for in an unknown way", rulings.LicencePayment, `<payment type="`+canary+`"><custom>`+canary+`</custom></payment>`),
	licenceCase("one whose reports are not made", rulings.LicenceReporting, `<permits type="usage">all</permits><reporting profile="https://`+canary+`.test/">`+canary+`</reporting>`),
	{name: "a licence of what is encrypted", reason: rulings.LicenceEncrypted, robots: "License: /" + canary + ".xml\n", licences: map[string]string{"/" + canary + ".xml": `<rsl xmlns="https://rslstandard.org/rsl">` +
		`<content url="/" encrypted="true" server="https://` + canary + `.test/"><license/></content></rsl>`}},
	{name: "a licence of a server", reason: rulings.LicenceToken, robots: "License: /" + canary + ".xml\n", licences: map[string]string{"/" + canary + ".xml": `<rsl xmlns="https://rslstandard.org/rsl">` +
		`<content url="/" server="https://` + canary + `.test/"><license/></content></rsl>`}},
	{name: "a licence by a Link", reason: rulings.LicenceProhibits, stage: rulings.StageHead, fields: "Link: </" + canary + ".xml>; " + rsl + "; title=\"" + canary + "\"\r\n",
		licences: map[string]string{"/" + canary + ".xml": licenceForbids}},
	{name: "a licence by the page", reason: rulings.LicenceProhibits, stage: rulings.StageBody,
		page:     `<base href="/dir/"><link rel="license" type="application/rsl+xml" href="` + canary + `.xml">`,
		licences: map[string]string{"/dir/" + canary + ".xml": licenceForbids}},
	{name: "a licence in the page", reason: rulings.LicenceProhibits, stage: rulings.StageBody,
		page: `<script type="application/rsl+xml">` + licenceForbids + `<!-- ` + canary + ` --></script>`},
	{name: "the operator's own agreement", reason: rulings.LicenceReporting, whose: rulings.WhoseOperator, robots: head + "Allow: /\n", policy: func(p *rulings.PolicyFile) {
		p.Terms.Agreements = []rulings.AgreementFile{{Host: "127.0.0.1", Reference: "1", Reporting: "https://agreed.example/"}}
	}},
	{name: "a field that spends", reason: rulings.SpendNotAllowed, whose: rulings.WhoseOperator, send: []string{"X-Payment", "1"}},

	{name: "no HTTP", reason: rulings.HTTPProtocolError, whose: rulings.WhoseUpstream, answer: canary + "\r\n\r\n"},
	{name: "a field without a name", reason: rulings.HTTPProtocolError, whose: rulings.WhoseUpstream, answer: "HTTP/1.1 200 " + canary + "\r\n: " + canary + "\r\n\r\n"},
	{name: "another protocol", reason: rulings.UpgradeFailed, whose: rulings.WhoseUpstream, answer: "HTTP/1.1 101 " + canary + "\r\nConnection: upgrade\r\nUpgrade: " + canary + "\r\n\r\n"},
	{name: "a head that is too large", reason: rulings.ResponseHeaderSize, whose: rulings.WhoseUpstream, answer: "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat(canary, 100_000) + "\r\n\r\n"},
	{name: "no answer", reason: rulings.ConnectionTerminated, whose: rulings.WhoseUpstream, answer: "close"},
}

// licenceCase is a licence named by robots.txt.
func licenceCase(name string, reason rulings.Reason, says string) refusedCase {
	return refusedCase{name: name, reason: reason, robots: head + "License: /" + canary + ".xml # " + canary + "\n",
		licences: map[string]string{"/" + canary + ".xml": licence(says)}}
}

// Whatever a source refuses by, and in whichever form the agent is told, nothing
// that the source or a redirect chose is in what the agent receives; whose term
// it is and the status are those of the reason, and the record has the source's
// words.
func TestT115_T116_TheAgentNeverReadsTheSourcesWords(t *testing.T) {
	edges := make(map[string]*testEdge) // by the purposes declared
	whole := t                          // sites last as long as the edges, so that none has the address of another
	for _, c := range refusedCases {
		t.Run(string(c.reason)+", "+c.name, func(t *testing.T) {
			setup := declaring(c.purposes...)
			setup.files = hurried()
			if c.policy != nil {
				c.policy(&setup.policy)
			}
			// One that is at fault itself asks for nothing more afterwards.
			shared, own := fmt.Sprint(c.purposes), c.policy != nil || c.whose == rulings.WhoseEdge
			for n, w := range ways {
				accept := []string{"application/json", "text/html", "text/plain", "*/*"}[n]
				e := edges[shared]
				if e == nil || own {
					e = startEdge(whole, setup)
				}
				if !own {
					edges[shared] = e
				}
				s := c.serve(whole, w, e)
				if c.reason == rulings.RobotsCutShort {
					must(t, e.book.Close(context.Background()))
				}
				target := "/page"
				if c.target != "" {
					target = c.target
				}
				got := e.fetch(w, "GET", s.addr, target, append([]string{"Accept", accept}, c.send...)...)
				noCanary(t, w.name, got)
				facts := c.reason.Facts()
				whose, stage := c.whose, c.stage
				if whose == "" {
					whose = rulings.WhoseSource
				}
				if got.status != facts.Status || got.reason != string(c.reason) || !strings.Contains(got.body, string(whose)) || !strings.Contains(got.body, string(c.reason)) {
					t.Errorf("%s: %d %s", w.name, got.status, got.octets)
				}
				r := e.crossing(s.url + target)
				if whose == rulings.WhoseUpstream {
					r.want(t, map[string]any{"outcome": "unavailable", "failure.kind": c.reason, "told.reason": c.reason})
					continue
				}
				if stage == "" {
					stage = rulings.StageBefore
				}
				r.want(t, map[string]any{"outcome": "refused", "refusal.reason": c.reason, "refusal.whose": whose, "refusal.stage": stage, "told.status": facts.Status,
					"delivered": nil})
				if whose == rulings.WhoseSource && !e.tells(r, canary) {
					t.Errorf("%s: the record has not the source's words: %s", w.name, r.raw)
				}
			}
		})
	}
}

// tells reports whether a refusal's record, or the term that it says decided,
// has these words.
func (e *testEdge) tells(r record, words string) bool {
	text := fmt.Sprint(r.at("refusal.detail"), r.at("declarations"))
	if object, _ := r.at("refusal.term.object").(string); object != "" {
		octets, err := os.ReadFile(filepath.Join(e.data, "terms", "objects", strings.TrimPrefix(object, "sha256:")))
		must(e.t, err)
		text += string(octets)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(words))
}

// serve starts the source of c for clients that come to e by way w.
func (c refusedCase) serve(t *testing.T, w way, e *testEdge) *site {
	if c.robots != "" && !strings.HasPrefix(c.robots, "redirect ") {
		c.robots = "# " + canary + "\n" + c.robots
	}
	page, contentType := "page "+canary, "text/plain"
	if c.page != "" {
		page, contentType = c.page, "text/html"
	}
	if c.answer == "" {
		c.answer = fmt.Sprintf("HTTP/1.1 200 %s\r\n%s%sContent-Type: %s; x=%[1]s\r\nContent-Length: %[5]d\r\n\r\n%s", canary, canaryFields, number(c.fields), contentType, len(page), page)
	}
	s := startSite(t, w.secure, func(v *visit) {
		path := v.req.URL.Path
		switch document, ok := c.licences[v.req.RequestURI]; {
		case ok:
			v.say(answerOf(200, "", document))
		case path == "/robots.txt" && strings.HasPrefix(c.robots, "redirect "):
			v.say(answerOf(302, "Location: "+strings.TrimPrefix(c.robots, "redirect ")+"\r\n", canary))
		case path == "/robots.txt" && c.robots != "":
			v.say(answerOf(200, "", c.robots))
		case path == "/robots.txt", strings.HasPrefix(path, "/none/"), strings.HasPrefix(path, "/.well-known/"):
			v.say(answerOf(404, "", canary))
		case strings.HasPrefix(path, "/500/"):
			v.say(answerOf(500, "", canary))
		case strings.HasPrefix(path, "/302/"):
			v.say(answerOf(302, "Location: http://"+canary+".test/"+canary+"\r\n", canary))
		case strings.HasPrefix(path, "/late/"):
			t.Errorf("the licence was asked for")
		default:
			if c.reason == rulings.LicenceCutShort { // from now on the edge asks for nothing
				if err := e.book.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if c.answer != "close" {
				v.say(c.answer)
			}
			if c.whose == rulings.WhoseUpstream {
				v.Close()
			}
		}
	})
	s.own = true
	return s
}

// number gives each %d in fields a number of its own.
func number(fields string) string {
	for n := 1; strings.Contains(fields, "%d"); n++ {
		fields = strings.Replace(fields, "%d", fmt.Sprint(n), 1)
	}
	return fields
}

// answerOf is an answer with the canary in its reason phrase.
func answerOf(status int, fields, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\n%sX-Own: %[2]s\r\nContent-Length: %[4]d\r\n\r\n%s", status, canary, fields, len(body), body)
}

// Every reason of section 19 is among them.
func TestT115_EveryReasonOfTheTermsIsProduced(t *testing.T) {
	want := []rulings.Reason{rulings.RobotsDisallow, rulings.RobotsUnreachable, rulings.RobotsCutShort, rulings.PathReadings, rulings.ContentUsage, rulings.ContentSignal,
		rulings.AITrainingRule, rulings.LicenceUnread, rulings.LicenceCutShort, rulings.LicenceProhibits, rulings.LicenceNotListed, rulings.LicenceRestricted,
		rulings.LicencePayment, rulings.LicenceEncrypted, rulings.LicenceToken, rulings.LicenceReporting, rulings.TDMReserved, rulings.NoAI, rulings.SpendNotAllowed}
	produced := make(map[rulings.Reason]bool)
	for _, c := range refusedCases {
		if c.whose != rulings.WhoseUpstream {
			produced[c.reason] = true
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(produced))); diff != "" {
		t.Error(diff)
	}
}
