package terms

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// licenceKind is the RSL documents that pages name (T69, T70).
var licenceKind = &kind{
	name:   rulings.TermLicence,
	dir:    "licences",
	format: "wayleave-terms-licence/1",
	judge:  func(a *answer) verdict { return judgeDocument(a, licenceMissing) },
	parse: func(body []byte) (document, string) {
		licence, cause := rulings.ParseLicence(body)
		if cause != "" {
			return document{}, unread(cause, rulings.LicenceFault(body))
		}
		return document{licence: licence}, ""
	},
	fits: func(v *visit) error { return fitsDocument(v, licenceMissing) },
}

// licenceMissing is how long it holds that there is no licence where one is
// named (T69).
const licenceMissing = 5 * time.Minute

// Bounds of a shard in memory: 2,048 licences and 32 MiB in all.
const (
	licenceEntries = 64
	licenceOctets  = 1 << 20
)

// Licence returns the document that need names, as it stands for a crossing to
// page that arrives now. It never errs; what could not be had is part of the
// value. Where it has to be asked for, Licence waits, sharing one probe with all
// crossings that wait for the same URL (T12), which goes on when ctx ends.
//
// What lies on another origin than page, redirects included, is first ruled by
// the robots.txt there for tokens, at every use: a refusal makes the licence
// unread, and a robots.txt that the edge could not ask for cuts it short (T69).
// Policy says which hosts are services, and have none.
func (b *Book) Licence(ctx context.Context, need rulings.Need, page hostkey.Origin, tokens []string, policy *rulings.Policy) rulings.LicenceTerms {
	return b.licence(ctx, need, &passage{book: b, page: page, tokens: tokens, policy: policy}, errand{})
}

// RefreshLicence is Licence, but asks for the document before its time. When
// that fails, a live answer stays (T123).
func (b *Book) RefreshLicence(ctx context.Context, need rulings.Need, page hostkey.Origin, tokens []string, policy *rulings.Policy) rulings.LicenceTerms {
	return b.licence(ctx, need, &passage{book: b, page: page, tokens: tokens, policy: policy}, errand{again: true})
}

// HeldLicence is Licence, but asks nobody; the second result is false when that
// takes somebody to be asked: for the licence, of which nothing is held when its
// life is over (T70), or for a robots.txt.
func (b *Book) HeldLicence(need rulings.Need, page hostkey.Origin, tokens []string, policy *rulings.Policy) (rulings.LicenceTerms, bool) {
	return b.heldLicence(need, &passage{book: b, page: page, tokens: tokens, policy: policy, held: true})
}

func (b *Book) licence(ctx context.Context, need rulings.Need, pass *passage, how errand) rulings.LicenceTerms {
	how.pass = pass
	p, ok := licencePlace(need.URL)
	if !ok {
		return unaskable().licenceTerms(need, pass.page)
	}
	var f found
	if g := pass.gate(ctx, p); !g.open() {
		g.shut(&f, 0)
		return f.licenceTerms(need, pass.page)
	}
	f = pass.get(ctx, b.licences, p, how)
	if pass.rule(ctx, &f) == wayOpen && f.byRobots() {
		// What another page or an older robots.txt was refused is open to this
		// page, and nobody has asked for it yet.
		how.again = true
		f = pass.get(ctx, b.licences, p, how)
		pass.rule(ctx, &f)
	}
	return f.licenceTerms(need, pass.page)
}

func (b *Book) heldLicence(need rulings.Need, pass *passage) (rulings.LicenceTerms, bool) {
	p, ok := licencePlace(need.URL)
	if !ok {
		return unaskable().licenceTerms(need, pass.page), true
	}
	ctx := context.Background() // nothing is waited for
	var f found
	switch g := pass.gate(ctx, p); {
	case g.unheld:
		return rulings.LicenceTerms{}, false
	case !g.open():
		g.shut(&f, 0)
		return f.licenceTerms(need, pass.page), true
	}
	if f, ok = pass.heldOf(b.licences, p); !ok {
		return rulings.LicenceTerms{}, false
	}
	if way := pass.rule(ctx, &f); way == wayUnheld || way == wayOpen && f.byRobots() {
		return rulings.LicenceTerms{}, false
	}
	return f.licenceTerms(need, pass.page), true
}

// licencePlace reads the URL of a licence. It is false for one that cannot be
// asked for.
func licencePlace(raw string) (place, bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return place{}, false
	}
	target, origin, ok := askable(u)
	return place{origin: origin, url: target}, ok
}

// target is the path and query of a licence's URL.
func (p place) target() string {
	target := strings.TrimPrefix(p.url, p.origin.String())
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// unaskable is a licence whose URL nobody can ask for (T56).
func unaskable() *found {
	return &found{Term: rulings.Term{
		Kind: rulings.TermLicence, Outcome: rulings.TermUnread, Cache: rulings.CacheFetched,
		Cause: unread(rulings.CauseScheme, "its URL is none that can be asked for"),
	}}
}

// licenceTerms makes the terms of f for a page on the origin page that named it by
// need. Their URL is as the page names it, so that a decision finds it again.
func (f *found) licenceTerms(need rulings.Need, page hostkey.Origin) rulings.LicenceTerms {
	t := rulings.LicenceTerms{Term: f.Term, Licence: f.licence, Barred: f.barred, Pace: f.pace}
	t.URL, t.Mechanism = need.URL, need.Mechanism
	if t.Outcome == rulings.TermUnread {
		t.Unread = causeOf(t.Cause)
	}
	t.OverHTTP = overHTTP(t.Term, page)
	return t
}

// overHTTP reports whether t came over http for a page over https (T69).
func overHTTP(t rulings.Term, page hostkey.Origin) bool {
	last := t.FinalURL
	if last == "" {
		last = t.URL
	}
	came := t.Outcome == rulings.TermRead || t.Outcome == rulings.TermMissing
	return came && page.Scheme == "https" && len(last) > 5 && strings.EqualFold(last[:5], "http:")
}
