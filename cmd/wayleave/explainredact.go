package main

import (
	"regexp"

	"github.com/wayleave/wayleave/admin"
)

// word is what a URL in a text is, or is part of: a relative one has no other mark.
var word = regexp.MustCompile(`\S+`)

// text returns s, in which a source may have had a say, with each word of it as x
// tells URLs.
func (x explainer) text(s string) string {
	if x.redact == nil {
		return s
	}
	return word.ReplaceAllStringFunc(s, x.redact)
}

// told returns e with its URLs as x tells them.
func (x explainer) told(e admin.Explanation) admin.Explanation {
	for i := range e.Terms {
		t := &e.Terms[i]
		t.URL, t.FinalURL, t.Cause = x.text(t.URL), x.text(t.FinalURL), x.text(t.Cause)
	}
	for i := range e.Licences {
		e.Licences[i].URL = x.text(e.Licences[i].URL)
	}
	for i := range e.Gaps {
		e.Gaps[i].Detail = x.text(e.Gaps[i].Detail)
	}
	for i := range e.Breaches {
		e.Breaches[i].Detail = x.text(e.Breaches[i].Detail)
	}
	e.Detail, e.Change = x.text(e.Detail), x.text(e.Change)
	return e
}
