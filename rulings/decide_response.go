package rulings

import (
	"fmt"
	"strings"
	"time"

	"github.com/wayleave/wayleave/rulings/contentsignal"
	"github.com/wayleave/wayleave/rulings/contentusage"
	"github.com/wayleave/wayleave/rulings/htmlhead"
	"github.com/wayleave/wayleave/rulings/links"
	"github.com/wayleave/wayleave/rulings/robotstag"
	"github.com/wayleave/wayleave/rulings/tdm"
)

// head rules what the head of the answer says (T8, stage 7): Link members that
// cannot be read, then the statements, then the licences.
func (d *decision) head() bool {
	r := d.terms.Response
	if !r.States() {
		return false
	}
	page := pageURL(d.req.Origin, d.req.Target)
	named := links.Licences(page, r.Fields["Link"])
	from := len(d.ruling.Statements)
	d.headStatements(r)
	if len(named.Unread) > 0 {
		return d.refuseNamed(ByLink, len(named.Unread), r.Term.Object)
	}
	if d.ruleStatements(from) {
		return true
	}
	return len(named.Licences) > 0 && d.licences(ByLink, named.Licences, 0, nil)
}

// refuseNamed withholds the page because a licence is named in a way that cannot
// be read, so that nothing could be asked for (T63).
func (d *decision) refuseNamed(by Mechanism, count int, object Digest) bool {
	d.ruling.Licences = append(d.ruling.Licences, LicenceRuling{Mechanism: by, RefusedBy: LicenceUnread})
	d.point("", TermRef{Object: object})
	return d.refuse(LicenceUnread, time.Time{},
		fmt.Sprintf("the answer of %s names %d licences by %s in a way that cannot be read", d.req.Origin, count, by),
		Say("The site's answer names a licence in a way that cannot be read (%), so it cannot be kept. The page was not released.", CauseLink))
}

// headStatements adds the statements of the fields, in the order of T8.
func (d *decision) headStatements(r *ResponseTerms) {
	object := r.Term.Object
	if usage, ok := contentusage.ParseFields(r.Fields["Content-Usage"]); ok {
		d.usage(usage, object)
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

// html rules what the head of the page itself says (T8, stage 8): its meta
// elements, then the licences it names or holds (T67).
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
	if d.ruleStatements(from) {
		return true
	}
	named := len(t.Head.Licences) + len(t.Inline) + t.Head.Unread
	return named > 0 && d.licences(ByHTML, t.Head.Licences, t.Head.Unread, t.Inline)
}

// metaStatements adds the statements of the meta elements, in document order.
func (d *decision) metaStatements(head *htmlhead.Head, object Digest) {
	var reservations []string
	for _, meta := range head.Metas {
		if strings.EqualFold(meta.Name, "tdm-reservation") {
			reservations = append(reservations, meta.Content)
		} else if rules, ok := robotstag.ParseMeta(meta.Name, meta.Content, d.policy.Identity.Tokens); ok {
			d.robotsTag(rules, object)
		}
	}
	if len(reservations) > 0 {
		d.reserve(tdm.Field(reservations), object)
	}
}
