package rulings

import (
	"strings"

	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/htmlhead"
	"github.com/wayleave/wayleave/rulings/links"
	"github.com/wayleave/wayleave/rulings/robotstag"
	"github.com/wayleave/wayleave/rulings/tdm"
)

// head rules what the head of the answer says (T8, stage 7): Link members that
// cannot be read, because they concern every purpose, then the statements, then
// the licences, which are asked for only now (T9).
func (d *decision) head() bool {
	r := d.terms.Response
	if !r.States() {
		return false
	}
	from := len(d.ruling.Statements)
	d.headStatements(r)
	var named links.Result
	if lines := r.Fields["Link"]; len(lines) > 0 {
		named = links.Licences(pageURL(d.req.Origin, d.req.Target), lines)
	}
	if d.ruleLicences(unasked(namedLicence{mechanism: ByLink, unread: CauseLink}, len(named.Unread))) || d.ruleStatements(from) {
		return true
	}
	list, needs := d.lookUp(namedAt(ByLink, named.Licences))
	if len(needs) > 0 {
		return d.need(needs...)
	}
	return d.ruleLicences(list)
}

// headStatements adds the statements of the fields, in the order of T8.
func (d *decision) headStatements(r *ResponseTerms) {
	object := r.Term.Object
	if lines := r.Fields["Content-Usage"]; len(lines) > 0 {
		if usage, ok := contentusage.ParseFields(lines); ok {
			d.usage(usage, object)
		}
	}
	if lines := r.Fields["Content-Signal"]; len(lines) > 0 {
		d.signal(contentsignal.ParseFields(lines), object)
	}
	if lines := r.Fields["Tdm-Reservation"]; len(lines) > 0 {
		d.reserve(tdm.Field(lines), object)
	}
	if lines := r.Fields["X-Robots-Tag"]; len(lines) > 0 {
		d.robotsTag(robotstag.Parse(lines, d.policy.Identity.Tokens), object)
	}
}

// robotsTag adds the statements of an X-Robots-Tag field or a meta element (T98).
func (d *decision) robotsTag(rules robotstag.Rules, object Digest) {
	add := func(source StatementSource, category string, of ...Purpose) {
		d.state(Statement{Source: source, Category: category, Preference: Disallow, Object: object, Says: says(Disallow, of...)})
	}
	if rules.NoAI {
		add(FromRobotsTag, "noai", AIInput, AITrain, AIIndex)
	}
	if rules.NoImageAI && d.terms.Response.isImage() {
		add(FromRobotsTag, "noimageai", AIInput, AITrain, AIIndex)
	}
	if rules.DisallowAITraining {
		add(FromAITraining, "disallowaitraining", AITrain)
	}
}

func (r *ResponseTerms) isImage() bool {
	lines := r.Fields["Content-Type"]
	return len(lines) > 0 && strings.HasPrefix(strings.ToLower(lines[0]), "image/")
}

// html rules what the head of the page itself says (T8, stage 8), in the order of
// head: what it names or holds and cannot be read, its meta elements, then the
// licences (T67).
func (d *decision) html() bool {
	r := d.terms.Response
	if !r.ReadsHTML(d.req.Method) {
		return false
	}
	t := r.HTML
	switch {
	case t == nil:
		return d.need(Need{Kind: TermHTML})
	case t.Unseen != "":
		d.gap(GapHTMLTermsUnseen, t.Unseen)
		return false
	case t.Head == nil:
		return false
	}
	from := len(d.ruling.Statements)
	d.metaStatements(t.Head, t.Term.Object)
	unread, named := t.documents()
	if d.ruleLicences(unread) || d.ruleStatements(from) {
		return true
	}
	list, needs := d.lookUp(named)
	if len(needs) > 0 {
		return d.need(needs...)
	}
	return d.ruleLicences(list)
}

// documents returns the licences of the head in order, those apart that cannot be
// read, whatever would be asked for.
func (t *HTMLTerms) documents() (unread, named []namedLicence) {
	unread = unasked(namedLicence{mechanism: ByHTML, unread: CauseScheme}, t.Head.Unread-t.unended)
	unread = append(unread, unasked(namedLicence{mechanism: Inline, unread: CauseXML, fault: "the script does not end within what is read of a head"}, t.unended)...)
	inline := t.Inline
	for _, document := range t.Head.Licences {
		l := namedLicence{url: document.URL, mechanism: ByHTML}
		if document.Script != nil {
			l = namedLicence{mechanism: Inline, licence: inline[0].Licence, unread: inline[0].Unread, fault: inline[0].Fault}
			inline = inline[1:]
		}
		if document.Script != nil && l.licence == nil {
			unread = append(unread, l)
		} else {
			named = append(named, l)
		}
	}
	return unread, named
}

// metaStatements adds the statements of the meta elements, in document order. Of
// several reservations each is one: a 0 lifts nothing (T95, T97).
func (d *decision) metaStatements(head *htmlhead.Head, object Digest) {
	for _, meta := range head.Metas {
		if meta.Name == "tdm-reservation" {
			d.reserve(tdm.Field([]string{meta.Content}), object)
		} else if rules, ok := robotstag.ParseMeta(meta.Name, meta.Content, d.policy.Identity.Tokens); ok {
			d.robotsTag(rules, object)
		}
	}
}
