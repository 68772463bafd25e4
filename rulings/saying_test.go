package rulings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wayleave/wayleave/rulings"
)

// What each word of Content-Usage and Content-Signal says of each purpose (T46,
// T52, T53).
func TestT46_T52_T53_WhatAWordSaysOfEachPurpose(t *testing.T) {
	site := rulings.ParseSite([]byte("User-agent: *\n"))
	purposes := []rulings.Purpose{rulings.AIInput, rulings.AITrain, rulings.AIIndex, rulings.Search}
	for _, tt := range []struct{ field, value, want string }{
		{"Content-Usage", "ai-use=n", "disallow unknown disallow unknown"}, // an index kept for a model is input to one
		{"Content-Usage", "ai-use=y", "allow unknown unknown unknown"},
		{"Content-Usage", "train-ai=n", "unknown disallow unknown unknown"},
		{"Content-Usage", "search=y", "unknown unknown unknown allow"},
		{"Content-Usage", "x=n", "unknown unknown unknown unknown"},
		{"Content-Signal", "ai-input=no", "disallow unknown disallow unknown"},
		{"Content-Signal", "ai-input=yes", "allow unknown unknown unknown"},
		{"Content-Signal", "ai-input=maybe, search=maybe, ai-train=maybe, use=maybe", "unknown unknown unknown unknown"},
		{"Content-Signal", "search=no", "unknown unknown unknown disallow"},
		{"Content-Signal", "ai-train=yes", "unknown allow unknown unknown"},
		{"Content-Signal", "use=immediate", "unknown disallow disallow unknown"},
		{"Content-Signal", "search=yes, ai-input=yes, ai-train=yes, use=immediate", "allow disallow disallow allow"},
		{"Content-Signal", "ai-input=yes, ai-train=yes, use=reference", "allow disallow unknown unknown"},
		{"Content-Signal", "use=full", "unknown unknown unknown unknown"}, // grants nothing
		{"Content-Signal", "use=other", "unknown unknown unknown unknown"},
	} {
		line := rulings.Terms{Robots: rulings.RobotsTerms{Site: rulings.ParseSite([]byte("User-agent: *\n" + tt.field + ": " + tt.value + "\n"))}}
		line.TDM = &rulings.TDMTerms{Term: rulings.Term{Kind: rulings.TermTDM, Outcome: rulings.TermMissing}}
		known := rulings.Terms{Response: rulings.ResponseOf(200, http.Header{tt.field: {tt.value}})}
		known.Robots.Site, known.Robots.URL = site, "http://page.test/robots.txt"
		known.TDM = &rulings.TDMTerms{Term: rulings.Term{Kind: rulings.TermTDM, Outcome: rulings.TermMissing}}
		r := ruledIn(t, rulings.PolicyFile{Purposes: []string{"ai-input", "ai-train", "ai-index", "search"}}, rulings.ModeObserve, known)
		var got []string
		for _, p := range purposes {
			got = append(got, r.Effective.For(p).String())
		}
		byLine := ruledIn(t, rulings.PolicyFile{Purposes: []string{"ai-input", "ai-train", "ai-index", "search"}}, rulings.ModeObserve, line)
		for _, s := range append(byLine.Statements, r.Statements...) {
			if s.Preference == rulings.Allow && s.Says == (rulings.Preferences{}) {
				t.Errorf("%s: %s is recorded as an allowance of %s (T3)", tt.field, tt.value, s.Category)
			}
		}
		if strings.Join(got, " ") != tt.want || r.Refused() != strings.Contains(tt.want, "disallow") {
			t.Errorf("%s: %s says %q, refused %v; want %q", tt.field, tt.value, got, r.Refused(), tt.want)
		}
	}
}
