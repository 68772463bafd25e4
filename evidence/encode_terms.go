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
		writeRobots(e, c.Ruling, c.Delays)
		writeLicences(e, c.Ruling)
		writeStatements(e, c.Ruling)
		writeEffective(e, c.Ruling, c.Purposes)
	}
	e.close(p)
}

// licence writes which licence governs, if one does: the first, since all bind.
func (c *Crossing) licence(e *encoder) {
	p := e.open("licence")
	state, reference := "unknown", ""
	if c.Ruling != nil {
		for i := range c.Ruling.Licences {
			if l := &c.Ruling.Licences[i]; l.Entry > 0 {
				state, reference = "declared", l.URL
				break
			}
		}
	}
	e.word("state", state)
	e.url("reference", reference)
	e.close(p)
}

// writeEffective writes what the source's terms come to for each purpose.
func writeEffective(e *encoder, r *rulings.Ruling, purposes []rulings.Purpose) {
	p := e.open("effective")
	for i, purpose := range purposes {
		if !slices.Contains(purposes[:i], purpose) {
			e.key(string(purpose))
			e.b = appendString(e.b, r.Effective.For(purpose).String())
		}
	}
	e.close(p)
}

// purposeNames is list as text. There are at most a few.
func purposeNames(list []rulings.Purpose) []string {
	names := make([]string, 0, 4)
	for _, p := range list {
		names = append(names, string(p))
	}
	return names
}

// writeLicences writes what each licence came to.
func writeLicences(e *encoder, r *rulings.Ruling) {
	p := e.open("licences")
	for i := range r.Licences[:min(len(r.Licences), e.bounds.items)] {
		l := &r.Licences[i]
		item := e.item()
		e.url("url", l.URL)
		e.word("mechanism", string(l.Mechanism))
		e.positive("entry", int64(l.Entry))
		e.positive("offer", int64(l.Offer))
		e.positions("restricted", l.Restricted)
		payment := e.open("payment")
		e.text("type", l.Payment.Type)
		e.text("amount", l.Payment.Amount)
		e.text("currency", l.Payment.Currency)
		e.close(payment)
		e.url("server", l.Server)
		e.urls("reporting", l.Reporting)
		e.texts("duties", l.Duties)
		e.texts("not_understood", l.Skipped)
		e.word("refused_by", string(l.RefusedBy))
		e.close(item)
	}
	e.closeList(p)
	e.more("licences", len(r.Licences))
}

// writeStatements writes each statement in its own vocabulary.
func writeStatements(e *encoder, r *rulings.Ruling) {
	p := e.open("statements")
	for i := range r.Statements[:min(len(r.Statements), e.bounds.items)] {
		s := &r.Statements[i]
		item := e.item()
		e.word("source", string(s.Source))
		e.text("category", s.Category)
		e.word("preference", s.Preference.String())
		e.digest("object", s.Object)
		e.positive("line", int64(s.Line))
		e.close(item)
	}
	e.closeList(p)
	e.more("statements", len(r.Statements))
}

func writeTerm(e *encoder, t *rulings.Term) {
	p := e.item()
	e.word("kind", string(t.Kind))
	e.word("mechanism", string(t.Mechanism))
	e.url("url", t.URL)
	e.url("final_url", t.FinalURL)
	e.positive("status", int64(t.Status))
	e.word("outcome", string(t.Outcome))
	e.text("cause", t.Cause)
	e.word("cache", string(t.Cache))
	e.instant("fetched_at", t.FetchedAt)
	e.instant("expires_at", t.ExpiresAt)
	e.digest("object", t.Object)
	if e.isTrue("truncated", t.Truncated); t.Truncated {
		e.positive("size", t.Size)
	}
	e.close(p)
}

// writeRobots writes, by product token, which group and line spoke (T30).
func writeRobots(e *encoder, r *rulings.Ruling, delays []CrawlDelay) {
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
		if i < len(delays) {
			delays[i].write(e)
		}
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
	e.flag("signed", false) // the edge has no key of the operator's to sign with (T106)
	e.positive("http_status", int64(r.HTTPStatus))
	e.text("date_header", r.Pacing.DateHeader)
	e.url("final_url", r.FinalURL)
	e.urls("redirects", r.Redirects)
	e.digest("object", r.Object)
	e.count("bytes", r.Bytes)
	e.instant("cache_until", r.CacheUntil)
	r.Failure.write(e)
	e.text("cut_short", r.CutShort)
	r.Pacing.write(e)
	r.Timings.write(e)
}
