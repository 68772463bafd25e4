package evidence

import (
	"slices"

	"github.com/wayleave/wayleave/rulings"
)

// declarations writes what the source's terms were and what they said (E17). A
// crossing whose terms were never looked up has none, which is not the same as
// one whose source states nothing.
func (c *Crossing) declarations(e *encoder) {
	if !c.Ruled {
		return
	}
	p := e.open("declarations")
	terms := e.open("terms")
	for i := range c.Terms[:min(len(c.Terms), e.bounds.items)] {
		writeTerm(e, &c.Terms[i])
	}
	e.closeList(terms)
	e.more("terms", len(c.Terms))
	if c.Ruling != nil {
		writeRobots(e, c.Ruling)
	}
	writeEffective(e, c.Purposes)
	e.close(p)
}

// writeEffective writes what the source's terms come to for each purpose.
func writeEffective(e *encoder, purposes []string) {
	p := e.open("effective")
	for i, purpose := range purposes {
		if !slices.Contains(purposes[:i], purpose) {
			// robots.txt rules access and says nothing of purposes.
			e.key(purpose)
			e.b = append(e.b, `"unknown"`...)
		}
	}
	e.close(p)
}

func writeTerm(e *encoder, t *rulings.Term) {
	p := e.item()
	e.word("kind", string(t.Kind))
	e.url("url", t.URL)
	e.url("final_url", t.FinalURL)
	e.positive("status", int64(t.Status))
	e.word("outcome", string(t.Outcome))
	e.text("cause", t.Cause)
	e.word("cache", string(t.Cache))
	e.instant("fetched_at", t.FetchedAt)
	e.instant("expires_at", t.ExpiresAt)
	e.digest("object", t.Object)
	e.isTrue("truncated", t.Truncated)
	e.close(p)
}

// writeRobots writes, by product token, which group and line spoke (T30).
func writeRobots(e *encoder, r *rulings.Ruling) {
	p := e.open("robots")
	for i := range r.Robots[:min(len(r.Robots), e.bounds.items)] {
		d := &r.Robots[i]
		if d.Token == "" || firstDecision(r, d.Token) != i {
			continue // no member is named twice
		}
		token := e.openKey(d.Token)
		e.text("token", d.Token)
		if d.Group != "" {
			e.text("group", d.Group)
			e.flag("wildcard", d.Wildcard)
		}
		e.text("rule", d.Rule)
		e.positive("line", int64(d.Line))
		e.close(token)
	}
	e.close(p)
	e.more("robots", len(r.Robots))
}

// firstDecision returns the index of the first decision for token.
func firstDecision(r *rulings.Ruling, token string) int {
	for i := range r.Robots {
		if r.Robots[i].Token == token {
			return i
		}
	}
	return -1
}

// Event implements Record.
func (CrossingUndelivered) Event() string { return EventCrossingUndelivered }

func (r CrossingUndelivered) payload(e *encoder) {
	e.seq("crossing", r.Crossing)
	e.number("bytes", r.Bytes)
	r.Failure.write(e)
}

// Event implements Record.
func (TermsProbed) Event() string { return EventTermsProbed }

func (r TermsProbed) payload(e *encoder) {
	e.word("kind", string(r.Kind))
	e.url("url", r.URL)
	e.instant("requested_at", r.RequestedAt)
	e.positive("http_status", int64(r.HTTPStatus))
	e.url("final_url", r.FinalURL)
	e.urls("redirects", r.Redirects)
	e.digest("object", r.Object)
	e.count("bytes", r.Bytes)
	e.instant("cache_until", r.CacheUntil)
	r.Failure.write(e)
	e.text("cut_short", r.CutShort)
	r.Timings.write(e)
}
