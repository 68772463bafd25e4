package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/wayleave/wayleave/admin"
	"github.com/wayleave/wayleave/internal/hostkey"
	"github.com/wayleave/wayleave/rulings"
)

// explanation puts a ruling and the terms it was made on into the form of A11.
func explanation(purposes []string, r rulings.Ruling, known rulings.Terms) admin.Explanation {
	e := admin.Explanation{Outcome: rulings.Proceed.String(), Purposes: purposes, Terms: termsOf(known, r.Term)}
	if !r.Refused() {
		return e
	}
	facts := r.Reason.Facts()
	e.Outcome, e.Reason, e.Whose = rulings.Refuse.String(), string(r.Reason), string(facts.Whose)
	e.Status, e.RetryAt, e.Detail = facts.Status, r.RetryAt, r.Detail
	return e
}

// unheld is the answer that hangs on terms nobody may ask for now.
func unheld(purposes []string, o hostkey.Origin) admin.Explanation {
	return admin.Explanation{
		Detail:   "robots.txt of " + o.String() + " is not held; it would have to be asked for first",
		Purposes: purposes,
		Terms:    []admin.Term{{Kind: rulings.TermRobots, URL: o.String() + "/robots.txt"}},
	}
}

// termsOf lists what was ruled on; decided points into the term that refused.
func termsOf(known rulings.Terms, decided rulings.TermRef) []admin.Term {
	t := known.Robots
	if t.URL == "" {
		return nil
	}
	line := 0
	if decided.Object == t.Object {
		line = decided.Line
	}
	return []admin.Term{{
		Kind: t.Kind, URL: t.URL, Outcome: t.Outcome, Cause: t.Cause, Cache: t.Cache,
		FetchedAt: instant(t.FetchedAt), ExpiresAt: instant(t.ExpiresAt), Object: t.Object.String(), Line: line,
	}}
}

// instant is t in the form records have (E8): UTC, to the millisecond.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// inWords tells an explanation to a person.
func inWords(e admin.Explanation) string {
	var b strings.Builder
	switch {
	case e.Outcome == "":
		b.WriteString("undecided")
	case e.Reason == "":
		b.WriteString(e.Outcome)
	default:
		fmt.Fprintf(&b, "%s %s (%s, %d)", e.Outcome, e.Reason, e.Whose, e.Status)
	}
	b.WriteByte('\n')
	if e.Detail != "" {
		fmt.Fprintf(&b, "%s\n", e.Detail)
	}
	for _, t := range e.Terms {
		if t.Outcome != "" {
			fmt.Fprintf(&b, "ruled on %s (%s, %s%s)\n", t.URL, t.Outcome, t.Cache, since(t))
		}
	}
	if !e.RetryAt.IsZero() {
		fmt.Fprintf(&b, "ask again after %s\n", e.RetryAt.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// since tells when a term was fetched and until when it counts.
func since(t admin.Term) string {
	var b strings.Builder
	if !t.FetchedAt.IsZero() {
		fmt.Fprintf(&b, " %s", t.FetchedAt.UTC().Format(time.RFC3339))
	}
	if !t.ExpiresAt.IsZero() {
		fmt.Fprintf(&b, ", until %s", t.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return b.String()
}
