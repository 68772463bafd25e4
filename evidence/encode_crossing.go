package evidence

import (
	"slices"

	"github.com/wayleave/wayleave/rulings"
)

// Event implements Record.
func (CrossingOpened) Event() string { return EventCrossingOpened }

// Event implements Record.
func (r CrossingEnded) Event() string {
	switch {
	case r.Refusal.Reason != "":
		return EventCrossingRefused
	case r.Grade == Observed:
		return EventCrossingObserved
	}
	return EventCrossingMediated
}

func (r CrossingOpened) payload(e *encoder) {
	r.head(e)
	r.declarations(e)
	r.gaps(e)
	r.allowances(e)
}

func (r CrossingEnded) payload(e *encoder) {
	r.head(e)
	e.word("outcome", string(r.Outcome))
	e.seq("opened", r.Opened)
	r.answer(e)
	r.verdict(e)
	r.breaches(e)
	r.gaps(e)
	r.told(e)
	if r.Class == rulings.Source && r.Grade == Mediated {
		r.licence(e)
	}
	r.declarations(e)
	r.Pacing.write(e)
	r.allowances(e)
	r.body(e)
	r.measures(e)
}

// head writes what is known of a crossing before the request is sent.
func (c *Crossing) head(e *encoder) {
	e.word("grade", string(c.Grade))
	e.word("class", string(c.Class))
	c.client(e)
	e.text("method", c.Method)
	c.url(e)
	e.text("authority", c.Authority)
	if c.Class == rulings.Source {
		e.texts("purposes", purposeNames(c.Purposes))
		p := e.open("identity")
		e.texts("product_tokens", c.Identity.ProductTokens)
		e.text("user_agent", c.Identity.UserAgent)
		e.close(p)
	}
	e.texts("spending", c.Spending)
	e.digest("policy_digest", c.PolicyDigest)
	e.text("policy_unavailable", c.PolicyUnavailable)
	if c.Grade == Mediated {
		e.word("ruleset", c.Ruleset)
	}
}

func (c *Crossing) client(e *encoder) {
	p := e.open("client")
	e.text("session", c.Client.Session)
	e.text("protocol", c.Client.Protocol)
	e.text("address", c.Client.Address)
	e.bounded("user_agent", e.redact.Text(c.Client.UserAgent), min(maxUserAgent, e.bounds.text))
	e.close(p)
}

// url writes the crossing's URL and, where something in it was replaced, whose
// values these were and by what equal URLs can be matched (E24).
func (c *Crossing) url(e *encoder) {
	if !e.redact.suspect(c.URL) {
		e.bounded("url", c.URL, e.bounds.url)
		return
	}
	redacted, names := e.redact.redact(c.URL)
	e.bounded("url", redacted, e.bounds.url)
	if len(names) > 0 {
		e.texts("redacted", names)
		e.digest("url_digest", e.redact.Digest(c.URL))
	}
}

// answer writes what the origin was asked and what it answered.
func (c *Crossing) answer(e *encoder) {
	e.text("address", c.Address)
	if c.ServedFrom.N > 0 {
		p := e.open("served_from")
		e.word("recording", c.ServedFrom.Recording)
		e.number("n", int64(c.ServedFrom.N))
		e.close(p)
	}
	e.instant("requested_at", c.RequestedAt)
	e.positive("http_status", int64(c.HTTPStatus))
	e.text("http_version", c.HTTPVersion)
	e.text("date_header", c.Pacing.DateHeader)
	c.Failure.write(e)
	p := e.open("challenge")
	e.positive("status", int64(c.Challenge.Status))
	e.word("mark", c.Challenge.Mark)
	e.text("price", c.Challenge.Price)
	e.text("currency", c.Challenge.Currency)
	e.close(p)
	e.texts("noted", c.Noted)
	e.text("charge", c.Charge)
}

func (f Failure) write(e *encoder) {
	p := e.open("failure")
	e.text("kind", f.Kind)
	e.text("detail", f.Detail)
	e.close(p)
}

// verdict writes why and by whom the crossing was refused.
func (c *Crossing) verdict(e *encoder) {
	if c.Refusal.Reason == "" {
		return
	}
	p := e.open("refusal")
	e.word("reason", string(c.Refusal.Reason))
	e.word("whose", string(c.Refusal.Whose))
	e.word("stage", string(c.Refusal.Stage))
	e.text("detail", c.Refusal.Detail)
	term := e.open("term")
	e.digest("object", c.Refusal.Term.Object)
	e.positive("line", int64(c.Refusal.Term.Line))
	e.positive("entry", int64(c.Refusal.Term.Entry))
	e.close(term)
	e.close(p)
	// What was refused entered no model's context, and that much is known.
	e.flag("grounded", false)
}

// breaches writes the operator's rules that were broken and carried (O11).
func (c *Crossing) breaches(e *encoder) {
	p := e.open("breach")
	for b := range c.carried() {
		item := e.item()
		e.word("reason", string(b.Reason))
		e.text("detail", b.Detail)
		e.close(item)
	}
	e.closeList(p)
}

// gaps writes the crossing's gaps. There is one more for each term whose bytes
// could not be kept, unless the caller named it already (E5).
func (c *Crossing) gaps(e *encoder) {
	p := e.open("gaps")
	for _, g := range c.Gaps {
		g.write(e)
	}
	if c.Ruling != nil {
		for _, g := range c.Ruling.Gaps {
			Gap(g).write(e)
		}
	}
	named := func(g Gap) bool { return g.Reason == TermObjectUnwritten }
	for _, t := range c.Terms {
		if t.Unwritten && !slices.ContainsFunc(c.Gaps, named) {
			Gap{TermObjectUnwritten, "the bytes of " + string(t.Kind) + " could not be kept"}.write(e)
		}
	}
	e.closeList(p)
}

func (g Gap) write(e *encoder) {
	p := e.item()
	e.text("reason", g.Reason)
	e.text("detail", g.Detail)
	e.close(p)
}

func (c *Crossing) told(e *encoder) {
	p := e.open("told")
	e.positive("status", int64(c.Told.Status))
	e.word("reason", string(c.Told.Reason))
	e.text("detail", c.Told.Detail.String())
	e.instant("retry_at", c.Told.RetryAt)
	e.close(p)
}

// body writes what was read of a body and what of it reached the client. The
// length of a body goes with its hash: without one, none was read to its end.
func (c *Crossing) body(e *encoder) {
	if c.Withheld != nil {
		p := e.open("withheld")
		e.number("bytes", c.Withheld.Bytes)
		e.digest("hash", c.Withheld.Hash)
		e.close(p)
	}
	if c.RetrievedHash != (rulings.Digest{}) {
		e.digest("retrieved_hash", c.RetrievedHash)
		e.number("retrieved_bytes", c.RetrievedBytes)
	}
	if c.ContentHash != (rulings.Digest{}) {
		e.digest("content_hash", c.ContentHash)
		e.number("content_bytes", c.ContentBytes)
	}
	e.text("content_type", c.ContentType)
	e.text("content_coding", c.ContentCoding)
	e.text("content_range", c.ContentRange)
	if c.Delivered == nil {
		return
	}
	p := e.open("delivered")
	e.number("bytes", c.Delivered.Bytes)
	if c.Delivered.Complete != Unknown {
		e.flag("complete", c.Delivered.Complete == Yes)
	}
	e.digest("hash", c.Delivered.Hash)
	e.close(p)
}

func (c *Crossing) measures(e *encoder) {
	p := e.open("bytes")
	e.count("up", c.Up)
	e.count("down", c.Down)
	e.close(p)
	c.Timings.write(e)
	e.positive("repeated", int64(c.Repeated))
}

func (t *Timings) write(e *encoder) {
	p := e.open("timings")
	e.millis("terms", t.Terms)
	e.millis("ruling", t.Ruling)
	e.millis("wait", t.Wait)
	e.millis("dns", t.DNS)
	e.millis("connect", t.Connect)
	e.millis("tls", t.TLS)
	e.millis("first_byte", t.FirstByte)
	e.millis("body", t.Body)
	e.millis("screen", t.Screen)
	e.millis("durable", t.Durable)
	e.close(p)
}
