package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A loggedCrossing is the final record of a crossing, of which logged looks at this.
type loggedCrossing struct {
	Seq     uint64
	Payload struct {
		URL, Outcome string
		Opened       uint64
		Client       struct{ Session string }
		HTTPStatus   int             `json:"http_status"`
		RequestedAt  string          `json:"requested_at"`
		Grounded     *bool           `json:"grounded"`
		Delivered    json.RawMessage `json:"delivered"`
		Hash         string          `json:"retrieved_hash"`
		Withheld     *struct{ Bytes int64 }
		Refusal      struct {
			Reason, Whose, Stage, Detail string
			Term                         struct {
				Object      string
				Line, Entry int
			}
		}
		Told struct {
			Status         int
			Reason, Detail string
			RetryAt        time.Time `json:"retry_at"`
		}
		Gaps         []struct{ Reason, Detail string }
		Declarations struct {
			Terms      []struct{ Kind, Outcome, Object, Cache string }
			Statements []struct {
				Source, Category, Preference string
				Line                         int
			}
			Licences []struct {
				Mechanism     string
				Entry, Offer  int
				RefusedBy     string   `json:"refused_by"`
				NotUnderstood []string `json:"not_understood"`
				Duties        []string
				Payment       struct{ Type, Amount, Currency string }
			}
			Effective map[string]string
		}
	}
}

// checkLogged checks the record of the last get: logged NAME=VALUE... Names are those
// of loggedCrossing.says; one that is not given is not looked at. The record of a
// refusal must agree with what the client was told.
func checkLogged(ts *testscript.TestScript, _ bool, args []string) {
	record, octets := lastRecord(ts, ts.Getenv("URL"))
	if text := ts.Getenv("TOLD"); text != "" {
		record.agrees(ts, text)
	}
	says := record.says(ts)
	for _, arg := range args {
		name, want, _ := strings.Cut(arg, "=")
		got, ok := says[name]
		switch {
		case !ok:
			ts.Fatalf("logged knows nothing called %s", name)
		case name == "detail" && strings.Contains(got, want): // a part will do
		case got != want:
			ts.Fatalf("%s is %q, want %q, in\n%s", name, got, want, octets)
		}
	}
}

// lastRecord finds the last final record of a crossing to url in any log.
func lastRecord(ts *testscript.TestScript, url string) (last loggedCrossing, octets []byte) {
	logs, err := filepath.Glob(ts.MkAbs("data/sessions/*/*.jsonl"))
	ts.Check(err)
	var newest string
	for _, name := range logs {
		text, err := os.ReadFile(name)
		ts.Check(err)
		for line := range bytes.Lines(text) {
			var envelope struct{ Event, Timestamp string }
			ts.Check(json.Unmarshal(line, &envelope))
			if envelope.Event != "crossing_refused" && envelope.Event != "crossing_mediated" {
				continue
			}
			var c loggedCrossing
			ts.Check(json.Unmarshal(line, &c))
			if c.Payload.URL == url && envelope.Timestamp >= newest {
				last, octets, newest = c, line, envelope.Timestamp
			}
		}
	}
	if newest == "" {
		ts.Fatalf("there is no record of %s", url)
	}
	return last, octets
}

// agrees compares the record of a refusal with what the client was told.
func (c *loggedCrossing) agrees(ts *testscript.TestScript, text string) {
	var p toldProblem
	ts.Check(json.Unmarshal([]byte(text), &p))
	r := &c.Payload
	number := max(r.Opened, c.Seq)
	if r.Opened > 0 {
		number = r.Opened // a crossing is called by its first record (E12)
	}
	got := fmt.Sprint(r.Refusal.Reason, r.Refusal.Whose, r.Told.Status, r.Told.Reason, r.Told.Detail, r.Told.RetryAt.Truncate(time.Second), r.Client.Session, "/", number)
	want := fmt.Sprint(p.Reason, p.Whose, p.Status, p.Reason, p.Detail, p.RetryAt, p.Crossing)
	if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		ts.Fatalf("the record has\n%s\nthe client was told\n%s", got, want)
	}
	asked := r.RequestedAt != "" && r.HTTPStatus != 0
	switch {
	case r.Outcome != "refused", r.Delivered != nil, r.Grounded == nil, *r.Grounded, r.Refusal.Detail == "":
		ts.Fatalf("the record is not that of a refusal: %+v", r)
	case asked != (r.Refusal.Stage != "before"):
		ts.Fatalf("refused at stage %s, asked for at %q, answered with %d", r.Refusal.Stage, r.RequestedAt, r.HTTPStatus)
	}
}

// says tells the record in words that scripts can compare.
func (c *loggedCrossing) says(ts *testscript.TestScript) map[string]string {
	r := &c.Payload
	var terms, statements, licences, gaps, effective, words []string
	object := ""
	for _, t := range r.Declarations.Terms {
		terms = append(terms, t.Kind+" "+t.Outcome)
		if t.Object != "" && t.Object == r.Refusal.Term.Object && object == "" {
			object = t.Kind
		}
	}
	if digest, ok := strings.CutPrefix(r.Refusal.Term.Object, "sha256:"); ok {
		octets, err := os.ReadFile(ts.MkAbs("data/terms/objects/" + digest))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(octets)) != digest {
			ts.Fatalf("the object of the term that refused is not there: %v", err)
		}
	}
	for _, s := range r.Declarations.Statements {
		statements = append(statements, inOneLine(s.Source, s.Category, s.Preference)+number(" line ", s.Line))
	}
	for _, l := range r.Declarations.Licences {
		licences = append(licences, inOneLine("by "+l.Mechanism+number(" entry ", l.Entry)+number(" offer ", l.Offer),
			l.Payment.Type, l.Payment.Amount, l.Payment.Currency, strings.Join(l.Duties, " "), l.RefusedBy))
		words = append(words, l.NotUnderstood...)
	}
	for _, g := range r.Gaps {
		gaps = append(gaps, g.Reason)
	}
	for purpose, word := range r.Declarations.Effective {
		effective = append(effective, purpose+" "+word)
	}
	slices.Sort(effective)
	withheld := "all"
	if r.Withheld != nil {
		withheld = fmt.Sprint(r.Withheld.Bytes)
	} else if r.Hash == "" {
		withheld = ""
	}
	list := func(items []string) string { return strings.Join(items, ", ") }
	return map[string]string{
		"outcome": r.Outcome, "stage": r.Refusal.Stage, "object": object, "detail": r.Refusal.Detail,
		"line": number("", r.Refusal.Term.Line), "entry": number("", r.Refusal.Term.Entry),
		"terms": list(terms), "said": list(statements), "licences": list(licences), "effective": list(effective),
		"gaps": list(gaps), "words": list(words), "read": withheld,
	}
}

// inOneLine joins what is not empty.
func inOneLine(parts ...string) string {
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// number is n behind its name, nothing when it is 0.
func number(name string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(name, n)
}
