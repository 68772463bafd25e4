package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wayleave/wayleave/evidence"
	"github.com/wayleave/wayleave/rulings"
)

// RefusalDocs is where the page on each reason code lies; the type of a problem
// is this, the code and ".md".
const RefusalDocs = "https://github.com/wayleave/wayleave/blob/main/docs/refusals/"

// drainLimit is how much of a refused upload is read before the answer; beyond
// it the connection is closed (N14).
const drainLimit = 256 << 10

// A reply is an answer of the edge's own in place of the origin's.
type reply struct {
	Reason  rulings.Reason
	Detail  rulings.Words
	RetryAt time.Time
	After   time.Duration // what Retry-After says, in whole seconds; zero: the time until RetryAt
	Whose   rulings.Whose // of the term; empty: as the reason's facts say
	CAURL   string        // where the CA certificate is served; empty in most replies
}

// A problem is the body of a reply (RFC 9457).
type problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Reason   rulings.Reason `json:"reason"`
	Whose    rulings.Whose  `json:"whose"`
	RetryAt  string         `json:"retry_at,omitempty"`
	Crossing string         `json:"crossing,omitempty"`
	CA       string         `json:"ca,omitempty"`
}

// refuse records a ruling that refuses and returns what the agent is told. The
// record is on disk, or owed, before the answer goes out (E45).
func (x *crossing) refuse(r *http.Request, ruling rulings.Ruling) *http.Response {
	x.setRefusal(ruling)
	return x.answer(r, reply{Reason: ruling.Reason, Detail: ruling.Told, RetryAt: ruling.RetryAt, After: ruling.RetryAfter, Whose: ruling.Whose}, evidence.Refused)
}

func (x *crossing) setRefusal(ruling rulings.Ruling) {
	if ruling.Outcome == rulings.Undecided {
		ruling = rulings.CouldNotDecide("no decision was reached")
	}
	x.rec.Refusal = evidence.Refusal{Reason: ruling.Reason, Whose: ruling.WhoseTerm(), Stage: ruling.Stage, Detail: ruling.Detail, Term: ruling.Term}
}

// answer records how the crossing ended and builds the reply.
func (x *crossing) answer(r *http.Request, rep reply, outcome evidence.Outcome) *http.Response {
	x.tell(&rep)
	x.end(outcome)
	x.limitDrain(r)
	return x.edge.response(r, rep, x.label())
}

// limitDrain bounds how long net/http waits for the rest of an upload nobody
// wants: it reads some of it before it closes the connection or uses it again.
func (x *crossing) limitDrain(r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		// An error means that the connection is gone.
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(x.edge.silence))
	}
}

// tell completes rep and writes it into the record exactly as the agent reads it.
func (x *crossing) tell(rep *reply) {
	facts := rep.Reason.Facts()
	if rep.RetryAt.IsZero() && rep.After == 0 && facts.RetryAfter > 0 {
		rep.RetryAt = time.Now().Add(facts.RetryAfter)
	}
	if rep.After == 0 && !rep.RetryAt.IsZero() {
		rep.After = retryAfter(rep.RetryAt)
	}
	rep.RetryAt = rulings.WholeSecond(rep.RetryAt)
	x.rec.Told = evidence.Told{Status: facts.Status, Reason: rep.Reason, Detail: rep.Detail, RetryAt: rep.RetryAt}
}

// label is how the agent can refer to the crossing (E12); empty while no record
// of it was acknowledged.
func (x *crossing) label() string {
	if x.number == 0 {
		return ""
	}
	return x.log.ID() + "/" + strconv.FormatUint(x.number, 10)
}

// response builds the edge's own answer to r.
func (e *Edge) response(r *http.Request, rep reply, crossing string) *http.Response {
	p := rep.problem(crossing)
	contentType, body := p.render(r.Header["Accept"])
	h := http.Header{
		"Content-Type":           {contentType},
		"Content-Length":         {strconv.Itoa(len(body))},
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"},
		"Proxy-Status":           {fmt.Sprintf("%s; error=%s; details=%q", e.via, rep.Reason.Facts().ProxyError, rep.Reason)},
	}
	if rep.After > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(rep.After/time.Second), 10))
	}
	if rep.Reason == rulings.CredentialsRequired {
		h.Set("Proxy-Authenticate", `Basic realm="wayleave"`)
	}
	if endUnsure(r) || r.ProtoMajor == 1 && r.ContentLength > drainLimit {
		h.Set("Connection", "close") // net/http then does not read the rest of the upload first
	}
	return &http.Response{StatusCode: p.Status, Header: h, ContentLength: int64(len(body)), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body))}
}

// retryAfter is the time until at in whole seconds, rounded up.
func retryAfter(at time.Time) time.Duration {
	return max(1, time.Duration(math.Ceil(time.Until(at).Seconds()))) * time.Second
}

func (rep reply) problem(crossing string) problem {
	facts := rep.Reason.Facts()
	p := problem{Type: RefusalDocs + string(rep.Reason) + ".md", Title: facts.Title, Status: facts.Status, Detail: rep.Detail.String(),
		Reason: rep.Reason, Whose: cmp.Or(rep.Whose, facts.Whose), Crossing: crossing, CA: rep.CAURL}
	if !rep.RetryAt.IsZero() {
		p.RetryAt = rep.RetryAt.UTC().Format(time.RFC3339)
	}
	return p
}

var problemPage = template.Must(template.New("problem").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.Title}}</title>
<body style="font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem">
<h1 style="font-size:1.3rem">{{.Title}}</h1>
<p>{{.Detail}}</p>
<dl><dt>Reason</dt><dd><code>{{.Reason}}</code> (status {{.Status}})</dd><dt>Whose term</dt><dd>{{.Whose}}</dd>
{{with .RetryAt}}<dt>Ask again after</dt><dd>{{.}}</dd>{{end}}{{with .Crossing}}<dt>Record</dt><dd>{{.}}</dd>{{end}}
{{with .CA}}<dt>CA certificate</dt><dd>{{.}}</dd>{{end}}</dl>
<p><a href="{{.Type}}">What this means</a></p>
</body></html>
`))

// render writes the problem in the form the client prefers: HTML or plain text
// only if it puts that before JSON.
func (p problem) render(accept []string) (contentType string, body []byte) {
	var b bytes.Buffer
	switch preferred(accept) {
	case "text/html":
		if err := problemPage.Execute(&b, p); err == nil {
			return "text/html; charset=utf-8", b.Bytes()
		}
		b.Reset()
	case "text/plain":
		fmt.Fprintf(&b, "%s\n\n%s\n\nreason: %s (%d), set by: %s\n", p.Title, p.Detail, p.Reason, p.Status, p.Whose)
		if p.RetryAt != "" {
			fmt.Fprintf(&b, "ask again after: %s\n", p.RetryAt)
		}
		if p.Crossing != "" {
			fmt.Fprintf(&b, "record: %s\n", p.Crossing)
		}
		if p.CA != "" {
			fmt.Fprintf(&b, "CA certificate: %s\n", p.CA)
		}
		fmt.Fprintf(&b, "more: %s\n", p.Type)
		return "text/plain; charset=utf-8", b.Bytes()
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return "text/plain; charset=utf-8", []byte(p.Detail + "\n")
	}
	return "application/problem+json", b.Bytes()
}

// preferred picks text/html or text/plain if an Accept field (RFC 9110 12.5.1)
// gives it a higher weight than any JSON type or wildcard, or the same weight
// and an earlier place; otherwise JSON, named by the empty string.
func preferred(accept []string) string {
	var best string
	var bestQ float64
	for _, line := range accept {
		for member := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(member, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			q := weight(params)
			switch name {
			case "text/html", "text/plain":
			case "application/problem+json", "application/json", "application/*", "*/*":
				name = ""
			default:
				continue
			}
			if q > bestQ {
				best, bestQ = name, q
			}
		}
	}
	return best
}

func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok || !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
		return 0
	}
	return 1
}
