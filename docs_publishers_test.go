package wayleave_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// publishersPage promises publishers what comes of what they write. An example
// is a run of fences and the table behind it:
//
//	fence   is
//	robots  the robots.txt; without one there are no rules
//	json    the tdmrep.json; without one there is none
//	xml     the document at licenceURL
//	http    the head of the answer
//	html    the page, served as text/html unless there is an http fence
//
// A licence that nothing beside it could name is named by robots.txt, as the
// page says. The table has a page, purposes and what becomes of each of them.
const publishersPage = "docs/for-publishers.md"

const (
	licenceURL   = "https://example.com/license.xml"
	licenceLine  = "License: " + licenceURL + "\n"
	promiseTable = "| page | purpose | answer |"
)

// A publisherExample is what a publisher wrote and what the page promises of it.
type publisherExample struct {
	title    string // the heading above it
	files    map[string]string
	promises []promise
}

// A promise is one row of a table.
type promise struct {
	targets, purposes []string
	outcome           rulings.Outcome
	reason            rulings.Reason
}

func TestPublishersGetWhatThePageShows(t *testing.T) {
	examples, err := publisherExamples(read(t, publishersPage))
	if err != nil {
		t.Fatalf("%s: %v", publishersPage, err)
	}
	if len(examples) < 10 {
		t.Fatalf("%s has only %d examples", publishersPage, len(examples))
	}
	for _, e := range examples {
		t.Run(e.title, func(t *testing.T) {
			for _, p := range e.promises {
				for _, target := range p.targets {
					for _, purpose := range p.purposes {
						got := e.rule(t, target, purpose)
						if got.Outcome != p.outcome || got.Reason != p.reason {
							t.Errorf("%s for %s: promised %s %s, ruled %s %s (%s)", target, purpose, p.outcome, p.reason, got.Outcome, got.Reason, got.Detail)
						}
					}
				}
			}
		})
	}
}

// Every kind of term that the page explains is in some example, so that none
// is promised in prose alone.
func TestPublishersPageShowsEveryKindOfTerm(t *testing.T) {
	examples, err := publisherExamples(read(t, publishersPage))
	if err != nil {
		t.Fatal(err)
	}
	kinds, reasons := map[string]bool{}, map[rulings.Reason]bool{}
	for _, e := range examples {
		for kind := range e.files {
			kinds[kind] = true
		}
		for _, p := range e.promises {
			reasons[p.reason] = true
		}
	}
	for kind := range fenceKinds {
		if !kinds[kind] {
			t.Errorf("no example has a fence of %s", kind)
		}
	}
	for _, r := range []rulings.Reason{
		"", rulings.RobotsDisallow, rulings.ContentUsage, rulings.ContentSignal, rulings.AITrainingRule, rulings.TDMReserved,
		rulings.NoAI, rulings.LicenceProhibits, rulings.LicenceNotListed, rulings.LicencePayment,
	} {
		if !reasons[r] {
			t.Errorf("no example comes to %q", r)
		}
	}
}

func TestPublishersExampleThatNobodyChecksIsAnError(t *testing.T) {
	const table = promiseTable + "\n|---|---|---|\n"
	for _, tt := range []struct{ name, page string }{
		{"a fence without a table", "# A\n```robots\nUser-agent: *\n```\n"},
		{"a fence whose table is under the next heading", "# A\n```robots\n```\n# B\n" + table + "| `/` | `search` | served |\n"},
		{"a fence that does not end", "# A\n```robots\nUser-agent: *\n"},
		{"a fence of a kind that is not ruled", "# A\n```yaml\n```\n" + table + "| `/` | `search` | served |\n"},
		{"two fences of one kind", "# A\n```xml\n```\n```xml\n```\n" + table + "| `/` | `search` | served |\n"},
		{"a table without fences", "# A\n" + table + "| `/` | `search` | served |\n"},
		{"a table without rows", "# A\n```robots\n```\n" + table},
		{"an answer that is none", "# A\n```robots\n```\n" + table + "| `/` | `search` | allowed |\n"},
		{"a refusal without its reason", "# A\n```robots\n```\n" + table + "| `/` | `search` | refused |\n"},
		{"a purpose that is none", "# A\n```robots\n```\n" + table + "| `/` | `reading` | served |\n"},
		{"a row without a page", "# A\n```robots\n```\n" + table + "| | `search` | served |\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := publisherExamples(tt.page); err == nil {
				t.Error("it is read as if it were checked")
			}
		})
	}
}

var fenceKinds = map[string]bool{"robots": true, "json": true, "xml": true, "http": true, "html": true}

// publisherExamples reads every example of a page. A fence that belongs to none
// is an error: it would stand there unchecked.
func publisherExamples(page string) (examples []publisherExample, err error) {
	open := publisherExample{files: map[string]string{}}
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		kind, fenced := strings.CutPrefix(lines[i], "```")
		switch {
		case strings.HasPrefix(lines[i], "#"):
			if len(open.files) > 0 {
				return nil, fmt.Errorf("under %q is a fence without a table", open.title)
			}
			open.title = strings.TrimLeft(lines[i], "# ")
		case fenced:
			if i, err = open.fence(kind, lines, i+1); err != nil {
				return nil, err
			}
		case lines[i] == promiseTable:
			if i, err = open.table(lines, i+2); err != nil {
				return nil, fmt.Errorf("under %q: %w", open.title, err)
			}
			examples = append(examples, open)
			open = publisherExample{title: open.title, files: map[string]string{}}
		}
	}
	if len(open.files) > 0 {
		return nil, fmt.Errorf("under %q is a fence without a table", open.title)
	}
	return examples, nil
}

// fence takes the fence whose first line is lines[from] and returns where it ends.
func (e *publisherExample) fence(kind string, lines []string, from int) (end int, err error) {
	if _, twice := e.files[kind]; twice || !fenceKinds[kind] {
		return 0, fmt.Errorf("under %q is a fence of %q that is not ruled", e.title, kind)
	}
	for end = from; end < len(lines); end++ {
		if lines[end] == "```" {
			e.files[kind] = strings.Join(lines[from:end], "\n") + "\n"
			return end, nil
		}
	}
	return 0, fmt.Errorf("under %q is a fence that does not end", e.title)
}

// table takes the table whose first row is lines[from] and returns its last.
func (e *publisherExample) table(lines []string, from int) (end int, err error) {
	for end = from; end < len(lines) && strings.HasPrefix(lines[end], "|"); end++ {
		p, err := readPromise(lines[end])
		if err != nil {
			return 0, err
		}
		e.promises = append(e.promises, p)
	}
	if len(e.files) == 0 || len(e.promises) == 0 {
		return 0, errors.New("a table without fences or without rows")
	}
	return end - 1, nil
}

var (
	quoted        = regexp.MustCompile("`([^`]+)`")
	promiseAnswer = regexp.MustCompile("^(?:(served)|(refused|withheld): `([a-z_]+)`)$")
)

func readPromise(row string) (p promise, err error) {
	cells := strings.Split(row, "|")
	if len(cells) != 5 {
		return p, fmt.Errorf("a row of %d cells: %s", len(cells)-2, row)
	}
	answer := promiseAnswer.FindStringSubmatch(strings.TrimSpace(cells[3]))
	if answer == nil {
		return p, fmt.Errorf("an answer that is none: %s", row)
	}
	p.outcome = map[string]rulings.Outcome{"": rulings.Proceed, "refused": rulings.Refuse, "withheld": rulings.Withhold}[answer[2]]
	p.reason = rulings.Reason(answer[3])
	for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
		p.targets = append(p.targets, m[1])
	}
	for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
		if !rulings.Purpose(m[1]).Known() {
			return p, fmt.Errorf("%s is no purpose: %s", m[1], row)
		}
		p.purposes = append(p.purposes, m[1])
	}
	if len(p.targets) == 0 || len(p.purposes) == 0 {
		return p, fmt.Errorf("a row without a page or a purpose: %s", row)
	}
	return p, nil
}

var exampleOrigin = hostkey.Origin{Scheme: "https", Host: "example.com", Port: 443}

// rule makes the ruling on target as an edge would: it decides on what is known,
// looks up what is needed, and decides on the answer when nothing forbids asking.
func (e *publisherExample) rule(t *testing.T, target, purpose string) rulings.Ruling {
	t.Helper()
	policy, faults := rulings.NewPolicy(rulings.PolicyFile{Purposes: []string{purpose}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	req := rulings.Request{Method: http.MethodGet, Origin: exampleOrigin, Target: target}
	known := rulings.Terms{Robots: rulings.RobotsTerms{
		Term: rulings.Term{Kind: rulings.TermRobots, Outcome: rulings.TermRead},
		Site: rulings.ParseSite([]byte(e.robots())),
	}}
	for range 10 {
		ruling := rulings.Decide(req, known, policy)
		switch {
		case len(ruling.Needs) > 0:
			for _, need := range ruling.Needs {
				e.lookUp(t, need, &known, req, policy)
			}
		case ruling.Outcome == rulings.Proceed && known.Response == nil:
			known.Response = e.answer(t)
		default:
			return ruling
		}
	}
	t.Fatalf("%s for %s: no end of looking up", target, purpose)
	return rulings.Ruling{}
}

// robots is the robots.txt of the example.
func (e *publisherExample) robots() string {
	_, answered := e.files["http"]
	_, paged := e.files["html"]
	_, licensed := e.files["xml"]
	if robots, ok := e.files["robots"]; ok || !licensed || answered || paged {
		return robots
	}
	return licenceLine
}

// lookUp adds to known what need asks for.
func (e *publisherExample) lookUp(t *testing.T, need rulings.Need, known *rulings.Terms, req rulings.Request, policy *rulings.Policy) {
	t.Helper()
	switch need.Kind {
	case rulings.TermLicence:
		known.Licences = append(known.Licences, e.licence(t, need))
	case rulings.TermTDM:
		known.TDM = e.reservations(t)
	case rulings.TermHTML:
		html, err := known.Response.ReadHTML(strings.NewReader(e.files["html"]), req.Origin, req.Target, policy.Identity.Tokens)
		if err != nil {
			t.Fatal(err)
		}
		known.Response.HTML = html
	default:
		t.Fatalf("the example has no %s", need.Kind)
	}
}

func (e *publisherExample) licence(t *testing.T, need rulings.Need) rulings.LicenceTerms {
	t.Helper()
	text, ok := e.files["xml"]
	if !ok || need.URL != licenceURL {
		t.Fatalf("the example names %s and does not show it", need.URL)
	}
	licence, unread := rulings.ParseLicence([]byte(text))
	if licence == nil {
		t.Fatalf("the licence cannot be read: %s", unread)
	}
	term := rulings.Term{Kind: rulings.TermLicence, Mechanism: need.Mechanism, URL: need.URL, Outcome: rulings.TermRead}
	return rulings.LicenceTerms{Term: term, Licence: licence}
}

func (e *publisherExample) reservations(t *testing.T) *rulings.TDMTerms {
	t.Helper()
	text, ok := e.files["json"]
	if !ok {
		return &rulings.TDMTerms{Term: rulings.Term{Kind: rulings.TermTDM, Outcome: rulings.TermMissing}}
	}
	file, err := rulings.ParseTDM([]byte(text))
	if err != nil {
		t.Fatalf("tdmrep.json cannot be read: %v", err)
	}
	return &rulings.TDMTerms{Term: rulings.Term{Kind: rulings.TermTDM, Outcome: rulings.TermRead}, File: file}
}

// answer is what the site sends for the page.
func (e *publisherExample) answer(t *testing.T) *rulings.ResponseTerms {
	t.Helper()
	head, ok := e.files["http"]
	if !ok {
		head = "HTTP/1.1 200 OK\nContent-Type: text/html\n"
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.ReplaceAll(head+"\n", "\n", "\r\n"))), nil)
	if err != nil {
		t.Fatalf("the answer is no HTTP: %v", err)
	}
	resp.Body.Close()
	return rulings.ResponseOf(resp.StatusCode, resp.Header)
}
